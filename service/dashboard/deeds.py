"""Actions of the audit log in plain words. What was refused stands there under the name of the operation."""

from collections.abc import Mapping
from typing import Final

DEEDS: Final[Mapping[str, str]] = {
    "dataset.declare": "declared it",
    "dataset.rows": "stored its rows",
    "dataset.delete": "deleted it",
    "dossier.export": "exported the dossier",
    "budget.set": "set the cap",
    "budget.freeze": "froze it",
    "budget.unfreeze": "unfroze it",
    "ledger.accept": "accepted the head of the ledger",
    "member.add": "added a member",
    "member.remove": "removed a member",
    "budget-request.file": "asked for budget",
    "budget-request.approve": "approved a request",
    "budget-request.deny": "denied a request",
    "budget-request.withdraw": "withdrew a request",
    "grant.revoke": "revoked a grant",
    "job.order": "ordered a job",
    "job.cancel": "cancelled a job",
    "job.failure-note": "read the account of a failure",
    "upload.open": "began an upload",
    "upload.abort": "ended an upload",
    "sealed-report.order": "ordered a sealed report",
    "sealed-report.read": "read a sealed report",
    "sealed-report.delete": "deleted a sealed report",
}


def did(action: str) -> str:
    """What was done, or tried."""
    return DEEDS.get(action, f"tried to {action.replace('_', ' ')}")
