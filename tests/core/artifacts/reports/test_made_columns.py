"""Columns that are coded as differences stand in an owner report by their values too, as rows have them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from core.artifacts.reports.columns import MISSING, coded_rows, columns_of, made_columns_of
from core.artifacts.reports.owner_contents import OwnerReportContents, measure
from core.artifacts.reports.owner_findings import summarise
from core.artifacts.reports.owner_page import Subject, most_bytes, render
from core.plan.domain.codec import batch_of, encode
from core.plan.domain.table import TableDomain

ROWS = 4000
FIRST_DAY = 19_358
Document = dict[str, Any]


def domain_of(columns: list[Document]) -> TableDomain:
    return TableDomain.from_json(
        {"schema": "understudy.domain/1", "privacy_unit": None, "target": "urgent", "columns": columns}
    )


def amounts(difference: Document) -> TableDomain:
    net: Document = {
        "name": "net",
        "kind": "numeric",
        "type": "real",
        "decimals": 2,
        "lower": -1000,
        "upper": 2000,
    }
    return domain_of([
        net | {"edges": [-1000, -100, -10, 0, 10, 100, 500, 2000]},
        net | {"name": "gross", "difference": {"from": "net", "lower": -1000, "upper": 1000} | difference},
        {"name": "urgent", "kind": "boolean"},
    ])  # fmt: skip


def compared(domain: TableDomain, values: list[npt.NDArray[np.float64]]) -> OwnerReportContents:
    """A report on rows and a release that has their codes, in another order."""
    batch = batch_of(domain, values)
    real, units, made = coded_rows([batch.slice(0, 10), batch.slice(10)], domain)

    def draw(rows: int, rng: np.random.Generator) -> Any:
        return real[rng.integers(0, len(real), rows)]

    return measure(real, units, draw, columns_of(domain), target="urgent", made=made)


def net_and_gross() -> list[npt.NDArray[np.float64]]:
    rng = np.random.default_rng(1)
    net = np.round(
        np.clip(rng.lognormal(3, 1, ROWS) * rng.choice([-1, 1], ROWS, p=[0.1, 0.9]), -500, 1000), 2
    )
    return [net, np.round(net * rng.normal(1, 0.1, ROWS), 2), rng.integers(0, 2, ROWS).astype(np.float64)]


def test_bins_of_a_distance_that_spoil_the_column_are_seen_in_the_column_and_not_in_the_distance() -> None:
    domain = amounts({"bins": 5})
    contents = compared(domain, net_and_gross())
    (made,) = contents.made
    assert made.column.name == "gross"
    assert made.variation > 0.3 > 10 * contents.columns[1].variation
    html = render(Subject(title="rows", facts=()), contents)
    assert "<figcaption>gross</figcaption>" in html
    assert "<figcaption>gross.difference</figcaption>" in html
    summary = summarise(contents)
    assert "farthest “gross”" in summary.sentences[1]
    assert "“gross”" in summary.look_at[0]
    assert len(html.encode()) <= most_bytes((*columns_of(domain), *made_columns_of(domain)))


def test_bins_that_hold_the_distance_hold_the_column() -> None:
    contents = compared(
        amounts({"edges": [-1000, -100, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 1000]}), net_and_gross()
    )
    (made,) = contents.made
    assert made.variation < 2 * made.by_chance


def test_a_column_has_the_bins_of_the_first_one_of_its_chain_and_its_missing_values() -> None:
    day: Document = {"kind": "date", "lower": "2023-01-01", "upper": "2024-12-31", "null": "category"}
    domain = domain_of([
        day | {"name": "paid", "lower": "2022-12-31", "difference": {"from": "discharged", "upper": 5}},
        day | {"name": "admitted", "edges": ["2023-01-01", "2023-02-01", "2024-12-31"]},
        day | {"name": "discharged", "difference": {"from": "admitted", "upper": 9}},
        {"name": "urgent", "kind": "boolean"},
    ])  # fmt: skip
    paid, discharged = made_columns_of(domain)
    assert (paid.name, discharged.name) == ("paid", "discharged")
    assert paid.words == discharged.words == ("2023-01-01", "2023-02-01", MISSING)
    rng = np.random.default_rng(2)
    admitted = FIRST_DAY + rng.integers(0, 600, ROWS).astype(np.float64)
    admitted[::10] = np.nan
    contents = compared(domain, [admitted + 3, admitted, admitted + 2, np.zeros(ROWS)])
    for made in contents.made:
        assert made.real[-1] == pytest.approx(0.1)
        assert made.variation < 0.03


def test_a_date_that_starts_from_a_time_has_days() -> None:
    domain = domain_of([
        {"name": "seen", "kind": "datetime", "lower": "2023-01-01T00:00:00", "upper": "2023-12-31T23:59:59", "resolution": "second"},
        {"name": "sent", "kind": "date", "lower": "2023-01-01", "upper": "2024-01-31", "difference": {"from": "seen", "upper": 9}},
        {"name": "urgent", "kind": "boolean"},
    ])  # fmt: skip
    (sent,) = made_columns_of(domain)
    assert (sent.kind, sent.words[0]) == ("date", "2023-01-01")


def test_other_figures_are_those_without_it() -> None:
    domain = amounts({"bins": 5})
    batch = batch_of(domain, net_and_gross())
    assert isinstance(batch, pa.RecordBatch)
    real = encode(domain, batch)

    def draw(rows: int, rng: np.random.Generator) -> Any:
        return real[rng.integers(0, len(real), rows)]

    _, units, made = coded_rows([batch], domain)
    without, with_it = (
        measure(real, units, draw, columns_of(domain), target="urgent", made=one) for one in (None, made)
    )
    assert without.made == ()
    assert [one.variation for one in without.columns] == [one.variation for one in with_it.columns]
    assert np.array_equal(without.pair_errors, with_it.pair_errors)
    assert without.attacks == with_it.attacks
    assert without.learning == with_it.learning
