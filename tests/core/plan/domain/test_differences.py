"""Columns that are coded by their distance from another one: declared, coded from a record, and drawn."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.codec import codes_of, decode, draw_values, encode, encode_place
from core.plan.domain.errors import DomainInvalid, DomainMismatch
from core.plan.domain.forbidden import forbidden_by_rule, forbidden_pairs
from core.plan.domain.schema import sample_schema
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import table

ADMITTED: dict[str, Any] = {"name": "admitted", "kind": "date", "lower": "2023-01-01", "upper": "2024-12-31"}
DISCHARGED: dict[str, Any] = {
    "name": "discharged", "kind": "date", "lower": "2023-01-01", "upper": "2024-12-31", "null": "category",
    "difference": {"from": "admitted", "upper": 60},
}  # fmt: skip
LEFT: dict[str, Any] = {
    "name": "left", "kind": "date", "lower": "2023-01-01", "upper": "2025-01-31", "null": "category",
    "difference": {"from": "discharged", "lower": -2, "upper": 4},
}  # fmt: skip
BEGUN: dict[str, Any] = {
    "name": "begun", "kind": "datetime", "lower": "2023-01-01T00:00:00", "upper": "2023-12-31T23:59:59", "resolution": "minute",
}  # fmt: skip
ENDED: dict[str, Any] = BEGUN | {"name": "ended", "difference": {"from": "begun", "upper": 480}}
SHIPPED: dict[str, Any] = {
    "name": "shipped", "kind": "date", "lower": "2023-01-01", "upper": "2024-01-31", "null": "category",
    "difference": {"from": "begun", "lower": -1, "upper": 30},
}  # fmt: skip
NET: dict[str, Any] = {
    "name": "net", "kind": "numeric", "type": "real", "lower": 0, "upper": 1000, "decimals": 2, "spacing": "log",
}  # fmt: skip
GROSS: dict[str, Any] = {
    "name": "gross", "kind": "numeric", "type": "real", "lower": 0, "upper": 1300, "decimals": 2,
    "difference": {"from": "net", "upper": 200, "spacing": "log", "specials": [0]},
}  # fmt: skip
ALL = (LEFT, ADMITTED, DISCHARGED, SHIPPED, BEGUN, ENDED, NET, GROSS)


def refusal(*columns: dict[str, Any], **keys: Any) -> tuple[str, str]:
    with pytest.raises(DomainInvalid) as refused:
        table(*columns, **keys)
    return refused.value.problem, refused.value.pointer


def test_a_distance_is_coded_in_the_place_of_the_column():
    domain = table(ADMITTED, DISCHARGED)
    assert [column.name for column in domain.modelled] == ["admitted", "discharged"]
    assert [column.name for column in domain.coded] == ["admitted", "discharged.difference"]
    first = date(2023, 3, 1)
    ends = [
        first,
        first + timedelta(days=1),
        first + timedelta(days=60),
        None,
        first + timedelta(days=99),
        date(2023, 2, 1),
    ]
    batch = pa.record_batch([pa.array([first] * 6), pa.array(ends)], schema=sample_schema(domain))
    bins = domain.coded[1].bins  # type: ignore[union-attr]
    codes = encode(domain, batch)
    # Longer stays count as the longest, and a discharge before the admission as one of the same day.
    assert codes[:, 1].tolist() == [0, 1, bins.count - 1, bins.count, bins.count - 1, 0]
    assert np.array_equal(encode_place(domain, 1, batch), codes[:, 1])
    with pytest.raises(DomainMismatch):
        encode_place(domain, 1, batch.select(["discharged"]))


def test_a_column_without_the_key_keeps_its_document_and_digest():
    plain = table(ADMITTED, {key: value for key, value in DISCHARGED.items() if key != "difference"})
    assert all("difference" not in column for column in plain.to_json()["columns"])  # type: ignore[attr-defined]
    assert plain.differences == ()
    assert table(ADMITTED, DISCHARGED | {"difference": None}) == plain


def test_the_document_is_read_back():
    domain = table(*ALL)
    again = TableDomain.from_json(domain.to_json())
    assert again == domain
    assert again.digest() == domain.digest()
    edges = table(ADMITTED, DISCHARGED | {"difference": {"from": "admitted", "edges": [0, 1, 7, 90]}})
    assert TableDomain.from_json(edges.to_json()) == edges
    assert edges.cardinalities[1] == 4


@pytest.mark.parametrize("rules", [[], [{"kind": "at_most", "columns": ["admitted", "left"]}]])
def test_rows_lie_in_their_bounds_and_as_far_apart_as_drawn(rules: list[dict[str, Any]]):
    domain = table(*ALL, rules=rules)
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, 4000) for size in domain.cardinalities], axis=1)
    rows = decode(domain, codes, rng)
    rows.validate(full=True)
    first, last = (rows.column(name).to_pylist() for name in ("admitted", "discharged"))
    stays = [(end - start).days for start, end in zip(first, last, strict=True) if end is not None]
    assert min(stays) == 0
    assert 55 <= max(stays) <= 60
    assert all(end <= date(2024, 12, 31) for end in last if end is not None)
    begun, ended = (rows.column(name).to_pylist() for name in ("begun", "ended"))
    assert all(
        timedelta(0) <= end - start <= timedelta(minutes=480) for start, end in zip(begun, ended, strict=True)
    )
    assert all(end.second == 0 for end in ended)
    net, gross = (np.array(rows.column(name).to_pylist()) for name in ("net", "gross"))
    assert (gross >= net).all()
    assert np.array_equal(np.round(gross, 2), gross)
    # `left` stands first in the file and is made last: it is missing where `discharged` is.
    assert all(
        one is None for one, other in zip(rows.column("left").to_pylist(), last, strict=True) if other is None
    )


@given(st.integers(0, 2**32 - 1))
def test_codes_of_drawn_rows_are_those_they_were_drawn_from(seed: int):
    """Where no bound cuts a value off: the admission leaves room for the stay."""
    columns = (
        ADMITTED | {"upper": "2024-10-01"},
        DISCHARGED,
        BEGUN | {"upper": "2023-12-01T00:00:00"},
        ENDED,
        NET,
        GROSS,
    )
    domain = table(*columns)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 50) for size in domain.cardinalities], axis=1)
    values = draw_values(domain, codes, rng)
    assert np.array_equal(codes_of(domain, values), codes)
    assert np.array_equal(encode(domain, decode(domain, codes, np.random.default_rng(seed))), codes)


def test_missing_values_are_replaced_before_the_distance_is_taken():
    domain = table(ADMITTED | {"null": {"use": "2023-06-01"}}, DISCHARGED | {"null": {"use": "2023-06-11"}})
    batch = pa.record_batch(
        [pa.array([None, date(2023, 6, 1), None]), pa.array([date(2023, 6, 5), None, None])],
        schema=sample_schema(domain),
    )
    bins = domain.coded[1].bins  # type: ignore[union-attr]
    assert encode(domain, batch)[:, 1].tolist() == bins.encode(np.array([4.0, 10.0, 10.0])).tolist()


def test_a_time_is_cut_off_to_the_unit_of_the_distance():
    domain = table(BEGUN, ENDED)
    start = datetime(2023, 5, 1, 10, 0, 50, tzinfo=UTC).replace(tzinfo=None)
    batch = pa.record_batch(
        [
            pa.array([start] * 2, pa.timestamp("s")),
            pa.array([start + timedelta(seconds=20), start + timedelta(minutes=479)], pa.timestamp("s")),
        ],
        schema=sample_schema(domain),
    )
    assert encode(domain, batch)[:, 1].tolist() == [0, 31]


def test_a_date_starts_from_the_day_of_a_time():
    domain = table(BEGUN, SHIPPED)
    midnight = datetime(2023, 5, 1, tzinfo=UTC).replace(tzinfo=None)
    begun = [midnight + timedelta(minutes=minutes) for minutes in (1439, 0, 2 * 1440 - 1, 60)]
    shipped = [date(2023, 5, 1), date(2023, 5, 2), date(2023, 5, 1), None]
    batch = pa.record_batch(
        [pa.array(begun, pa.timestamp("s")), pa.array(shipped, pa.date32())], schema=sample_schema(domain)
    )
    coded = domain.coded[1]
    days = coded.bins.encode(np.array([0.0, 1.0, -1.0])).tolist()  # type: ignore[union-attr]
    assert encode(domain, batch)[:, 1].tolist() == [*days, coded.null_code]


def test_rules_of_the_column_forbid_no_codes_of_the_distance():
    rules = [
        {"kind": "at_most", "columns": ["admitted", "discharged"]},
        {"kind": "at_most", "columns": ["discharged", "left"]},
    ]
    domain = table(
        ADMITTED,
        DISCHARGED,
        LEFT | {"difference": {"from": "discharged", "lower": 0, "upper": 4}},
        rules=rules,
    )
    assert forbidden_pairs(domain) == {}
    assert list(forbidden_by_rule(domain)) == [{}, {}]


def test_a_rule_that_moves_the_first_column_leaves_the_order():
    referred = {"name": "referred", "kind": "date", "lower": "2023-01-01", "upper": "2024-12-31"}
    domain = table(
        referred, ADMITTED, DISCHARGED, rules=[{"kind": "at_most", "columns": ["referred", "admitted"]}]
    )
    assert len(list(forbidden_by_rule(domain))) == 1
    assert domain.kept is not None
    rng = np.random.default_rng(5)

    def drawn(count: int) -> list[np.ndarray]:
        codes = np.stack([rng.integers(0, size, count) for size in domain.cardinalities], axis=1)
        return draw_values(domain, codes, rng)

    values = drawn(3000)
    domain.kept.keeper.keep(values, lambda at: drawn(len(at)), rng)
    assert (values[0] <= values[1]).all()
    known = ~np.isnan(values[2])
    assert (values[1][known] <= values[2][known]).all()
    # Where rows exchange admissions, discharges go with them: stays are as long as they were drawn.
    assert np.quantile(values[2][known] - values[1][known], 0.99) <= 60


@pytest.mark.parametrize(
    ("columns", "keys", "expected"),
    [
        ((ADMITTED, DISCHARGED | {"bins": 4}), {}, ("bins-beside-difference", "/columns/1/difference")),
        ((ADMITTED, DISCHARGED | {"patterns": ["weekday"]}), {}, ("bins-beside-difference", "/columns/1/difference")),
        ((NET, GROSS | {"spacing": "log"}), {}, ("bins-beside-difference", "/columns/1/difference")),
        ((ADMITTED, DISCHARGED | {"difference": {"from": "admited", "upper": 3}}), {}, ("unknown-column", "/columns/1/difference/from")),
        ((ADMITTED, DISCHARGED | {"difference": {"from": "admitted"}}), {}, ("missing-key", "/columns/1/difference")),
        ((ADMITTED, DISCHARGED | {"difference": {"from": "admitted", "upper": 3, "decimals": 1}}), {}, ("unknown-key", "/columns/1/difference/decimals")),
        ((ADMITTED, DISCHARGED | {"difference": {"from": "admitted", "upper": -1}}), {}, ("bounds-reversed", "/columns/1/difference/lower")),
        ((ADMITTED, DISCHARGED | {"difference": {"from": "admitted", "upper": 3, "bins": "learn"}}), {}, ("learn-beside-difference", "/columns/1/difference/bins")),
        ((ADMITTED | {"resolution": "week"}, DISCHARGED | {"resolution": "week"}), {}, ("not-comparable", "/columns/1/resolution")),
        ((ADMITTED | {"bounds": "learn"}, DISCHARGED), {}, ("learn-beside-difference", "/columns/1/difference/from")),
        ((ADMITTED, ENDED | {"difference": {"from": "admitted", "upper": 3}}), {}, ("not-comparable", "/columns/1/difference/from")),
        ((BEGUN | {"lower": "2023-01-01T00:00:30"}, ENDED), {}, ("not-comparable", "/columns/1/difference/from")),
        ((BEGUN, SHIPPED | {"resolution": "week"}), {}, ("not-comparable", "/columns/1/resolution")),
        ((BEGUN, SHIPPED | {"upper": "2023-12-30"}), {}, ("bounds-reversed", "/columns/1/difference")),
        ((NET | {"decimals": 1}, GROSS), {}, ("not-comparable", "/columns/1/difference/from")),
        ((NET | {"specials": [0]}, GROSS), {}, ("not-comparable", "/columns/1/difference/from")),
        ((ADMITTED | {"upper": "2025-12-31"}, DISCHARGED), {}, ("bounds-reversed", "/columns/1/difference")),
        ((ADMITTED | {"null": "category"}, DISCHARGED | {"null": "refuse"}), {}, ("null-has-no-place", "/columns/1/null")),
        ((ADMITTED, DISCHARGED), {"target": "discharged"}, ("difference-of-target", "/columns/1/difference")),
        ((DISCHARGED | {"difference": {"from": "discharged", "upper": 3}},), {}, ("difference-of-itself", "/columns/0/difference/from")),
        ((ADMITTED, DISCHARGED, {"name": "discharged.difference", "kind": "boolean"}), {}, ("duplicate-name", "/columns/1/difference")),
        (({"name": "sex", "kind": "boolean", "difference": {"from": "sex", "upper": 3}},), {}, ("unknown-key", "/columns/0/difference")),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(
    columns: tuple[dict[str, Any], ...], keys: dict[str, Any], expected: tuple[str, str]
):
    assert refusal(*columns, **keys) == expected
