"""Every critic of a size over a small alphabet, every record of a small alphabet, every neighbour.

A sum over records is linear, so the neighbours of every batch of these records are covered by the contribution of
each one of them; that the sums are the sums of the contributions is checked as well, on batches and their subsets.
"""

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from models.critic.closed_form import ClosedForm
from models.critic.factors import PLANES, Factoring, Factors
from models.critic.microbatch import Microbatch
from models.critic.network import Critic, LeakyReLU
from models.dp.clipping import ClipRule, Layout, Partition, each_block_alone
from models.dp.noise import group_noise_stds
from tests.cases import daily
from tests.models.critic.reference import Reference

CRITICS = (
    (1, (1,), (0.0, 1.0, -2.0, 1e-30, 1e15, float("nan"))),
    (1, (1, 1), (0.0, 1.0, -2.0, 1e12)),
    (2, (1,), (0.0, 1.0, -3.0, 1e15)),
    (1, (2,), (0.0, 1.0, -1e6)),
)
"""Inputs, widths, and the alphabet of every weight and bias but the output's bias, whose gradient is none."""
DAILY = {(0, "flat"), (0, "layers"), (2, "layers"), (3, "rows")}
"""Critics, by number, that run on every change; the others weekly."""
CASES = [
    pytest.param(
        *critic,
        grouping,
        id=f"{critic[0]}-{'-'.join(map(str, critic[1]))}-{grouping}",
        marks=() if (CRITICS.index(critic), grouping) in DAILY else pytest.mark.long,
    )
    for critic in CRITICS
    for grouping in ("flat", "layers", "rows")
    if grouping != "rows" or max(critic[1]) > 1  # a layer of one row is its block
]
VALUES = (0.0, 1.0, -2.5, 1e-40, 1e18, float("nan"), float("inf"))
MAX_BATCH = 4


def critics(inputs: int, widths: tuple[int, ...], alphabet: tuple[float, ...]) -> Iterator[Critic]:
    """Every critic over the alphabet, the same object with other weights."""
    critic = Critic(inputs=inputs, widths=widths, activation=LeakyReLU())
    critic.requires_grad_(requires_grad=False)
    parts = [part for layer in critic.linear_layers() for part in (layer.weight, layer.bias)][:-1]
    sizes = [part.numel() for part in parts]
    for values in itertools.product(alphabet, repeat=sum(sizes)):
        pieces = torch.split(torch.tensor(values), sizes)
        for part, piece in zip(parts, pieces, strict=True):
            part.copy_(piece.view(part.shape))
        yield critic


def all_records(inputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """Every real record with a few fakes and both kinds of place between them."""
    real = torch.tensor(list(itertools.product(VALUES, repeat=inputs)))
    fakes = [torch.full((inputs,), value) for value in (0.0, 0.5, -1e18)]
    rows = [(record, fake, mix) for record in real for fake in fakes for mix in (0.0, 0.75)]
    real, fake, mix = (torch.stack([torch.as_tensor(row[part]) for row in rows]) for part in range(3))
    return real, fake, mix


def layout_of(critic: Critic, grouping: str) -> Layout:
    shapes = tuple((layer.out_features, layer.in_features) for layer in critic.linear_layers())
    return Layout(shapes=shapes, grouping=grouping, row_blocks=2)


def partitions(layout: Layout) -> list[Partition]:
    """Each block alone, and where there are several: first and last as one group."""
    alone = each_block_alone(layout.sizes, [0.5 * 3.0**block for block in range(layout.blocks)])
    if layout.blocks == 1:
        return [alone]
    merged = tuple(block % (layout.blocks - 1) for block in range(layout.blocks))
    return [
        alone,
        Partition(sizes=layout.sizes, group_of_block=merged, thresholds=alone.thresholds[:-1]),
    ]


def contributions(
    form: ClosedForm, layout: Layout, batch: tuple[Tensor, Tensor, Tensor], partition: Partition
) -> Tensor:
    """(records, coordinates) clipped gradients, of the factors that the sum is made of; they add up to it."""
    factored, clipped = [], []
    factors_of, clips_of = Factoring.of, ClipRule.factors

    def made_factors(factoring: Factoring, microbatch: Microbatch) -> Factors:
        factored.append(factors_of(factoring, microbatch))
        return factored[-1]

    def made_clips(rule: ClipRule, bounds: Tensor) -> Tensor:
        clipped.append(clips_of(rule, bounds))
        return clipped[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Factoring, "of", made_factors)
        patch.setattr(ClipRule, "factors", made_clips)
        total = form.clipped_sum(*batch, partition)
    ((factors,), (clips,)) = factored, clipped  # one microbatch, so that nothing was overwritten
    weights = [
        torch.einsum("pno,pni->noi", S, A).flatten(1)
        for S, A in zip(factors.left, factors.right, strict=True)
    ]
    last = factors.output * clips[:, int(layout.block_of_row(len(weights))[0]), None]
    biases = [bias * clips[:, layout.bias_block, None] for bias in factors.biases]
    output = torch.zeros(len(last), 1, dtype=torch.float64)
    made = torch.cat([*weights, last, *biases, output], dim=1)[: factors.records]
    torch.testing.assert_close(made.sum(dim=0), total, rtol=1e-9, atol=1e-9)
    return made


def stds_of(partition: Partition, layout: Layout) -> Tensor:
    """(coordinates,) noise at a multiplier of one."""
    by_group = group_noise_stds(1.0, partition)
    by_block = torch.tensor([by_group[group] for group in partition.group_of_block], dtype=torch.float64)
    return torch.repeat_interleave(by_block, torch.tensor(layout.sizes))


@pytest.mark.parametrize(("inputs", "widths", "alphabet", "grouping"), CASES)
def test_every_record_on_every_critic(
    inputs: int, widths: tuple[int, ...], alphabet: tuple[float, ...], grouping: str
) -> None:
    records = all_records(inputs)
    farthest, tried = 0.0, 0
    form: ClosedForm | None = None
    for number, critic in enumerate(critics(inputs, widths, alphabet)):
        if form is None:
            layout = layout_of(critic, grouping)
            form = ClosedForm(
                critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, microbatch_size=len(records[0]) + 1
            )
            choices = partitions(layout)
            stds = [stds_of(partition, layout) for partition in choices]
        which = number % len(choices)
        moved = (contributions(form, layout, records, choices[which]) / stds[which]).norm(dim=1)
        assert bool((moved <= 1.0).all()), (number, float(moved.max()))  # NaN fails too
        farthest, tried = max(farthest, float(moved.max())), tried + 1
    free_weights = sum(o * i for o, i in layout.shapes) + sum(widths)
    assert tried == len(alphabet) ** free_weights
    assert farthest > 0.99


@pytest.mark.parametrize("grouping", daily(["flat", "rows"], some=["rows"]))
def test_every_batch_and_every_neighbour_of_it(grouping: str) -> None:
    """All batches of at most three of the records, each record taken away from each, through the sum that is released."""
    real, fake, mix = all_records(1)
    some = torch.tensor([1, 8, 14, 20, 27, 31, 37])
    for critic in itertools.islice(critics(1, (2,), (0.5, -2.0, 1e6)), 0, None, 401):
        layout = layout_of(critic, grouping)
        form = ClosedForm(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH)
        slow = Reference(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, at_once=64)
        for partition in partitions(layout):
            stds = stds_of(partition, layout)
            for path in (form, slow):
                sums = {
                    chosen: path.clipped_sum(
                        real[some[list(chosen)]], fake[some[list(chosen)]], mix[some[list(chosen)]], partition
                    ).clone()
                    for size in range(4)
                    for chosen in itertools.combinations(range(len(some)), size)
                }
                for chosen, total in sums.items():
                    for left_out in chosen:
                        without = tuple(record for record in chosen if record != left_out)
                        assert float(((total - sums[without]) / stds).norm()) <= 1.0


@pytest.mark.parametrize("grouping", ["flat", "layers", "rows"])
def test_every_record_on_critics_by_the_reference(grouping: str) -> None:
    records = all_records(1)
    for number, critic in enumerate(critics(1, (1,), (0.0, 1.0, -2.0, 1e15, float("nan")))):
        layout = layout_of(critic, grouping)
        slow = Reference(critic, layout, gp_weight=10.0, max_batch=MAX_BATCH, at_once=64)
        partition = partitions(layout)[number % len(partitions(layout))]
        gradients, squares = slow.of_batch(*records)
        rule = ClipRule(partition, max_batch=MAX_BATCH, terms=PLANES)
        factors = torch.repeat_interleave(rule.factors(squares), torch.tensor(layout.sizes), dim=1)
        clipped = torch.where(factors > 0.0, gradients, 0.0) * factors
        assert bool(((clipped / stds_of(partition, layout)).norm(dim=1) <= 1.0).all())
