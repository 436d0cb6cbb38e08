"""All SQL on the tables of API keys, people and their names, enrolments, browser sessions, sign-in links and failed logins."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CursorResult, Update, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.tables.api_key import ApiKey
from core.db.tables.browser_session import BrowserSession
from core.db.tables.enrolment import Enrolment
from core.db.tables.login_throttle import LoginThrottle
from core.db.tables.person import Person
from core.db.tables.principal_name import PrincipalName
from core.db.tables.sign_in_link import SignInLink


def add(session: Session, row: ApiKey | BrowserSession | Enrolment | Person | SignInLink) -> None:
    """Insert a row."""
    session.add(row)
    session.flush()


def live_at(at: datetime) -> ColumnElement[bool]:
    """The condition on keys: neither revoked nor expired."""
    return ApiKey.revoked_at.is_(None) & or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > at)


def live_with_prefix(
    session: Session, prefix: str, *, at: datetime
) -> Sequence[tuple[ApiKey, datetime | None]]:
    """Living keys that carry this prefix, each with until when its principal is held.

    There is at most one in practice, but 32 bits can collide.
    """
    query = select(ApiKey, Person.held_until).outerjoin(Person, Person.principal_id == ApiKey.principal_id)
    found = session.execute(query.where(ApiKey.prefix == prefix, live_at(at)))
    return [(key, held_until) for key, held_until in found]


def live_key(session: Session, key_id: UUID, *, at: datetime) -> tuple[ApiKey, datetime | None] | None:
    """A living key, with until when its principal is held."""
    query = select(ApiKey, Person.held_until).outerjoin(Person, Person.principal_id == ApiKey.principal_id)
    found = session.execute(query.where(ApiKey.id == key_id, live_at(at))).one_or_none()
    return None if found is None else (found[0], found[1])


def by_digest(session: Session, digest: bytes) -> ApiKey | None:
    """Find a key by its digest, living or not."""
    return session.scalar(select(ApiKey).where(ApiKey.digest == digest))


def keys(session: Session, *, principal_id: UUID | None) -> Sequence[ApiKey]:
    """The keys of a principal, or every key where none is named; oldest first."""
    query = select(ApiKey).order_by(ApiKey.created_at, ApiKey.id)
    return session.scalars(
        query if principal_id is None else query.where(ApiKey.principal_id == principal_id)
    ).all()


def key_for_update(session: Session, key_id: UUID) -> ApiKey | None:
    """A key, holding its row's lock until the transaction ends."""
    return session.scalar(select(ApiKey).where(ApiKey.id == key_id).with_for_update())


def revoke_descendants(session: Session, enrolment_id: UUID, *, at: datetime) -> Sequence[UUID]:
    """Mark as revoked the living keys that descend from an enrolment. Returns their ids."""
    query = select(ApiKey).where(ApiKey.enrolment_id == enrolment_id, live_at(at)).with_for_update()
    found = session.scalars(query.order_by(ApiKey.id)).all()
    for row in found:
        row.revoked_at = at
    session.flush()
    return [row.id for row in found]


def put_person(session: Session, row: Person) -> None:
    """Insert a person who is enrolled, or enrol one who was not; everything else stays as it was."""
    values = {
        name: getattr(row, name)
        for name in ("principal_id", "roles", "created_by", "created_at", "enrolled_at")
    }
    first = func.coalesce(Person.enrolled_at, row.enrolled_at)
    change = insert(Person).values(values)
    session.execute(
        change.on_conflict_do_update(index_elements=[Person.principal_id], set_={"enrolled_at": first})
    )


def widen_roles(session: Session, principal_id: UUID, roles: Collection[str]) -> None:
    """Let a person's keys have further roles."""
    row = person_for_update(session, principal_id)
    assert row is not None, "the person was just put"
    row.roles = sorted({*row.roles, *roles})
    session.flush()


def put_person_of_keys(session: Session, principal_id: UUID, *, at: datetime) -> None:
    """Insert a principal that has keys and is no person: the previous release can make one during an upgrade."""
    rows = session.scalars(select(ApiKey).where(ApiKey.principal_id == principal_id)).all()
    if not rows:
        return
    live = [row for row in rows if row.revoked_at is None and (row.expires_at is None or row.expires_at > at)]
    roles = sorted({role for row in live or rows for role in row.roles})
    values = {"principal_id": principal_id, "roles": roles, "created_by": principal_id, "created_at": at}
    session.execute(insert(Person).values(values).on_conflict_do_nothing())


def person_for_update(session: Session, principal_id: UUID) -> Person | None:
    """A person, holding the row's lock until the transaction ends."""
    query = select(Person).where(Person.principal_id == principal_id)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True))


def person(session: Session, principal_id: UUID) -> Person | None:
    """A person."""
    return session.get(Person, principal_id, populate_existing=True)


def people(session: Session) -> Sequence[Person]:
    """Every person, oldest first."""
    return session.scalars(select(Person).order_by(Person.created_at, Person.principal_id)).all()


def has_keys(session: Session, principal_id: UUID) -> bool:
    """Whether a principal ever had a key."""
    return session.scalar(select(ApiKey.id).where(ApiKey.principal_id == principal_id).limit(1)) is not None


def enrolment_with_digest(session: Session, digest: bytes) -> Enrolment | None:
    """An enrolment by the digest of its token."""
    return session.scalar(select(Enrolment).where(Enrolment.digest == digest))


def enrolment(session: Session, enrolment_id: UUID) -> Enrolment | None:
    """An enrolment, freshly read."""
    return session.get(Enrolment, enrolment_id, populate_existing=True)


def enrolment_for_update(session: Session, enrolment_id: UUID) -> Enrolment:
    """An enrolment that exists, holding the row's lock until the transaction ends."""
    query = select(Enrolment).where(Enrolment.id == enrolment_id)
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one()


def enrolments(session: Session, *, principal_id: UUID | None) -> Sequence[Enrolment]:
    """The enrolments of one person or of all, newest first."""
    query = select(Enrolment).order_by(Enrolment.created_at.desc(), Enrolment.id)
    chosen = query if principal_id is None else query.where(Enrolment.principal_id == principal_id)
    return session.scalars(chosen.execution_options(populate_existing=True)).all()


def put_name(session: Session, principal_id: UUID, *, name: str, by: UUID, at: datetime) -> PrincipalName:
    """Insert or replace the name of a principal."""
    values = {"name": name, "named_by": by, "named_at": at}
    fresh = insert(PrincipalName).values(principal_id=principal_id, **values)
    change = fresh.on_conflict_do_update(index_elements=[PrincipalName.principal_id], set_=values)
    return session.scalars(
        change.returning(PrincipalName), execution_options={"populate_existing": True}
    ).one()


def names_of(session: Session, principal_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """The names of those principals that have one."""
    query = select(PrincipalName.principal_id, PrincipalName.name)
    rows = session.execute(query.where(PrincipalName.principal_id.in_(principal_ids)))
    return dict(rows.all())


def session_with_digest(
    session: Session, digest: bytes, *, at: datetime, seen_after: datetime
) -> tuple[BrowserSession, ApiKey | None, datetime | None] | None:
    """A live browser session with its live key, if it has one, and the end of the principal's hold."""
    principal_id = func.coalesce(ApiKey.principal_id, BrowserSession.principal_id)
    query = (
        select(BrowserSession, ApiKey, Person.held_until)
        .outerjoin(ApiKey, ApiKey.id == BrowserSession.key_id)
        .outerjoin(Person, Person.principal_id == principal_id)
        .where(
            BrowserSession.digest == digest,
            BrowserSession.ended_at.is_(None),
            BrowserSession.expires_at > at,
            BrowserSession.seen_at > seen_after,
            or_(BrowserSession.key_id.is_(None), live_at(at)),
        )
    )
    found = session.execute(query).one_or_none()
    return None if found is None else (found[0], found[1], found[2])


def end_session(session: Session, digest: bytes, *, at: datetime) -> None:
    """End a browser session; idempotent."""
    live = (BrowserSession.digest == digest, BrowserSession.ended_at.is_(None))
    session.execute(update(BrowserSession).where(*live).values(ended_at=at))


def forget_sessions(session: Session, *, expired_before: datetime) -> None:
    """Delete sessions that expired long ago."""
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at < expired_before))


def take_link(session: Session, digest: bytes, *, at: datetime) -> UUID | None:
    """Mark a sign-in link that waits as used, in one statement. Returns its key's id, or None if no such link waits."""
    waits = (SignInLink.digest == digest, SignInLink.used_at.is_(None), SignInLink.expires_at > at)
    return session.scalar(update(SignInLink).where(*waits).values(used_at=at).returning(SignInLink.key_id))


def forget_links(session: Session, *, expired_before: datetime) -> None:
    """Delete sign-in links that have expired."""
    session.execute(delete(SignInLink).where(SignInLink.expires_at < expired_before))


def note_use_of_key(session: Session, key_id: UUID, *, at: datetime, before: datetime) -> bool:
    """Record when a key was used, unless it was recorded after ``before`` or another transaction is doing so."""
    stale = or_(ApiKey.last_used_at.is_(None), ApiKey.last_used_at <= before)
    wanted = select(ApiKey.id).where(ApiKey.id == key_id, stale).with_for_update(skip_locked=True)
    change = update(ApiKey).where(ApiKey.id == wanted.scalar_subquery()).values(last_used_at=at)
    return _changed(session, change) > 0


def note_use_of_session(session: Session, session_id: UUID, *, at: datetime, before: datetime) -> bool:
    """Record when a browser session was used, as for keys."""
    stale = (BrowserSession.id == session_id, BrowserSession.seen_at <= before)
    wanted = select(BrowserSession.id).where(*stale).with_for_update(skip_locked=True)
    change = update(BrowserSession).where(BrowserSession.id == wanted.scalar_subquery()).values(seen_at=at)
    return _changed(session, change) > 0


def throttle_for_update(session: Session, subject: bytes, *, at: datetime) -> LoginThrottle:
    """The failures of one source, inserted if absent, holding the row's lock."""
    fresh = insert(LoginThrottle).values(subject=subject, failures=0, failed_at=at)
    session.execute(fresh.on_conflict_do_nothing())
    return session.scalars(
        select(LoginThrottle).where(LoginThrottle.subject == subject).with_for_update()
    ).one()


def forget_throttles(session: Session, *, failed_before: datetime) -> None:
    """Delete sources whose last failure is long ago, skipping locked rows."""
    old = select(LoginThrottle.subject).where(LoginThrottle.failed_at < failed_before)
    session.execute(
        delete(LoginThrottle).where(LoginThrottle.subject.in_(old.with_for_update(skip_locked=True)))
    )


def _changed(session: Session, change: Update) -> int:
    result = session.execute(change, execution_options={"synchronize_session": False})
    assert isinstance(result, CursorResult)
    count: Any = result.rowcount
    return int(count)
