"""All SQL on endpoints, events and deliveries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.outbox import Kind
from core.db.tables.api_key import ApiKey
from core.db.tables.dataset import Dataset
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.notification_event import NotificationEvent
from core.jobs.leases import Leases
from core.platform.access import visibility
from core.platform.access.roles import Principal, Role
from core.platform.access.scopes import Scope
from core.platform.notifications.messages import RECOVERIES, scope_of

WAITING: Final = "waiting"
DROPPED: Final = "dropped"
DELIVERIES: Final = Leases(NotificationDelivery, waiting=WAITING, running=WAITING)
"""A delivery waits until it ends; while it is sent, it is under a lease like a job's."""
_LONGEST_DELIVERY: Final = timedelta(days=8)
"""Deliveries wait at most a week to be batched, and retries take less than a day."""


def add(session: Session, row: NotificationEndpoint | NotificationDelivery) -> None:
    """Insert an endpoint or a delivery."""
    session.add(row)
    session.flush()


def endpoints_of(session: Session, principal_id: UUID) -> Sequence[NotificationEndpoint]:
    """A principal's endpoints that are not removed, oldest first."""
    query = select(NotificationEndpoint).where(
        NotificationEndpoint.principal_id == principal_id, NotificationEndpoint.state != "removed"
    )
    return session.scalars(query.order_by(NotificationEndpoint.created_at, NotificationEndpoint.id)).all()


def endpoint_of(
    session: Session, endpoint_id: UUID, principal_id: UUID, *, for_update: bool
) -> NotificationEndpoint | None:
    """A principal's endpoint, optionally with its row locked."""
    query = select(NotificationEndpoint).where(
        NotificationEndpoint.id == endpoint_id,
        NotificationEndpoint.principal_id == principal_id,
        NotificationEndpoint.state != "removed",
    )
    return session.scalar(query.with_for_update() if for_update else query)


def active_endpoints(session: Session) -> Sequence[NotificationEndpoint]:
    """All active endpoints."""
    query = select(NotificationEndpoint).where(NotificationEndpoint.state == "active")
    return session.scalars(query.order_by(NotificationEndpoint.id)).all()


def lock_endpoint_if_free(session: Session, endpoint_id: UUID) -> NotificationEndpoint | None:
    """An endpoint, holding its row's lock; None if another transaction holds it."""
    query = select(NotificationEndpoint).where(NotificationEndpoint.id == endpoint_id)
    return session.scalar(query.with_for_update(skip_locked=True).execution_options(populate_existing=True))


def lock_endpoint(session: Session, endpoint_id: UUID) -> NotificationEndpoint:
    """An endpoint that exists, holding its row's lock until the transaction ends."""
    query = select(NotificationEndpoint).where(NotificationEndpoint.id == endpoint_id)
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one()


def key_of(session: Session, key_id: UUID) -> ApiKey | None:
    """A key, freshly read."""
    return session.get(ApiKey, key_id, populate_existing=True)


def new_events(session: Session, *, limit: int) -> Sequence[NotificationEvent]:
    """Events without deliveries yet, skipping locked rows."""
    query = select(NotificationEvent).where(NotificationEvent.spread_at.is_(None))
    return session.scalars(
        query.order_by(NotificationEvent.at, NotificationEvent.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def mark_old(session: Session, event_ids: Collection[UUID], *, at: datetime) -> None:
    """Record that the deliveries of these events were created."""
    session.execute(update(NotificationEvent).where(NotificationEvent.id.in_(event_ids)).values(spread_at=at))


def known_to(principal: Principal) -> ColumnElement[bool]:
    """SQL condition on events joined with their datasets: those that the principal may know at this moment."""
    roles, identity = principal.roles, principal.id
    about_it = NotificationEvent.about == identity
    shown: ColumnElement[bool] = and_(
        NotificationEvent.dataset_id.is_not(None),
        visibility.seen_by(roles, identity),
        or_(NotificationEvent.about.is_(None), about_it, visibility.overseen_by(roles, identity)),
    )
    overseen: list[ColumnElement[bool]] = [about_it]
    if principal.has(Role.AUDITOR, Role.ADMIN) and principal.within(Scope.AUDIT_READ):
        overseen.append(NotificationEvent.kind.in_([kind.value for kind in RECOVERIES]))
    kinds = [kind.value for kind in Kind if (scope := scope_of(kind)) is None or principal.within(scope)]
    return and_(
        NotificationEvent.kind.in_(kinds),
        or_(and_(NotificationEvent.dataset_id.is_(None), or_(*overseen)), shown),
    )


def visible_events(session: Session, principal: Principal, event_ids: Collection[UUID]) -> set[UUID]:
    """The subset of these events that a principal may know at this moment."""
    query = (
        select(NotificationEvent.id)
        .outerjoin(Dataset, Dataset.id == NotificationEvent.dataset_id)
        .where(NotificationEvent.id.in_(event_ids), known_to(principal))
    )
    return set(session.scalars(query))


def add_deliveries(session: Session, event_ids: Sequence[UUID], endpoint_id: UUID, *, at: datetime) -> None:
    """Create deliveries that are due now, a microsecond apart in the given order; existing ones are unchanged."""
    rows = [
        {
            "id": uuid4(), "event_id": event_id, "endpoint_id": endpoint_id, "state": WAITING,
            "attempts": 0, "next_at": at, "created_at": at + timedelta(microseconds=number),
        }
        for number, event_id in enumerate(event_ids)
    ]  # fmt: skip
    if rows:
        session.execute(insert(NotificationDelivery).values(rows).on_conflict_do_nothing())


def due_endpoints(session: Session, *, at: datetime, limit: int) -> Sequence[UUID]:
    """The endpoints with due deliveries, longest waiting first."""
    first = func.min(NotificationDelivery.next_at)
    query = (
        select(NotificationDelivery.endpoint_id)
        .where(DELIVERIES.are_claimable(at), NotificationDelivery.next_at <= at)
        .group_by(NotificationDelivery.endpoint_id)
        .order_by(first, NotificationDelivery.endpoint_id)
        .limit(limit)
    )
    return session.scalars(query).all()


def due_deliveries(
    session: Session, endpoint_id: UUID, *, at: datetime, limit: int
) -> Sequence[tuple[NotificationDelivery, NotificationEvent]]:
    """The due deliveries of an endpoint, in order, locked.

    The caller holds the lock of the endpoint's row. It is always locked before its deliveries, which rules
    out deadlocks.
    """
    query = (
        select(NotificationDelivery, NotificationEvent)
        .join(NotificationEvent, NotificationEvent.id == NotificationDelivery.event_id)
        .where(
            NotificationDelivery.endpoint_id == endpoint_id,
            DELIVERIES.are_claimable(at),
            NotificationDelivery.next_at <= at,
        )
        .order_by(NotificationDelivery.created_at, NotificationDelivery.id)
        .limit(limit)
        .with_for_update(of=NotificationDelivery)
    )
    return [(delivery, event) for delivery, event in session.execute(query)]


def drop_waiting(session: Session, endpoint_id: UUID, *, outcome: str) -> None:
    """Drop the pending deliveries of an endpoint."""
    session.execute(
        update(NotificationDelivery)
        .where(NotificationDelivery.endpoint_id == endpoint_id, NotificationDelivery.state == WAITING)
        .values(state=DROPPED, next_at=None, outcome=outcome, lease_expires_at=None, lease_owner=None)
        .execution_options(synchronize_session=False)
    )


def deliveries_page(
    session: Session, endpoint_id: UUID, principal: Principal, *, limit: int, before: UUID | None
) -> Sequence[tuple[NotificationDelivery, NotificationEvent]]:
    """A page of an endpoint's deliveries, newest first, limited to what the caller may know at this moment."""
    query = (
        select(NotificationDelivery, NotificationEvent)
        .join(NotificationEvent, NotificationEvent.id == NotificationDelivery.event_id)
        .outerjoin(Dataset, Dataset.id == NotificationEvent.dataset_id)
        .where(NotificationDelivery.endpoint_id == endpoint_id, known_to(principal))
    )
    if before is not None:
        last = (
            select(NotificationDelivery.created_at).where(NotificationDelivery.id == before).scalar_subquery()
        )
        query = query.where(
            or_(
                NotificationDelivery.created_at < last,
                and_(NotificationDelivery.created_at == last, NotificationDelivery.id < before),
            )
        )
    order = (NotificationDelivery.created_at.desc(), NotificationDelivery.id.desc())
    return [(delivery, event) for delivery, event in session.execute(query.order_by(*order).limit(limit))]


def newest_of_kind(session: Session, endpoint_id: UUID, kind: str) -> datetime | None:
    """When the newest delivery of a kind was created for an endpoint."""
    return session.scalar(
        select(func.max(NotificationDelivery.created_at))
        .join(NotificationEvent, NotificationEvent.id == NotificationDelivery.event_id)
        .where(NotificationDelivery.endpoint_id == endpoint_id, NotificationEvent.kind == kind)
    )


def forget(session: Session, *, before: datetime) -> int:
    """Delete deliveries that finished long ago, then events without deliveries. Returns how many events.

    Deliveries that have waited longer than any delivery may take are deleted too: nothing can send them, for
    example e-mail after the operator removed the mail server.
    """
    ended = NotificationDelivery.state != WAITING
    session.execute(
        delete(NotificationDelivery)
        .where(
            NotificationDelivery.created_at < before,
            or_(ended, NotificationDelivery.created_at < before - _LONGEST_DELIVERY),
        )
        .execution_options(synchronize_session=False)
    )
    delivered = select(NotificationDelivery.event_id)
    gone = session.scalars(
        delete(NotificationEvent)
        .where(NotificationEvent.spread_at < before, NotificationEvent.id.not_in(delivered))
        .returning(NotificationEvent.id)
        .execution_options(synchronize_session=False)
    ).all()
    return len(gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undelivered:
    """The backlog of notifications.

    Args:
        waiting: Number of events and deliveries.
        since: Since when the oldest of them waits; None if there is none.
        paused: Number of paused endpoints.
    """

    waiting: int
    since: datetime | None
    paused: int


def undelivered(session: Session) -> Undelivered:
    """Measure the backlog of notifications."""
    of_events = select(func.count(), func.min(NotificationEvent.at))
    events, event_at = session.execute(of_events.where(NotificationEvent.spread_at.is_(None))).one()
    of_deliveries = select(func.count(), func.min(NotificationDelivery.created_at))
    deliveries, delivery_at = session.execute(
        of_deliveries.where(NotificationDelivery.state == WAITING)
    ).one()
    paused = session.scalar(
        select(func.count()).select_from(NotificationEndpoint).where(NotificationEndpoint.state == "paused")
    )
    moments: list[datetime | None] = [event_at, delivery_at]
    since = min((at for at in moments if at is not None), default=None)
    return Undelivered(waiting=events + deliveries, since=since, paused=paused or 0)
