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


def spans_of(**entry: object) -> tuple[np.ndarray, bool]:
    amount = {"name": "amount", "kind": "numeric", "type": "real", **entry}
    (column,) = columns_of(
        TableDomain.from_json({"schema": "understudy.domain/1", "privacy_unit": None, "columns": [amount]})
    )
    assert column.spans is not None
    return column.spans, column.is_logarithmic


def test_edges_of_equal_ratio_are_drawn_on_a_logarithmic_axis() -> None:
    """On a linear one nine of ten bins of a drafted amount were a single line at the left."""
    edges = [0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
    spans, is_logarithmic = spans_of(edges=edges)
    assert is_logarithmic
    assert (spans[0, 0], spans[-1, 1]) == (0.0, 1.0)
    widths = spans[:, 1] - spans[:, 0]
    assert widths.min() > 0.03
    assert np.allclose(spans[1:, 0], spans[:-1, 1])


@pytest.mark.parametrize(
    "edges", [[0, 10, 20, 30, 40], [0, 50, 90, 100, 105, 108, 110, 112, 115, 150, 500], [0, 1, 1000]]
)
def test_other_edges_are_drawn_on_a_linear_axis(edges: list[int]) -> None:
    spans, is_logarithmic = spans_of(edges=edges)
    assert not is_logarithmic
    assert np.allclose(spans[:, 1], np.array(edges[1:]) / edges[-1])
