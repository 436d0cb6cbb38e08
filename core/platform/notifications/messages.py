"""Content of a notification: a kind, a time rounded up to the minute, and ids. Never a name, an amount or a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from core.canonical import canonical
from core.db.outbox import EventKind
from core.db.tables.notification_event import NotificationEvent
from core.platform.notifications.details import Details

WORDS: Final[Mapping[EventKind, str]] = {
    EventKind.REQUEST_FILED: "A budget request was filed.",
    EventKind.REQUEST_APPROVED: "A budget request was approved.",
    EventKind.REQUEST_DENIED: "A budget request was denied.",
    EventKind.REQUEST_WITHDRAWN: "A budget request was withdrawn.",
    EventKind.REQUEST_EXPIRED: "A budget request has expired.",
    EventKind.BUDGET_LOW: "Less than a fifth of a privacy budget is left.",
    EventKind.DATASET_FROZEN: "A dataset was frozen.",
    EventKind.JOB_SUCCEEDED: "A job has finished.",
    EventKind.JOB_FAILED: "A job has failed.",
    EventKind.JOB_CANCELLED: "A job was cancelled.",
    EventKind.RELEASE_PUBLISHED: "A release was published.",
    EventKind.RECOVERY_MADE: "An administrator made an enrolment with which an existing person can make new keys.",
    EventKind.RECOVERY_ACCEPTED: "An existing person accepted an enrolment and made new keys.",
    EventKind.RECOVERY_CANCELLED: "An enrolment with which an existing person could make new keys was cancelled.",
    EventKind.TEST: "This is the test that you requested.",
    EventKind.CONFIRM: "Confirm this address.",
}
"""A sentence for each kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One event to be delivered.

    Args:
    delivery_id: Its delivery to this endpoint.
    event_id: Lets receivers recognise repeated deliveries.
    at: Time of the event, rounded up to the minute.
    ids: The affected objects.
    attempts: Number of earlier attempts.
    """

    delivery_id: UUID
    event_id: UUID
    kind: EventKind
    at: datetime
    ids: Mapping[str, str]
    attempts: int

    @property
    def body(self) -> bytes:
        """The payload of a webhook; the same bytes for every attempt."""
        return canonical({"type": self.kind.value, "timestamp": spelt(self.at), "data": dict(self.ids)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """All due messages for one endpoint.

    Args:
    messages: In the order in which the events happened.
    """

    endpoint_id: UUID
    channel: str
    details: Details = field(repr=False)
    messages: Sequence[Message]


def message_of(event: NotificationEvent, *, delivery_id: UUID, attempts: int) -> Message:
    """The message of an event."""
    ids = dict(event.facts) | ({} if event.dataset_id is None else {"dataset_id": str(event.dataset_id)})
    return Message(
        delivery_id=delivery_id,
        event_id=event.id,
        kind=EventKind(event.kind),
        at=full_minute(event.at),
        ids=ids,
        attempts=attempts,
    )


def full_minute(moment: datetime) -> datetime:
    """A time rounded up to the minute, as in the API."""
    floor = moment.astimezone(UTC).replace(second=0, microsecond=0)
    return floor if floor == moment else floor + timedelta(minutes=1)


def spelt(moment: datetime) -> str:
    """A time in UTC as text, such as 2027-01-31T00:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
