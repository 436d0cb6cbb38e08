"""Rows of which the declared domain refused more than their owner allows wait for the owner's decision.

The owner reads the intake report, then accepts the rows, discards them, or sends a file again, which replaces them. Until
then the dataset is `declared` for everybody: how many rows were refused is private, and so is that they wait. Callers hold
the lock on the dataset's row, so that of an acceptance, a deletion and an upload at the same time one comes after the other.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.waiting_rows import WaitingRows

READY = "ready"


def report_of(session: Session, dataset_id: UUID) -> dict[str, Any] | None:
    """The intake report of the rows that are stored or wait, with `waiting`; None where there are neither."""
    stored = session.scalar(select(Dataset.intake_report).where(Dataset.id == dataset_id))
    if stored is not None:
        return stored | {"waiting": False}
    report = session.scalar(select(WaitingRows.intake_report).where(WaitingRows.dataset_id == dataset_id))
    return None if report is None else report | {"waiting": True}


def key_of(session: Session, dataset_id: UUID) -> str | None:
    """Where the waiting rows of a dataset lie; None where none wait."""
    return session.scalar(select(WaitingRows.rows_key).where(WaitingRows.dataset_id == dataset_id))


def close(dataset: Dataset, rows: WaitingRows) -> None:
    """Make these the rows of a declared dataset, which is final."""
    dataset.state = READY
    dataset.rows_key = rows.rows_key
    dataset.wrapped_data_key = rows.wrapped_data_key
    dataset.stored_bytes = rows.stored_bytes
    dataset.intake_report = rows.intake_report


def accept(session: Session, dataset: Dataset) -> bool:
    """Make the waiting rows those of the dataset. Returns whether any waited."""
    rows = session.get(WaitingRows, dataset.id, populate_existing=True)
    if rows is None:
        return False
    close(dataset, rows)
    session.delete(rows)
    return True


def take_away(session: Session, dataset_id: UUID) -> str | None:
    """Destroy the key of the waiting rows, if any wait. Returns where they lie: nothing opens that object any more."""
    gone = (
        delete(WaitingRows).where(WaitingRows.dataset_id == dataset_id).returning(WaitingRows.rows_key)
    ).execution_options(synchronize_session=False)
    return session.scalar(gone)
