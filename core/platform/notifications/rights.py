"""The present rights of an endpoint, checked again before every delivery: rights end and keys are revoked."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.db.outbox import Kind
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.notification_event import NotificationEvent
from core.platform.access.directory import principal_of
from core.platform.access.roles import Principal
from core.platform.notifications import repository
from core.platform.notifications.kinds import RECOVERIES

_LONGEST_CHAIN: Final = 1000


def live_principal(session: Session, key_id: UUID, *, at: datetime) -> Principal | None:
    """The principal of a live key, or of the successor that it was rotated to; None if it has ended.

    Revoking a key also ends its endpoints if it had been rotated before: revocation means that the key may be
    compromised.
    """
    for _ in range(_LONGEST_CHAIN):
        row = repository.key_of(session, key_id)
        if row is None or row.revoked_at is not None:
            return None
        if row.expires_at is None or row.expires_at > at:
            return principal_of(row)
        if row.replaced_by is None:
            return None
        key_id = row.replaced_by
    return None


def deliverable_to(
    session: Session,
    endpoint: NotificationEndpoint,
    events: Mapping[UUID, NotificationEvent],
    *,
    principal: Principal,
) -> Collection[UUID]:
    """The subset of these events that an endpoint subscribes to and that its principal may see now."""
    wanted = [
        event_id
        for event_id, event in events.items()
        if not endpoint.kinds or event.kind in endpoint.kinds or _is_mandatory(event, principal)
    ]
    return repository.visible_events(session, principal, wanted) if wanted else ()


def _is_mandatory(event: NotificationEvent, principal: Principal) -> bool:
    """Events an endpoint cannot opt out of: requested tests, and recoveries of its principal."""
    kind = Kind(event.kind)
    return kind in {Kind.TEST, Kind.CONFIRM} or (kind in RECOVERIES and event.about == principal.id)
