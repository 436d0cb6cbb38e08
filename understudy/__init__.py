"""understudy: publish an understudy of the data, never the data.

This package is the light client: HTTP, results, errors, the ``understudy`` command. It imports no numpy, no torch
and nothing of the server; ``understudy.local`` and ``understudy.embedded`` reach those where they are installed.
Every name is imported when it is asked for, so that a command that needs no HTTP imports none. ``understudy.fit`` is
``understudy.local.fit``.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.asking import Answer, ask
    from understudy.async_client import AsyncClient
    from understudy.budgets.results import Budget, Statement
    from understudy.client import Client
    from understudy.datasets.results import Dataset, IntakeReport
    from understudy.dummies import async_dummy, dummy
    from understudy.errors import (
        ApprovalPending,
        BudgetRefused,
        Conflict,
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
    from understudy.exchange import Repetitions
    from understudy.governance.results import BudgetRequest, Grant, Identity, Member, WhatIf
    from understudy.jobs.results import Job, Progress, Quote
    from understudy.keys import NewKey
    from understudy.local import fit as fit
    from understudy.releasing.results import Release
    from understudy.rules import RulesCheck, check_rules

__all__ = [
    "Answer",
    "ApprovalPending",
    "AsyncClient",
    "Budget",
    "BudgetRefused",
    "BudgetRequest",
    "Client",
    "Conflict",
    "Dataset",
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
]

_MODULES = {
    "Answer": "understudy.asking",
    "ApprovalPending": "understudy.errors",
    "AsyncClient": "understudy.async_client",
    "Budget": "understudy.budgets.results",
    "BudgetRefused": "understudy.errors",
    "BudgetRequest": "understudy.governance.results",
    "Client": "understudy.client",
    "Conflict": "understudy.errors",
    "Dataset": "understudy.datasets.results",
    "Forbidden": "understudy.errors",
    "Grant": "understudy.governance.results",
    "Identity": "understudy.governance.results",
    "InputUnusable": "understudy.errors",
    "IntakeReport": "understudy.datasets.results",
    "InvalidInput": "understudy.errors",
    "Job": "understudy.jobs.results",
    "JobCancelled": "understudy.errors",
    "JobDoesNotFit": "understudy.errors",
    "JobEnded": "understudy.errors",
    "JobFailed": "understudy.errors",
    "Member": "understudy.governance.results",
    "NewKey": "understudy.keys",
    "NoKey": "understudy.errors",
    "NoService": "understudy.errors",
    "NotFound": "understudy.errors",
    "NotInstalled": "understudy.errors",
    "Progress": "understudy.jobs.results",
    "Quote": "understudy.jobs.results",
    "Refused": "understudy.errors",
    "Release": "understudy.releasing.results",
    "Repetitions": "understudy.exchange",
    "RulesCheck": "understudy.rules",
    "ServiceFailed": "understudy.errors",
    "ServiceUnreachable": "understudy.errors",
    "Statement": "understudy.budgets.results",
    "TooLarge": "understudy.errors",
    "Unauthenticated": "understudy.errors",
    "UnderstudyError": "understudy.errors",
    "UnexpectedAnswer": "understudy.errors",
    "Unsupported": "understudy.errors",
    "VerificationFailed": "understudy.errors",
    "WhatIf": "understudy.governance.results",
    "ask": "understudy.asking",
    "async_dummy": "understudy.dummies",
    "check_rules": "understudy.rules",
    "dummy": "understudy.dummies",
    "fit": "understudy.local",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, once."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Names that are imported when they are asked for are there too."""
    return sorted({*globals(), *_MODULES})
