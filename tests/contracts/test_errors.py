"""Every error says what is wrong and what to do, and the document names it where it can be met."""

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

import core
from core.errors import NotFound, UnderstudyError
from service import app as _whole_application
from tests.service.world import World


def modules() -> Iterator[ModuleType]:
    """All of core, and what the application is made of."""
    assert _whole_application
    for found in pkgutil.walk_packages(core.__path__, "core."):
        importlib.import_module(found.name)
    for name in sorted(sys.modules):
        if name.split(".")[0] in {"core", "service"}:
            yield sys.modules[name]


def errors() -> list[type[UnderstudyError]]:
    list(modules())
    found, rest = [], [UnderstudyError]
    while rest:
        kind = rest.pop()
        rest += kind.__subclasses__()
        if kind.__module__.split(".")[0] in {"core", "service"}:
            found.append(kind)
    return found


def test_codes_are_unique_and_described() -> None:
    codes: dict[str, type[UnderstudyError]] = {}
    for kind in errors():
        assert kind.__doc__, kind
        assert 400 <= kind.status <= 599, kind
        assert kind.title, kind
        other = codes.setdefault(kind.code, kind)
        assert other is kind or issubclass(kind, other), f"{kind} and {other} share a code"


def test_whatever_is_raised_says_what_to_do() -> None:
    for kind in errors():
        assert kind.default_remedy, kind
    assert NotFound("x").remedy == NotFound.default_remedy
    assert NotFound("x", remedy="y").remedy == "y"


def test_the_document_names_what_an_operation_says_that_it_raises(world: World) -> None:
    """Errors named in the Raises sections of what an endpoint calls are tested where they happen; here, that every
    code of the document exists, with its status and remedy, and that no operation forgets what all can answer."""
    kinds = {kind.code: kind for kind in errors()}
    seen = set()
    for path, entries in world.app.openapi()["paths"].items():
        for operation in entries.values():
            for status, response in operation["responses"].items():
                for media_type, content in response.get("content", {}).items():
                    for code, example in content.get("examples", {}).items():
                        if media_type != "application/problem+json":
                            continue
                        seen.add(code)
                        assert kinds[code].status == int(status), (path, code)
                        assert example["value"]["detail"], (path, code)
                        assert example["value"]["remedy"], (path, code)
    assert len(seen) > 60


# Families, whose members are told instead.
FAMILIES = frozenset(
    {"conflict", "forbidden", "not-found", "too-many-requests", "unauthenticated", "unsupported"}
)
# Of a path, not of an operation.
OF_PATHS = frozenset({"method-not-allowed"})
# Raised where pages, workers, upkeep, commands or readers of a release meet them; behind the API each would be a bug, and a
# bug is answered as one.
ELSEWHERE = frozenset({
    "account-without-role", "link-refused", "owner-withdrew", "sign-in-expired", "sign-in-refused",
    "already-reserved", "bundle-invalid", "form-invalid", "invalid-certificate", "invalid-mechanism",
    "lease-lost", "not-cancelled", "object-missing", "plan-does-not-fit", "population-not-found", "report-for-tables-only",
    "reservation-not-found", "signature-invalid", "signed-form-unknown", "unknown-mechanism",
})  # fmt: skip


def test_every_code_is_documented_somewhere(world: World) -> None:
    told = json.dumps(world.app.openapi())
    silent = {kind.code for kind in errors() if f'"{kind.code}"' not in told and kind.status < 500}
    assert silent == FAMILIES | OF_PATHS | ELSEWHERE
