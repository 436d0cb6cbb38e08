"""Runs schemathesis over an application, as one caller, with all of its checks and phases."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from unittest.mock import patch
from uuid import UUID

import schemathesis
from fastapi import FastAPI
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.hooks import GLOBAL_HOOK_DISPATCHER

from tests.contracts.effort import EXAMPLES, SEED

BOUNDED = {"rows": 2_000, "longest_seconds": 1}
"""Numbers that stretch an answer as far as they say: valid ones are taken, but so that the run ends."""

Pool = Mapping[str, Sequence[str]]
"""Ids that exist, by the name of the parameter that takes them. The first is looked at, the others are changed."""


@dataclass
class Verdict:
    """What a run has found.

    Args:
        failures: What each failed check says, with the request that made it fail, once per operation and check.
        statuses: How often each operation answered each status.
        errors: What kept the run itself from testing something.
    """

    failures: list[str] = field(default_factory=list)
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def judge(app: FastAPI, *, key: str | None, pool: Pool, changes: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """Send what the document allows and what it forbids, and judge every answer.

    Args:
        app: The application, which describes itself.
        key: Whose key to send; None to be nobody.
        pool: Ids that exist.
        changes: What differs from the library's settings, by operation id.
    """
    schema = schemathesis.openapi.from_dict(app.openapi(), config=_config(key, changes))
    schema.app = app
    hook = _use(pool)
    GLOBAL_HOOK_DISPATCHER.register_hook_with_name(hook, "before_call")
    verdict, told = Verdict(), set[tuple[str, str]]()
    try:
        with _whatever_is_loaded():
            for event in from_schema(schema).execute():
                if isinstance(event, events.ScenarioFinished):
                    _collect(event.recorder, verdict, told)
                elif isinstance(event, events.NonFatalError):
                    verdict.errors.append(f"{event.label}: {event.value}")
                elif isinstance(event, events.FatalError):
                    raise event.exception
    finally:
        GLOBAL_HOOK_DISPATCHER.unregister(hook)
    return verdict


@contextmanager
def _whatever_is_loaded() -> Iterator[None]:
    """Draw no constants of the modules that this process happens to hold: the same run draws the same everywhere."""
    with (
        patch.object(providers, "_get_local_constants", Constants),
        patch.object(providers, "CONSTANTS_CACHE", LRUCache(1024)),
    ):
        yield


def _config(key: str | None, changes: Mapping[str, Mapping[str, Any]]) -> schemathesis.Config:
    generation = {"max-examples": EXAMPLES, "deterministic": SEED is None, "database": "none"}
    document: dict[str, Any] = {
        "generation": generation,
        "operations": [{"include-operation-id": name} | settings for name, settings in changes.items()],
        "max-failures": 100_000,
        "continue-on-failure": True,
        "cache": {"enabled": False},
        "warnings": False,
        # Nearly every body of bytes is a valid one, so most draws of an invalid one are thrown away.
        "suppress-health-check": ["filter_too_much"],
    }
    if key is not None:
        document["headers"] = {"Authorization": f"Bearer {key}"}
    if SEED is not None:
        document["seed"] = int(SEED)
    return schemathesis.Config.from_dict(document)


def _use(pool: Pool) -> Any:
    """A hook that puts ids that exist where well-formed ids were generated, most of the time."""

    def before_call(_context: object, case: schemathesis.Case, _kwargs: dict[str, Any]) -> None:
        for name, most in BOUNDED.items():
            if name in case.operation.query and str(case.query.get(name, most + 1)).isdecimal():
                case.query[name] = min(most, int(case.query.get(name, most)))
        looks = case.method in {"GET", "HEAD"}
        containers = [case.path_parameters, case.query, case.body]
        for container in containers:
            if isinstance(container, dict):
                for name, value in container.items():
                    if name in pool and _is_id(value):
                        container[name] = _chosen(pool[name], value, looks=looks)

    return before_call


def _is_id(value: object) -> bool:
    try:
        return str(UUID(str(value))) == value
    except ValueError:
        return False


def _chosen(ids: Sequence[str], value: str, *, looks: bool) -> str:
    draw = sha256(value.encode()).digest()[0]
    if draw % 8 == 0:
        return value
    return ids[0] if looks else ids[1 + draw % (len(ids) - 1)]


def _collect(recorder: ScenarioRecorder, verdict: Verdict, told: set[tuple[str, str]]) -> None:
    for case_id, interaction in recorder.interactions.items():
        case = recorder.cases[case_id].value
        if interaction.response is not None:
            counts = verdict.statuses.setdefault(case.operation.label, Counter())
            counts[interaction.response.status_code] += 1
        for check in recorder.checks.get(case_id, ()):
            if check.failure_info is None:
                continue
            failure = check.failure_info.failure
            kind = (case.operation.label, f"{check.name}: {failure.title}")
            if kind not in told:
                told.add(kind)
                body = "" if interaction.response is None else interaction.response.text[:400]
                verdict.failures.append(
                    f"{kind[0]} {kind[1]}\n  {failure.message}\n  {check.failure_info.code_sample[:800]}\n  {body}"
                )
