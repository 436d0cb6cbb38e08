"""Only the person makes keys, and no key makes a mightier one: not for an admin, not for a narrowed key."""

from datetime import datetime, timedelta

import pytest

from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from tests.service.world import NOON, Caller, World, require_problem


def as_key(world: World, document: dict[str, str]) -> Caller:
    return Caller(world.client, document["key"], world.owner.principal_id)


@pytest.mark.parametrize("named", [{}, {"principal_name": "Ada"}])
def test_an_admin_makes_no_key_for_somebody_else(world: World, named: dict[str, str]) -> None:
    """Reproduced: with such a key of the owner, an admin read the owner's owner report."""
    mighty = world.caller(*Role)
    for victim in (world.owner, world.analyst):
        order = {"name": "a", "roles": ["owner"], "principal_id": str(victim.principal_id)} | named
        problem = require_problem(mighty.post("/v1/keys", order), status=403, code="key-for-another")
        assert "/v1/people" in problem["remedy"]
    new = {"name": "a", "roles": ["owner"], "principal_name": "somebody new"}
    require_problem(mighty.post("/v1/keys", new), status=403, code="key-for-another")
    beyond = require_problem(
        world.admin.post("/v1/keys", {"name": "a", "roles": ["owner"]}), status=403, code="key-beyond-maker"
    )
    assert beyond["facts"] == {"beyond": ["owner"]}
    assert "/v1/people" in beyond["remedy"]


def test_a_key_makes_keys_for_its_own_principal(world: World) -> None:
    made = world.analyst.post("/v1/keys", {"name": "laptop", "roles": ["analyst"]})
    assert made.status_code == 201, made.text
    assert made.json()["principal_id"] == str(world.analyst.principal_id)
    assert as_key(world, made.json()).get("/v1/datasets").status_code == 200
    again = {"name": "b", "roles": ["analyst"], "principal_id": str(world.analyst.principal_id)}
    assert world.analyst.post("/v1/keys", again).status_code == 201


def test_a_narrowed_key_makes_no_mightier_one(world: World) -> None:
    """Reproduced: an admin's key with the scope keys:write made an admin's key without scopes."""
    narrow = world.caller(Role.ADMIN, scopes={Scope.KEYS_WRITE, Scope.BUDGET_READ})
    for scopes in ([], ["audit:read"], ["keys:write", "audit:read"]):
        answer = narrow.post("/v1/keys", {"name": "a", "roles": ["admin"], "scopes": scopes})
        require_problem(answer, status=403, code="key-beyond-maker")
    order = {"name": "a", "roles": ["admin"], "scopes": ["budget:read"]}
    assert narrow.post("/v1/keys", order).json()["scopes"] == ["budget:read"]


def test_a_key_does_not_outlive_its_maker(world: World) -> None:
    end = NOON + timedelta(days=10)
    order = {"name": "a", "roles": ["owner"], "expires_at": end.isoformat()}
    short = as_key(world, world.owner.post("/v1/keys", order).json())
    made = short.post("/v1/keys", {"name": "b", "roles": ["owner"]}).json()
    assert datetime.fromisoformat(made["expires_at"]) == end, "left out: as long as the key that makes it"
    for later in ("never", (end + timedelta(seconds=1)).isoformat()):
        answer = short.post("/v1/keys", {"name": "b", "roles": ["owner"], "expires_at": later})
        require_problem(answer, status=403, code="key-beyond-maker")


def test_nobody_rotates_the_key_of_somebody_else(world: World) -> None:
    keys = {item["prefix"]: item["id"] for item in world.admin.get("/v1/keys").json()["items"]}
    theirs = keys[world.owner.key[3:11]]
    require_problem(world.admin.post(f"/v1/keys/{theirs}/rotate"), status=404, code="key-not-found")
    rotated = world.owner.post(f"/v1/keys/{theirs}/rotate")
    assert rotated.status_code == 201, rotated.text


def test_everybody_sees_and_ends_their_own_keys_and_an_admin_all(world: World) -> None:
    own = world.owner.get("/v1/keys").json()["items"]
    assert {item["principal_id"] for item in own} == {str(world.owner.principal_id)}
    made = world.owner.post("/v1/keys", {"name": "b", "roles": ["owner"]}).json()
    require_problem(world.stranger.delete(f"/v1/keys/{made['id']}"), status=404, code="key-not-found")
    assert world.owner.delete(f"/v1/keys/{made['id']}").status_code == 200
    assert world.admin.delete(f"/v1/keys/{own[0]['id']}").status_code == 200
    require_problem(world.owner.get("/v1/keys"), status=401, code="key-refused")
