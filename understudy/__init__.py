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
    from understudy.offline import ask, check_rules, generator, predictor
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
    "dummy",
    "generator",
    "predictor",
]

_MODULES = {
    "Answer": "understudy.asking",
    "ApprovalPending": "understudy.errors",
    "AsyncClient": "understudy.async_client",
    "AsyncJob": "understudy.async_client.handles",
    "AsyncRelease": "understudy.async_client.handles",
    "Budget": "understudy.results.budgets",
    "BudgetRefused": "understudy.errors",
    "BudgetRequest": "understudy.results.governance",
    "Client": "understudy.client",
    "Conflict": "understudy.errors",
    "Dataset": "understudy.results.datasets",
    "DraftNotAccepted": "understudy.errors",
    "Forbidden": "understudy.errors",
    "Grant": "understudy.results.governance",
    "Identity": "understudy.results.governance",
    "InputUnusable": "understudy.errors",
    "IntakeReport": "understudy.results.datasets",
    "InvalidInput": "understudy.errors",
    "Job": "understudy.client.handles",
    "JobCancelled": "understudy.errors",
    "JobDoesNotFit": "understudy.errors",
    "JobEnded": "understudy.errors",
    "JobFailed": "understudy.errors",
    "Member": "understudy.results.governance",
    "NewKey": "understudy.results.keys",
    "NoKey": "understudy.errors",
    "NoService": "understudy.errors",
    "NotFound": "understudy.errors",
    "NotInstalled": "understudy.errors",
    "Progress": "understudy.results.jobs",
    "Quote": "understudy.results.jobs",
    "Refused": "understudy.errors",
    "Release": "understudy.client.handles",
    "Repetitions": "understudy.http.exchange",
    "RulesCheck": "understudy.rules",
    "ServiceFailed": "understudy.errors",
    "ServiceUnreachable": "understudy.errors",
    "Statement": "understudy.results.budgets",
    "Synthesizer": "understudy.local",
    "TooLarge": "understudy.errors",
    "Unauthenticated": "understudy.errors",
    "UnderstudyError": "understudy.errors",
    "UnexpectedAnswer": "understudy.errors",
    "Unsupported": "understudy.errors",
    "VerificationFailed": "understudy.errors",
    "WhatIf": "understudy.results.governance",
    "ask": "understudy.offline",
    "async_dummy": "understudy.dummies",
    "check_rules": "understudy.offline",
    "dummy": "understudy.dummies",
    "fit": "understudy.local",
    "generator": "understudy.offline",
    "predictor": "understudy.offline",
}


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
