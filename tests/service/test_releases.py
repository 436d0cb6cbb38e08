import csv
import io
import json
import zipfile
from dataclasses import replace
from itertools import pairwise

import pyarrow.parquet as pq
import pytest

from core.artifacts.bundle import unpack
from tests.core.artifacts.stand_in import DOMAIN, bundle
from tests.service.world import World, require_problem

COLUMNS = ["ward", "age", "sick", "seen"]


@pytest.fixture
def release_id(world: World) -> str:
    return world.release()


def test_a_release_names_its_parts(world: World, release_id: str) -> None:
    view = world.analyst.get(f"/v1/releases/{release_id}").json()
    assert view["id"] == release_id
    for part, link in view["links"].items():
        assert link == f"/v1/releases/{release_id}/{part}"
        assert world.analyst.get(link).status_code == 200


def test_the_bundle_is_the_stored_one_to_the_byte(world: World, release_id: str) -> None:
    answer = world.analyst.get(f"/v1/releases/{release_id}/bundle")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.content == world.store.get_bytes(f"releases/{release_id}/bundle.zip")
    assert zipfile.ZipFile(io.BytesIO(answer.content)).testzip() is None
    assert unpack(answer.content)


def test_the_certificate_is_json(world: World, release_id: str) -> None:
    answer = world.analyst.get(f"/v1/releases/{release_id}/certificate")
    assert answer.json() == {"schema": "understudy.certificate/1"}


def test_samples_have_the_asked_number_of_rows_in_every_format(world: World, release_id: str) -> None:
    for rows in (1, 7, 70_000):
        path = f"/v1/releases/{release_id}/samples?rows={rows}&format="
        answer = world.analyst.get(path + "csv")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        header, *lines = csv.reader(io.StringIO(answer.text))
        assert (header, len(lines)) == (COLUMNS, rows)
        table = pq.read_table(io.BytesIO(world.analyst.get(path + "parquet").content))
        assert (table.column_names, table.num_rows) == (COLUMNS, rows)
        lines = world.analyst.get(path + "jsonl").text.splitlines()
        assert len(lines) == rows
        assert list(json.loads(lines[-1])) == COLUMNS


def test_csv_is_drawn_for_a_spreadsheet(world: World) -> None:
    columns = [dict(column) for column in DOMAIN["columns"]]
    columns[0] |= {"name": "=ward", "categories": ["=A", "-B", "-1"]}
    release_id = world.release(replace(bundle(), domain=DOMAIN | {"columns": columns}))
    path = f"/v1/releases/{release_id}/samples"
    plain = world.analyst.get(path, params={"rows": 50})
    safe = world.analyst.get(path, params={"rows": 50, "spreadsheet_safe": "true"})
    assert (plain.text.splitlines()[0], safe.text.splitlines()[0]) == (
        '"=ward","age","sick","seen"',
        '"\'=ward","age","sick","seen"',
    )
    assert {row[0] for row in csv.reader(io.StringIO(safe.text))} <= {"'=ward", "'=A", "'-B", "-1"}
    refused = world.analyst.get(path, params={"format": "jsonl", "spreadsheet_safe": "true"})
    require_problem(refused, status=422, code="spreadsheet-safe-is-for-csv")


def test_two_samples_differ(world: World, release_id: str) -> None:
    path = f"/v1/releases/{release_id}/samples?rows=100"
    assert world.analyst.get(path).content != world.analyst.get(path).content


def test_wrong_requests_for_samples_are_refused(world: World, release_id: str) -> None:
    for query in ("rows=0", "rows=-1", "rows=1.5", "rows=many", f"rows={10**12 + 1}", "rows=1&format=xlsx"):
        answer = world.analyst.get(f"/v1/releases/{release_id}/samples?{query}")
        require_problem(answer, status=422, code="invalid-input")


def test_a_generator_is_opened_once_and_least_used_ones_are_closed(world: World, monkeypatch) -> None:
    from service.releases import endpoints

    opened = []
    plain = endpoints.open_samples

    def counting(source: bytes, *, threads: int) -> object:
        opened.append(threads)
        return plain(source, threads=threads)

    monkeypatch.setattr(endpoints, "open_samples", counting)
    releases = [world.release() for _ in range(9)]
    for release_id in [releases[0], releases[0], *releases]:
        assert world.analyst.get(f"/v1/releases/{release_id}/samples?rows=1").status_code == 200
    assert len(opened) == 9
    world.analyst.get(f"/v1/releases/{releases[-1]}/samples?rows=1")
    assert len(opened) == 9
    world.analyst.get(f"/v1/releases/{releases[0]}/samples?rows=1")
    assert len(opened) == 10


def test_a_bundle_that_is_gone_is_a_problem_and_not_an_empty_file(world: World, release_id: str) -> None:
    world.store.delete(f"releases/{release_id}/bundle.zip")
    for part in ("bundle", "samples"):
        require_problem(
            world.analyst.get(f"/v1/releases/{release_id}/{part}"), status=404, code="object-missing"
        )


def test_lists_of_releases_come_newest_first(world: World) -> None:
    releases = [world.release() for _ in range(3)]
    listed = world.analyst.get("/v1/releases").json()["items"]
    assert {item["id"] for item in listed} == set(releases)
    times = [item["created_at"] for item in listed]
    assert all(later >= earlier for later, earlier in pairwise(times))
