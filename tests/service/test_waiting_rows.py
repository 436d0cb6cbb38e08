"""Rows of which many were refused wait for their owner's decision, and to everybody else the dataset has none."""

import hashlib
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from prometheus_client import generate_latest
from sqlalchemy import select

from core.data import waiting_rows
from core.db.tables import Dataset, WaitingRows
from core.platform.access.roles import Role
from core.platform.deletion import finish_deletions
from core.platform.rotation import COLUMNS
from core.platform.stored_objects import AGE, sweep_orphans
from tests.service.test_commit import fail_at_commit, stored
from tests.service.test_upload import rows_in_store
from tests.service.test_uploads import Sending, small_parts
from tests.service.world import CSV, World, require_problem

__all__ = ["small_parts"]

BAD = b"nobody's ward,30,yes,2020-01-02\n"
CANARY = "nobody's ward"
MANY = CSV + BAD
"""One of 41 rows is refused, which is more than one in fifty."""
FEW = CSV + b"A,30,yes,2020-01-02\n" * 9 + BAD
"""One of 50."""


def path(dataset_id: str, *more: str) -> str:
    return "/".join(["/v1/datasets", dataset_id, *more])


def report(world: World, dataset_id: str) -> dict[str, Any]:
    answer = world.owner.get(path(dataset_id, "intake-report"))
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def state(world: World, dataset_id: str) -> str:
    return str(world.owner.get(path(dataset_id)).json()["state"])


def accept(world: World, dataset_id: str) -> Any:
    return world.owner.post(path(dataset_id, "rows", "accept"))


def discard(world: World, dataset_id: str) -> Any:
    return world.owner.post(path(dataset_id, "rows", "discard"))


def waiting_of_many(world: World) -> str:
    dataset_id = world.declare()
    answer = world.upload(dataset_id, MANY)
    assert answer.status_code == 201, answer.text
    assert answer.json()["waiting"] is True
    return dataset_id


def test_at_most_one_refused_row_in_fifty_closes_the_dataset_as_before(world: World) -> None:
    dataset_id = world.declare()
    answer = world.upload(dataset_id, FEW)
    assert (answer.status_code, answer.json()["waiting"], answer.json()["rows_refused"]) == (201, False, 1)
    assert state(world, dataset_id) == "ready"
    assert report(world, dataset_id) == answer.json()


def test_above_it_the_rows_wait_for_the_owners_decision(world: World) -> None:
    dataset_id = waiting_of_many(world)
    assert state(world, dataset_id) == "declared"
    told = report(world, dataset_id)
    assert (told["rows_accepted"], told["rows_refused"], told["waiting"]) == (40, 1, True)
    world.set_budget(dataset_id)
    require_problem(world.order(dataset_id), status=409, code="dataset-not-ready")

    answer = accept(world, dataset_id)
    assert answer.status_code == 200, answer.text
    assert answer.json() == told | {"waiting": False} == report(world, dataset_id)
    assert state(world, dataset_id) == "ready"
    assert rows_in_store(world, dataset_id) == 40
    assert world.order(dataset_id).status_code == 202
    # Saying it again changes nothing.
    assert accept(world, dataset_id).json() == answer.json()
    require_problem(discard(world, dataset_id), status=409, code="rows-already-stored")
    assert rows_in_store(world, dataset_id) == 40


@pytest.mark.parametrize(
    ("max_refused", "waits"), [("0", True), ("0.01", True), ("0.02", False), ("1", False)]
)
def test_the_owner_chooses_the_share_with_the_upload(world: World, max_refused: str, waits: bool) -> None:
    dataset_id = world.declare()
    answer = world.owner.post(
        path(dataset_id, "rows"), content=FEW, headers={"Content-Type": "text/csv"}, params={"max_refused": max_refused}
    )  # fmt: skip
    assert answer.status_code == 201, answer.text
    assert answer.json()["waiting"] is waits
    assert state(world, dataset_id) == ("declared" if waits else "ready")


@pytest.mark.parametrize("max_refused", ["-0.1", "1.1", "nan", "many"])
def test_a_share_out_of_range_is_refused_before_the_rows_are_read(world: World, max_refused: str) -> None:
    dataset_id = world.declare()
    answer = world.owner.post(
        path(dataset_id, "rows"), content=CSV, headers={"Content-Type": "text/csv"}, params={"max_refused": max_refused}
    )  # fmt: skip
    require_problem(answer, status=422)
    assert stored(world) == []


@pytest.mark.parametrize(("again", "waits"), [(CSV, False), (MANY + BAD, True)], ids=["better", "worse"])
def test_rows_that_are_sent_again_replace_those_that_wait(world: World, again: bytes, waits: bool) -> None:
    dataset_id = waiting_of_many(world)
    before = stored(world)
    answer = world.upload(dataset_id, again)
    assert answer.status_code == 201, answer.text
    assert (answer.json()["waiting"], answer.json()["rows_refused"]) == (waits, 2 if waits else 0)
    assert report(world, dataset_id) == answer.json()
    after = stored(world)
    assert len(before) == len(after) == 1
    assert before != after
    if waits:
        accept(world, dataset_id)
    assert rows_in_store(world, dataset_id) == 40


def test_an_upload_that_is_refused_leaves_the_waiting_rows_as_they_are(world: World) -> None:
    dataset_id = waiting_of_many(world)
    before = stored(world), report(world, dataset_id)
    require_problem(world.upload(dataset_id, b"ward\n"), status=422, code="wrong-header")
    assert (stored(world), report(world, dataset_id)) == before


def test_the_owner_may_discard_them(world: World) -> None:
    dataset_id = waiting_of_many(world)
    for _ in range(2):  # saying it again changes nothing
        assert discard(world, dataset_id).status_code == 204
        assert stored(world) == []
        assert state(world, dataset_id) == "declared"
    answer = world.owner.get(path(dataset_id, "intake-report"))
    require_problem(answer, status=404, code="intake-report-missing")
    require_problem(accept(world, dataset_id), status=409, code="no-rows-waiting")
    assert world.upload(dataset_id).json()["waiting"] is False


@pytest.mark.usefixtures("small_parts")
def test_uploads_in_parts_wait_alike(world: World) -> None:
    sending = Sending(world, MANY).put_all()
    answer = sending.complete()
    assert answer.status_code == 200, answer.text
    assert (answer.json()["state"], answer.json()["intake_report"]["waiting"]) == ("completed", True)
    assert state(world, sending.dataset_id) == "declared"
    assert len(stored(world)) == 1, "no part is left"
    assert sending.complete().json() == answer.json()
    assert accept(world, sending.dataset_id).status_code == 200
    assert sending.complete().json()["intake_report"] == report(world, sending.dataset_id)
    assert rows_in_store(world, sending.dataset_id) == 40

    sending = Sending(world, MANY).put_all()
    digest = {"sha256": hashlib.sha256(MANY).hexdigest(), "max_refused": 0.5}
    answer = world.owner.post(f"/v1/uploads/{sending.id}/complete", digest)
    while answer.status_code == 202:
        answer = world.owner.post(f"/v1/uploads/{sending.id}/complete", digest)
    assert answer.json()["intake_report"]["waiting"] is False
    assert state(world, sending.dataset_id) == "ready"


@pytest.mark.usefixtures("small_parts")
def test_a_completed_upload_whose_rows_were_discarded_is_over(world: World) -> None:
    sending = Sending(world, MANY).put_all()
    sending.complete()
    assert discard(world, sending.dataset_id).status_code == 204
    require_problem(sending.complete(), status=409, code="upload-not-open")


def seen_by_others(world: World, dataset_id: str) -> list[object]:
    """What everybody but the owner is answered about a dataset, and the metrics."""
    seen: list[object] = [
        line
        for line in generate_latest(world.app.state.context.recorder.registry()).decode().splitlines()
        if "/rows/" in line or "waiting" in line
    ]
    for other in (world.analyst, world.admin, world.stranger, world.caller(Role.AUDITOR)):
        for more in ("", "budget", "ledger", "audit", "intake-report", "sealed-reports"):
            answer = other.get(path(dataset_id, more).rstrip("/"))
            seen.append((more, answer.status_code, answer.text.replace(answer.headers["x-request-id"], "")))
    return seen


def test_to_everybody_else_the_dataset_has_no_rows(world: World) -> None:
    """Views, the audit log and the metrics are the same before the upload, while rows wait, and when they are discarded."""
    dataset_id = world.declare()
    before = seen_by_others(world, dataset_id), actions(world)
    assert world.upload(dataset_id, MANY).json()["waiting"] is True
    assert (seen_by_others(world, dataset_id), actions(world)) == before
    assert discard(world, dataset_id).status_code == 204
    require_problem(accept(world, dataset_id), status=409)
    assert (seen_by_others(world, dataset_id), actions(world)) == before


def counted(world: World) -> list[str]:
    """What the metrics say of rows and of reports about them."""
    lines = generate_latest(world.app.state.context.recorder.registry()).decode().splitlines()
    return [line for line in lines if "/rows" in line or "/intake-report" in line]


def test_metrics_do_not_count_rows_that_a_dataset_did_not_take(world: World) -> None:
    """Rows that were received while the dataset stays `declared` are rows that wait."""
    dataset_id = world.declare()
    world.owner.get(path(dataset_id, "intake-report"))
    before = counted(world)
    assert world.upload(dataset_id, MANY).json()["waiting"] is True
    report(world, dataset_id)
    assert counted(world) == before


def test_an_upload_of_too_many_units_looks_to_everybody_else_like_none(world: World) -> None:
    """One row fewer would have closed the dataset, so the refusal is exact: its owner alone is told."""
    dataset_id = world.declare(declared_size=20)
    before = seen_by_others(world, dataset_id), actions(world), counted(world)
    refused = world.upload(dataset_id, CSV + b"A,30,yes,2020-01-02\n")
    require_problem(refused, status=422, code="too-many-units")
    assert (seen_by_others(world, dataset_id), actions(world), counted(world)) == before
    assert world.upload(dataset_id, CSV).status_code == 201


def test_nobody_else_decides(world: World) -> None:
    dataset_id = waiting_of_many(world)
    kept = stored(world)
    for other in (world.analyst, world.admin, world.stranger, world.caller(Role.AUDITOR)):
        for word in ("accept", "discard"):
            assert other.post(path(dataset_id, "rows", word)).status_code in {403, 404}
    assert stored(world) == kept
    assert report(world, dataset_id)["waiting"] is True


def actions(world: World) -> list[str]:
    """What was done, as the audit log has it; what was refused is left out."""
    listed = world.admin.get("/v1/audit", params={"limit": 200}).json()["items"]
    return [event["action"] for event in listed if event["outcome"] == "done"]


def test_the_acceptance_is_logged_like_an_upload_that_closed_the_dataset(world: World) -> None:
    at_once, later = world.declare(), waiting_of_many(world)
    world.upload(at_once)
    accept(world, later)
    trails = [
        [
            (event["actor"], event["action"], event["outcome"])
            for event in world.owner.get(path(dataset_id, "audit")).json()["items"]
        ]
        for dataset_id in (at_once, later)
    ]
    assert trails[0] == trails[1]


def test_waiting_bytes_count_and_those_that_are_replaced_do_not(world: World) -> None:
    dataset_id = waiting_of_many(world)
    size = world.store.size_of(stored(world)[0])
    context = world.app.state.context
    room = context.settings.model_copy(update={"quota_stored_bytes": size + size // 2})
    world.app.state.context = replace(context, settings=room)
    refused = world.upload(world.declare(), MANY)
    require_problem(refused, code="quota-exceeded")
    assert len(stored(world)) == 1
    assert world.upload(dataset_id, MANY).json()["waiting"] is True
    assert accept(world, dataset_id).status_code == 200
    require_problem(world.upload(world.declare(), MANY), code="quota-exceeded")


def test_deleting_the_dataset_destroys_waiting_rows_too(world: World) -> None:
    dataset_id = waiting_of_many(world)
    assert world.owner.delete(path(dataset_id)).status_code == 200
    assert stored(world) == []
    with world.database.read_only() as session:
        assert session.scalars(select(WaitingRows)).all() == []
        assert session.get_one(Dataset, UUID(dataset_id)).rows_key is None
    require_problem(accept(world, dataset_id), status=409)
    assert discard(world, dataset_id).status_code == 204


def test_a_deletion_that_could_not_remove_the_object_is_finished_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset_id = waiting_of_many(world)

    def away(_key: str) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "delete", away)
        assert world.owner.delete(path(dataset_id)).status_code == 200
    assert len(stored(world)) == 1
    assert finish_deletions(world.database, world.store, clock=world.clock) == 1
    assert stored(world) == []


def test_the_sweep_keeps_waiting_rows_and_removes_what_they_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the commit and the removal leaves the replaced object; it is an orphan then."""
    dataset_id = waiting_of_many(world)

    def killed(_key: str) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "delete", killed)
        assert world.upload(dataset_id, MANY).status_code == 201
    assert len(stored(world)) == 2
    later = type(world.clock)(world.clock.now() + AGE + timedelta(days=365 * 20))
    assert sweep_orphans(world.database, world.store, clock=later) == 1
    assert len(stored(world)) == 1
    assert accept(world, dataset_id).status_code == 200
    assert rows_in_store(world, dataset_id) == 40


def test_rows_whose_commit_fails_do_not_wait(world: World, settings: Any) -> None:
    dataset_id = world.declare()
    fail_at_commit(world, "waiting_rows")
    require_problem(world.upload(dataset_id, MANY), status=500)
    require_problem(world.owner.get(path(dataset_id, "intake-report")), status=404)
    assert stored(world) == []
    assert list(settings.scratch_folder.iterdir()) == []


def test_of_decisions_and_an_upload_that_race_one_wins(world: World) -> None:
    dataset_id = waiting_of_many(world)
    answers: list[int] = []
    racers = [
        threading.Thread(target=lambda act=act: answers.append(act().status_code))
        for act in (
            lambda: accept(world, dataset_id),
            lambda: discard(world, dataset_id),
            lambda: world.upload(dataset_id),
        )
    ]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert set(answers) <= {200, 201, 204, 409}
    if state(world, dataset_id) == "ready":
        assert len(stored(world)) == 1
        assert rows_in_store(world, dataset_id) == 40


def test_the_report_is_sent_from_one_place(world: World) -> None:
    dataset_id = waiting_of_many(world)
    with world.database.read_only() as session:
        row = session.scalars(select(WaitingRows)).one()
        assert waiting_rows.report_of(session, UUID(dataset_id)) == row.intake_report | {"waiting": True}
    assert WaitingRows.wrapped_data_key in [wrapped.column for wrapped in COLUMNS]
