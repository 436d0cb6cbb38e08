"""understudy: publish an understudy of the data, never the data.

This package is the light client: HTTP, results, errors, the ``understudy`` command. It imports no numpy, no torch
and nothing of the server; ``understudy.local`` and ``understudy.embedded`` reach those where they are installed.
"""

from understudy.async_client import AsyncClient
from understudy.client import Client
from understudy.errors import (
    BudgetRefused,
    Conflict,
    Forbidden,
    InputUnusable,
    InvalidInput,
    JobCancelled,
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
    "AsyncClient",
    "Budget",
    "BudgetRefused",
    "Client",
    "Conflict",
    "Dataset",
    "Forbidden",
    "InputUnusable",
    "IntakeReport",
    "InvalidInput",
    "Job",
    "JobCancelled",
    "JobEnded",
    "JobFailed",
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
]
