"""understudy: publish an understudy of the data, never the data.

This package is the light client: HTTP, results, errors, the ``understudy`` command. It imports no numpy, no torch
and nothing of the server; ``understudy.local`` and ``understudy.embedded`` reach those where they are installed.
"""

from understudy.async_client import AsyncClient
from understudy.client import Client
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
)
from understudy.exchange import Repetitions
from understudy.governance.results import BudgetRequest, Grant, Identity, Member, WhatIf
from understudy.results import (
    Budget,
    Dataset,
    IntakeReport,
    Job,
    NewKey,
    Progress,
    Quote,
    Release,
    Statement,
)

__all__ = [
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
    "ServiceFailed",
    "ServiceUnreachable",
    "Statement",
    "TooLarge",
    "Unauthenticated",
    "UnderstudyError",
    "UnexpectedAnswer",
    "Unsupported",
    "WhatIf",
]
