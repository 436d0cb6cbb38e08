"""Dummy mode: the real clients, fake rows of the declared domain, nothing read and nothing charged."""

import asyncio
import copy
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import understudy
from core.artifacts.errors import InvalidCondition
from core.artifacts.sampling.value_conditions import requested_conditions
from core.data.intake.clean_rows import clean_rows
from core.plan.domain.columns.calendar import (
    DATE_RESOLUTIONS,
    DATETIME_RESOLUTIONS,
    day_number,
    second_number,
)
from core.plan.domain.columns.kinds import TimeColumn
from core.plan.domain.schema import sample_schema
from core.plan.domain.table import TableDomain
from tests.core.artifacts.stand_in import DOMAIN
from understudy import (
    Client,
    Conflict,
    InputUnusable,
    InvalidInput,
    NotFound,
    NotInstalled,
    Refused,
    TooLarge,
)
from understudy.cli import main
from understudy.dummies import URL
from understudy.dummies.drawing import dummy_file
from understudy.dummies.values import fake_columns, fake_rows

EVERYTHING: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "plain",
    "privacy_unit": "person",
    "columns": [
        {"name": "person", "kind": "unit"},
        {"name": "remarks", "kind": "ignored"},
        {"name": "plain", "kind": "boolean"},
        {"name": "income", "kind": "numeric", "type": "real", "lower": -5.5, "upper": 90.25, "decimals": 2, "null": "category"},
        {"name": "stay", "kind": "numeric", "type": "integer", "lower": 1, "upper": 30, "specials": [-1, 999]},
        {"name": "rank", "kind": "ordinal", "levels": ["low", "high"], "null": "category"},
        {"name": "town", "kind": "categorical", "categories": ["A", "B"], "other": True},
        {"name": "at", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:59"},
        {"name": "on", "kind": "date", "edges": ["2020-01-01", "2020-02-01", "2020-03-01"]},
    ],
}  # fmt: skip
STAYS: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": None,
    "privacy_unit": None,
    "columns": [
        {"name": "paid", "kind": "date", "lower": "2020-01-01", "upper": "2021-03-31", "difference": {"from": "left", "upper": 20}},
        {"name": "sent", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:00", "resolution": "minute"},
        {"name": "came", "kind": "date", "lower": "2020-01-01", "upper": "2021-01-31", "difference": {"from": "sent", "lower": 0, "upper": 3, "bins": 4}},
        {"name": "left", "kind": "date", "lower": "2020-01-01", "upper": "2021-03-31", "null": "category", "difference": {"from": "came", "upper": 30}},
        {"name": "net", "kind": "numeric", "type": "real", "decimals": 2, "lower": 0, "upper": 100},
        {"name": "gross", "kind": "numeric", "type": "real", "decimals": 2, "lower": 0, "upper": 130, "difference": {"from": "net", "upper": 20, "specials": [0]}},
    ],
}  # fmt: skip
STAYS["columns"][0]["null"] = "category"
IMAGES = {
    "schema": "understudy.images/1", "height": 4, "width": 5, "channels": 3, "labels": ["cat", "dog"], "privacy_unit": None,
}  # fmt: skip


def released(domain: dict[str, Any]) -> understudy.Release:
    client = understudy.dummy(domain)
    (dataset,) = client.list_datasets()
    return client.order_job(dataset.id, epsilon=1.0, delta=1e-6).wait()


def test_code_that_is_written_for_a_service_runs_unchanged(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("secret\n")

    def publish(client: Client) -> Any:
        dataset = client.declare_dataset(name="wards", domain=DOMAIN, declared_size=1000)
        me = client.governance.who_am_i().principal_id
        client.governance.add_member(dataset.id, me)
        client.set_budget(dataset.id, epsilon=2.0, delta=1e-5)
        report = client.upload_rows(dataset.id, rows, seen=lambda _count: pytest.fail("the rows were read"))
        assert report.rows_accepted == 0
        request = client.governance.file_request(dataset.id, epsilon=1.0, delta=2e-6, purpose="to learn")
        grant = client.governance.approve_request(request.id).grant
        assert grant is not None
        assert client.ask_quote(dataset.id, epsilon=1.0, delta=1e-6, grant_id=grant.id).fits
        job = client.order_job(dataset.id, epsilon=1.0, delta=1e-6, grant_id=grant.id)
        states = [job.state, *(look.state for look in client.watch_job(job.id))]
        assert states == ["queued", "queued", "running", "succeeded"]
        release = client.wait_for_release(job.id)
        client.download_samples(release.id, tmp_path / "s.parquet", rows=7, file_format="parquet")
        assert client.read_ledger(dataset.id).spent == {"epsilon": "0", "delta": "0"}
        return release

    with understudy.dummy() as client:
        release = publish(client)
        assert list(release.sample(5).columns) == ["ward", "age", "sick", "seen"]
        assert parquet.read_table(tmp_path / "s.parquet").num_rows == 7
        certificate = release.certificate
        assert certificate["dummy"] is True
        assert "nothing was charged" in certificate["statement"]
        assert certificate["privacy_parameters"] == {"epsilon": 0.0, "delta": 0.0}
        bundle = zipfile.ZipFile(release.save(tmp_path / "b.zip"))
        assert "no generator" in bundle.read("README.md").decode()


def test_a_large_file_goes_in_parts_that_nobody_keeps(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("age\n1\n")
    client = understudy.dummy(DOMAIN, dataset_id="d")
    assert client.upload_rows("d", rows, resumable_from=1).document["dummy"] is True


def test_the_asynchronous_client_is_answered_alike(tmp_path: Path) -> None:
    async def publish() -> None:
        async with understudy.async_dummy(DOMAIN, dataset_id="the-real-id") as client:
            release = await (await client.order_job("the-real-id", epsilon=1.0)).wait()
            table = await release.sample(5, form="arrow", where={"sick": "yes"})
            assert table["sick"].to_pylist() == ["yes"] * 5
            await release.save(tmp_path / "b.zip")

    asyncio.run(publish())
    assert zipfile.is_zipfile(tmp_path / "b.zip")


@pytest.mark.parametrize("document", [DOMAIN, EVERYTHING, STAYS], ids=["small", "everything", "stays"])
def test_every_fake_value_is_one_that_the_declared_rules_accept_unchanged(document: dict[str, Any]) -> None:
    domain = TableDomain.from_json(document)
    table = released(document).sample(3000, form="arrow")
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    if domain.privacy_unit is not None:
        columns[domain.privacy_unit] = pa.array(["x"] * 3000)
    block = clean_rows(domain, columns, 3000, None)
    assert (block.rows_refused, dict(block.changes)) == (0, {})


def test_fakes_lie_as_far_apart_as_their_difference_declares() -> None:
    TableDomain.from_json(STAYS)
    rows = fake_rows(fake_columns(STAYS), [{}] * 3000)
    assert list(rows[0]) == ["paid", "sent", "came", "left", "net", "gross"]
    assert {(row["came"] - row["sent"].date()).days for row in rows} == {0, 1, 2, 3}
    stays = [(row["left"] - row["came"]).days for row in rows if row["left"] is not None]
    assert (min(stays), max(stays)) == (0, 30)
    assert 2400 < len(stays) < 2950, "some are missing"
    assert all(row["paid"] is None for row in rows if row["left"] is None)
    assert all((row["paid"] - row["left"]).days >= 0 for row in rows if row["paid"] is not None)
    assert all(-0.005 < row["gross"] - row["net"] < 20.005 for row in rows)


def test_a_fixed_end_of_a_difference_has_a_start_that_fits() -> None:
    rows = released(STAYS).sample(500, form="arrow", where={"came": "2020-06-15", "gross": 50.0}).to_pylist()
    assert {row["sent"].date().isoformat() for row in rows} == {f"2020-06-{day}" for day in (12, 13, 14, 15)}
    assert all(30 <= row["net"] <= 50 for row in rows)
    assert all((row["left"] - date(2020, 6, 15)).days >= 0 for row in rows if row["left"] is not None)


@pytest.mark.parametrize(
    ("kind", "bounds", "written"),
    [
        ("date", {"lower": "2020-01-01", "upper": "2020-12-31"}, "%d/%m/%Y"),
        ("datetime", {"lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:59"}, "%m/%d/%Y %I:%M %p"),
    ],
)
def test_fakes_of_csv_have_the_declared_format_of_dates(
    kind: str, bounds: dict[str, str], written: str
) -> None:
    column = {"name": "at", "kind": kind, "resolution": "day", "format": written, **bounds}
    content = dummy_file({"columns": [column]}, rows=50, file_format="csv", where={}).decode()
    moments = [datetime.strptime(line, written) for line in content.splitlines()[1:]]  # noqa: DTZ007 - no zone
    assert {moment.year for moment in moments} == {2020}
    lines = dummy_file({"columns": [column]}, rows=50, file_format="jsonl", where={}).decode().splitlines()
    assert all(datetime.fromisoformat(json.loads(line)["at"]).year == 2020 for line in lines)


def test_fakes_meet_lists_and_ranges_of_a_condition() -> None:
    where = {"came": {"from": "2020-03", "below": "2020-05"}, "gross": {"above": 20, "to": 60}}
    release = released(STAYS)
    rows = release.sample(100, form="arrow", where=where).to_pylist()
    assert len(rows) == 100
    assert all(date(2020, 3, 1) <= row["came"] < date(2020, 5, 1) and 20 < row["gross"] <= 60 for row in rows)
    drawn = released(DOMAIN).sample(50, form="arrow", where={"sick": ["yes"]})
    assert set(drawn.column("sick").to_pylist()) == {"yes"}
    with pytest.raises(Conflict, match="condition-too-rare"):
        release.sample(5, where={"gross": {"above": 10**9}})
    for wrong in ({"gross": {}}, {"gross": []}, {"gross": {"from": "a"}}, {"gross": {"least": 3}}):
        with pytest.raises(InvalidInput, match="invalid-condition"):
            release.sample(1, where=wrong)


def test_values_are_uniform_and_rare_ones_come_too() -> None:
    rows = fake_rows(fake_columns(EVERYTHING), [{}] * 20_000)
    # Six deviations of 20,000 draws: chances below 1e-8 each.
    for name, word, share in (
        ("plain", True, 1 / 2),
        ("town", "other", 1 / 3),
        ("rank", None, 0.1),
        ("stay", 30, 0.03),
    ):
        found = sum(row[name] == word for row in rows) / len(rows)
        assert abs(found - share) < 6 * (share * (1 - share) / len(rows)) ** 0.5, name
    assert {-1, 999} <= {row["stay"] for row in rows}


@pytest.mark.parametrize("name", ["csv", "jsonl", "arrow", "parquet"])
def test_every_format_holds_the_same_columns(name: str) -> None:
    client = understudy.dummy(EVERYTHING, dataset_id="d")
    release = client.order_job("d", epsilon=1.0).wait()
    content = b"".join(client.stream_samples(release.id, rows=50, file_format=name))
    read = {
        "csv": lambda: csv.read_csv(io.BytesIO(content)),
        "jsonl": lambda: pa.Table.from_pylist([json.loads(line) for line in content.decode().splitlines()]),
        "arrow": lambda: pa.ipc.open_stream(content).read_all(),
        "parquet": lambda: parquet.read_table(io.BytesIO(content)),
    }[name]()
    assert read.column_names == ["plain", "income", "stay", "rank", "town", "at", "on"]
    assert read.num_rows == 50


def test_images_are_noise_of_the_declared_shape() -> None:
    arrays = released(IMAGES).sample(6, form="numpy", where={"label": "dog"})
    assert arrays["images"].shape == (6, 4, 5, 3)
    assert arrays["images"].dtype == np.uint8
    assert arrays["label_names"].tolist() == ["cat", "dog"]
    assert arrays["labels"].tolist() == [1] * 6


def test_what_a_service_refuses_is_refused_with_its_codes() -> None:
    client = understudy.dummy(DOMAIN, dataset_id="d")
    release = client.order_job("d", epsilon=1.0).wait()
    with pytest.raises(NotFound, match="dataset-not-found"):
        client.order_job("another", epsilon=1.0)
    with pytest.raises(InvalidInput, match="invalid-condition"):
        release.sample(1, where={"sick": "maybe"})
    with pytest.raises(Conflict, match="format-not-for-release"):
        release.sample(1, form="numpy")
    with pytest.raises(TooLarge, match="too-large"):
        release.sample(10**9)
    with pytest.raises(Refused, match="not-in-dummy-mode"):
        client.governance.freeze("d", reason="a look")
    with pytest.raises(InputUnusable, match="the column 'a' of the domain has an unknown kind"):
        fake_columns({"columns": [{"name": "a", "kind": "strange"}]})
    with pytest.raises(InvalidInput, match="domain-invalid"):
        client.declare_dataset(name="n", domain={"columns": [{}]}, declared_size=1)
    assert client.url == URL


def test_the_command_writes_a_file_of_fakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    domain, out = tmp_path / "domain.json", tmp_path / "fake.csv"
    domain.write_text(json.dumps(DOMAIN | {"declared_size": 1000}))
    for words, status in ((("--where", "sick=yes"), 0), (("--where", "sick=maybe"), 1)):
        line = ["understudy", "dummy", "--domain", domain, "--rows", 20, "--out", out, *words]
        monkeypatch.setattr("sys.argv", [str(word) for word in line])
        with pytest.raises(SystemExit) as ended:
            main()
        assert int(ended.value.code or 0) == status
    answer = capsys.readouterr()
    assert "20 FAKE records" in answer.out
    assert "invalid-condition" in answer.err
    assert csv.read_csv(out)["sick"].to_pylist() == ["yes"] * 20

    document = copy.deepcopy(DOMAIN)
    document["columns"][0]["kind"] = "categoricl"
    domain.write_text(json.dumps(document, indent=1))
    monkeypatch.setattr("sys.argv", ["understudy", "dummy", "--domain", str(domain), "--rows", "1"])
    with pytest.raises(SystemExit):
        main()
    refused = capsys.readouterr().err.replace("\n", " ")
    assert re.search(
        r"domain\.json, line \d+, column 'ward', kind: .*Did you mean 'categorical'\?", refused
    ), refused


def test_fake_rows_of_what_is_learnt_are_as_a_service_would_take_them_in() -> None:
    document = {
        **EVERYTHING,
        "target": None,
        "privacy_unit": None,
        "columns": [
            {"name": "a", "kind": "numeric", "type": "real", "bounds": "learn", "bins": "learn"},
            {"name": "b", "kind": "numeric", "type": "integer", "bounds": "learn", "lower": 5},
            {"name": "c", "kind": "date", "bounds": "learn", "bins": "learn"},
            {"name": "d", "kind": "datetime", "bounds": "learn"},
            {"name": "e", "kind": "categorical", "categories": "learn", "other": "elsewhere"},
        ],
    }
    rows = fake_rows(fake_columns(document), [{}] * 200)
    domain = TableDomain.from_json(document)
    taken = clean_rows(domain, {name: pa.array([row[name] for row in rows]) for name in "abcde"}, 200, None)

    assert taken.rows_refused == 0
    assert min(row["b"] for row in rows) >= 5
    assert {row["e"] for row in rows} == {"elsewhere", *(f"category {place}" for place in range(1, 6))}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"name": "age", "kind": "numeric", "type": "integer", "lower": 0}, "the column 'age' of the domain has no 'upper'"),
        ({"name": "age", "kind": "numerical"}, "unknown kind; did you mean 'numeric'?"),
        ({"name": "age", "kind": "numeric", "type": "integer", "lower": "a", "upper": 1}, "the column 'age' of the domain cannot be read"),
        ("age", "column 1 of the domain cannot be read"),
    ],
)  # fmt: skip
def test_a_domain_that_cannot_be_read_names_its_column(column: object, said: str) -> None:
    with pytest.raises(InputUnusable, match=re.escape(said)):
        fake_columns({"columns": [column]})


VISITS: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "ward",
    "privacy_unit": None,
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["1.10", "1.1", "A"], "other": True, "null": "category"},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 110, "specials": [-1]},
        {"name": "fee", "kind": "numeric", "type": "real", "lower": 0, "upper": 10},
        {"name": "rank", "kind": "ordinal", "levels": ["low", "middle", "high"]},
        {"name": "well", "kind": "boolean"},
        {"name": "d", "kind": "date", "lower": "2020-01-01", "upper": "2021-12-31", "patterns": ["weekday"]},
        {"name": "at", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:59", "null": "category"},
        {"name": "out", "kind": "date", "lower": "2020-01-01", "upper": "2022-01-31", "difference": {"from": "d", "upper": 30}},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("where", "met"),
    [
        ({"ward": "1.10"}, lambda row: row["ward"] == "1.10"),
        ({"ward": [None, "A"]}, lambda row: row["ward"] in {None, "A"}),
        ({"age": 3.7}, lambda row: 0 <= row["age"] < 8),
        ({"age": "65"}, lambda row: 60 < row["age"] < 70),
        ({"age": -1}, lambda row: row["age"] == -1),
        ({"age": {"from": 65, "below": "67"}}, lambda row: row["age"] in {65, 66}),
        ({"age": [3, -1]}, lambda row: row["age"] in {3, -1}),
        ({"fee": [1.5, 2.5]}, lambda row: row["fee"] in {1.5, 2.5}),
        ({"rank": {"above": "low"}}, lambda row: row["rank"] != "low"),
        ({"well": True, "rank": "low"}, lambda row: row["well"] is True and row["rank"] == "low"),
        ({"d": "2020-05-03"}, lambda row: abs(row["d"] - date(2020, 5, 3)).days < 23),
        ({"d": "2020-05"}, lambda row: (row["d"].year, row["d"].month) == (2020, 5)),
        ({"d": 2021}, lambda row: row["d"].year == 2021),
        ({"d": ["2020-05-03", "2021-01"]}, lambda row: row["d"] == date(2020, 5, 3) or row["d"].month == 1),
        ({"d.weekday": "Monday"}, lambda row: row["d"].weekday() == 0),
        ({"at": ["2020-02-29", None]}, lambda row: row["at"] is None or row["at"].date() == date(2020, 2, 29)),
        ({"at": "2020-02-29T12:00:00"}, lambda row: abs(row["at"] - datetime(2020, 2, 29, 12)).days < 12),  # noqa: DTZ001 - no zone
        ({"out": "2020-05-03"}, lambda row: row["out"] == date(2020, 5, 3)),
        ({"out.difference": {"to": 3}}, lambda row: (row["out"] - row["d"]).days <= 3),
        ({"age": "abc"}, None),
        ({"age": 999}, None),
        ({"age": None}, None),
        ({"age": {"from": "old"}}, None),
        ({"age": [3.7]}, None),
        ({"d": "1850-01-01"}, None),
        ({"d": "hello"}, None),
        ({"d": None}, None),
        ({"ward": 1.1}, None),
        ({"well": "yes"}, None),
        ({"wart": "A"}, None),
    ],
    ids=lambda given: "taken" if callable(given) else repr(given),
)  # fmt: skip
def test_fakes_meet_the_conditions_that_a_service_takes_and_no_others(
    where: dict[str, Any], met: Callable[[dict[str, Any]], bool] | None
) -> None:
    domain = TableDomain.from_json(VISITS)
    release = released(VISITS)
    if met is None:
        with pytest.raises(InvalidCondition) as refused:
            requested_conditions(where, domain)
        with pytest.raises(InvalidInput, match=re.escape(f"{refused.value.detail} [invalid-condition]")):
            release.sample(2, where=where)
        return
    assert requested_conditions(where, domain)
    table = release.sample(200, form="arrow", where=where)
    assert table.num_rows == 200
    assert table.schema.types == sample_schema(domain).types
    assert all(map(met, table.to_pylist()))
    block = clean_rows(
        domain, {name: table.column(name).combine_chunks() for name in table.column_names}, 200, None
    )
    assert (block.rows_refused, dict(block.changes)) == (0, {})


def test_fakes_meet_conditions_on_what_is_learnt_by_its_made_up_values() -> None:
    columns = [
        {"name": "age", "kind": "numeric", "type": "integer", "bounds": "learn"},
        {"name": "ward", "kind": "categorical", "categories": "learn"},
        {"name": "d", "kind": "date", "bounds": "learn", "bins": "learn"},
    ]
    document = {**VISITS, "target": None, "columns": columns}
    where = {"age": {"to": 3}, "ward": "category 2", "d": "2020-05"}
    rows = released(document).sample(20, form="arrow", where=where).to_pylist()
    assert {(row["age"] <= 3, row["ward"], row["d"].month) for row in rows} == {(True, "category 2", 5)}
    with pytest.raises(InvalidInput, match="'ward' cannot have this value"):
        released(document).sample(2, where={"ward": "A"})


def test_a_condition_without_the_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "understudy.local.sampling.dummy_conditions", None)
    assert dummy_file(VISITS, rows=2, file_format="csv", where={})
    with pytest.raises(NotInstalled, match="the extra `offline` is enough"):
        dummy_file(VISITS, rows=2, file_format="csv", where={"ward": "A"})


def test_the_command_names_its_own_limit_of_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["understudy", "dummy", "--domain", "d.json", "--rows", "1000001"])
    with pytest.raises(SystemExit):
        main()
    assert "less than or equal to 1000000" in capsys.readouterr().err


@pytest.mark.parametrize("resolution", DATETIME_RESOLUTIONS)
@pytest.mark.parametrize("kind", ["date", "datetime"])
def test_a_fake_time_is_one_that_the_resolution_keeps_apart(kind: str, resolution: str) -> None:
    if kind == "date" and resolution not in DATE_RESOLUTIONS:
        return
    clock = ("", "") if kind == "date" else ("T09:20:30", "T17:40:10")
    last = "2020-02-12" if resolution in {"second", "minute"} else "2023-03-03"
    bounds = {"lower": f"2020-02-10{clock[0]}", "upper": f"{last}{clock[1]}"}
    column = {"name": "at", "kind": kind, "resolution": resolution, "format": "%Y-%m", **bounds}
    empty = {"schema": "understudy.domain/1", "target": None, "privacy_unit": None}
    declared = TableDomain.from_json({**empty, "columns": [column]}).columns[0]
    assert isinstance(declared, TimeColumn)
    points = declared.grid.points(np.arange(declared.grid.ticks))
    number = day_number if kind == "date" else second_number
    drawn = {row["at"].isoformat() for row in fake_rows(fake_columns({"columns": [column]}), [{}] * 2000)}
    taken = np.array([number(moment) for moment in drawn])
    assert np.isin(taken, points).all()
    assert len(points) > 200 or len(drawn) == len(points), "each comes"


def test_times_at_a_distance_keep_the_resolution_too() -> None:
    sent = {
        "name": "sent",
        "kind": "datetime",
        "lower": "2020-01-01T00:20:30",
        "upper": "2020-01-05T12:00:00",
        "resolution": "hour",
    }
    came = {
        "name": "came",
        "kind": "datetime",
        "lower": "2019-12-31T23:20:30",
        "upper": "2020-01-06T12:00:00",
        "resolution": "hour",
    }
    seen = {
        "name": "seen",
        "kind": "date",
        "lower": "2020-01-01",
        "upper": "2020-01-09",
        "difference": {"from": "sent", "upper": 2},
    }
    document = {"columns": [sent, {**came, "difference": {"from": "sent", "upper": 40}}, seen]}
    domain = {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, **document}
    TableDomain.from_json(domain)
    columns = fake_columns(domain)
    rows = [*fake_rows(columns, [{}] * 500), *fake_rows(columns, [{"seen": date(2020, 1, 3)}] * 500)]
    assert {(row[name].minute, row[name].second) for row in rows for name in ("sent", "came")} == {(20, 30)}
    assert max(row["came"] for row in rows).isoformat() <= "2020-01-06T11:20:30"
    assert {row["sent"].day for row in rows[500:]} == {1, 2, 3}


def test_fakes_of_decimals_lie_within_bounds_that_have_more() -> None:
    column = {"name": "x", "kind": "numeric", "type": "real", "decimals": 1, "lower": 0.04, "upper": 0.46}
    rows = fake_rows(fake_columns({"columns": [column]}), [{}] * 300)
    assert {row["x"] for row in rows} == {0.1, 0.2, 0.3, 0.4}
    rows = fake_rows(fake_columns({"columns": [column | {"upper": 1.9, "multiple_of": 0.5}]}), [{}] * 300)
    assert {row["x"] for row in rows} == {0.5, 1.0, 1.5}
    whole = {"name": "x", "kind": "numeric", "type": "integer", "lower": -13, "upper": 16, "multiple_of": 5}
    assert {row["x"] for row in fake_rows(fake_columns({"columns": [whole]}), [{}] * 300)} == {
        *range(-10, 16, 5)
    }
