"""What a certificate may quote of a ledger: the links that paid for one job."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.ledger_entry import LedgerEntry
from core.ledger.chain import Head
from core.ledger.errors import ReservationNotFound
from core.ledger.reservation import EntryKind


def payment_of(session: Session, job_id: UUID) -> dict[EntryKind, Head]:
    """The places and hashes of a job's reservation and spend.

    Raises:
        ReservationNotFound: the ledger has not both.
    """
    kinds = (EntryKind.RESERVED, EntryKind.SPENT)
    rows = session.execute(
        select(LedgerEntry.kind, LedgerEntry.sequence, LedgerEntry.hash).where(
            LedgerEntry.job_id == job_id, LedgerEntry.kind.in_([kind.value for kind in kinds])
        )
    )
    found = {EntryKind(kind): Head(sequence=sequence, hash=link) for kind, sequence, link in rows}
    if set(found) != set(kinds):
        raise ReservationNotFound("The ledger has no reservation of this job that was spent.")
    return found


def unpaid(session: Session, job_ids: Collection[UUID]) -> set[UUID]:
    """Those of these jobs whose charge no ledger has as spent."""
    spent = select(LedgerEntry.job_id).where(
        LedgerEntry.job_id.in_(job_ids), LedgerEntry.kind == EntryKind.SPENT.value
    )
    return set(job_ids) - {job_id for job_id in session.scalars(spent) if job_id is not None}
