"""All SQL on uploads and their parts."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from core.data.uploads.errors import UploadNotFound
from core.db.tables.dataset import Dataset
from core.db.tables.upload import Upload
from core.db.tables.upload_part import UploadPart
from core.jobs.leases import Leases

BATCH: Final = 100
LIVE: Final = ("open", "completing")
UPLOADS: Final = Leases(Upload, waiting="open", running="completing")
"""An upload is `completing` while its rows are read in, under a lease like a job's."""


def add(session: Session, row: Upload | UploadPart) -> None:
    """Insert an upload or a part."""
    session.add(row)
    session.flush()


def owned(session: Session, upload_id: UUID, principal_id: UUID, *, lock: bool = False) -> Upload:
    """An upload of this principal, freshly read; with `lock`, its row is locked until the transaction ends.

    Raises:
        UploadNotFound: No such upload, or somebody else's.
    """
    query = select(Upload).where(Upload.id == upload_id, Upload.principal_id == principal_id)
    query = query.execution_options(populate_existing=True)
    found = session.scalar(query.with_for_update() if lock else query)
    if found is None:
        raise UploadNotFound
    return found


def parts_of(session: Session, upload_id: UUID) -> Sequence[UploadPart]:
    """The parts that have arrived, in order."""
    query = select(UploadPart).where(UploadPart.upload_id == upload_id)
    return session.scalars(query.order_by(UploadPart.number)).all()


def part_of(session: Session, upload_id: UUID, number: int) -> UploadPart | None:
    """One part, if it has arrived."""
    return session.get(UploadPart, (upload_id, number), populate_existing=True)


def remove_parts(session: Session, upload_id: UUID) -> None:
    """Delete the rows of an upload's parts."""
    session.execute(delete(UploadPart).where(UploadPart.upload_id == upload_id))


def live_of_dataset(session: Session, dataset_id: UUID) -> Sequence[Upload]:
    """The live uploads to a dataset, locked."""
    query = select(Upload).where(Upload.dataset_id == dataset_id, Upload.state.in_(LIVE))
    return session.scalars(query.order_by(Upload.id).with_for_update()).all()


def over(session: Session, *, now: datetime) -> Sequence[tuple[Upload, str]]:
    """Live uploads that should end, locked, each with its final state: it expired, or its dataset accepts no more rows.

    Uploads that are completing under a live lease are skipped, and so are rows locked by another transaction.
    """
    query = (
        select(Upload, Dataset.state)
        .join(Dataset, Dataset.id == Upload.dataset_id)
        .where(UPLOADS.are_claimable(now), or_(Upload.expires_at <= now, Dataset.state != "declared"))
        .limit(BATCH)
        .with_for_update(of=Upload, skip_locked=True)
    )
    return [
        (upload, "expired" if state == "declared" else "aborted")
        for upload, state in session.execute(query).all()
    ]


def live_among(session: Session, upload_ids: Iterable[UUID]) -> set[UUID]:
    """Ids of those uploads that are live."""
    return set(session.scalars(select(Upload.id).where(Upload.id.in_(upload_ids), Upload.state.in_(LIVE))))


def named_objects(session: Session, upload_ids: Iterable[UUID]) -> set[str]:
    """Keys of the objects that hold the parts of these uploads."""
    return set(session.scalars(select(UploadPart.object_key).where(UploadPart.upload_id.in_(upload_ids))))


def forget_ended(session: Session, *, before: datetime) -> int:
    """Delete the rows of uploads that ended before a moment. Returns how many."""
    ended = delete(Upload).where(Upload.ended_at < before).returning(Upload.id)
    return len(session.execute(ended.execution_options(synchronize_session=False)).all())
