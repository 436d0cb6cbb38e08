"""Members: to whom a dataset is shown, and everything that hangs on that."""

from uuid import uuid4

import pytest

from core.platform.access.roles import Role
from tests.service.world import OPTIONS, Caller, World, require_problem


def ids(caller: Caller, path: str) -> set[str]:
    return {item["id"] for item in caller.get(path).json()["items"]}


def test_members_are_added_and_removed_by_the_owner_or_an_admin(world: World) -> None:
    dataset_id = world.declare()
    path = f"/v1/datasets/{dataset_id}/members"
    first = str(world.analyst.principal_id)
    world.clock.advance(seconds=1)
    second = str(uuid4())
    for _ in range(2):
        items = world.admin.put(f"{path}/{second}", None).json()["items"]
        assert [item["principal_id"] for item in items] == [first, second]
    assert items[1]["added_by"] == str(world.admin.principal_id)
    for who in (world.owner, world.admin, world.caller(Role.AUDITOR)):
        assert who.get(path).json()["items"] == items
    for _ in range(2):
        left = world.owner.delete(f"{path}/{first}").json()["items"]
        assert [item["principal_id"] for item in left] == [second]
    require_problem(world.stranger.get(path), status=404, code="dataset-not-found")
    require_problem(world.stranger.put(f"{path}/{uuid4()}", None), status=404, code="dataset-not-found")
    for who in (world.analyst, world.caller(Role.AUDITOR)):
        require_problem(who.put(f"{path}/{uuid4()}", None), status=403, code="role-missing")
    require_problem(world.owner.put(f"{path}/somebody", None), status=422)


def test_an_analyst_sees_what_it_is_a_member_of_and_nothing_else(world: World) -> None:
    release_id = world.release()
    release = world.owner.get(f"/v1/releases/{release_id}").json()
    shown, job_id = release["dataset_id"], release["job_id"]
    hidden = world.declare()
    member, outsider = world.caller(Role.ANALYST), world.caller(Role.ANALYST)
    world.admit(shown, member)
    paths = [
        f"/v1/datasets/{shown}",
        f"/v1/datasets/{shown}/budget",
        f"/v1/datasets/{shown}/ledger",
        f"/v1/datasets/{shown}/grants",
        f"/v1/datasets/{shown}/budget-requests",
        f"/v1/jobs/{job_id}",
        f"/v1/releases/{release_id}",
        f"/v1/releases/{release_id}/certificate",
        f"/v1/releases/{release_id}/bundle",
        f"/v1/releases/{release_id}/samples?rows=1",
    ]
    for path in paths:
        assert member.get(path).status_code == 200, path
        require_problem(outsider.get(path), status=404)
        assert member.get(path.replace(shown, hidden)).status_code == (404 if shown in path else 200)
    for path, expected in [
        ("/v1/datasets", {shown}),
        ("/v1/jobs", {job_id}),
        ("/v1/releases", {release_id}),
    ]:
        assert ids(member, path) == expected
        assert ids(outsider, path) == set()
        assert ids(world.admin, path) >= expected
        assert ids(world.caller(Role.AUDITOR), path) >= expected
    body = {"dataset_id": shown, "epsilon": 0.1, "delta": 1e-6, "options": OPTIONS}
    assert member.post("/v1/quotes", body).status_code == 200
    require_problem(outsider.post("/v1/quotes", body), status=404, code="dataset-not-found")
    require_problem(world.order(shown, caller=outsider), status=404, code="dataset-not-found")
    require_problem(world.order(shown, caller=member), status=409, code="no-grant")


def test_a_new_version_is_shown_anew(world: World) -> None:
    parent = world.ready()
    member = world.caller(Role.ANALYST)
    world.admit(parent, member)
    child = world.declare(parent_dataset_id=parent)
    require_problem(member.get(f"/v1/datasets/{child}"), status=404)
    assert ids(member, "/v1/datasets") == {parent}


@pytest.mark.parametrize(
    ("roles", "sees"),
    [
        ([Role.OWNER], True),
        ([Role.ANALYST], False),
        ([Role.OWNER, Role.ANALYST], True),
        ([Role.ADMIN], True),
        ([Role.AUDITOR], True),
    ],
)
def test_a_key_sees_what_its_own_roles_see(world: World, roles: list[Role], sees: bool) -> None:
    """A narrower key of the owner's principal does not see the owner's datasets."""
    dataset_id = world.declare()
    key = world.caller(*roles, principal_id=world.owner.principal_id)
    assert key.get(f"/v1/datasets/{dataset_id}").status_code == (200 if sees else 404)
    assert (dataset_id in ids(key, "/v1/datasets")) is sees


def test_a_member_with_another_role_sees_no_more_than_its_key_says(world: World) -> None:
    dataset_id = world.declare()
    member = world.caller(Role.ANALYST)
    world.admit(dataset_id, member)
    as_owner = world.caller(Role.OWNER, principal_id=member.principal_id)
    require_problem(as_owner.get(f"/v1/datasets/{dataset_id}"), status=404)
    assert member.get(f"/v1/datasets/{dataset_id}").status_code == 200


def test_an_auditor_reads_facts_and_never_rows_or_generators(world: World) -> None:
    release_id = world.release()
    auditor = world.caller(Role.AUDITOR)
    for part in ("", "/certificate"):
        assert auditor.get(f"/v1/releases/{release_id}{part}").status_code == 200
    for part in ("/bundle", "/samples"):
        require_problem(auditor.get(f"/v1/releases/{release_id}{part}"), status=403, code="role-missing")
