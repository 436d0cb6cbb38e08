"""All tables, one per file; importing this package registers every one of them on `Base.metadata`."""

from core.db.tables.api_key import ApiKey
from core.db.tables.audit_event import AuditEvent
from core.db.tables.budget import Budget
from core.db.tables.dataset import Dataset
from core.db.tables.idempotency_key import IdempotencyKey
from core.db.tables.job import Job
from core.db.tables.ledger_entry import LedgerEntry
from core.db.tables.release import Release

__all__ = ["ApiKey", "AuditEvent", "Budget", "Dataset", "IdempotencyKey", "Job", "LedgerEntry", "Release"]
