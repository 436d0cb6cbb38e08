"""Answer questions offline, with the service's engine and a bundle's noisy counts.

Needs the extra ``offline``. This code cannot reach private rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.artifacts.asking.answer import OpenedCounts
from core.errors import UnderstudyError as EngineError
from understudy.errors import InputUnusable, refusal
from understudy.local.paths import AnyPath


def answered_from(bundle: AnyPath | bytes, question: str) -> dict[str, Any]:
    """Answer a question from a bundle's counts; see `understudy.offline.ask`."""
    with opened_counts(bundle) as counts:
        return counts.answer(question).to_json()


def checked_rules(bundle: AnyPath | bytes) -> dict[str, Any]:
    """Compare a bundle's rules with its counts; see `understudy.offline.check_rules`."""
    with opened_counts(bundle) as counts:
        return counts.rules_check.to_json()


def _opened(bundle: AnyPath | bytes) -> OpenedCounts:
    if isinstance(bundle, bytes):
        return OpenedCounts.open(bundle)
    if not Path(bundle).is_file():
        message = f"there is no file {Path(bundle)}"
        raise InputUnusable(message)
    with Path(bundle).open("rb") as file:
        return OpenedCounts.open(file)


@contextmanager
def opened_counts(bundle: AnyPath | bytes) -> Iterator[OpenedCounts]:
    """Open the counts of a bundle, and raise the engine's refusals as client errors."""
    try:
        yield _opened(bundle)
    except EngineError as error:
        problem = {"code": error.code, "title": error.title, "detail": error.detail, "remedy": error.remedy}
        raise refusal(error.status, problem | {"facts": error.facts}) from None
