"""The critic of labels: one image more moves every group by its threshold at most, and company changes no bit."""

import pytest
import torch

from models.critic.label_form import LabelForm
from models.dp.clipping import Partition, each_block_alone
from models.randomness import Purpose
from tests.models.critic.conv_cases import STREAMS, Images, images_of, layout_of
from tests.models.critic.test_label_form import critic_of
from tests.privacy.sensitivity.test_neighbours import SLACK

MAX_BATCH, COUNT = 100, 9
SCALES = {"initial": 1.0, "zero": 0.0, "times 1e+10": 1e10, "times 1e-10": 1e-10, "one NaN": float("nan")}
RECORDS = {
    "ordinary": 1.0,
    "huge": 1e18,
    "beyond float32": float("inf"),
    "tiny": 1e-30,
    "no numbers": float("nan"),
}


def groups_of(grouping: str, sizes: tuple[int, ...]) -> Partition:
    if grouping == "rows":
        group_of_block = tuple(index % 2 for index in range(len(sizes)))
        return Partition(sizes=sizes, group_of_block=group_of_block, thresholds=(1e-3, 7.0))
    return each_block_alone(sizes, [0.1 * (1 + index) for index in range(len(sizes))])


@pytest.mark.parametrize("grouping", ["flat", "layers", "rows"])
@pytest.mark.parametrize("weights", SCALES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_adversarial_records_and_weights(grouping: str, weights: str, dtype: torch.dtype) -> None:
    critic = critic_of((1, 12, 12), (16, 32, 48), dtype=dtype)
    first = critic.linear_layers()[0]
    if weights == "one NaN":
        first.weight[0, 0] = float("nan")
    else:
        first.weight.mul_(SCALES[weights])
    layout = layout_of(critic, grouping)
    form, partition = LabelForm(critic, layout, max_batch=MAX_BATCH), groups_of(grouping, layout.sizes)
    spread = torch.repeat_interleave(torch.tensor(partition.group_of_block), torch.tensor(layout.sizes))
    reached = 0.0
    for name, scale in RECORDS.items():
        batch = images_of(critic, COUNT)
        batch.real[4] *= scale
        kept = batch.of(torch.tensor([row for row in range(COUNT) if row != 4]))
        here = form.clipped_sum(*batch.parts, partition, labels=batch.labels).clone()
        there = form.clipped_sum(*kept.parts, partition, labels=kept.labels)
        moved = torch.zeros(len(partition.thresholds), dtype=torch.float64)
        moved.index_add_(0, spread, (here - there).square())
        shares = moved.sqrt() / torch.tensor(partition.thresholds, dtype=torch.float64)
        assert bool((shares <= 1.0 + SLACK).all()), name
        reached = max(reached, float(shares.max()))
    # The bound is met, so the test has power.
    assert reached > 0.99 or weights == "one NaN"


def test_company_and_place_do_not_change_a_bit() -> None:
    critic = critic_of((1, 28, 28), (16, 32), classes=10, dtype=torch.float32)
    form = LabelForm(critic, layout_of(critic, "rows"), max_batch=MAX_BATCH)
    count = form.microbatch_size + 5
    batch = images_of(critic, count)
    places = torch.arange(count)

    def of_each(some: Images) -> torch.Tensor:
        made = [numbers.double() for numbers in form.of_records(*some.parts, labels=some.labels)]
        chunks = -(-len(some.mix) // form.microbatch_size)
        each = len(made) // chunks
        parts = [torch.cat(made[index * each : (index + 1) * each], dim=1) for index in range(chunks)]
        return torch.cat(parts)[: len(some.mix)]

    alone = of_each(batch)
    companies = {
        "permuted": torch.from_numpy(STREAMS.uniforms(Purpose.TEST, 9, count).argsort()),
        "first removed": places[1:],
        "alone": places[3:4],
        "added in front": torch.cat([places[-1:], places[:-1]]),
    }
    for name, chosen in companies.items():
        assert torch.equal(of_each(batch.of(chosen)), alone[chosen]), name
