"""Waiting rows: an upload with more refused rows than the owner allows waits for the owner's decision.

The owner reads the intake report, then accepts the rows, discards them, or uploads a file again, which
replaces them. Until then everybody sees the dataset as `declared`: the number of refused rows is private, and
so is the fact that rows wait. Callers hold the lock on the dataset's row, which serialises acceptance,
deletion and upload.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.waiting_rows import WaitingRows

READY = "ready"


def report_of(session: Session, dataset_id: UUID) -> dict[str, Any] | None:
    """The intake report of the stored or waiting rows, with `waiting`; None without rows."""
    stored = session.scalar(select(Dataset.intake_report).where(Dataset.id == dataset_id))
    if stored is not None:
        return stored | {"waiting": False}
    report = session.scalar(select(WaitingRows.intake_report).where(WaitingRows.dataset_id == dataset_id))
    return None if report is None else report | {"waiting": True}


def key_of(session: Session, dataset_id: UUID) -> str | None:
    """Object key of a dataset's waiting rows; None if none wait."""
    return session.scalar(select(WaitingRows.rows_key).where(WaitingRows.dataset_id == dataset_id))


def close(dataset: Dataset, rows: WaitingRows) -> None:
    """Make these the rows of a declared dataset. This is final."""
    dataset.state = READY
    dataset.rows_key = rows.rows_key
    dataset.wrapped_data_key = rows.wrapped_data_key
    dataset.stored_bytes = rows.stored_bytes
    dataset.intake_report = rows.intake_report


def accept(session: Session, dataset: Dataset) -> bool:
    """Make the waiting rows the dataset's rows. Returns whether any waited."""
    rows = session.get(WaitingRows, dataset.id, populate_existing=True)
    if rows is None:
        return False
    close(dataset, rows)
    session.delete(rows)
    return True


def take_away(session: Session, dataset_id: UUID) -> str | None:
    """Destroy the key of the waiting rows, if any. Returns the object key, which nothing opens any more."""
    gone = (
        delete(WaitingRows).where(WaitingRows.dataset_id == dataset_id).returning(WaitingRows.rows_key)
    ).execution_options(synchronize_session=False)
    return session.scalar(gone)
