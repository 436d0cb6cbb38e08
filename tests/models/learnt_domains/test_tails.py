"""Tails of a column are cut at growing distances from what is certain."""

import numpy as np
import pytest

from models.learnt_domains.bins import Cell, FineGrid, NoisyTree
from models.learnt_domains.tails import with_cut_tails

LEAVES = 1024
TREE = NoisyTree(
    grid=FineGrid(
        starts=np.arange(LEAVES, dtype=np.float64),
        widths=np.ones(LEAVES),
        continuous=False,
        sizes=(512, 64, 8, 1),
    ),
    counts=(),
    std=10.0,
)


def cells(*ends: tuple[int, float]) -> list[Cell]:
    """Cells up to each leaf, with counts."""
    firsts = [0, *(end for end, _ in ends)]
    return [
        Cell(first, last, count, float(last - first), 10.0)
        for first, (last, count) in zip(firsts, ends, strict=False)
    ]


def spans(found: list[Cell]) -> list[tuple[int, int]]:
    return [(cell.first, cell.last) for cell in found]


def test_each_part_of_a_tail_is_wider_than_the_one_nearer_to_certain_values() -> None:
    middle, below, above = with_cut_tails(cells((150, 20.0), (500, 900.0), (800, -40.0)), TREE)
    assert spans(middle) == [(150, 500)]
    for parts, ends in ((below[::-1], (150, 0)), (above, (500, 800))):
        widths = [cell.width for cell in parts]
        assert len(widths) == 4
        assert widths == sorted(widths)
        assert widths[-1] > 3 * widths[0]
        assert sum(widths) == abs(ends[1] - ends[0])
    assert below[0].first == 0
    assert above[-1].last == 800


def test_a_tail_far_wider_than_the_rest_still_has_a_part_as_narrow_as_a_quarter_of_it() -> None:
    _, below, above = with_cut_tails(cells((8, 900.0), (1000, 5.0)), TREE)
    assert below == []
    assert above[0].width <= 2


@pytest.mark.parametrize(
    "ends",
    [((100, 500.0), (500, 500.0)), ((1024, 0.0),)],
    ids=["both ends are certain", "one cell"],
)
def test_cells_with_certain_ends_and_a_single_cell_have_no_tails(ends: tuple[tuple[int, float], ...]) -> None:
    given = cells(*ends)
    assert with_cut_tails(given, TREE) == (given, [], [])


def test_a_heavy_value_before_a_tail_stays_with_the_outermost_part() -> None:
    given = cells((1, 0.0), (101, 5.0), (500, 900.0))
    given[0].is_heavy = True
    middle, below, _ = with_cut_tails(given, TREE)
    assert spans(middle) == [(101, 500)]
    assert below[0].first == 0
    assert below[-1].last == 101


def test_a_tail_of_few_values_has_no_more_parts_than_values() -> None:
    _, _, above = with_cut_tails(cells((500, 900.0), (502, 0.0)), TREE)
    assert spans(above) == [(500, 501), (501, 502)]
