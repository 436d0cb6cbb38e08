"""A record's factors, norms and clipping scales are the same to the bit in every company, at every place."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from models.critic import placement_invariance
from models.critic.closed_form import ClosedForm
from models.critic.factors import Factoring
from models.critic.microbatch import MICROBATCH_SIZE, ROW_BYTES, Microbatch, Workspace, cpu_microbatch_size
from models.critic.network import Critic
from models.critic.placement_invariance import require_placement_invariance
from models.dp.clipping import ClipRule, Layout, Partition
from models.dp.errors import UnevenRounding
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from tests.cases import daily
from tests.models.critic.reference import Reference
from tests.models.dp.plans import small_plan

STREAMS = KeyedStreams(bytes(range(32)))
SHAPES = (
    (1, (1,)), (2, (3,)), (3, (2, 5)), (5, (48,)), (12, (8, 8)), (42, (2, 3, 8)), (60, (48, 32)), (100, (100, 7)),
    (216, (128, 128)), (588, (64, 33)), (777, (3, 2)), (777, (100, 48)), (1001, (13, 256)),
)  # fmt: skip
"""Inputs and hidden widths: round numbers, odd ones, and those at which unaligned rows did round by their place."""
GROUPINGS = ("flat", "layers", "rows")
shapes = pytest.mark.parametrize(
    ("inputs", "widths"),
    daily(SHAPES, some=[*SHAPES[:8], (777, (3, 2)), (1001, (13, 256))]),
    ids=lambda part: str(part).replace(" ", ""),
)


def form_of(
    inputs: int,
    widths: tuple[int, ...],
    grouping: str,
    dtype: torch.dtype = torch.float32,
    microbatch_size: int = MICROBATCH_SIZE,
) -> tuple[ClosedForm, Layout]:
    critic = (
        Critic(inputs=inputs, widths=widths).initialise(STREAMS).to(dtype).requires_grad_(requires_grad=False)
    )
    sizes = tuple((layer.out_features, layer.in_features) for layer in critic.linear_layers())
    layout = Layout(shapes=sizes, grouping=grouping, row_blocks=5)
    return ClosedForm(critic, layout, gp_weight=10.0, max_batch=1000, microbatch_size=microbatch_size), layout


def batch_of(
    count: int, inputs: int, *, cells: bool, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    fake, real = STREAMS.torch_normals(Purpose.TEST, inputs, (2, count, inputs)).to(dtype)
    if cells:
        real = torch.from_numpy(STREAMS.integers(Purpose.TEST, 7, inputs, (count, 14)))
    return real, fake, STREAMS.torch_uniforms(Purpose.TEST, 8, count)


def of_each(form: ClosedForm, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """(batch, everything) numbers that the closed form makes for each record alone."""
    count = batch[0].shape[0]
    parts: list[Tensor] = []
    made = [numbers.clone() for numbers in form.of_records(*batch)]
    chunks = -(-count // form.microbatch_size)
    for chunk in range(chunks):
        own = made[chunk * len(made) // chunks : (chunk + 1) * len(made) // chunks]
        flat = [numbers.unsqueeze(0) if numbers.ndim == 2 else numbers for numbers in own]
        parts.append(torch.cat([numbers.movedim(0, 1).flatten(1) for numbers in flat], dim=1))
    return torch.cat(parts)[:count]


def chosen(batch: tuple[Tensor, Tensor, Tensor], places: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    real, fake, mix = batch
    return real[places], fake[places], mix[places]


def companies(count: int) -> dict[str, Tensor]:
    """Who stands where: (m,) indices into a batch of `count` records."""
    places = torch.arange(count)
    order = torch.from_numpy(STREAMS.uniforms(Purpose.TEST, 9, count).argsort())
    return {
        "permuted": order,
        "first removed": places[1:],
        "one removed from the middle": torch.cat([places[:40], places[41:]]),
        "alone": places[77:78],
        "two": places[100:102],
        "a full chunk": places[5 : 5 + MICROBATCH_SIZE],
        "added in front": torch.cat([places[-1:], places[:-1]]),
        "many copies": torch.cat([places[:3], torch.full((MICROBATCH_SIZE + 9,), 3), places[3:20]]),
        "reversed": places.flip(0),
    }


@pytest.mark.parametrize("cells", [False, True], ids=["vectors", "cells"])
@shapes
def test_company_and_place_do_not_change_a_bit(inputs: int, widths: tuple[int, ...], cells: bool) -> None:
    batch = batch_of(2 * MICROBATCH_SIZE + 37, inputs, cells=cells)
    for grouping in GROUPINGS:
        form, _ = form_of(inputs, widths, grouping)
        alone = of_each(form, batch)
        for name, places in companies(len(alone)).items():
            assert torch.equal(of_each(form, chosen(batch, places)), alone[places]), (grouping, name)


@pytest.mark.parametrize(
    ("inputs", "width", "expected"),
    [(16, 64, 977), (95, 64, 750), (216, 64, 977), (216, 128, 1024), (588, 128, 1024), (2000, 128, 300)],
)
def test_chunks_of_the_rules_are_even_too(inputs: int, width: int, expected: int) -> None:
    microbatch_size = cpu_microbatch_size(4 * expected + 256, inputs)
    batch = batch_of(microbatch_size + 37, inputs, cells=True)
    form, _ = form_of(inputs, (width,), "flat", microbatch_size=microbatch_size)
    alone = of_each(form, batch)
    require_placement_invariance(form, inputs=inputs, dtype=torch.float32)
    for name, places in companies(len(alone)).items():
        assert torch.equal(of_each(form, chosen(batch, places)), alone[places]), name


@pytest.mark.parametrize("inputs", [1, 216, 588, 4000, 30000])
@pytest.mark.parametrize("expected", [1, 40, 256, 977, 2048, 50_000])
def test_chunks_hold_the_expected_batch_and_are_not_too_large(inputs: int, expected: int) -> None:
    microbatch_size = cpu_microbatch_size(4 * expected + 256, inputs)
    assert microbatch_size % 16 == 0
    places = expected + 2.0 * expected**0.5
    assert (
        places
        <= -(-places // microbatch_size) * microbatch_size
        < places + 16.0 * -(-places // microbatch_size) + 16.0
    )
    assert microbatch_size <= MICROBATCH_SIZE or (microbatch_size - 16) * inputs <= 1 << 20


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), 3e38, 1e-44])
def test_a_poisoned_record_does_not_change_the_others(poison: float) -> None:
    batch = batch_of(MICROBATCH_SIZE + 20, 60, cells=False)
    form, _ = form_of(60, (48, 32), "rows")
    before = of_each(form, batch)
    batch[0][50] = poison
    after = of_each(form, batch)
    others = torch.arange(len(before)) != 50
    assert torch.equal(after[others], before[others])


def test_float64_critics_are_even_too() -> None:
    batch = batch_of(MICROBATCH_SIZE + 20, 777, cells=False, dtype=torch.float64)
    form, _ = form_of(777, (100, 7), "rows", torch.float64)
    alone = of_each(form, batch)
    order = companies(len(alone))["permuted"]
    assert torch.equal(of_each(form, chosen(batch, order)), alone[order])


def test_scales_of_merged_groups_do_not_depend_on_company() -> None:
    bounds = torch.from_numpy(STREAMS.uniforms(Purpose.TEST, 3, (300, 7))) * 1e3
    partition = Partition(sizes=(3,) * 7, group_of_block=(0, 1, 0, 2, 1, 0, 2), thresholds=(0.3, 1e-3, 17.0))
    rule = ClipRule(partition, max_batch=1000)
    factors = rule.factors(bounds)
    for places in companies(300).values():
        assert torch.equal(rule.factors(bounds[places]), factors[places])


@pytest.mark.parametrize("inputs", [5, 42, 777])
def test_the_reference_is_even(inputs: int) -> None:
    form_layout = form_of(inputs, (8, 3), "rows")[1]
    critic = Critic(inputs=inputs, widths=(8, 3)).initialise(STREAMS)
    reference = Reference(critic, form_layout, gp_weight=10.0, max_batch=100)
    batch = batch_of(9, inputs, cells=False)
    gradients, norms = reference.gradients(*batch), reference.block_norms(*batch)
    for places in (torch.arange(9).flip(0), torch.tensor([4]), torch.tensor([2, 4, 4, 8, 0])):
        assert torch.equal(reference.gradients(*chosen(batch, places)), gradients[places])
        assert torch.equal(reference.block_norms(*chosen(batch, places)), norms[places])


@pytest.mark.parametrize(
    "shape",
    [
        (777, (100, 48)),
        pytest.param((777, (3, 2)), marks=pytest.mark.long),
        pytest.param((1001, (13, 256)), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_threads_keep_it_even(shape: tuple[int, tuple[int, ...]]) -> None:
    """Two threads split a product; whatever bits they give, they give them to every place."""
    assert shape in SHAPES
    script = (
        "import torch; torch.set_num_threads(2); import tests.privacy.sensitivity.test_company as t\n"
        f"t.test_company_and_place_do_not_change_a_bit(*{shape}, False)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_power_records_that_mix_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # private: plants a fault in one half of the factors
    whole = Factoring._right

    def centred(
        self: Factoring, chunk: Microbatch, values: list[Tensor], pushed: list[Tensor]
    ) -> tuple[Tensor, ...]:
        pushed[-1] -= 1e-3 * pushed[-1].mean(dim=0)
        return whole(self, chunk, values, pushed)

    # private: plants the fault of centred factors
    monkeypatch.setattr(Factoring, "_right", centred)
    with pytest.raises(AssertionError):
        test_company_and_place_do_not_change_a_bit(60, (48, 32), cells=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("place", [1, 3, MICROBATCH_SIZE - 1])
def test_power_one_place_that_rounds_differently_is_refused(
    monkeypatch: pytest.MonkeyPatch, place: int, dtype: torch.dtype
) -> None:
    form, _ = form_of(60, (48, 32), "layers", dtype)
    require_placement_invariance(form, inputs=60, dtype=dtype)
    # private: plants a fault in the pass through the layers
    whole = Factoring._push

    def uneven(self: Factoring, values: list[Tensor], cotangents: list[Tensor]) -> list[Tensor]:
        pushed = whole(self, values, cotangents)
        pushed[1][place, 7] = torch.nextafter(pushed[1][place, 7], torch.tensor(9.0, dtype=dtype))
        return pushed

    # private: plants rounding that depends on the company
    monkeypatch.setattr(Factoring, "_push", uneven)
    with pytest.raises(UnevenRounding):
        require_placement_invariance(form, inputs=60, dtype=dtype)


def test_training_begins_with_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    # private: both ways give the same sums, so which was taken shows nowhere
    monkeypatch.setattr(placement_invariance, "_alike", lambda _: False)
    with pytest.raises(UnevenRounding):
        PrivateCritic(Critic(inputs=12, widths=(8, 8)).initialise(STREAMS), small_plan(), STREAMS)


def test_rows_begin_alike_in_every_buffer() -> None:
    take = Workspace().take
    for dtype in (torch.float32, torch.float64, torch.int64):
        for width in (1, 5, 16, 100, 777):
            buffer = take(str(dtype), width, (3, MICROBATCH_SIZE, width), dtype)
            assert buffer.data_ptr() % ROW_BYTES == 0
            assert buffer.stride(1) * dtype.itemsize % ROW_BYTES == 0
            assert buffer.stride(0) == MICROBATCH_SIZE * buffer.stride(1)
            assert take(str(dtype), width, (3, MICROBATCH_SIZE, width), dtype) is buffer
