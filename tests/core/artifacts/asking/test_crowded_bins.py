"""Columns with bounds far wider than their values are named; bins that fit, declared edges, bins of one value and noise alone are not."""

from typing import Any

import numpy as np
import pytest

from core.artifacts.asking.crowded_bins import crowded_bins, crowded_columns
from core.artifacts.asking.estimates import Estimates
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps
from core.plan.domain.table import TableDomain

ROWS = 2000


def domain(**height: Any) -> TableDomain:
    column = {"name": "height", "kind": "numeric", "type": "real", "lower": 0, "upper": 3200} | height
    words = {"name": "ward", "kind": "categorical", "categories": ["A", "B"]}
    document = {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": None,
        "columns": [words, column],
    }
    return TableDomain.from_json(document)


def counts_of(
    known: TableDomain, values: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    column = known.modelled[1]
    assert hasattr(column, "bins")
    codes = len(column.specials) + column.bins.encode(values)
    for code, special in enumerate(column.specials):
        codes = np.where(values == special, code, codes)
    return np.bincount(codes, minlength=column.cardinality).astype(float)


def notes_of(
    known: TableDomain, counts: np.ndarray[Any, np.dtype[np.float64]], std: float, seed: int = 0
) -> list[str]:
    noisy = in_steps(counts + np.random.default_rng(seed).normal(0, std, len(counts)), 2.0**-5)
    tables = (CountTable(columns=(1,), noise_std=std, cells=noisy),)
    sizes = known.cardinalities
    released = ReleasedCounts(
        cardinalities=sizes, step=2.0**-5, tables=tables, groups=tuple(map(np.arange, sizes))
    )
    return list(crowded_columns(known, Estimates(released)))


BODIES = np.random.default_rng(5).normal(170, 10, ROWS)


def test_a_column_whose_values_lie_in_two_of_its_bins_is_named_with_them() -> None:
    known = domain()
    counts = counts_of(known, BODIES)
    assert counts[1] > 0.9 * ROWS
    (said,) = notes_of(known, counts, std=15.0)
    assert "of 'height' lie in 1 of its 32 bins (100 to below 200)" in said
    straddling = crowded_bins(known.modelled[1], counts_of(known, BODIES + 30))
    assert straddling is not None
    assert (straddling.first, straddling.last) == (1, 2)


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ({"upper": 320}, BODIES),
        ({"edges": [0, 100, *range(200, 3200, 300), 3200]}, BODIES),
        ({"bins": 4}, BODIES),
        ({"specials": [170]}, np.r_[np.full(1900, 170.0), np.linspace(0, 3200, 100)]),
        ({"type": "integer", "upper": 31}, np.full(ROWS, 3.0)),
        ({"null": "category"}, np.zeros(0)),
    ],
    ids=["narrow", "declared edges", "few bins", "a special value", "one value a bin", "no values"],
)
def test_a_column_with_bins_as_intended_is_not_named(
    declared: dict[str, Any], values: np.ndarray[Any, np.dtype[np.float64]]
) -> None:
    known = domain(**declared)
    assert notes_of(known, counts_of(known, values), std=1e-3) == []


def test_noise_alone_names_no_column() -> None:
    known = domain()
    assert [notes_of(known, np.zeros(32), std=100.0, seed=seed) for seed in range(200)] == [[]] * 200


STAYS = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": None,
        "privacy_unit": None,
        "columns": [
            {"name": "admitted", "kind": "date", "lower": "2024-01-01", "upper": "2024-12-31"},
            {
                "name": "discharged",
                "kind": "date",
                "lower": "2024-01-01",
                "upper": "2025-12-31",
                "difference": {"from": "admitted", "lower": 0, "upper": 30, "bins": 31},
            },
        ],
    }
)


def test_a_column_that_is_a_distance_is_judged_by_the_bins_of_the_distance() -> None:
    """Nearly all stays last no night: one bin of one value, whatever the bins of the dates of discharge are."""
    nights = np.r_[1900.0, np.full(30, 100 / 30)]
    assert len(nights) == STAYS.cardinalities[1]
    assert notes_of(STAYS, nights, std=1e-3) == []
