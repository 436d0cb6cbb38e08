"""Budget requests over the API: filed, seen, decided, and what an approval gives."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from httpx2 import Response
from sqlalchemy import text

from core.platform.access.roles import Role
from core.platform.settings import Settings
from tests.service.world import NOON, Caller, World, require_problem

ASKED = {"epsilon": 1.0, "delta": 2e-6, "purpose": "a course on readmissions"}


def declared(world: World, *, epsilon: float = 2.0) -> str:
    """A dataset with rows and a cap, of which the analyst is a member, without a grant."""
    dataset_id = world.declare()
    assert world.upload(dataset_id).status_code == 201
    body = {"epsilon": epsilon, "delta": 1e-5}
    assert world.admin.put(f"/v1/datasets/{dataset_id}/budget", body).status_code == 200
    return dataset_id


def file(world: World, dataset_id: str, caller: Caller | None = None, **changes: Any) -> Response:
    return (caller or world.analyst).post(f"/v1/datasets/{dataset_id}/budget-requests", ASKED | changes)


def filed(world: World, dataset_id: str, caller: Caller | None = None, **changes: Any) -> str:
    answer = file(world, dataset_id, caller, **changes)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_request_without_a_delta_takes_the_share_of_the_cap_that_its_epsilon_is(world: World) -> None:
    dataset_id = declared(world, epsilon=4.0)
    path = f"/v1/datasets/{dataset_id}/budget-requests"
    asked = {name: value for name, value in ASKED.items() if name != "delta"} | {"epsilon": 0.5}
    found = world.analyst.post(path, asked)
    assert found.status_code == 201, found.text
    assert found.json()["delta"] == pytest.approx(1e-5 / 8)


def test_a_request_without_a_delta_waits_for_a_cap(world: World) -> None:
    dataset_id = world.declare()
    asked = {name: value for name, value in ASKED.items() if name != "delta"}
    refused = world.analyst.post(f"/v1/datasets/{dataset_id}/budget-requests", asked)
    require_problem(refused, status=409, code="budget-not-set")
    assert file(world, dataset_id).status_code == 201


def approve(caller: Caller, request_id: str, *, key: str | None = None, **body: Any) -> Response:
    path = f"/v1/budget-requests/{request_id}/approve"
    return caller.post(path, body, headers={"Idempotency-Key": key or str(uuid4())})


def test_from_a_request_to_an_order(world: World) -> None:
    dataset_id = declared(world)
    require_problem(world.order(dataset_id), status=409, code="no-grant")
    request_id = filed(world, dataset_id)
    open_request = world.admin.get(f"/v1/budget-requests/{request_id}").json()
    assert open_request["state"] == "open"
    assert open_request["purpose"] == ASKED["purpose"]
    assert open_request["requested_by"] == str(world.analyst.principal_id)
    assert open_request["expires_at"] == (NOON + timedelta(days=30)).isoformat().replace("+00:00", "Z")
    answer = approve(world.admin, request_id, note="good luck")
    assert answer.status_code == 200, answer.text
    approved = answer.json()
    assert (approved["state"], approved["note"]) == ("approved", "good luck")
    assert approved["decided_by"] == str(world.admin.principal_id)
    assert (approved["grant"]["epsilon"], approved["grant"]["delta"]) == (1.0, 2e-6)
    assert approved["grant"]["expires_at"] == (NOON + timedelta(days=90)).isoformat().replace("+00:00", "Z")
    assert world.analyst.get(f"/v1/budget-requests/{request_id}").json() == approved
    assert world.order(dataset_id).status_code == 202
    require_problem(world.order(dataset_id), status=409, code="grant-refused")
    (entry,) = world.movements(dataset_id)
    assert entry["grant_id"] == approved["grant"]["id"]


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_the_owner_or_an_admin_grants_less_or_nothing(world: World, role: str) -> None:
    decider: Caller = getattr(world, role)
    dataset_id = declared(world)
    request_id = filed(world, dataset_id)
    require_problem(approve(decider, request_id, epsilon=1.1), status=422, code="grant-above-request")
    require_problem(approve(decider, request_id, delta=3e-6), status=422, code="grant-above-request")
    partial = approve(decider, request_id, epsilon=0.5, expires_at="2026-03-02T00:00:00+01:00").json()
    assert (partial["epsilon"], partial["grant"]["epsilon"], partial["grant"]["delta"]) == (1.0, 0.5, 2e-6)
    assert partial["grant"]["expires_at"] == "2026-03-01T23:00:00Z"
    another = filed(world, dataset_id)
    denied = decider.post(f"/v1/budget-requests/{another}/deny", {"note": "not this year"}).json()
    assert (denied["state"], denied["note"], denied["grant"]) == ("denied", "not this year", None)
    require_problem(approve(decider, another), status=409, code="budget-request-decided")


def test_an_expiry_is_aware_and_within_reason(world: World) -> None:
    request_id = filed(world, declared(world))
    for moment, code in [
        ("2026-03-01T12:00:00Z", "expiry-out-of-range"),
        ("2040-01-01T00:00:00Z", "expiry-out-of-range"),
        ("9999-12-31T23:59:59.999999-23:59", "expiry-out-of-range"),
        ("0001-01-01T00:00:00+23:59", "expiry-out-of-range"),
        ("2026-04-01T00:00:00", "invalid-input"),
        ("soon", "invalid-input"),
        (1e308, "invalid-input"),
        (1775000000, "invalid-input"),
        ("1775000000", "invalid-input"),
        (True, "invalid-input"),
    ]:
        require_problem(approve(world.admin, request_id, expires_at=moment), status=422, code=code)
    assert approve(world.admin, request_id).status_code == 200


def test_nobody_approves_their_own_request(world: World) -> None:
    dataset_id = declared(world)
    everything = world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN)
    world.admit(dataset_id, everything)
    request_id = filed(world, dataset_id, everything)
    require_problem(approve(everything, request_id), status=403, code="second-person-needed")
    rotated = world.caller(Role.ADMIN, principal_id=everything.principal_id)
    require_problem(approve(rotated, request_id), status=403, code="second-person-needed")
    require_problem(approve(world.analyst, request_id), status=403, code="role-missing")
    assert world.admin.get(f"/v1/budget-requests/{request_id}").json()["state"] == "open"
    assert approve(world.owner, request_id).status_code == 200


class TestWithoutTheTwoPersonRule:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"two_person_rule": False})

    def test_one_person_may_do_everything(self, world: World) -> None:
        dataset_id = declared(world)
        everything = world.caller(Role.ANALYST, Role.ADMIN)
        world.admit(dataset_id, everything)
        assert approve(everything, filed(world, dataset_id, everything)).status_code == 200
        assert world.order(dataset_id, caller=everything).status_code == 202


def test_an_approval_sent_twice_is_one_grant(world: World) -> None:
    dataset_id = declared(world)
    request_id = filed(world, dataset_id)
    body: dict[str, Any] = {}
    missing = world.admin.post(f"/v1/budget-requests/{request_id}/approve", body)
    require_problem(missing, status=422, code="idempotency-key-missing")
    first, again = (approve(world.admin, request_id, key="one", epsilon=0.5) for _ in range(2))
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    require_problem(
        approve(world.admin, request_id, key="one", epsilon=0.4), status=409, code="idempotency-key-reused"
    )
    other_request = filed(world, dataset_id)
    require_problem(
        approve(world.admin, other_request, key="one", epsilon=0.5), status=409, code="idempotency-key-reused"
    )
    assert len(world.admin.get(f"/v1/datasets/{dataset_id}/grants").json()["items"]) == 1


WRONG: list[dict[str, Any]] = [
    {"epsilon": 0},
    {"epsilon": -1},
    {"epsilon": 1e9},
    {"epsilon": 1e-320},
    {"delta": 0},
    {"delta": 1},
    {"delta": 1e-13},
    {"purpose": ""},
    {"purpose": "  "},
    {"purpose": "a" * 2001},
    {"purpose": "a\u0000b"},
    {"purpose": "\u200b \u2060"},
    {"holder": "somebody else"},
]


def test_a_wrong_request_is_refused(world: World) -> None:
    dataset_id = declared(world)
    for change in WRONG:
        require_problem(file(world, dataset_id, **change), status=422)
    assert file(world, dataset_id, purpose="ü" * 2000).status_code == 201


def test_only_members_file_and_only_once_at_a_time(world: World) -> None:
    dataset_id = declared(world)
    outsider = world.caller(Role.ANALYST)
    require_problem(file(world, dataset_id, outsider), status=404, code="dataset-not-found")
    # The owner sees the dataset, but an order of the owner's is an analyst's order like every other.
    both = world.caller(Role.OWNER, Role.ANALYST, principal_id=world.owner.principal_id)
    require_problem(file(world, dataset_id, both), status=403, code="not-a-member")
    first = filed(world, dataset_id)
    problem = require_problem(file(world, dataset_id), status=409, code="budget-request-open")
    assert problem["facts"] == {"request_id": first}
    withdrawn = world.analyst.post(f"/v1/budget-requests/{first}/withdraw").json()
    assert withdrawn["state"] == "withdrawn"
    assert file(world, dataset_id).status_code == 201


def test_who_sees_which_request(world: World) -> None:
    dataset_id, other_dataset = declared(world), declared(world)
    member, outsider = world.caller(Role.ANALYST), world.caller(Role.ANALYST)
    auditor = world.caller(Role.AUDITOR)
    world.admit(dataset_id, member)
    mine, theirs = filed(world, dataset_id), filed(world, dataset_id, member)
    elsewhere = filed(world, other_dataset)
    seen = {
        world.analyst: {mine, elsewhere},
        member: {theirs},
        outsider: set(),
        world.stranger: set(),
        world.owner: {mine, theirs, elsewhere},
        world.admin: {mine, theirs, elsewhere},
        auditor: {mine, theirs, elsewhere},
    }
    for who, expected in seen.items():
        assert {item["id"] for item in who.get("/v1/budget-requests").json()["items"]} == expected
        for request_id in (mine, theirs, elsewhere):
            answer = who.get(f"/v1/budget-requests/{request_id}")
            if request_id in expected:
                assert answer.status_code == 200
            else:
                require_problem(answer, status=404, code="budget-request-not-found")
        if who in {outsider, world.stranger}:
            require_problem(who.get(f"/v1/datasets/{dataset_id}/budget-requests"), status=404)
            continue
        of_one = who.get(f"/v1/datasets/{dataset_id}/budget-requests").json()["items"]
        assert {item["id"] for item in of_one} == expected - {elsewhere}
    for who in (world.stranger, outsider, member):
        assert approve(who, mine).status_code in {403, 404}
        assert who.post(f"/v1/budget-requests/{mine}/withdraw").status_code in {403, 404}
    assert world.analyst.get(f"/v1/budget-requests/{mine}").json()["state"] == "open"


def test_a_member_who_owns_other_datasets_decides_nothing_here(world: World) -> None:
    dataset_id = declared(world)
    request_id = filed(world, dataset_id)
    neighbour = world.caller(Role.OWNER, Role.ANALYST)
    world.admit(dataset_id, neighbour)
    assert neighbour.get(f"/v1/datasets/{dataset_id}").status_code == 200
    require_problem(approve(neighbour, request_id), status=404, code="budget-request-not-found")
    deny = neighbour.post(f"/v1/budget-requests/{request_id}/deny", {"note": "no"})
    require_problem(deny, status=404, code="budget-request-not-found")
    for method, path, body in [
        ("GET", "members", None),
        ("PUT", f"members/{uuid4()}", None),
        ("DELETE", f"members/{world.analyst.principal_id}", None),
        ("POST", "freeze", {"reason": "mine"}),
    ]:
        answer = neighbour.send(
            method, f"/v1/datasets/{dataset_id}/{path}", **({} if body is None else {"json": body})
        )
        require_problem(answer, status=404, code="dataset-not-found")


def test_requests_are_listed_by_state_in_pages_newest_first(world: World) -> None:
    dataset_ids = [declared(world) for _ in range(4)]
    made = []
    for dataset_id in dataset_ids:
        made.append(filed(world, dataset_id))
        world.clock.advance(seconds=1)
    approve(world.admin, made[0])
    first = world.admin.get("/v1/budget-requests?state=open&limit=2").json()
    assert [item["id"] for item in first["items"]] == [made[3], made[2]]
    rest = world.admin.get(f"/v1/budget-requests?state=open&limit=2&before={first['next_before']}").json()
    assert [item["id"] for item in rest["items"]] == [made[1]]
    assert rest["next_before"] is None
    approved = world.analyst.get("/v1/budget-requests?state=approved").json()["items"]
    assert [item["grant"]["holder_id"] for item in approved] == [str(world.analyst.principal_id)]
    require_problem(world.admin.get("/v1/budget-requests?state=lost"), status=422)


def test_every_act_is_in_the_audit_log(world: World) -> None:
    dataset_id = declared(world)
    principal = str(uuid4())
    world.owner.put(f"/v1/datasets/{dataset_id}/members/{principal}", None)
    world.owner.put(f"/v1/datasets/{dataset_id}/members/{principal}", None)
    world.owner.delete(f"/v1/datasets/{dataset_id}/members/{principal}")
    world.owner.delete(f"/v1/datasets/{dataset_id}/members/{principal}")
    grant = approve(world.admin, filed(world, dataset_id)).json()["grant"]["id"]
    world.admin.delete(f"/v1/grants/{grant}")
    world.admin.delete(f"/v1/grants/{grant}")
    denied = filed(world, dataset_id)
    world.owner.post(f"/v1/budget-requests/{denied}/deny", {"note": "no"})
    world.analyst.post(f"/v1/budget-requests/{filed(world, dataset_id)}/withdraw")
    world.owner.post(f"/v1/datasets/{dataset_id}/freeze", {"reason": "a look"})
    world.admin.post(f"/v1/datasets/{dataset_id}/unfreeze", {"reason": "looked"})
    with world.database.read_only() as session:
        acts = session.scalars(text("SELECT action FROM audit_events ORDER BY sequence")).all()
    governance = [act for act in acts if act.split(".")[0] in {"member", "budget", "budget-request", "grant"}]
    assert governance == [
        "member.add",
        "budget.set",
        "member.add",
        "member.remove",
        "budget-request.file",
        "budget-request.approve",
        "grant.revoke",
        "budget-request.file",
        "budget-request.deny",
        "budget-request.file",
        "budget-request.withdraw",
        "budget.freeze",
        "budget.unfreeze",
    ]
