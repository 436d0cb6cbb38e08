"""Simulated tables with sums, and what a draft of them computes."""

import numpy as np
import pytest

from benchmarks.declarations.summed_columns import by_draft
from benchmarks.declarations.summed_tables import TABLES
from core.plan.domain.table import TableDomain

COMPUTED = {"days": "present", "prices": "net", "hours": "worked", "heads": "boys", "incomes": "income"}


@pytest.mark.parametrize("name", TABLES)
def test_every_row_keeps_the_sum_and_the_bounds(name: str) -> None:
    table = TABLES[name](3000)
    domain = TableDomain.from_json(table.document)
    assert domain.kept is not None
    assert not domain.kept.keeper.broken(dict(enumerate(table.values))).any()
    for column, own in zip(domain.modelled[:3], table.values, strict=False):
        assert column.lower <= np.min(own) <= np.max(own) <= column.upper  # type: ignore[union-attr]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [2000, 8000])
def test_a_draft_computes_a_column_without_a_heap(name: str, rows: int) -> None:
    assert by_draft(TABLES[name](rows)) == COMPUTED[name]
