"""Image datasets over the API: declared, filled in one body and in parts, by the client too, and told to nobody."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.data.private_rows import open_private_rows
from core.db.tables import Dataset
from core.plan.domain.declared import domain_from_json
from core.platform.access.roles import Role
from models.coding import coded_images
from tests.core.data.pictures import archive, images, labelled, mnist, noise, npz, picture
from tests.service.matrix import nobodys, operations
from tests.service.test_commit import stored
from tests.service.test_upload_resume import Api, api, key
from tests.service.test_uploads import PART, Sending
from tests.service.world import CSV, World, require_problem
from understudy import Client

__all__ = ["api", "key"]  # fixtures

DOMAIN = images(unit="who")
PIXELS = noise(DOMAIN, 6)
LABELS = np.arange(6, dtype=np.uint8)
UNITS = ["ann", "bob", "ann", "cyd", "bob", "ann"]
CANARY = "cAnArY7f3a"
# Ids, and hashes and signatures over them.
FRESH = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|[A-Za-z0-9+/]{43,}=*")
NPZ = npz(images=PIXELS, labels=LABELS, units=np.array(UNITS))
PICTURES = labelled([picture(image) for image in PIXELS], "012345", UNITS)


def declare(world: World, **changes: Any) -> str:
    return world.declare(name="digits", domain=DOMAIN.to_json(), **changes)


def trained_on(world: World, dataset_id: str) -> tuple[bytes, list[int], list[int]]:
    """Pixels, labels and units as a training would get them."""
    with world.database.read_only() as session:
        row = session.get_one(Dataset, UUID(dataset_id))
        assert row.rows_key is not None
        assert row.wrapped_data_key is not None
        key, wrapped, domain = row.rows_key, row.wrapped_data_key, domain_from_json(row.domain)
    data_key = world.app.state.context.settings.master_keys.unwrap(wrapped, context=f"dataset:{dataset_id}")
    assert domain == DOMAIN
    found = coded_images(open_private_rows(world.store, key, data_key, domain), DOMAIN)
    return found.pixels.tobytes(), found.labels.tolist(), found.unit_of_record.tolist()


@pytest.mark.parametrize(
    ("kind", "content"),
    [("application/x-npz", NPZ), ("application/zip", PICTURES)],
    ids=["npz", "zip"],
)
def test_images_are_taken_in_and_can_be_opened_by_a_worker(
    world: World, settings, kind: str, content: bytes
) -> None:
    dataset_id = declare(world)
    shown = world.owner.get(f"/v1/datasets/{dataset_id}").json()
    assert shown["domain"] == DOMAIN.to_json()
    assert shown["privacy_unit"] == "who"
    answer = world.upload(dataset_id, content, Content_Type=kind)
    assert answer.status_code == 201, answer.text
    assert (answer.json()["rows_accepted"], answer.json()["rows_refused"]) == (6, 0)
    assert trained_on(world, dataset_id) == (PIXELS.tobytes(), [0, 1, 2, 3, 4, 5], [0, 1, 0, 2, 1, 0])
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "ready"
    assert list(settings.scratch_folder.iterdir()) == []


class SendingImages(Sending):
    """One upload in parts to a dataset of images."""

    def __init__(self, world: World, content: bytes, *, kind: str) -> None:
        ready = replace(world)
        object.__setattr__(ready, "declare", lambda: declare(world))
        super().__init__(ready, content, kind=kind)


@pytest.fixture
def small_parts(world: World) -> World:
    context = world.app.state.context
    world.app.state.context = replace(
        context, settings=context.settings.model_copy(update={"upload_part_bytes": PART})
    )
    return world


def test_images_come_in_parts_too(small_parts: World) -> None:
    sending = SendingImages(small_parts, PICTURES, kind="application/zip").put_all()
    answer = sending.complete()
    assert answer.status_code == 200, answer.text
    assert answer.json()["intake_report"]["rows_accepted"] == 6
    assert trained_on(small_parts, sending.dataset_id)[0] == PIXELS.tobytes()


def test_a_refusal_of_images_in_parts_is_repeated_on_every_request(small_parts: World) -> None:
    content = archive({f"{CANARY}.png": picture(PIXELS[0])})
    sending = SendingImages(small_parts, content, kind="application/zip").put_all()
    for _ in range(2):
        problem = require_problem(sending.complete(), status=422, code="wrong-archive")
        assert CANARY not in json.dumps(problem)
    assert sending.state() == "refused"


def test_nested_columns_in_parts_are_named_as_nested(small_parts: World, tmp_path: Path) -> None:
    """They were told as an internal error: the failure was kept, and not known when it was told again."""
    columns = {"ward": ["A"], "age": [[30]], "sick": ["yes"], "seen": ["2020-01-02"]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    sending = Sending(
        small_parts, (tmp_path / "rows.parquet").read_bytes(), kind="application/vnd.apache.parquet"
    )
    require_problem(sending.put_all().complete(), status=422, code="domain-mismatch")


def test_a_file_of_the_wrong_kind_is_refused_before_it_is_sent(world: World) -> None:
    pictures, rows = declare(world), world.declare()
    for dataset_id, kind in ((pictures, "text/csv"), (rows, "application/zip"), (rows, "application/x-npz")):
        order = {"bytes": 100, "content_type": kind}
        problem = require_problem(
            world.owner.post(f"/v1/datasets/{dataset_id}/uploads", order),
            status=415,
            code="unsupported-upload",
        )
        assert kind not in problem["facts"]["content_types"]
        answer = world.upload(dataset_id, CSV, Content_Type=kind)
        require_problem(answer, status=415, code="unsupported-upload")
    assert stored(world) == []


def test_a_new_version_may_hold_the_images_of_the_same_unit(world: World) -> None:
    parent = declare(world)
    assert declare(world, parent_dataset_id=parent) != parent
    for domain in (images(unit="other").to_json(), images().to_json()):
        body = {"name": "more", "domain": domain, "declared_size": 10, "parent_dataset_id": parent}
        require_problem(world.owner.post("/v1/datasets", body), status=409, code="unit-differs")


def test_a_broken_domain_of_images_is_refused_at_its_place(world: World) -> None:
    body = {"name": "x", "domain": DOMAIN.to_json() | {"width": 1000}, "declared_size": 10}
    problem = require_problem(world.owner.post("/v1/datasets", body), status=422, code="domain-invalid")
    assert problem["facts"]["pointer"] == "/width"


def told_of(world: World, dataset_id: str) -> str:
    """All that everybody but the owner can read about a dataset, without its ids."""
    told = []
    ids = nobodys(world.app) | {"dataset_id": dataset_id}
    for caller in (world.analyst, world.admin, world.stranger, world.caller(Role.AUDITOR)):
        for operation in operations(world.app):
            if operation.method == "GET" and "{dataset_id}" in operation.path:
                method, path, options = operation.request(ids)
                answer = caller.send(method, path, **options)
                told.append(f"{operation.path} {answer.status_code} {answer.text}")
    text = "\n".join(told)
    assert "digits" in text
    return re.sub(r"<code>[0-9a-f]{12}</code>", "a hash", FRESH.sub("an-id", text))


def test_neighbouring_images_look_the_same_to_everybody_but_the_owner(world: World, log_text) -> None:
    """One person more, with images of every kind of trouble, moves nothing that others see; file names come out nowhere."""
    files = {f"{place}.png": picture(image) for place, image in enumerate(PIXELS)}
    lines = "".join(f"{place}.png,{place},{unit}\n" for place, unit in enumerate(UNITS))
    hers = {f"{CANARY}.png": b"text", f"{CANARY}/2.png": picture(PIXELS[0])[:-30], f"../{CANARY}": b""}
    more = (
        "".join(f"{name},1,{CANARY}\n" for name in [*hers, f"none-{CANARY}"]) + f"0x.png,{CANARY},{CANARY}\n"
    )
    views, reports = [], []
    for own, rows in (({}, ""), (hers, more)):
        dataset_id = declare(world)
        content = archive(files | own | {"labels.csv": f"file,label,who\n{lines}{rows}".encode()})
        answer = world.upload(dataset_id, content, Content_Type="application/zip")
        assert answer.status_code == 201, answer.text
        reports.append(answer.json()["rows_refused"])
        assert CANARY not in answer.text, "not even the owner's report holds a name"
        assert answer.json()["waiting"] is bool(own)
        if own:
            assert world.owner.post(f"/v1/datasets/{dataset_id}/rows/accept").status_code == 200
        world.set_budget(dataset_id)
        views.append(told_of(world, dataset_id))
    assert reports == [0, 5]
    assert views[0] == views[1]
    assert CANARY not in "".join(views)
    logged = log_text()
    assert '"event": "request"' in logged
    assert CANARY not in logged
    for place in stored(world):
        assert CANARY.encode() not in world.store.get_bytes(place)


def test_idx_files_of_images_without_units(world: World) -> None:
    domain = images()
    dataset_id = world.declare(domain=domain.to_json())
    answer = world.upload(dataset_id, mnist(noise(domain, 3), LABELS[:3]), Content_Type="application/zip")
    assert answer.json()["rows_accepted"] == 3, answer.text


def test_the_client_sends_images_whole_and_in_parts(api: Api, key: str, tmp_path: Path) -> None:
    """Over a real connection to a real process of the API."""
    (tmp_path / "digits.npz").write_bytes(NPZ)
    (tmp_path / "digits.zip").write_bytes(PICTURES)
    api.start()
    with Client(api.url, key=key) as client:
        for name, resumable_from in (("digits.npz", None), ("digits.zip", 1)):
            options = {} if resumable_from is None else {"resumable_from": resumable_from}
            dataset = client.declare_dataset(name=name, domain=DOMAIN.to_json(), declared_size=10)
            report = client.upload_rows(dataset.id, tmp_path / name, **options)
            assert (report.rows_accepted, report.rows_refused) == (6, 0)
            assert client.read_dataset(dataset.id).state == "ready"
