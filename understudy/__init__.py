"""understudy: publish an understudy of the data, never the data.

This package is the light client: HTTP, results, errors, the ``understudy`` command. It imports no numpy, no torch
and nothing of the server; ``understudy.local`` and ``understudy.embedded`` reach those where they are installed.
``understudy.fit`` is ``understudy.local.fit``, imported when it is asked for.
"""

from typing import TYPE_CHECKING

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
from understudy.releasing.results import Release
from understudy.rules import RulesCheck, check_rules

if TYPE_CHECKING:
    from understudy.local import fit as fit

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


def __getattr__(name: str) -> object:
    """Import what needs the engine when it is asked for; no star import does."""
    if name == "fit":
        from understudy.local import fit

        return fit
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
