import gzip
import io
import threading
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from core.data.intake.unit_limit import UnitLimit
from core.data.private_rows import open_private_rows
from core.db.tables import Dataset
from core.plan.domain.table import TableDomain
from core.platform.settings import Settings
from service.app import create_app
from service.datasets.errors import RowsAlreadyStored
from service.datasets.upload import RowsUpload
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.test_commit import stored
from tests.service.world import CSV, World, require_problem


def rows_in_store(world: World, dataset_id: str) -> int:
    """Count what a worker would read."""
    with world.database.read_only() as session:
        row = session.get(Dataset, UUID(dataset_id))
        key, wrapped, domain = row.rows_key, row.wrapped_data_key, TableDomain.from_json(row.domain)
    data_key = world.app.state.context.settings.master_keys.unwrap(wrapped, context=f"dataset:{dataset_id}")
    return sum(batch.num_rows for batch in open_private_rows(world.store, key, data_key, domain))


def nothing_is_left(world: World, settings, dataset_id: str) -> bool:
    declared = world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "declared"
    return declared and stored(world) == [] and list(settings.scratch_folder.iterdir()) == []


def test_rows_are_taken_in_and_can_be_opened_by_a_worker(world: World, settings) -> None:
    dataset_id = world.declare()
    answer = world.upload(dataset_id)
    assert answer.status_code == 201, answer.text
    assert (answer.json()["rows_accepted"], answer.json()["rows_refused"]) == (40, 0)
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "ready"
    assert world.owner.get(f"/v1/datasets/{dataset_id}/intake-report").json() == answer.json()
    assert rows_in_store(world, dataset_id) == 40
    assert list(settings.scratch_folder.iterdir()) == []


def parquet() -> bytes:
    target = io.BytesIO()
    table = pa.table(
        {"ward": ["A"] * 40, "age": [30] * 40, "sick": ["yes"] * 40, "seen": ["2020-01-02"] * 40}
    )
    pq.write_table(table, target)
    return target.getvalue()


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/csv; charset=utf-8", CSV),
        ("application/gzip", gzip.compress(CSV)),
        ("application/vnd.apache.parquet", parquet()),
    ],
    ids=["csv", "gzip", "parquet"],
)
def test_every_format_is_taken_in_piece_by_piece(world: World, content_type: str, body: bytes) -> None:
    dataset_id = world.declare()
    pieces = (body[start : start + 7] for start in range(0, len(body), 7))
    answer = world.upload(dataset_id, pieces, Content_Type=content_type)
    assert answer.status_code == 201, answer.text
    assert answer.json()["rows_accepted"] == 40


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_rows_are_read_by_the_declared_encoding(world: World, encoding: str) -> None:
    name = {"cp1252": "windows-1252"}.get(encoding, encoding)
    dataset_id = world.declare(domain=DOMAIN | {"csv": {"encoding": name}})
    body = CSV.decode().replace("\nA,", "\nÜ,").encode(encoding)
    require_problem(
        world.upload(dataset_id, body, Content_Type="text/csv; charset=utf-8"),
        status=415,
        code="unsupported-upload",
    )
    answer = world.upload(dataset_id, (body[start : start + 7] for start in range(0, len(body), 7)))
    assert answer.status_code == 201, answer.text
    assert (answer.json()["rows_accepted"], answer.json()["rows_refused"]) == (40, 0)


def test_rows_in_another_encoding_than_the_declared_one_are_refused(world: World) -> None:
    dataset_id = world.declare(domain=DOMAIN | {"csv": {"encoding": "windows-1252"}})
    body = b"ward,age,sick,seen\n\xdc,1,yes,2020-01-02\n\x81,1,yes,2020-01-02\n"
    problem = require_problem(world.upload(dataset_id, body), status=422, code="wrong-encoding")
    assert problem["facts"]["line"] == 3


def test_rows_cannot_be_replaced(world: World) -> None:
    dataset_id = world.declare()
    assert world.upload(dataset_id).status_code == 201
    before = stored(world)
    require_problem(world.upload(dataset_id), status=409, code="rows-already-stored")
    assert stored(world) == before


def test_of_uploads_racing_each_other_one_is_stored(world: World) -> None:
    """All of them see an empty dataset; only the row's lock decides."""
    dataset_id = world.declare()
    with world.database.read_only() as session:
        principal = world.directory.recognise(session, world.owner.key)
    uploads = [RowsUpload(world.app.state.context, principal, UUID(dataset_id)) for _ in range(3)]
    checked = [upload.require_open() for upload in uploads]
    outcomes = []

    def receive(upload: RowsUpload, domain: TableDomain, units: UnitLimit) -> None:
        try:
            upload.receive([CSV], domain=domain, units=units, content_type="text/csv")
            outcomes.append("stored")
        except RowsAlreadyStored:
            outcomes.append("refused")

    threads = [
        threading.Thread(target=receive, args=(upload, *facts))
        for upload, facts in zip(uploads, checked, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused", "refused", "stored"]
    assert len(stored(world)) == 1
    assert rows_in_store(world, dataset_id) == 40


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"", "text/csv", 422, "empty-upload"),
        (b"ward,age,sick,seen\n", "text/csv", 422, "empty-upload"),
        (b"ward,age\nA,1\n", "text/csv", 422, "wrong-header"),
        (b"ward,age,sick,seen\nA,1,yes,\xff\xfe\n", "text/csv", 422, "not-utf8"),
        (b"ward,age,sick,seen\nQ,1,yes,2020-01-02\n", "text/csv", 422, "no-acceptable-rows"),
        (parquet()[:-20], "application/vnd.apache.parquet", 422, "damaged-upload"),
        (gzip.compress(CSV)[:-9], "application/gzip", 422, "damaged-upload"),
        (CSV[:-13], "text/csv", 422, "damaged-upload"),
        (gzip.compress(CSV[:-15]), "application/gzip", 422, "damaged-upload"),
        (CSV.replace(b",", b";"), "text/csv", 422, "wrong-header"),
        (CSV, "application/json", 415, "unsupported-upload"),
        (CSV, "", 415, "unsupported-upload"),
    ],
    ids=[
        "no bytes", "no rows", "other columns", "not utf-8", "only unknown categories", "cut parquet", "cut gzip",
        "cut csv", "gzip of a cut csv", "another delimiter",
        "another type", "no type",
    ],
)  # fmt: skip
def test_what_cannot_be_read_leaves_nothing(
    world: World, settings, body: bytes, content_type: str, status: int, code: str
) -> None:
    dataset_id = world.declare()
    require_problem(world.upload(dataset_id, body, Content_Type=content_type), status=status, code=code)
    assert nothing_is_left(world, settings, dataset_id)
    assert world.upload(dataset_id).status_code == 201


@pytest.mark.parametrize("announced", [True, False])
def test_too_many_bytes_are_refused(world: World, settings, announced: bool) -> None:
    from dataclasses import replace

    small = settings.model_copy(update={"max_upload_bytes": 1000})
    world.app.state.context = replace(world.app.state.context, settings=small)
    dataset_id = world.declare()
    rows = CSV + b"A,30,yes,2020-01-02\n" * 500
    pieces = rows if announced else (rows[start : start + 100] for start in range(0, len(rows), 100))
    problem = require_problem(world.upload(dataset_id, pieces), status=413, code="upload-too-large")
    assert problem["facts"]["max_bytes"] == 1000
    assert nothing_is_left(world, settings, dataset_id)


def test_no_more_uploads_at_once_than_there_are_places(world: World) -> None:
    dataset_id = world.declare()
    limit = world.app.state.context.limits.uploads
    for _ in range(4):
        limit.acquire()
    answer = world.upload(dataset_id)
    require_problem(answer, status=503, code="service-busy")
    assert answer.headers["retry-after"]
    limit.release()
    assert world.upload(dataset_id).status_code == 201


def test_one_owners_uploads_leave_room_for_the_next(world: World) -> None:
    mine = world.declare()
    declared = {"name": "other wards", "domain": DOMAIN, "declared_size": 1000}
    other = world.stranger.post("/v1/datasets", declared).json()["id"]
    limit = world.app.state.context.limits.uploads
    for _ in range(2):
        limit.acquire(world.owner.principal_id)
    answer = world.upload(mine)
    require_problem(answer, status=429, code="share-used-up")
    assert answer.headers["retry-after"]
    sent = world.stranger.post(
        f"/v1/datasets/{other}/rows", content=CSV, headers={"Content-Type": "text/csv"}
    )
    assert sent.status_code == 201
    limit.release(world.owner.principal_id)
    assert world.upload(mine).status_code == 201


def test_a_report_before_any_upload(world: World) -> None:
    answer = world.owner.get(f"/v1/datasets/{world.declare()}/intake-report")
    require_problem(answer, status=404, code="intake-report-missing")


def test_the_api_removes_at_its_start_what_a_killed_one_left(world: World, settings: Settings) -> None:
    settings.scratch_folder.mkdir(parents=True, exist_ok=True)
    (settings.scratch_folder / "intake-k2x_9a").write_bytes(b"sealed")
    (settings.scratch_folder / "part-k2x_9a").write_bytes(b"sealed")
    (settings.scratch_folder / "upkeep.alive").touch()
    with TestClient(create_app(settings, database=world.database, queue=world.queue, store=world.store)):
        assert [left.name for left in settings.scratch_folder.iterdir()] == ["upkeep.alive"]
