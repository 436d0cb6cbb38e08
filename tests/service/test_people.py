"""People enrol themselves: what an enrolment gives, what a recovery keeps shut, and whom the two-person rule counts."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from core.db.tables import ApiKey, Enrolment, Person
from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from core.platform.access.throttle import FREE_FAILURES
from tests.service.test_requests import approve, declared, filed
from tests.service.world import NOON, Caller, World, require_problem

HOLD = timedelta(hours=72)


def create(world: World, *roles: str) -> dict[str, Any]:
    answer = world.admin.post("/v1/people", {"name": "Ada", "roles": list(roles or ["owner"])})
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def accept(world: World, token: str, *, by: Caller | None = None, **changes: Any) -> Any:
    headers = {} if by is None else {"Authorization": f"Bearer {by.key}"}
    return world.client.post("/v1/enrolments", json={"token": token} | changes, headers=headers)


def accepted(world: World, token: str, *, by: Caller | None = None, **changes: Any) -> Caller:
    answer = accept(world, token, by=by, **changes)
    assert answer.status_code == 201, answer.text
    return Caller(world.client, answer.json()["key"], UUID(answer.json()["principal_id"]))


def invite(world: World, caller: Caller) -> dict[str, Any]:
    answer = world.admin.post(f"/v1/people/{caller.principal_id}/enrolments")
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def handed_out(world: World, *roles: Role) -> Caller:
    """A principal of before there were enrolments: an administrator made its key."""
    made = world.caller(*roles)
    with world.database.transaction() as session:
        session.get_one(Person, made.principal_id).enrolled_at = None
        (key,) = session.query(ApiKey).filter(ApiKey.principal_id == made.principal_id)
        key.enrolment_id = None
    return made


def test_a_person_enrols_and_makes_keys_alone(world: World) -> None:
    made = create(world, "owner", "analyst")
    assert made["enrolled_at"] is None
    token = made["enrolment"]["token"]
    assert made["enrolment"]["is_recovery"] is False
    me = accepted(world, token, name="laptop")
    assert str(me.principal_id) == made["principal_id"]
    session = me.get("/v1/session").json()
    assert (session["roles"], session["scopes"], session["held_until"]) == (["analyst", "owner"], [], None)
    assert me.post("/v1/keys", {"name": "b", "roles": ["analyst"]}).status_code == 201
    listed = {item["principal_id"]: item for item in world.admin.get("/v1/people").json()["items"]}
    assert listed[made["principal_id"]]["name"] == "Ada"
    assert datetime.fromisoformat(listed[made["principal_id"]]["enrolled_at"]) == NOON
    assert token not in world.admin.get("/v1/enrolments").text + world.admin.get("/v1/people").text


def test_the_token_of_an_enrolment_works_once_and_for_a_while(world: World) -> None:
    token = create(world)["enrolment"]["token"]
    accepted(world, token)
    require_problem(accept(world, token), status=401, code="enrolment-refused")
    late = create(world)["enrolment"]
    assert datetime.fromisoformat(late["expires_at"]) == NOON + timedelta(hours=72)
    replaced = create(world)
    newer = world.admin.post(f"/v1/people/{replaced['principal_id']}/enrolments").json()
    assert newer["is_recovery"] is False, "nobody has accepted the first one"
    require_problem(accept(world, replaced["enrolment"]["token"]), status=401, code="enrolment-refused")
    world.clock.advance(seconds=72 * 3600)
    require_problem(accept(world, late["token"]), status=401, code="enrolment-refused")
    for text in ("", "nonsense", world.owner.key, "ue_01234567_" + "A" * 43):
        world.clock.advance(seconds=3600)
        require_problem(accept(world, text), status=401, code="enrolment-refused")


def test_the_database_never_sees_a_token(world: World) -> None:
    token = create(world)["enrolment"]["token"]
    with world.database.read_only() as session:
        stored = " ".join(str(vars(row)) for row in session.query(Enrolment))
    assert token not in stored
    assert token[12:] not in stored


def test_guessing_tokens_waits_like_failed_logins(world: World) -> None:
    for _ in range(FREE_FAILURES):
        require_problem(accept(world, "ue_01234567_" + "A" * 43), status=401)
    refused = accept(world, "ue_76543210_" + "A" * 43)
    require_problem(refused, status=429, code="login-throttled")
    assert int(refused.headers["retry-after"]) >= 1


def test_a_narrowed_admin_creates_nobody(world: World) -> None:
    """Else a key with one scope could make itself a person with every role."""
    narrow = world.caller(Role.ADMIN, scopes=set(Scope))
    order = {"name": "b", "roles": ["admin"]}
    require_problem(narrow.post("/v1/people", order), status=403, code="key-narrowed")
    path = f"/v1/people/{world.owner.principal_id}/enrolments"
    require_problem(narrow.post(path), status=403, code="key-narrowed")
    require_problem(world.admin.post(f"/v1/people/{uuid4()}/enrolments"), status=404, code="person-not-found")


def sealed(world: World, caller: Caller, dataset_id: str, report_id: str, release_id: str) -> list[Any]:
    return [
        caller.get(f"/v1/datasets/{dataset_id}/intake-report"),
        caller.get(f"/v1/releases/{release_id}/sealed-reports"),
        caller.get(f"/v1/sealed-reports/{report_id}"),
        caller.get(f"/v1/sealed-reports/{report_id}/file"),
    ]


def test_what_is_sealed_stays_shut_after_a_recovery(world: World) -> None:
    dataset_id, release_id = world.ready(), world.release()
    report_id = world.owner.post(f"/v1/releases/{release_id}/sealed-reports", {}).json()["id"]
    thief = accepted(world, invite(world, world.owner)["token"])
    until = NOON + HOLD
    assert datetime.fromisoformat(thief.get("/v1/session").json()["held_until"]) == until
    for answer in sealed(world, thief, dataset_id, report_id, release_id):
        problem = require_problem(answer, status=403, code="recovery-hold")
        assert datetime.fromisoformat(problem["facts"]["until"]) == until
    child = thief.post("/v1/keys", {"name": "b", "roles": ["owner"]}).json()["key"]
    again = accepted(
        world, invite(world, world.owner)["token"], by=Caller(world.client, child, thief.principal_id)
    )
    require_problem(again.get(f"/v1/datasets/{dataset_id}/intake-report"), status=403, code="recovery-hold")
    world.clock.advance(seconds=HOLD.total_seconds() - 1)
    require_problem(thief.get(f"/v1/datasets/{dataset_id}/intake-report"), status=403, code="recovery-hold")
    world.clock.advance(seconds=1)
    assert thief.get(f"/v1/datasets/{dataset_id}/intake-report").status_code == 200


def test_the_person_objects_with_a_key_of_their_own(world: World) -> None:
    dataset_id = world.ready()
    enrolment = invite(world, world.owner)
    thief = accepted(world, enrolment["token"])
    child = thief.post("/v1/keys", {"name": "b", "roles": ["owner"]}).json()["key"]
    path = f"/v1/enrolments/{enrolment['id']}"
    assert [item["id"] for item in world.owner.get("/v1/enrolments").json()["items"]] == [enrolment["id"]]
    assert world.stranger.get("/v1/enrolments").json()["items"] == []
    for stranger in (world.stranger, thief):
        require_problem(stranger.delete(path), status=404, code="enrolment-not-found")
    answer = world.owner.delete(path)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    for key in (thief.key, child):
        headers = {"Authorization": f"Bearer {key}"}
        require_problem(world.client.get("/v1/session", headers=headers), status=401, code="key-refused")
    world.clock.advance(seconds=2)
    assert world.owner.get(f"/v1/datasets/{dataset_id}/intake-report").status_code == 200
    require_problem(world.owner.delete(path), status=409, code="enrolment-ended")


@pytest.mark.parametrize("roles", [(Role.OWNER,), (Role.OWNER, Role.ADMIN)], ids=["owner", "owner and admin"])
def test_a_held_key_does_not_revoke_the_keys_that_can_object(world: World, roles: tuple[Role, ...]) -> None:
    person = world.caller(*roles)
    listed = person.get("/v1/keys").json()["items"]
    (own,) = [key["id"] for key in listed if key["principal_id"] == str(person.principal_id)]
    enrolment = invite(world, person)
    thief = accepted(world, enrolment["token"])
    child = thief.post("/v1/keys", {"name": "b", "roles": ["owner"]}).json()["id"]
    require_problem(thief.delete(f"/v1/keys/{own}"), status=403, code="recovery-hold")
    assert thief.delete(f"/v1/keys/{child}").status_code == 200, "what came of the same enrolment"
    assert person.delete(f"/v1/enrolments/{enrolment['id']}").status_code == 200
    assert person.delete(f"/v1/keys/{own}").status_code == 200


def test_a_recovered_person_revokes_lost_keys_once_the_hold_is_over(world: World) -> None:
    (own,) = [key["id"] for key in world.owner.get("/v1/keys").json()["items"]]
    person = accepted(world, invite(world, world.owner)["token"])
    world.clock.advance(seconds=HOLD.total_seconds())
    assert person.delete(f"/v1/keys/{own}").status_code == 200


def test_a_waiting_recovery_is_cancelled_before_anybody_accepts_it(world: World) -> None:
    enrolment = invite(world, world.owner)
    assert world.owner.delete(f"/v1/enrolments/{enrolment['id']}").status_code == 200
    require_problem(accept(world, enrolment["token"]), status=401, code="enrolment-refused")


def test_whoever_proves_to_be_the_person_waits_for_nothing(world: World) -> None:
    dataset_id = world.ready()
    fresh = accepted(world, invite(world, world.owner)["token"], by=world.owner)
    assert fresh.get(f"/v1/datasets/{dataset_id}/intake-report").status_code == 200
    narrow = world.caller(
        Role.OWNER, principal_id=world.owner.principal_id, scopes={Scope.KEYS_WRITE, Scope.DATASETS_READ}
    )
    for other in (narrow, world.stranger):
        held = accepted(world, invite(world, world.owner)["token"], by=other)
        require_problem(
            held.get(f"/v1/datasets/{dataset_id}/intake-report"), status=403, code="recovery-hold"
        )
    require_problem(accept(world, invite(world, world.owner)["token"], by=Caller(world.client, "x", uuid4())), status=401, code="key-refused")  # fmt: skip


def test_a_recovery_is_in_the_audit_log(world: World) -> None:
    enrolment = invite(world, world.owner)
    thief = accepted(world, enrolment["token"])
    world.owner.delete(f"/v1/enrolments/{enrolment['id']}")
    events = world.caller(Role.AUDITOR).get(f"/v1/audit?object={enrolment['id']}").json()["items"]
    told = [(event["action"], event["actor"].partition("/")[0]) for event in reversed(events)]
    assert told == [
        ("recovery.create", str(world.admin.principal_id)),
        ("recovery.accept", str(thief.principal_id)),
        ("recovery.cancel", str(world.owner.principal_id)),
    ]


class TestTheTwoPersonRule:
    def test_a_recovered_person_does_not_count_until_the_hold_is_over(self, world: World) -> None:
        """Reproduced with a minted key: an admin filed as an analyst, and approved as herself."""
        dataset_id = declared(world)
        taken = accepted(world, invite(world, world.analyst)["token"])
        request_id = filed(world, dataset_id, taken)
        refused = require_problem(approve(world.admin, request_id), status=403, code="recovery-hold")
        assert refused["facts"]["whose"] == "requester"
        world.clock.advance(seconds=HOLD.total_seconds())
        assert approve(world.admin, request_id).status_code == 200

    def test_a_recovered_approver_does_not_count(self, world: World) -> None:
        request_id = filed(world, declared(world), world.analyst)
        taken = accepted(world, invite(world, world.owner)["token"])
        refused = require_problem(approve(taken, request_id), status=403, code="recovery-hold")
        assert refused["facts"]["whose"] == "approver"

    def test_keys_that_an_admin_handed_out_do_not_count(self, world: World) -> None:
        dataset_id = declared(world)
        old = handed_out(world, Role.ANALYST)
        world.admit(dataset_id, old)
        order = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
        path = f"/v1/datasets/{dataset_id}/budget-requests"
        require_problem(old.post(path, order), status=403, code="person-not-enrolled")
        admin = handed_out(world, Role.ADMIN)
        request_id = filed(world, dataset_id, world.analyst)
        require_problem(approve(admin, request_id), status=403, code="person-not-enrolled")
        rotated = admin.post(f"/v1/keys/{key_id(world, admin)}/rotate").json()["key"]
        again = Caller(world.client, rotated, admin.principal_id)
        require_problem(approve(again, request_id), status=403, code="person-not-enrolled")

    def test_a_principal_with_old_keys_counts_once_enrolled_and_after_the_hold(self, world: World) -> None:
        dataset_id = declared(world)
        old = handed_out(world, Role.ANALYST)
        world.admit(dataset_id, old)
        enrolment = invite(world, old)
        assert enrolment["is_recovery"] is True
        fresh = accepted(world, enrolment["token"], by=old)
        assert fresh.get("/v1/session").json()["held_until"] is not None, "an old key proves nothing"
        order = {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
        path = f"/v1/datasets/{dataset_id}/budget-requests"
        require_problem(old.post(path, order), status=403, code="person-not-enrolled")
        request_id = filed(world, dataset_id, fresh)
        world.clock.advance(seconds=HOLD.total_seconds())
        assert approve(world.admin, request_id).status_code == 200

    def test_a_request_from_before_the_enrolment_is_not_approved(self, world: World) -> None:
        dataset_id = declared(world)
        request_id = filed(world, dataset_id, world.analyst)
        with world.database.transaction() as session:
            session.get_one(Person, world.analyst.principal_id).enrolled_at = NOON + timedelta(seconds=1)
        world.clock.advance(seconds=60)
        refused = require_problem(approve(world.admin, request_id), status=403, code="person-not-enrolled")
        assert refused["facts"] == {"whose": "requester"}


def key_id(world: World, caller: Caller) -> str:
    items = world.admin.get("/v1/keys").json()["items"]
    found: str = next(item["id"] for item in items if item["prefix"] == caller.key[3:11])
    return found


def test_a_principal_whose_keys_have_all_ended_is_recovered(world: World) -> None:
    """Also one that the previous release made while this one was being installed: it has keys and is no person yet."""
    old = handed_out(world, Role.OWNER)
    with world.database.transaction() as session:
        session.delete(session.get_one(Person, old.principal_id))
    assert world.admin.delete(f"/v1/keys/{key_id(world, old)}").status_code == 200
    fresh = accepted(world, invite(world, old)["token"])
    assert fresh.principal_id == old.principal_id
    assert fresh.get("/v1/session").json()["roles"] == ["owner"]


@pytest.mark.parametrize("body", [{}, {"name": "a", "roles": []}, {"name": "a", "roles": ["root"]}, {"name": "a\nb", "roles": ["owner"]}])  # fmt: skip
def test_a_person_has_a_name_and_known_roles(world: World, body: dict[str, Any]) -> None:
    require_problem(world.admin.post("/v1/people", body), status=422, code="invalid-input")
