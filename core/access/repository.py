"""All SQL on the table of API keys."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.api_key import ApiKey


def add(session: Session, row: ApiKey) -> None:
    """Insert a key."""
    session.add(row)
    session.flush()


def live_with_prefix(session: Session, prefix: str) -> Sequence[ApiKey]:
    """Keys that carry this prefix and are not revoked: at most one in practice, but 32 bits can collide."""
    return session.scalars(select(ApiKey).where(ApiKey.prefix == prefix, ApiKey.revoked_at.is_(None))).all()


def by_digest(session: Session, digest: bytes) -> ApiKey | None:
    """Find a key by its digest, revoked or not."""
    return session.scalar(select(ApiKey).where(ApiKey.digest == digest))


def all_keys(session: Session) -> Sequence[ApiKey]:
    """Every key, oldest first."""
    return session.scalars(select(ApiKey).order_by(ApiKey.created_at, ApiKey.id)).all()


def revoke(session: Session, key_id: UUID, *, at: datetime) -> ApiKey | None:
    """Mark a key as revoked, keeping the time of the first revocation. Returns None where there is no such key."""
    row = session.scalar(select(ApiKey).where(ApiKey.id == key_id).with_for_update())
    if row is not None and row.revoked_at is None:
        row.revoked_at = at
        session.flush()
    return row
