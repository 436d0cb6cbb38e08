"""Every operation of the OpenAPI document, as those who may and as nobody: no 5xx, no undocumented status, all checks on.

Who may not is refused before anything of the request is read, which the matrix of rights tries for every operation
(``tests/service/test_matrix.py``). The combed values of the coverage phase are tried weekly: those of an order alone are 1,475.
Daily the bodies of an order and of a quote are drawn ten times as often in their place. Daily it looks as an analyst, whose bodies
have the most parts, and as nobody; weekly as everybody. Who may do what another has drawn draws once.
With ``UNDERSTUDY_CONTRACT_EXAMPLES=200`` it looks longer, and with ``UNDERSTUDY_CONTRACT_SEED`` elsewhere, as everybody
everywhere, and combs; ``make contracts-long`` does both.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from core.platform.access.roles import Role
from service.auth.table import OPEN, TABLE
from tests.cases import daily
from tests.contracts.effort import SEED
from tests.service.matrix import objects, operations
from tests.service.world import Caller, World

SETS = 3


ACCEPTED_REFUSALS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "create_dataset": (
        ("422",),
        "the domain has a language of its own (docs/domain.md), read by its own parser",
    ),
    "create_federation": (("422",), "likewise, and the members' names differ"),
    "create_quote": (("422",), "options have rules among each other, which are the plan's"),
    "create_job": (("422",), "likewise"),
    "upload_rows": (
        ("400", "415", "422"),
        "any bytes are a valid binary string, but not a table of this domain",
    ),
    "create_upload": (
        ("413", "415", "422"),
        "the type is any text to the document, and how large an upload may be is a setting",
    ),
    "put_part": (("400", "413", "415", "422"), "a part must be the bytes that its digest says"),
    "verify_ledger": (("422",), "a noted head is a sequence and a hash, both or neither"),
    "verify_audit_log": (("422",), "likewise"),
    "accept_enrolment": (("401", "422"), "any short text is a token to the document"),
    "create_person": (("422",), "which characters can be seen is Unicode's to say"),
    "create_key": (
        ("403", "422"),
        "whose key it would be, and what that key may do, is not the document's to say; a moment is a date-time to the document, and must lie ahead to the service",
    ),
    "name_principal": (("422",), "which characters can be seen is Unicode's to say"),
    "freeze_dataset": (("422",), "a reason of white space alone is none"),
    "unfreeze_dataset": (("422",), "likewise"),
    "deny_budget_request": (("422",), "likewise"),
    "approve_budget_request": (
        ("422",),
        "what is granted must not exceed what is asked for, nor end in the past",
    ),
    "file_budget_request": (("422",), "the sum of an epsilon and the cap is the ledger's to judge"),
    "set_budget": (("422",), "raising a cap wants a reason"),
    "order_sealed_report": (("422",), "which columns can be predicted is the domain's to say"),
    "create_endpoint": (
        ("422",),
        "what an address may be depends on the channel and on where the service runs",
    ),
    "confirm_endpoint": (("422",), "any short text is a code to the document"),
    "draw_samples": (("422",), "which columns can be fixed, and at what, is the release's to say"),
    "read_precision": (("422",), "likewise"),
    "ask_counts": (
        ("409", "422"),
        "any short text is a question to the document, and a release may hold no counts",
    ),
    "check_rules": (("409",), "a release may hold no counts"),
    "create_session": (("401", "422"), "any short text is a key to the document"),
    "put_certificate": (
        ("422",),
        "a certificate is any object to the document, and no body may hold an integer of more than 64 bits",
    ),
}
"""Which statuses an operation may answer to what its schema allows, and why the schema cannot say it."""


ROLES = ("owner", "admin", "analyst", "auditor")
DRAWN = {"create_quote": 10, "create_job": 20}
"""How many bodies are drawn daily of operations whose bodies have the most parts."""


@pytest.mark.parametrize("who", daily([*ROLES, "nobody"], some=["analyst", "nobody"]))
def test_the_document_is_kept(world: World, who: str) -> None:
    # Importing the library takes a second, and only one process of a run needs it.
    from tests.contracts.judging import judge

    caller = known(world, who)
    sets = [objects(world) for _ in range(SETS)]
    pool = {name: [each[name] for each in sets] for name in sets[0]}
    # The job that is looked at has ended: its events end too.
    assert world.admin.post(f"/v1/jobs/{sets[0]['job_id']}/cancel").status_code == 200
    verdict = judge(world.app, key=caller and caller.key, pool=pool, changes=changes(world, who))
    assert not verdict.failures, f"{len(verdict.failures)}\n" + "\n\n".join(verdict.failures)
    assert not verdict.errors, "\n".join(verdict.errors)
    asked = operations(world.app)
    assert len(verdict.statuses) == sum(tried(who, each.name) for each in asked)
    # Whoever may do something has really done much of it: the run does not live on refusals.
    allowed = {f"{each.method} {each.path}" for each in asked if may(who, each.name)}
    done = {label for label, counts in verdict.statuses.items() if any(200 <= code < 300 for code in counts)}
    assert len(allowed & done) >= len(allowed) * 0.6, sorted(allowed - done)


def known(world: World, who: str) -> Caller | None:
    if who == "nobody":
        return None
    callers = {"owner": world.owner, "analyst": world.analyst, "admin": world.admin}
    return callers.get(who) or world.caller(Role(who))


def may(who: str, operation: str) -> bool:
    return who != "nobody" and operation in TABLE and Role(who) in TABLE[operation].roles


def tried(who: str, operation: str) -> bool:
    return SEED is not None or may(who, operation) or (who == "nobody" and operation in OPEN)


def first_of(operation: str) -> str:
    """The first who may do it."""
    return next((role for role in ROLES if may(role, operation)), "nobody")


def drawn(who: str, operation: str) -> int | None:
    """How many requests are drawn daily in place of the usual number.

    One where nobody is refused before anything is read, and one for everybody who may do what another has drawn already.
    """
    if may(who, operation):
        return DRAWN.get(operation, None if who == first_of(operation) else 1)
    return None if operation in OPEN else 1


def changes(world: World, who: str) -> dict[str, dict[str, Any]]:
    """What differs from the library's settings, by operation id."""
    usual = ["2xx", "3xx", "401", "403", "404", "409", "429", "5xx"]
    documented = world.app.openapi()["paths"]
    names = {
        entry.name: documented[entry.path][entry.method.lower()]["operationId"]
        for entry in operations(world.app)
    }
    settings: dict[str, dict[str, Any]] = {
        known_as: {"enabled": tried(who, name), "phases": {"coverage": {"enabled": SEED is not None}}}
        for name, known_as in names.items()
    }
    for name, known_as in names.items():
        if SEED is None and (examples := drawn(who, name)) is not None:
            settings[known_as]["generation"] = {"max-examples": examples}
    for name, (statuses, _) in ACCEPTED_REFUSALS.items():
        accepted = {"expected-statuses": [*usual, *statuses]}
        settings[names[name]]["checks"] = {"positive_data_acceptance": accepted}
    return settings
