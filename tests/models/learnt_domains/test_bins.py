"""The grid of the tree that bins are learnt from, and what becomes of a column of which the tree tells little."""

import numpy as np
import pytest

from core.plan.domain.columns.kinds import NumericColumn
from core.plan.domain.table import TableDomain
from core.plan.learning import LEVELS
from models.learnt_domains.bins import FineGrid, NoisyTree, fine_grid, with_bins

STD = 75.0


def column_of(**keys: object) -> NumericColumn:
    entry = {"name": "x", "kind": "numeric", "type": "real", "bins": "learn"} | keys
    domain = TableDomain.from_json(
        {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, "columns": [entry]}
    )
    found = domain.modelled[0]
    assert isinstance(found, NumericColumn)
    return found


COLUMNS = [
    column_of(lower=0, upper=9, decimals=0),
    column_of(lower=0, upper=99_999, decimals=0),
    column_of(lower=-1500, upper=5000, decimals=2),
    column_of(lower=-1000, upper=17_000),
    column_of(lower=0.001, upper=1e12),
    column_of(lower=3.0, upper=3.5),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: f"{column.lower:g} to {column.upper:g}")
def test_every_number_has_one_leaf_and_nodes_of_the_first_level_are_few(column: NumericColumn) -> None:
    grid = fine_grid(column)
    assert len(grid.sizes) == LEVELS
    assert grid.leaves % grid.sizes[0] == 0
    assert grid.leaves // grid.sizes[0] <= 128, "a small table has few rows for each"
    used = grid.starts[np.isfinite(grid.starts)]
    assert used[0] == column.lower
    assert (np.diff(used) > 0).all()
    assert grid.leaf_of(np.array([column.lower, column.upper])).tolist() == [0, len(used) - 1]
    length = column.upper - column.lower if grid.continuous else len(used)
    assert grid.widths.sum() == pytest.approx(length)


def tree_of(grid: FineGrid, numbers: np.ndarray, *, std: float, seed: int = 1) -> NoisyTree:
    rng = np.random.default_rng(seed)
    leaves = np.bincount(grid.leaf_of(numbers), minlength=grid.leaves).astype(np.float64)
    counts = (leaves.reshape(-1, size).sum(axis=1) for size in grid.sizes)
    return NoisyTree(grid=grid, counts=tuple(one + rng.normal(0.0, std, len(one)) for one in counts), std=std)


@pytest.mark.parametrize("column", COLUMNS[1:4], ids=["integers", "two decimals", "reals"])
@pytest.mark.parametrize("rows", [0, 200])
def test_where_nothing_stands_out_of_the_noise_bins_are_even_and_not_a_single_one(
    column: NumericColumn, rows: int
) -> None:
    numbers = np.random.default_rng(2).uniform(column.lower, column.upper, rows)
    found = with_bins(column, tree_of(fine_grid(column), numbers, std=STD), decimals=None, decimals_std=0.0)
    assert isinstance(found, NumericColumn)
    assert found.edges is not None
    widths = np.diff(found.edges)
    assert len(widths) >= 24
    assert widths.max() < 3 * widths.min()


@pytest.mark.parametrize("seed", range(5))
def test_a_small_table_within_wide_bounds_finds_the_part_where_its_rows_are(seed: int) -> None:
    """Amounts of 3,000 units: nearly all within a hundredth of the bounds."""
    rng, column = np.random.default_rng(seed), COLUMNS[2]
    numbers = np.round(-rng.lognormal(3.2, 1.1, 3000).clip(max=1500), 2)
    tree = tree_of(fine_grid(column), numbers, std=STD, seed=seed)
    found = with_bins(column, tree, decimals=None, decimals_std=0.0)
    assert isinstance(found, NumericColumn)
    assert found.edges is not None
    edges = np.array(found.edges)
    inner = edges[(edges > -100) & (edges < 0)]
    assert len(inner) >= 4, "even bins would have none or one there"
