"""understudy: publish an understudy of the data, never the data.

This package is the light client: HTTP, results, errors, the ``understudy`` command. It imports no numpy, no torch
and nothing of the server; ``understudy.local`` and ``understudy.embedded`` reach those where they are installed.
Every name is imported when it is asked for, so that a command that needs no HTTP imports none. ``understudy.fit`` is
``understudy.local.fit``.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.asking import Answer
    from understudy.async_client import AsyncClient
    from understudy.async_client.handles import AsyncJob, AsyncRelease
    from understudy.client import Client
    from understudy.client.handles import Job, Release
    from understudy.dummies import async_dummy, dummy
    from understudy.errors import (
        ApprovalPending,
        BudgetRefused,
        Conflict,
        DraftNotAccepted,
        Forbidden,
        InputUnusable,
        InvalidInput,
        JobCancelled,
        JobDoesNotFit,
        JobEnded,
        JobFailed,
        NoKey,
        NoService,
        NotFound,
        NotInstalled,
        Refused,
        ServiceFailed,
        ServiceUnreachable,
        TooLarge,
        Unauthenticated,
        UnderstudyError,
        UnexpectedAnswer,
        Unsupported,
        VerificationFailed,
    )
    from understudy.http.exchange import Repetitions
    from understudy.local import Synthesizer
    from understudy.local import fit as fit
    from understudy.offline import ask, check_rules, classifier, generator, predictor
    from understudy.results.budgets import Budget, Statement
    from understudy.results.datasets import Dataset, IntakeReport
    from understudy.results.governance import BudgetRequest, Grant, Identity, Member, WhatIf
    from understudy.results.jobs import Progress, Quote
    from understudy.results.keys import NewKey
    from understudy.rules import RulesCheck

__all__ = [
    "Answer",
    "ApprovalPending",
    "AsyncClient",
    "AsyncJob",
    "AsyncRelease",
    "Budget",
    "BudgetRefused",
    "BudgetRequest",
    "Client",
    "Conflict",
    "Dataset",
    "DraftNotAccepted",
    "Forbidden",
    "Grant",
    "Identity",
    "InputUnusable",
    "IntakeReport",
    "InvalidInput",
    "Job",
    "JobCancelled",
    "JobDoesNotFit",
    "JobEnded",
    "JobFailed",
    "Member",
    "NewKey",
    "NoKey",
    "NoService",
    "NotFound",
    "NotInstalled",
    "Progress",
    "Quote",
    "Refused",
    "Release",
    "Repetitions",
    "RulesCheck",
    "ServiceFailed",
    "ServiceUnreachable",
    "Statement",
    "Synthesizer",
    "TooLarge",
    "Unauthenticated",
    "UnderstudyError",
    "UnexpectedAnswer",
    "Unsupported",
    "VerificationFailed",
    "WhatIf",
    "ask",
    "async_dummy",
    "check_rules",
    "classifier",
    "dummy",
    "generator",
    "predictor",
]

_HOMES = {
    "understudy.asking": ("Answer",),
    "understudy.async_client": ("AsyncClient",),
    "understudy.async_client.handles": ("AsyncJob", "AsyncRelease"),
    "understudy.client": ("Client",),
    "understudy.client.handles": ("Job", "Release"),
    "understudy.dummies": ("async_dummy", "dummy"),
    "understudy.errors": (
        "ApprovalPending", "BudgetRefused", "Conflict", "DraftNotAccepted", "Forbidden", "InputUnusable", "InvalidInput",
        "JobCancelled", "JobDoesNotFit", "JobEnded", "JobFailed", "NoKey", "NoService", "NotFound", "NotInstalled", "Refused",
        "ServiceFailed", "ServiceUnreachable", "TooLarge", "Unauthenticated", "UnderstudyError", "UnexpectedAnswer",
        "Unsupported", "VerificationFailed",
    ),
    "understudy.http.exchange": ("Repetitions",),
    "understudy.local": ("Synthesizer", "fit"),
    "understudy.offline": ("ask", "check_rules", "classifier", "generator", "predictor"),
    "understudy.results.budgets": ("Budget", "Statement"),
    "understudy.results.datasets": ("Dataset", "IntakeReport"),
    "understudy.results.governance": ("BudgetRequest", "Grant", "Identity", "Member", "WhatIf"),
    "understudy.results.jobs": ("Progress", "Quote"),
    "understudy.results.keys": ("NewKey",),
    "understudy.rules": ("RulesCheck",),
}  # fmt: skip
_MODULES = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import what is asked for, once."""
    if name == "__version__":
        from importlib.metadata import version

        return version("understudy")
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Names that are imported when they are asked for are there too."""
    return sorted({*globals(), *_MODULES, "__version__"})
