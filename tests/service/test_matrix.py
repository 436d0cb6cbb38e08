"""Every operation, called as everybody, on the owner's objects: what is answered is what the table says."""

from collections.abc import Callable, Mapping

import pytest
from httpx2 import Response

from core.platform.access.roles import Role
from core.platform.access.scopes import Scope
from service.auth.table import OPEN, TABLE, Access, Reach
from tests.service.matrix import Operation, nobodys, objects, operations
from tests.service.world import Caller, World, require_problem

SAFE = {"GET", "HEAD"}
REFUSALS = {401, 403, 404}
ROLE_OF = {
    "owner": Role.OWNER,
    "other owner": Role.OWNER,
    "author": Role.ANALYST,
    "member": Role.ANALYST,
    "outsider": Role.ANALYST,
    "admin": Role.ADMIN,
    "auditor": Role.AUDITOR,
}
# Who is answered as if the object did not exist, by whose objects the endpoint reaches; "the author" ordered the job
# and filed the budget request, and is a member like "member" is.
BLIND = {
    Reach.NONE: set(),
    Reach.ANY: set(),
    Reach.SEEN: {"other owner", "outsider"},
    Reach.MINE: {"other owner", "outsider"},
    Reach.OWNED: set(ROLE_OF) - {"owner"},
    Reach.GOVERNED: {"other owner", "author", "member", "outsider"},
    Reach.FILED: {"other owner", "member", "outsider"},
    Reach.KEY: set(ROLE_OF),
    Reach.HELD: set(ROLE_OF) - {"admin"},
    Reach.SELF: set(ROLE_OF) - {"author"},
}


def expected(access: Access, who: str) -> int | None:
    """The refusal that the table asks for, or None where this caller is let in."""
    if ROLE_OF[who] not in access.roles:
        return 403
    if who in BLIND[access.reach]:
        return 404
    if access.reach is Reach.MINE and who not in {"author", "admin"}:
        return 403
    return None


def is_let_in(answer: Response) -> bool:
    """A refusal of what was asked for by somebody who may ask: a part that is not there, a key beyond the key in use."""
    return answer.json()["code"] in {"failure-note-missing", "key-beyond-maker"}


@pytest.fixture
def callers(world: World) -> dict[str, Caller]:
    return {
        "owner": world.owner,
        "other owner": world.stranger,
        "author": world.analyst,
        "member": world.caller(Role.ANALYST),
        "outsider": world.caller(Role.ANALYST),
        "admin": world.admin,
        "auditor": world.caller(Role.AUDITOR),
    }


def served(world: World) -> dict[str, Operation]:
    return {entry.name: entry for entry in operations(world.app)}


def test_every_operation_has_a_row_and_every_row_an_operation(world: World) -> None:
    found = operations(world.app)
    assert len({entry.name for entry in found}) == len(found), "two operations share a name"
    without = sorted({entry.name for entry in found} - set(TABLE) - OPEN)
    assert not without, f"add rows to service/auth/table.py for: {without}"
    assert sorted((set(TABLE) | OPEN) - {entry.name for entry in found}) == []
    assert not set(TABLE) & OPEN


READS = (
    "ask_counts", "check_rules", "download_", "draw_", "export_", "list_", "read_", "verify_", "watch_",
)  # fmt: skip
# Reading changes no object, so all that only reads is tried on the same ones.
READING = tuple(sorted(name for name in TABLE if name.startswith(READS)))
CHANGING = tuple((name,) for name in sorted(set(TABLE) - set(READING)))


@pytest.mark.parametrize("names", [READING, *CHANGING], ids=["what reads", *(name for (name,) in CHANGING)])
def test_everybody_is_answered_as_the_table_says(
    world: World, callers: dict[str, Caller], names: tuple[str, ...]
) -> None:
    found = served(world)
    parameters = {parameter for name in names for parameter in found[name].parameters} | {"dataset_id"}

    def fresh() -> dict[str, str]:
        if all(TABLE[name].reach is Reach.NONE for name in names):
            return nobodys(world.app)
        return objects(world, callers["member"], needed=parameters)

    made = fresh()
    for name in names:
        assert len(names) == 1 or found[name].method in SAFE, f"{name} changes something"
        require_answers(world, callers, found[name], made, fresh)


def require_answers(
    world: World,
    callers: dict[str, Caller],
    operation: Operation,
    made: Mapping[str, str],
    fresh: Callable[[], Mapping[str, str]],
) -> None:
    """Call an operation as everybody.

    Args:
        world: The API.
        callers: Everybody.
        operation: It.
        made: The owner's objects.
        fresh: Makes others, for a caller after one who may have changed them.
    """
    name, access = operation.name, TABLE[operation.name]
    method, path, options = operation.request(made)
    require_problem(world.client.request(method, path, **options), status=401, code="key-missing")
    untouched = True
    # Those who are refused come first: what they tried must not have happened to the objects.
    for who in sorted(ROLE_OF, key=lambda who: expected(access, who) is None):
        refusal = expected(access, who)
        made = made if untouched or method in SAFE else fresh()
        method, path, options = operation.request(made)
        answer = callers[who].send(method, path, **options)
        if refusal is None:
            assert answer.status_code not in REFUSALS or is_let_in(answer), (name, who, answer.text)
            assert answer.status_code < 500, (name, who, answer.text)
            untouched = False
            continue
        problem = require_problem(answer, status=refusal)
        assert (problem["code"] == "role-missing") == (ROLE_OF[who] not in access.roles), (name, who)
        if refusal == 404:
            method, path, options = operation.request(nobodys(world.app))
            nothing = callers[who].send(method, path, **options).json()
            assert {**nothing, "request_id": ""} == {**problem, "request_id": ""}, (name, who)


def test_a_narrowed_key_needs_the_endpoints_scope(world: World) -> None:
    found = served(world)
    narrowed = [(name, access) for name, access in sorted(TABLE.items()) if access.scope is not None]
    for name, access in narrowed:
        method, path, options = found[name].request(nobodys(world.app))
        others = set(Scope) - {access.scope}
        answer = world.caller(*access.roles, scopes=others).send(method, path, **options)
        problem = require_problem(answer, status=403, code="scope-missing")
        assert problem["facts"] == {"needed_scope": access.scope}, name
        answer = world.caller(*access.roles, scopes={access.scope}).send(method, path, **options)
        assert answer.status_code not in {401, 403} or is_let_in(answer), (name, answer.text)


def test_an_auditor_reads_facts_and_changes_nothing(world: World) -> None:
    for name, access in TABLE.items():
        if Role.AUDITOR in access.roles:
            own = name == "create_endpoint" or access.reach is Reach.SELF
            keys = {"create_key", "rotate_key", "revoke_key", "cancel_enrolment"}
            may_do = {"close_session", "verify_ledger"} | keys
            assert served(world)[name].method in SAFE or own or name in may_do, name
            assert name not in {
                "download_bundle",
                "draw_samples",
                "ask_counts",
                "check_rules",
                "read_known_counts",
                "read_intake_report",
            }


def test_what_is_sealed_to_owners_is_for_owners(world: World) -> None:
    for name, access in TABLE.items():
        if access.reach is Reach.OWNED:
            assert Role.OWNER in access.roles, name
    report = TABLE["read_intake_report"]
    assert report[:3] == (frozenset({Role.OWNER}), Scope.DATASETS_READ, Reach.OWNED)


# What an owner does to the own dataset without being shown anything about its rows.
UNSEALED = {"upload_rows", "create_upload", "put_part", "abort_upload"}


@pytest.mark.parametrize("name", sorted(name for name in TABLE if TABLE[name].reach is Reach.OWNED))
def test_what_is_sealed_to_owners_stays_shut_after_a_recovery(world: World, name: str) -> None:
    """Reproduced with minted keys: an admin who becomes an owner must not read what is sealed to the owner."""
    assert TABLE[name].sealed == (name not in UNSEALED)
    operation = served(world)[name]
    made = objects(world, needed=operation.parameters)
    enrolment = world.admin.post(f"/v1/people/{world.owner.principal_id}/enrolments").json()
    taken = world.client.post("/v1/enrolments", json={"token": enrolment["token"]}).json()["key"]
    method, path, options = operation.request(made)
    answer = Caller(world.client, taken, world.owner.principal_id).send(method, path, **options)
    assert (answer.status_code == 403 and answer.json()["code"] == "recovery-hold") == TABLE[name].sealed


def test_names_of_scopes_say_read_for_what_only_reads(world: World) -> None:
    for name, operation in served(world).items():
        if name in TABLE and (TABLE[name].scope or "").endswith(":write"):
            assert operation.method not in SAFE, name
