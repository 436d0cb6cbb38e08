import itertools
import math

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from core.plan import defaults
from models.dp.clipping import (
    ClipRule,
    GraphClipRule,
    Layout,
    Partition,
    each_block_alone,
    rounding_allowance,
)

SHAPES = ((6, 5), (4, 6), (1, 4))


@settings(max_examples=60, deadline=None)
@given(
    widths=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    grouping=st.sampled_from(["flat", "layers", "rows"]),
    row_blocks=st.integers(1, 9),
)
def test_blocks_are_total_disjoint_and_contiguous(widths: list[int], grouping: str, row_blocks: int) -> None:
    shapes = tuple((above, below) for below, above in itertools.pairwise(widths))
    layout = Layout(shapes=shapes, grouping=grouping, row_blocks=row_blocks)
    covered = torch.zeros(layout.coordinates)
    for piece, size in zip(layout.slices(), layout.sizes, strict=True):
        assert piece.stop - piece.start == size
        covered[piece] += 1
    assert bool((covered == 1).all())
    # rows and biases map to the block that their coordinates lie in
    block = torch.repeat_interleave(torch.arange(layout.blocks), torch.tensor(layout.sizes))
    first = 0
    for layer, (outputs, inputs) in enumerate(shapes):
        by_row = block[first : first + outputs * inputs].view(outputs, inputs)
        assert bool((by_row == layout.block_of_row(layer)[:, None]).all())
        first += outputs * inputs
    assert bool((block[first:] == layout.bias_block).all())


@pytest.mark.parametrize(("grouping", "blocks"), [("flat", 1), ("layers", 4), ("rows", 3 + 3 + 1 + 1)])
def test_number_of_blocks(grouping: str, blocks: int) -> None:
    assert Layout(shapes=SHAPES, grouping=grouping, row_blocks=3).blocks == blocks


def test_bad_layouts_are_refused() -> None:
    with pytest.raises(ValueError, match="grouping"):
        Layout(shapes=SHAPES, grouping="columns")
    with pytest.raises(ValueError, match="row block"):
        Layout(shapes=SHAPES, grouping="rows", row_blocks=0)


@pytest.mark.parametrize(
    ("groups", "thresholds"),
    [((0, 1), (1.0, 1.0)), ((0, 2, 2), (1.0, 1.0, 1.0)), ((0, 1, 1), (1.0,)), ((0, 1, 1), (1.0, 0.0)), ((0, 0, 0), (math.inf,))],
)  # fmt: skip
def test_a_partition_that_is_not_total_is_impossible(
    groups: tuple[int, ...], thresholds: tuple[float, ...]
) -> None:
    with pytest.raises(AssertionError):
        Partition(sizes=(2, 3, 4), group_of_block=groups, thresholds=thresholds)


def test_dimensions_of_groups() -> None:
    partition = Partition(sizes=(2, 3, 4), group_of_block=(0, 1, 0), thresholds=(1.0, 2.0))
    assert partition.dimensions == (6, 3)


def test_factors_bound_every_group_and_keep_small_norms() -> None:
    partition = Partition(sizes=(2, 3, 4), group_of_block=(0, 1, 0), thresholds=(1.0, 2.0))
    bounds = torch.tensor([[9.0, 100.0, 16.0], [0.01, 0.04, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    factors = ClipRule(partition, max_batch=100).factors(bounds)
    assert factors[:, 0].tolist() == factors[:, 2].tolist()
    assert float(factors[0, 0]) * 5.0 <= 1.0
    assert float(factors[0, 0]) * 5.0 == pytest.approx(1.0, rel=1e-4)
    assert float(factors[0, 1]) * 10.0 <= 2.0
    assert factors[1:].eq(1.0).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_one_bad_norm_removes_the_whole_record(bad: float) -> None:
    bounds = torch.tensor([[1.0, bad, 1.0], [1.0, 1.0, 1.0]], dtype=torch.float64)
    factors = ClipRule(each_block_alone((2, 3, 4), (1.0, 1.0, 1.0)), max_batch=10).factors(bounds)
    assert factors[0].tolist() == [0.0, 0.0, 0.0]
    assert bool((factors[1] > 0.99).all())


def test_the_graph_rule_has_the_bits_of_the_rule_of_each_partition() -> None:
    """One after the other, so that nothing of a partition stays for the next."""
    graph_rule = GraphClipRule(4, max_batch=500, terms=7)
    bounds = torch.exp(
        3.0 * torch.randn(200, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    )
    bounds[3, 1], bounds[4, 0], bounds[5] = math.nan, math.inf, 0.0
    given = bounds.clone()
    for groups, thresholds in (
        ((0, 1, 2, 3), (0.5, 1.0, 2.0, 0.1)),
        ((0, 0, 0, 0), (0.7,)),
        ((1, 0, 1, 2), (3.0, 0.2, 1e-9)),
        ((0, 1, 1, 0), (0.3, 0.4)),
        ((0, 1, 2, 3), (1e9, 1e9, 1e9, 1e9)),
    ):
        partition = Partition(sizes=(2, 3, 4, 5), group_of_block=groups, thresholds=thresholds)
        graph_rule.adopt(partition)
        factors = ClipRule(partition, max_batch=500, terms=7).factors(bounds)
        assert torch.equal(graph_rule.factors(bounds), factors)
        assert not bool(factors[3:5].any())
        assert bool((factors[5] > 0.0).all())
    assert torch.equal(bounds.nan_to_num(-1.0), given.nan_to_num(-1.0)), "bounds are only read"


def test_the_graph_rule_without_a_partition_lets_nothing_through() -> None:
    bounds = torch.tensor([[1e-12, 0.5], [4.0, 1e9]], dtype=torch.float64)
    assert not bool(GraphClipRule(2, max_batch=10).factors(bounds).any())


def test_the_rounding_allowance_is_small_and_grows() -> None:
    assert 0 < rounding_allowance(1) < rounding_allowance(2500) < 1e-4
    assert rounding_allowance(2500) >= 2 * 3 * 2500 * 2.0**-53 * 2500 * 2**14


def test_the_largest_batches_of_the_rules_leave_half_of_a_threshold_at_least():
    tables, images = (defaults.sampled_batch_cap(defaults.LARGEST_EXPECTED[kind]) for kind in (False, True))
    assert rounding_allowance(tables) < 0.5
    # Three planes of 7 by 7 positions, the last convolution of a critic of digits.
    assert rounding_allowance(images, 3 * 7 * 7) < 0.5
