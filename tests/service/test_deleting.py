"""Deletion, signed heads, verification and failure notes over HTTP."""

from uuid import UUID

import pytest
from prometheus_client import generate_latest

from core.artifacts.signing.contexts import LEDGER_HEAD
from core.artifacts.signing.signed import SignedDocument, verify
from core.data.failure_notes import write_failure_note
from core.db.tables import Dataset, Job
from core.ledger.audit_log import AuditFilter, page
from core.platform.access.roles import Role
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import World, require_problem


def row_of(world: World, dataset_id: str) -> Dataset:
    with world.database.read_only() as session:
        row = session.get_one(Dataset, UUID(dataset_id))
        session.expunge(row)
        return row


def test_the_owner_deletes_and_a_tombstone_stays(world: World) -> None:
    dataset_id = world.ready()
    rows_key = row_of(world, dataset_id).rows_key
    answer = world.owner.delete(f"/v1/datasets/{dataset_id}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "deleted"
    assert answer.json()["deleted_at"].startswith("2026-03-01T12:00")
    assert not world.store.exists(rows_key)
    row = row_of(world, dataset_id)
    assert (row.wrapped_data_key, row.rows_key, row.deleted_by) == (None, None, world.owner.principal_id)
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").json() == answer.json(), "again changes nothing"
    view = world.owner.get(f"/v1/datasets/{dataset_id}").json()
    assert (view["state"], view["name"]) == ("deleted", "wards")
    require_problem(
        world.owner.get(f"/v1/datasets/{dataset_id}/intake-report"), status=404, code="intake-report-missing"
    )
    require_problem(world.upload(dataset_id), status=409)
    with world.database.read_only() as session:
        done = [
            event.actor
            for event, _ in page(session, AuditFilter(action="dataset.delete"), limit=9, before=None)
        ]
    assert len(done) == 1
    assert done[0].startswith(str(world.owner.principal_id))


def test_an_admin_may_and_nobody_else(world: World) -> None:
    dataset_id = world.ready()
    for caller, status in ((world.stranger, 404), (world.analyst, 403), (world.caller(Role.AUDITOR), 403)):
        require_problem(caller.delete(f"/v1/datasets/{dataset_id}"), status=status)
    assert row_of(world, dataset_id).state == "ready"
    assert world.admin.delete(f"/v1/datasets/{dataset_id}").status_code == 200


def test_a_dataset_without_rows_can_be_deleted(world: World) -> None:
    dataset_id = world.declare()
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").json()["state"] == "deleted"
    require_problem(world.upload(dataset_id), status=409)


def test_its_jobs_end_its_releases_stay_and_its_population_keeps_the_spend(world: World) -> None:
    release_id = world.release()
    certificate = world.analyst.get(f"/v1/releases/{release_id}").json()
    dataset_id = certificate["dataset_id"]
    job_id = certificate["job_id"]
    before = world.owner.get(f"/v1/datasets/{dataset_id}/ledger").json()
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").status_code == 200
    with world.database.read_only() as session:
        assert session.get_one(Job, UUID(job_id)).state == "cancelled", "it had not been claimed"
    assert world.analyst.get(f"/v1/releases/{release_id}/bundle").status_code == 200
    after = world.owner.get(f"/v1/datasets/{dataset_id}/ledger").json()
    assert after["entries"][: len(before["entries"])] == before["entries"]
    body = {"name": "again", "domain": DOMAIN, "declared_size": 1000, "parent_dataset_id": dataset_id}
    child = world.owner.post("/v1/datasets", body).json()
    assert child["population_id"] == before["population_id"]
    require_problem(world.order(dataset_id), status=409, code="dataset-deleted")


def test_objects_that_could_not_be_removed_do_not_fail_the_request(world: World, monkeypatch) -> None:
    dataset_id = world.ready()

    def away(_key: str) -> None:
        raise OSError("away")

    monkeypatch.setattr(world.store, "delete", away)
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").status_code == 200
    row = row_of(world, dataset_id)
    assert row.wrapped_data_key is None
    assert row.rows_key is not None, "upkeep goes on from here"
    monkeypatch.undo()
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").status_code == 200
    assert row_of(world, dataset_id).rows_key is None


def test_a_signed_head_verifies_and_is_held_against_the_ledger(world: World) -> None:
    dataset_id = world.ready()
    path = f"/v1/datasets/{dataset_id}/ledger"
    head = world.analyst.get(f"{path}/head").json()
    keys = {
        item["key_id"]: bytes.fromhex(item["public_key"])
        for item in world.analyst.get("/v1/signing-keys").json()["items"]
    }
    document = verify(SignedDocument.from_json(head), context=LEDGER_HEAD, public_keys=keys)
    assert document["population_id"] == str(row_of(world, dataset_id).population_id)
    assert world.order(dataset_id).status_code == 202
    noted = {"sequence": str(head["sequence"]), "hash": head["hash"]}
    found = world.analyst.get(f"{path}/verification", params=noted).json()
    assert (found["intact"], found["problem"], found["witnessed"]) == (True, None, [head["sequence"]])
    assert found["checked"] == head["sequence"] + 1
    other = world.analyst.get(f"{path}/verification", params=noted | {"hash": "00" * 32}).json()
    assert (other["intact"], other["problem"]) == (False, "history differs from the one witnessed")
    later = world.analyst.get(f"{path}/verification", params=noted | {"sequence": "99"}).json()
    assert later["problem"] == "entries that were witnessed are missing"
    assert not later["frozen"], "a caller's claim freezes nothing"
    require_problem(
        world.analyst.get(f"{path}/verification", params={"sequence": "1"}), status=422, code="half-a-witness"
    )
    require_problem(world.stranger.get(f"{path}/head"), status=404, code="dataset-not-found")


def test_the_note_on_a_failure_is_for_the_owner_alone(world: World) -> None:
    job = world.job()
    path = f"/v1/jobs/{job['id']}/failure-note"
    require_problem(world.owner.get(path), status=404, code="failure-note-missing")
    wrapped = row_of(world, job["dataset_id"]).wrapped_data_key
    data_key = world.app.state.context.settings.master_keys.unwrap(
        wrapped, context=f"dataset:{job['dataset_id']}"
    )
    with world.database.transaction() as session:
        session.get_one(Job, UUID(job["id"])).fence = 3
    for fence, words in ((1, "the first"), (2, "canary-81c2")):
        error = ValueError(words)
        write_failure_note(world.store, job_id=UUID(job["id"]), fence=fence, data_key=data_key, error=error)
    answer = world.owner.get(path)
    assert answer.status_code == 200, answer.text
    note = answer.json()
    assert (note["private"], note["attempt"]) == (True, 2)
    assert "canary-81c2" in note["note"]
    assert "not differentially private" in note["notice"]
    assert answer.headers["cache-control"] == "no-store"
    require_problem(world.stranger.get(path), status=404, code="job-not-found")
    require_problem(world.caller(Role.OWNER, Role.ADMIN).get(path), status=404, code="job-not-found")
    for caller in (world.analyst, world.admin, world.caller(Role.AUDITOR)):
        require_problem(caller.get(path), status=403)
    world.owner.delete(f"/v1/datasets/{job['dataset_id']}")
    require_problem(world.owner.get(path), status=404, code="failure-note-missing")


def test_that_the_owner_looked_for_a_note_does_not_tell_whether_there_is_one(world: World) -> None:
    """Notes are of failures among the rows alone: of a training that was too large, or vanished, there is none."""
    seen = []
    for has_note in (False, True):
        job = world.job()
        if has_note:
            wrapped = row_of(world, job["dataset_id"]).wrapped_data_key
            keys = world.app.state.context.settings.master_keys
            data_key = keys.unwrap(wrapped, context=f"dataset:{job['dataset_id']}")
            with world.database.transaction() as session:
                session.get_one(Job, UUID(job["id"])).fence = 1
            error = ValueError("among the rows")
            write_failure_note(world.store, job_id=UUID(job["id"]), fence=1, data_key=data_key, error=error)
        answer = world.owner.get(f"/v1/jobs/{job['id']}/failure-note")
        assert answer.status_code == (200 if has_note else 404)
        events = world.admin.get("/v1/audit", params={"object": job["id"]}).json()["items"]
        counted = generate_latest(world.app.state.context.recorder.registry()).decode().splitlines()
        seen.append(
            (
                [(event["action"], event["outcome"]) for event in events],
                [line for line in counted if "failure-note" in line],
            )
        )
    assert seen[0] == seen[1] == ([("job.failure-note", "done"), ("job.order", "done")], [])


@pytest.mark.parametrize("role", [Role.OWNER, Role.ANALYST, Role.ADMIN, Role.AUDITOR])
def test_every_role_may_have_the_public_keys(world: World, role: Role) -> None:
    (item,) = world.caller(role).get("/v1/signing-keys").json()["items"]
    assert (item["algorithm"], len(item["public_key"]), item["retired_at"]) == ("Ed25519", 64, None)
