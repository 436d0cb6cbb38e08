"""Weekdays and hours of rows that a bundle gives: the service's sampler, conditions, questions, and the script alone."""

import csv
import itertools
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.estimates import Estimates
from core.artifacts.bundle import Bundle
from core.artifacts.counts import CountTable, ReleasedCounts
from core.artifacts.errors import ConditionTooRare
from core.artifacts.packing import pack
from core.artifacts.reports.release_page import ReleaseFigures, released_figures, render_release
from core.artifacts.sampling.sampler import Sampler
from core.artifacts.sampling.sampler_script import render_script
from core.plan.domain.codec import draw_values, encode
from core.plan.domain.table import TableDomain
from tests.core.artifacts import stand_in
from tests.core.artifacts.script_draws import drawn_both_ways
from tests.core.artifacts.test_sampler_script import unzipped

DOMAIN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "ward",
    "privacy_unit": None,
    "columns": [
        {
            "name": "admitted", "kind": "date", "lower": "2018-03-05", "upper": "2022-11-20", "null": "category",
            "patterns": ["weekday", "month"],
        },
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"]},
        {
            "name": "seen", "kind": "datetime", "lower": "2021-05-01T00:00:00", "upper": "2021-05-31T23:59:59",
            "resolution": "minute", "bins": 3, "patterns": ["hour", "weekday"],
        },
    ],
}  # fmt: skip
RULES: list[dict[str, Any]] = [
    {"kind": "impossible", "columns": ["admitted", "ward"], "combinations": [[None, "B"]]}
]


def bundle(**keys: object) -> Bundle:
    return stand_in.even_bundle(DOMAIN | keys)


@pytest.mark.parametrize("rules", [[], RULES])
def test_rows_hold_the_declared_columns_and_every_weekday_alike(rules: list[dict[str, Any]]):
    batches = list(Sampler(bundle(rules=rules)).batches(12_000))
    assert all(batch.schema.names == ["admitted", "ward", "seen"] for batch in batches)
    rows = [row for batch in batches for row in batch.to_pylist()]
    weekdays = np.bincount([row["seen"].weekday() for row in rows], minlength=7)
    hours = np.bincount([row["seen"].hour for row in rows], minlength=24)
    # Six deviations: chances below 1e-8 each.
    assert np.abs(weekdays - 12_000 / 7).max() < 6 * (12_000 / 7 * 6 / 7) ** 0.5
    assert np.abs(hours - 12_000 / 24).max() < 6 * (12_000 / 24 * 23 / 24) ** 0.5


def test_codes_are_those_of_the_rows():
    """What reports measure is what is drawn: a month that a bin does not have is not among them."""
    domain = TableDomain.from_json(DOMAIN)
    sampler = Sampler(bundle())
    codes = sampler.codes(3000, np.random.default_rng(1))
    assert codes.shape == (3000, 7)
    assert np.array_equal(codes, sampler.codes(3000, np.random.default_rng(1)))
    values = draw_values(domain, codes, np.random.default_rng(2))
    drawn = encode(domain, next(Sampler(bundle()).batches(10)))
    assert drawn.shape == (10, 7)
    missing = codes[:, 0] == domain.modelled[0].null_code
    assert missing.any()
    assert (codes[missing, 3] == 7).all()
    assert (codes[~missing, 3] < 7).all()
    assert np.array_equal(np.isnan(values[0]), missing)


@pytest.mark.parametrize("rules", [[], RULES])
def test_a_condition_may_fix_a_weekday(rules: list[dict[str, Any]]):
    sampler = Sampler(bundle(rules=rules))
    rows = [
        row for batch in sampler.batches_where(500, {"seen.weekday": "Sunday"}) for row in batch.to_pylist()
    ]
    assert len(rows) == 500
    assert {row["seen"].weekday() for row in rows} == {6}
    where = {"seen.weekday": "Monday", "seen.hour": "03", "ward": "A"}
    rows = [row for batch in sampler.batches_where(50, where) for row in batch.to_pylist()]
    assert {(row["seen"].weekday(), row["seen"].hour, row["ward"]) for row in rows} == {(0, 3, "A")}
    (row,) = (row for batch in sampler.batches_where(1, {"seen.hour": 7}) for row in batch.to_pylist())
    assert row["seen"].hour == 7
    # Bins of May have no admission of a month that lies outside of them.
    with pytest.raises(ConditionTooRare):
        next(sampler.batches_where(5, {"admitted": "2018-03-07", "admitted.month": "December"}))


@pytest.mark.parametrize("rules", [[], RULES])
def test_the_script_draws_the_same_times_from_the_same_codes(rules: list[dict[str, Any]]):
    script, service = drawn_both_ways(bundle(rules=rules).manifest, DOMAIN | {"rules": rules}, rows=5000)
    assert np.array_equal(script, service, equal_nan=True)


def test_the_script_runs_without_this_package(tmp_path: Path):
    script = unzipped(pack(bundle(), readme="how to"), tmp_path)
    run = [sys.executable, "-I", str(script), "9000", str(tmp_path / "rows.csv")]
    subprocess.run(run, check=True, cwd=tmp_path, timeout=600)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["admitted", "ward", "seen"]
    assert {date.fromisoformat(row["admitted"]).weekday() for row in rows if row["admitted"]} == set(range(7))
    hours = np.bincount([datetime.fromisoformat(row["seen"]).hour for row in rows], minlength=24)
    assert np.abs(hours - 9000 / 24).max() < 6 * (9000 / 24 * 23 / 24) ** 0.5


def test_the_script_of_a_domain_without_patterns_knows_none():
    script = render_script(stand_in.bundle().manifest, stand_in.DOMAIN)
    assert "pattern" not in script.lower().replace("pattern of", "")


def counts_of(domain: TableDomain) -> ReleasedCounts:
    """Counts of every column, pattern and pair, all alike."""
    cells = domain.cardinalities
    places = [(one,) for one in range(len(cells))] + list(itertools.combinations(range(len(cells)), 2))
    tables = tuple(
        CountTable(
            columns=columns,
            noise_std=2.0,
            cells=np.full([cells[one] for one in columns], 9, dtype=np.int32),
        )
        for columns in places
    )
    groups = tuple(np.arange(codes) for codes in cells)
    return ReleasedCounts(cardinalities=cells, step=1.0, tables=tables, groups=groups)


def test_the_page_of_a_release_shows_the_counts_of_patterns():
    domain = TableDomain.from_json(DOMAIN)
    content = pack(replace(bundle(), counts=counts_of(domain).to_bytes()), readme="how to")
    figures = released_figures(content)
    assert [one.column.name for one in figures["columns"]] == [column.name for column in domain.coded]
    assert all(one.counted is not None and one.standard_error for one in figures["columns"])
    page = render_release(
        ReleaseFigures(
            id="a", facts=(), warning=None, sentences=(), not_covered=(), expected_error=None, **figures
        )
    )
    assert "seen.hour" in page
    assert "not counted" not in page


def test_counts_with_patterns_state_their_precision_and_predict_the_target():
    domain = TableDomain.from_json(DOMAIN)
    opened = OpenedCounts(domain, Estimates(counts_of(domain)))
    assert [(one.name, one.values) for one in opened.precision] == [
        (column.name, column.cardinality) for column in domain.coded
    ]
    assert {one.name for one in opened.precision} > {"admitted.weekday", "seen.hour"}
    assert all(one.standard_error for one in opened.precision)
    assert opened.predictor.target == 1
