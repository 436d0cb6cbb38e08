"""Words that others rely on: settings, error codes, tables, tasks, kinds of events, scopes, roles, states and formats."""

import ast
import importlib
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import CheckConstraint, UniqueConstraint
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateColumn, CreateIndex

import core.db.tables  # noqa: F401 - registers every table
from core.db.base import Base
from core.db.outbox import Kind
from core.errors import UnderstudyError
from core.jobs import queue
from core.jobs.states import OWNER_WITHDREW, PLAN_ALTERED, STAGES, TRAINING_FAILED, JobState
from core.ledger.entries import GrantState
from core.platform.access.roles import Role, Via
from core.platform.access.scopes import Scope
from core.platform.budget_requests.states import RequestState
from core.platform.notifications.messages import CHOSEN, scope_of
from core.platform.settings import Settings
from service.auth.cookie import COOKIE, LOOPBACK_COOKIE
from tests.goldens.api import structure
from workers.child import MACHINERY_FAILED, REUSED_COUNTS_MISSING

PRODUCT: Final = ("core", "service", "workers", "models", "understudy", "migrations")
ROOT: Final = Path(__file__).parents[2]
_DIALECT: Final = postgresql.dialect()  # type: ignore[no-untyped-call]
_VARIABLE: Final = re.compile(r"UNDERSTUDY_[A-Z0-9_]*[A-Z0-9]")
_CODE: Final = re.compile(r"^    code\b.*= \"", re.MULTILINE)
_METRIC: Final = re.compile(r"understudy_[a-z_]+")
_FORMAT: Final = re.compile(r"understudy[./][a-z0-9-]+/[0-9]+")


def settings() -> dict[str, object]:
    """By environment variable: type, limits and default; and every variable that the product's code names."""
    shape = Settings.model_json_schema()
    required = set(shape.get("required", []))
    members: dict[str, object] = {
        f"UNDERSTUDY_{name.upper()}": structure(field) | {"required": name in required}
        for name, field in shape["properties"].items()
    }
    assert not shape.get("$defs"), "a setting of a kind that is not written out here"
    named = {text for text in _constants() if isinstance(text, str) and _VARIABLE.fullmatch(text)}
    return members | dict.fromkeys(named - members.keys(), "read by name")


def errors() -> dict[str, object]:
    """By code: the statuses that it comes with."""
    _import_errors()
    statuses: dict[str, set[int]] = {}
    for error in _subclasses(UnderstudyError):
        if error.__module__.partition(".")[0] in PRODUCT:
            statuses.setdefault(error.code, set()).add(error.status)
    return {code: sorted(found) for code, found in statuses.items()}


def database() -> dict[str, object]:
    """By table and column its type, by table its constraints and indexes; class names take no part."""
    members: dict[str, object] = {}
    for table in Base.metadata.sorted_tables:
        for column in table.columns:
            text = str(CreateColumn(column).compile(dialect=_DIALECT))
            members[f"{table.name}.{column.name}"] = " ".join(text.split())
        for constraint in table.constraints:
            about = [column.name for column in constraint.columns]
            rest: list[object] = [type(constraint).__visit_name__, about]
            if isinstance(constraint, CheckConstraint):
                rest = ["check", str(constraint.sqltext)]
            elif not isinstance(constraint, UniqueConstraint):
                rest += [key.target_fullname for key in getattr(constraint, "elements", [])]
                rest += [getattr(constraint, "ondelete", None)]
            members[f"{table.name}: {constraint.name}"] = rest
        for index in table.indexes:
            text = str(CreateIndex(index).compile(dialect=_DIALECT))
            members[f"{table.name}: {index.name}"] = " ".join(text.split())
    return members


def tasks() -> dict[str, object]:
    """Names of messages and queues, and the failure codes of jobs."""
    return {
        "task that trains": queue.TRAINING_TASK,
        "task that reports": queue.REPORT_TASK,
        "task that counts": queue.COUNTING_TASK,
        "task that measures": queue.MEASURING_TASK,
        "default queue": queue.ANY_DEVICE_QUEUE,
        "queue of reports": queue.REPORTS_QUEUE,
        "queues of trainings": dict(queue.TRAINING_QUEUES),
        "queue of counting": queue.COUNTING_QUEUE,
        "failures of jobs": sorted(
            [TRAINING_FAILED, MACHINERY_FAILED, REUSED_COUNTS_MISSING, OWNER_WITHDREW, PLAN_ALTERED]
        ),
        "stages of jobs": list(STAGES),
    }


def words() -> dict[str, object]:
    """Values of enumerations that leave the service or stand in its tables, cookies, versioned formats, metrics and audited actions."""
    enumerations: dict[str, type[StrEnum]] = {
        "roles": Role,
        "scopes": Scope,
        "ways of proving who one is": Via,
        "states of jobs": JobState,
        "states of budget requests": RequestState,
        "states of grants": GrantState,
    }
    members: dict[str, object] = {
        name: sorted(member.value for member in values) for name, values in enumerations.items()
    }
    for kind in Kind:
        scope = scope_of(kind)
        members[f"event {kind.value}"] = [None if scope is None else scope.value, kind in CHOSEN]
    members["cookies"] = [COOKIE, LOOPBACK_COOKIE]
    members["formats"] = sorted(_formats())
    members["metrics"] = sorted(
        {text for text in _constants() if isinstance(text, str) and _METRIC.fullmatch(text)}
    )
    members["actions in the audit log"] = sorted(_actions())
    return members


def _formats() -> set[str]:
    """Names with a version that stand in the code, such as understudy.certificate/2."""
    found: set[str] = set()
    for constant in _constants():
        text = constant.decode("latin-1") if isinstance(constant, bytes) else constant
        if isinstance(text, str):
            found |= set(_FORMAT.findall(text))
    return found


def _constants() -> Iterator[object]:
    """Every constant of the trees that is not a docstring."""
    for tree in _trees():
        prose = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in prose:
                yield node.value


def _actions() -> set[str]:
    """What entries of the audit log say was done: every constant in what a call is given as its `action`."""
    given = [
        node.value
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "action"
    ]
    constants = [
        str(node.value)
        for value in given
        for node in ast.walk(value)
        if isinstance(node, ast.Constant) and "." in str(node.value)
    ]
    return set(constants)


@cache
def _trees() -> tuple[ast.Module, ...]:
    """The product's files that name a variable, a format, a metric or an action."""
    wanted = re.compile(f"{_VARIABLE.pattern}|{_FORMAT.pattern}|{_METRIC.pattern}|action=")
    texts = (path.read_text() for package in PRODUCT for path in sorted((ROOT / package).rglob("*.py")))
    return tuple(ast.parse(text) for text in texts if wanted.search(text))


def _import_errors() -> None:
    """Import every module that gives an error a code, so that which errors there are does not depend on other tests."""
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            if _CODE.search(path.read_text()):
                importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _subclasses(child)
