"""Rules between columns held against the counts of a release, through the API."""

import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.rules_check import REMEDY
from core.artifacts.packing import pack
from core.platform.access.roles import Role
from tests.core.artifacts.ruled import BROKEN, RULED, ruled_release
from tests.service.test_obtaining import wired
from tests.service.world import World, require_problem


@pytest.fixture(scope="module")
def world(shared_world: World) -> World:
    """One for all tests: each has a release of its own."""
    return shared_world


def path_of(world: World, *, broken: int = BROKEN) -> str:
    made, _listed = ruled_release(broken=broken)
    return f"/v1/releases/{world.release(made, domain=RULED)}/rules"


def test_a_contradicted_rule_is_shown_to_those_who_may_read_the_counts(world: World) -> None:
    path = path_of(world)
    expected = OpenedCounts.open(pack(ruled_release()[0], readme="x")).rules_check.to_json()
    for caller in (world.owner, world.analyst, world.admin):
        answer = caller.get(path)
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected
    first, second, third = expected["rules"]
    assert [rule["finding"] for rule in (first, second, third)] == [
        "contradicted", "not-contradicted", "not-checked",
    ]  # fmt: skip
    assert (first["pointer"], first["kind"], first["columns"]) == ("/rules/0", "impossible", ["ward", "sick"])
    (found,) = first["contradictions"]
    assert found["columns"] == ["ward", "sick"]
    assert found["low"] < BROKEN < found["high"]
    assert second["contradictions"] == third["contradictions"] == []
    assert expected["remedy"] == REMEDY


def test_the_client_reads_it(world: World) -> None:
    path = path_of(world)
    with wired(world, owner=world.owner).client("owner") as client:
        check = client.read_release(path.split("/")[3]).check_rules()
    assert check.document == world.owner.get(path).json()
    (rule,) = check.contradicted
    assert rule.contradictions[0].columns == ("ward", "sick")


def test_where_records_keep_the_rules_none_is_contradicted(world: World) -> None:
    told = world.owner.get(path_of(world, broken=0)).json()
    assert [rule["finding"] for rule in told["rules"]] == [
        "not-contradicted", "not-contradicted", "not-checked",
    ]  # fmt: skip
    assert told["remedy"] is None


def test_a_release_without_counts_says_so(world: World) -> None:
    answer = world.owner.get(f"/v1/releases/{world.release()}/rules")
    assert answer.status_code == 409
    require_problem(answer, status=409, code="no-counts")


@pytest.mark.parametrize(
    ("role", "status", "code"), [(Role.AUDITOR, 403, "role-missing"), (Role.OWNER, 404, "release-not-found")]
)
def test_strangers_and_auditors_are_refused(world: World, role: Role, status: int, code: str) -> None:
    answer = world.caller(role).get(path_of(world))
    assert answer.status_code == status
    assert "rules" not in answer.json()
    require_problem(answer, status=status, code=code)
