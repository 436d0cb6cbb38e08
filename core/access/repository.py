"""All SQL on the tables of API keys, names of principals, browser sessions and failed logins."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, Update, delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.tables.api_key import ApiKey
from core.db.tables.browser_session import BrowserSession
from core.db.tables.login_throttle import LoginThrottle
from core.db.tables.principal_name import PrincipalName


def add(session: Session, row: ApiKey | BrowserSession) -> None:
    """Insert a key or a session."""
    session.add(row)
    session.flush()


def live_at(at: datetime) -> ColumnElement[bool]:
    """The condition on keys: neither revoked nor expired."""
    return ApiKey.revoked_at.is_(None) & or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > at)


def live_with_prefix(session: Session, prefix: str, *, at: datetime) -> Sequence[ApiKey]:
    """Living keys that carry this prefix: at most one in practice, but 32 bits can collide."""
    return session.scalars(select(ApiKey).where(ApiKey.prefix == prefix, live_at(at))).all()


def by_digest(session: Session, digest: bytes) -> ApiKey | None:
    """Find a key by its digest, living or not."""
    return session.scalar(select(ApiKey).where(ApiKey.digest == digest))


def all_keys(session: Session) -> Sequence[ApiKey]:
    """Every key, oldest first."""
    return session.scalars(select(ApiKey).order_by(ApiKey.created_at, ApiKey.id)).all()


def key_for_update(session: Session, key_id: UUID) -> ApiKey | None:
    """A key, holding its row's lock until the transaction ends."""
    return session.scalar(select(ApiKey).where(ApiKey.id == key_id).with_for_update())


def revoke(session: Session, key_id: UUID, *, at: datetime) -> ApiKey | None:
    """Mark a key as revoked, keeping the time of the first revocation. Returns None where there is no such key."""
    row = key_for_update(session, key_id)
    if row is not None and row.revoked_at is None:
        row.revoked_at = at
        session.flush()
    return row


def put_name(session: Session, principal_id: UUID, *, name: str, by: UUID, at: datetime) -> PrincipalName:
    """Insert or replace the name of a principal."""
    values = {"name": name, "named_by": by, "named_at": at}
    fresh = insert(PrincipalName).values(principal_id=principal_id, **values)
    change = fresh.on_conflict_do_update(index_elements=[PrincipalName.principal_id], set_=values)
    return session.scalars(
        change.returning(PrincipalName), execution_options={"populate_existing": True}
    ).one()


def names_of(session: Session, principal_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """The names of those of these principals that have one."""
    query = select(PrincipalName.principal_id, PrincipalName.name)
    rows = session.execute(query.where(PrincipalName.principal_id.in_(principal_ids)))
    return dict(rows.all())


def session_with_digest(
    session: Session, digest: bytes, *, at: datetime, seen_after: datetime
) -> tuple[BrowserSession, ApiKey] | None:
    """A browser's session that has neither ended nor expired nor idled, with its living key."""
    query = (
        select(BrowserSession, ApiKey)
        .join(ApiKey, ApiKey.id == BrowserSession.key_id)
        .where(
            BrowserSession.digest == digest,
            BrowserSession.ended_at.is_(None),
            BrowserSession.expires_at > at,
            BrowserSession.seen_at > seen_after,
            live_at(at),
        )
    )
    found = session.execute(query).one_or_none()
    return None if found is None else (found[0], found[1])


def end_session(session: Session, digest: bytes, *, at: datetime) -> None:
    """End a browser's session; ending it again changes nothing."""
    live = (BrowserSession.digest == digest, BrowserSession.ended_at.is_(None))
    session.execute(update(BrowserSession).where(*live).values(ended_at=at))


def forget_sessions(session: Session, *, expired_before: datetime) -> None:
    """Delete sessions that expired long ago."""
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at < expired_before))


def note_use_of_key(session: Session, key_id: UUID, *, at: datetime, before: datetime) -> bool:
    """Note when a key was used, unless that was noted since ``before`` or another is just noting it."""
    stale = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at <= before)
    wanted = select(ApiKey.id).where(ApiKey.id == key_id, stale).with_for_update(skip_locked=True)
    change = update(ApiKey).where(ApiKey.id == wanted.scalar_subquery()).values(last_used_at=at)
    return _changed(session, change) > 0


def note_use_of_session(session: Session, session_id: UUID, *, at: datetime, before: datetime) -> bool:
    """Note when a browser's session was seen, as for keys."""
    stale = (BrowserSession.id == session_id, BrowserSession.seen_at <= before)
    wanted = select(BrowserSession.id).where(*stale).with_for_update(skip_locked=True)
    change = update(BrowserSession).where(BrowserSession.id == wanted.scalar_subquery()).values(seen_at=at)
    return _changed(session, change) > 0


def throttle_for_update(session: Session, subject: bytes, *, at: datetime) -> LoginThrottle:
    """The failures of one source, made where there were none, holding the row's lock."""
    fresh = insert(LoginThrottle).values(subject=subject, failures=0, failed_at=at)
    session.execute(fresh.on_conflict_do_nothing())
    return session.scalars(
        select(LoginThrottle).where(LoginThrottle.subject == subject).with_for_update()
    ).one()


def forget_throttles(session: Session, *, failed_before: datetime) -> None:
    """Delete sources whose last failure is long ago, passing over those that are being counted just now."""
    old = select(LoginThrottle.subject).where(LoginThrottle.failed_at < failed_before)
    session.execute(
        delete(LoginThrottle).where(LoginThrottle.subject.in_(old.with_for_update(skip_locked=True)))
    )


def _changed(session: Session, change: Update) -> int:
    result = session.execute(change, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    count: Any = result.rowcount
    return int(count)
