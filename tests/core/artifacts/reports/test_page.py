"""How the shares of a column are laid out."""

import numpy as np
import pytest

from core.artifacts.reports.columns import columns_of
from core.artifacts.reports.page import plot
from core.plan.domain.table import TableDomain

BANDS = ["0-17", "18-64", "65+"]


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [("ordinal", "levels", BANDS), ("categorical", "categories", ["65+", "0-17", "18-64"])],
)
def test_values_of_a_scale_keep_their_order_and_others_are_sorted_by_share(
    kind: str, key: str, expected: list[str]
) -> None:
    (column,) = columns_of(
        TableDomain.from_json(
            {
                "schema": "understudy.domain/1",
                "privacy_unit": None,
                "columns": [{"name": "age", "kind": kind, key: BANDS}],
            }
        )
    )
    drawn = plot(column, np.array([0.3, 0.1, 0.6]), np.array([0.2, 0.2, 0.6]))
    assert [word for word, *_ in drawn.values] == expected
    assert {word: first for word, first, _ in drawn.values} == {"0-17": 0.3, "18-64": 0.1, "65+": 0.6}


def test_few_numbers_with_codes_of_their_own_keep_their_order() -> None:
    months = {
        "name": "term",
        "kind": "numeric",
        "type": "integer",
        "lower": 6,
        "upper": 60,
        "specials": [12, 24, 60],
        "bins": 1,
    }
    (column,) = columns_of(
        TableDomain.from_json({"schema": "understudy.domain/1", "privacy_unit": None, "columns": [months]})
    )
    assert not column.is_ordered
    drawn = plot(column, np.array([0.2, 0.5, 0.3, 0.0]), None)
    assert [word for word, *_ in drawn.values][:3] == ["12", "24", "60"]
