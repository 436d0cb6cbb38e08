"""Stays of rows that a bundle gives: the service's sampler, conditions, the two scripts, and reports."""

import csv
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.predictor import UNKNOWN
from core.artifacts.bundle import Bundle
from core.artifacts.counts import CountTable, ReleasedCounts
from core.artifacts.errors import InvalidCondition
from core.artifacts.packing import pack
from core.artifacts.private_models.script import render_predictor
from core.artifacts.reports.columns import columns_of, default_target, target_of
from core.artifacts.sampling.sampler import Sampler
from core.artifacts.sampling.sampler_script import render_script
from core.plan.domain.codec import encode
from core.plan.domain.table import TableDomain
from tests.core.artifacts import stand_in
from tests.core.artifacts.script_draws import drawn_both_ways
from tests.core.artifacts.test_sampler_script import loaded, unzipped
from understudy.local.rows.frames import clean_frame
from understudy.local.sampling.predicting import features_of

DOMAIN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "ward",
    "privacy_unit": None,
    "columns": [
        {
            "name": "discharged", "kind": "date", "lower": "2018-03-05", "upper": "2022-11-20", "null": "category",
            "difference": {"from": "admitted", "lower": 0, "upper": 60}, "format": "%d.%m.%Y",
        },
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"]},
        {
            "name": "admitted", "kind": "date", "lower": "2018-03-05", "upper": "2022-11-20", "null": {"use": "2020-01-01"},
            "patterns": ["weekday"],
        },
        {"name": "net", "kind": "numeric", "type": "real", "lower": 0, "upper": 99, "decimals": 2},
        {
            "name": "gross", "kind": "numeric", "type": "real", "lower": 0, "upper": 120, "decimals": 2,
            "difference": {"from": "net", "lower": 0, "upper": 20, "edges": [0, 5, 20]},
        },
    ],
}  # fmt: skip
RULES: list[dict[str, Any]] = [
    {"kind": "impossible", "columns": ["discharged", "ward"], "combinations": [[None, "B"]]}
]
NAMES = ["discharged", "ward", "admitted", "net", "gross"]


def codes_by(script: ModuleType, rows: list[dict[str, str]]) -> np.ndarray[Any, Any]:
    """The codes that a model's script makes of rows."""
    reader = script.RowReader(script.LAYOUT, script.FEATURES, script.CODED)
    codes, without, _ = reader.codes([[row[column["name"]] for column in script.FEATURES] for row in rows])
    assert not without.any()
    return codes  # type: ignore[no-any-return]


def bundle(**keys: object) -> Bundle:
    return stand_in.even_bundle(DOMAIN | keys)


@pytest.mark.parametrize("rules", [[], RULES])
def test_rows_hold_the_declared_columns_and_nobody_is_discharged_before_admission(
    rules: list[dict[str, Any]],
):
    sampler = Sampler(bundle(rules=rules))
    rows = [row for batch in sampler.batches(6000) for row in batch.to_pylist()]
    assert list(rows[0]) == NAMES
    stays = [(row["discharged"] - row["admitted"]).days for row in rows if row["discharged"] is not None]
    assert 0 <= min(stays) <= max(stays) <= 60
    # Even over 32 bins of two days, but for the first and the last of them.
    assert 25 < np.median(stays) < 35
    assert any(row["discharged"] is None for row in rows)
    assert all(row["net"] <= row["gross"] for row in rows)


@pytest.mark.parametrize("rules", [[], RULES])
def test_a_condition_fixes_the_distance(rules: list[dict[str, Any]]):
    sampler = Sampler(bundle(rules=rules))
    rows = [row for batch in sampler.batches_where(200, {"gross.difference": 7}) for row in batch.to_pylist()]
    assert len(rows) == 200
    assert all(5 <= round(row["gross"] - row["net"], 2) <= 20 for row in rows)


@pytest.mark.parametrize("rules", [[], RULES])
@pytest.mark.parametrize(
    ("where", "meets"),
    [
        ({"discharged": "2020-03-07"}, lambda row: row["discharged"] == date(2020, 3, 7)),
        ({"discharged": None}, lambda row: row["discharged"] is None),
        (
            {"discharged": {"from": "2020-03", "below": "2020-06-03"}},
            lambda row: date(2020, 3, 1) <= row["discharged"] < date(2020, 6, 3),
        ),
        (
            {"discharged.difference": {"from": 7, "to": 9}, "ward": "A"},
            lambda row: 7 <= (row["discharged"] - row["admitted"]).days <= 9,
        ),
        (
            {"discharged.difference": [7, 30]},
            lambda row: (row["discharged"] - row["admitted"]).days in {7, 30},
        ),
        (
            {"gross.difference": {"above": 7}, "net": {"to": 50.5}},
            lambda row: row["gross"] - row["net"] > 7 and row["net"] <= 50.5,
        ),
        ({"admitted.weekday": ["Saturday", "Sunday"]}, lambda row: row["admitted"].weekday() > 4),
    ],
    ids=["day", "missing", "months", "distance", "distances", "numbers", "weekdays"],
)
def test_conditions_name_columns_that_are_drawn_by_a_distance(
    rules: list[dict[str, Any]], where: dict[str, Any], meets: Callable[[dict[str, Any]], bool]
):
    rows = [
        row for batch in Sampler(bundle(rules=rules)).batches_where(60, where) for row in batch.to_pylist()
    ]
    assert len(rows) == 60
    assert all(map(meets, rows))


def test_of_many_days_a_day_of_a_distance_that_cannot_be_is_refused():
    with pytest.raises(InvalidCondition, match=r"'discharged\.difference' is beyond its bounds"):
        Sampler(bundle()).batches_where(5, {"discharged.difference": {"from": 61}})


@pytest.mark.parametrize("rules", [[], RULES])
def test_the_script_draws_the_same_rows_from_the_same_codes(rules: list[dict[str, Any]]):
    script, service = drawn_both_ways(bundle(rules=rules).manifest, DOMAIN | {"rules": rules}, rows=5000)
    assert np.array_equal(script, service, equal_nan=True)


@pytest.mark.parametrize("rules", [[], RULES])
def test_the_script_runs_without_this_package(tmp_path: Path, rules: list[dict[str, Any]]):
    script = unzipped(pack(bundle(rules=rules), readme="how to"), tmp_path)
    run = [sys.executable, "-I", str(script), "3000", str(tmp_path / "rows.csv")]
    subprocess.run(run, check=True, cwd=tmp_path, timeout=600)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == NAMES
    stays = [
        (date(*map(int, row["discharged"].split(".")[::-1])) - date.fromisoformat(row["admitted"])).days
        for row in rows
        if row["discharged"]
    ]
    assert 0 <= min(stays) <= max(stays) <= 60
    assert len(stays) < len(rows)
    assert all(float(row["net"]) <= float(row["gross"]) for row in rows)


def test_the_script_of_a_domain_without_differences_knows_none():
    assert "add_starts" not in render_script(stand_in.bundle().manifest, stand_in.DOMAIN)


def test_the_script_of_a_model_codes_rows_as_the_service_does():
    domain = TableDomain.from_json(DOMAIN)
    rng = np.random.default_rng(7)
    admitted = [date(2020, 1, 1 + int(day)) for day in rng.integers(0, 28, 200)]
    stays = rng.integers(-5, 90, 200).tolist()
    ends = [date.fromordinal(day.toordinal() + stay) for day, stay in zip(admitted, stays, strict=True)]
    net = np.round(rng.uniform(0, 99, 200), 2)
    written = {
        "discharged": ["" if place % 9 == 0 else end.strftime("%d.%m.%Y") for place, end in enumerate(ends)],
        "ward": ["A"] * 200,
        "admitted": ["" if place % 7 == 0 else day.isoformat() for place, day in enumerate(admitted)],
        "net": [f"{value:.2f}" for value in net],
        "gross": [f"{value:.2f}" for value in np.round(net + rng.uniform(0, 30, 200), 2)],
    }
    module = loaded(render_predictor(DOMAIN))
    rows = [dict(zip(written, row, strict=True)) for row in zip(*written.values(), strict=True)]
    expected = encode(domain, clean_frame(pa.table(written), domain).batch)
    read = [place for place in range(len(domain.coded)) if place != domain.target_index]
    assert np.array_equal(codes_by(module, rows), expected[:, read])


def test_both_scripts_count_the_days_from_the_day_of_a_time():
    ordered: dict[str, Any] = {
        "name": "ordered", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:59",
        "resolution": "minute", "patterns": ["weekday"],
    }  # fmt: skip
    shipped: dict[str, Any] = {
        "name": "shipped", "kind": "date", "lower": "2020-01-01", "upper": "2021-01-31", "null": "category",
        "difference": {"from": "ordered", "upper": 20, "bins": 21},
    }  # fmt: skip
    document = DOMAIN | {"columns": [DOMAIN["columns"][1], ordered, shipped]}
    script, service = drawn_both_ways(stand_in.even_bundle(document).manifest, document, rows=2000)
    assert np.array_equal(script, service, equal_nan=True)
    domain = TableDomain.from_json(document)
    written = {
        "ward": ["A"] * 6,
        "ordered": ["2020-05-01T23:59:00"] * 3 + ["2020-05-01T00:00:00"] * 3,
        "shipped": ["2020-05-01", "2020-05-02", "", "2020-05-01", "2020-05-22", "2020-04-01"],
    }
    rows = [dict(zip(written, row, strict=True)) for row in zip(*written.values(), strict=True)]
    expected = encode(domain, clean_frame(pa.table(written), domain).batch)
    assert expected[:, 2].tolist() == [0, 1, 21, 0, 20, 0]
    assert np.array_equal(codes_by(loaded(render_predictor(document)), rows), expected[:, 1:])


def test_reports_and_precisions_speak_of_the_distance():
    domain = TableDomain.from_json(DOMAIN)
    assert [column.name for column in columns_of(domain)] == [
        "discharged.difference", "ward", "admitted", "net", "gross.difference", "admitted.weekday",
    ]  # fmt: skip
    free = TableDomain.from_json(DOMAIN | {"target": None})
    assert default_target(free) == "gross.difference"
    assert target_of(free, None) == "gross.difference"
    cells = domain.cardinalities
    tables = tuple(
        CountTable(columns=(one,), noise_std=2.0, cells=np.full([cells[one]], 9, dtype=np.int32))
        for one in range(len(cells))
    )
    groups = tuple(np.arange(codes) for codes in cells)
    opened = OpenedCounts(
        domain, Estimates(ReleasedCounts(cardinalities=cells, step=1.0, tables=tables, groups=groups))
    )
    assert [(one.name, one.values) for one in opened.precision] == [
        (column.name, column.cardinality) for column in domain.coded
    ]


def test_without_its_start_a_distance_is_unknown_to_a_predictor() -> None:
    domain = TableDomain.from_json(DOMAIN)
    rows = {
        "discharged": ["05.03.2020"] * 2,
        "admitted": [date(2020, 3, 1)] * 2,
        "gross": ["7", "7"],
        "net": ["5", "five"],
    }
    codes = features_of(domain, pa.table(rows)).codes
    assert (codes == UNKNOWN).tolist() == [
        [False, True, False, False, False, False],
        [False, True, False, True, True, False],
    ], "nor is the target known"
