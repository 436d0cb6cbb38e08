"""Names of principals: admins set them, everybody reads the names of ids they know, and a name gives no rights."""

from uuid import uuid4

from core.platform.access.roles import Role
from tests.service.world import World, require_problem


def _names(world: World, *ids: object) -> dict[str, str]:
    answer = world.analyst.get("/v1/principals", params={"id": [str(one) for one in ids]})
    assert answer.status_code == 200, answer.text
    return {item["principal_id"]: item["name"] for item in answer.json()["items"]}


def test_a_name_is_set_replaced_and_shown_to_those_who_know_the_id(world: World) -> None:
    other = world.caller(Role.ANALYST)
    path = f"/v1/principals/{world.owner.principal_id}"
    assert world.admin.put(path, {"name": "  Registry, north "}).json()["name"] == "Registry, north"
    assert world.admin.put(path, {"name": "Registry"}).status_code == 200
    assert _names(world, world.owner.principal_id, other.principal_id, uuid4()) == {
        str(world.owner.principal_id): "Registry"
    }
    named = {
        key["principal_id"]: key["principal_name"] for key in world.admin.get("/v1/keys").json()["items"]
    }
    assert named[str(world.owner.principal_id)] == "Registry"
    assert named[str(other.principal_id)] is None
    events = world.admin.get("/v1/audit?action=principal.name").json()["items"]
    assert [event["object"] for event in events] == [str(world.owner.principal_id)] * 2
    assert "Registry" not in str(events)


def test_a_name_is_one_short_line(world: World) -> None:
    for name in ("", " ", "a\nb", "a\u202eb", "a\x00b", "x" * 81, 7, None):
        answer = world.admin.put(f"/v1/principals/{uuid4()}", {"name": name})
        require_problem(answer, status=422)


def test_only_ids_that_are_given_are_answered(world: World) -> None:
    require_problem(world.admin.get("/v1/principals"), status=422)
    many = {"id": [str(uuid4()) for _ in range(101)]}
    require_problem(world.admin.get("/v1/principals", params=many), status=422)
    require_problem(
        world.owner.put(f"/v1/principals/{uuid4()}", {"name": "me"}), status=403, code="role-missing"
    )
