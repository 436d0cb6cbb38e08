"""Kinds and content of notifications: a kind, a time rounded up to the minute, and ids. Never a name, an amount or a reason.

A key with scopes receives the kinds whose facts its scopes grant access to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from core.canonical import canonical
from core.db.outbox import Kind
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_event import NotificationEvent
from core.platform.access.scopes import Scope
from core.platform.notifications.details import Details

CHOSEN: Final = tuple(kind for kind in Kind if kind not in {Kind.TEST, Kind.CONFIRM})
"""The kinds that an endpoint may subscribe to."""

RECOVERIES: Final = (Kind.RECOVERY_MADE, Kind.RECOVERY_ACCEPTED, Kind.RECOVERY_CANCELLED)
"""The kinds that report that an administrator lets a person make new keys; the person's endpoints cannot opt
out."""

_SCOPE_OF: Final[Mapping[str, Scope]] = {
    "budget-request": Scope.BUDGET_READ,
    "budget": Scope.BUDGET_READ,
    "dataset": Scope.BUDGET_READ,
    "job": Scope.JOBS_READ,
    "release": Scope.RELEASES_READ,
}

WORDS: Final[Mapping[Kind, str]] = {
    Kind.REQUEST_FILED: "A budget request was filed.",
    Kind.REQUEST_APPROVED: "A budget request was approved.",
    Kind.REQUEST_DENIED: "A budget request was denied.",
    Kind.REQUEST_WITHDRAWN: "A budget request was withdrawn.",
    Kind.REQUEST_EXPIRED: "A budget request has expired.",
    Kind.BUDGET_LOW: "Less than a fifth of a privacy budget is left.",
    Kind.DATASET_FROZEN: "A dataset was frozen.",
    Kind.JOB_SUCCEEDED: "A job has finished.",
    Kind.JOB_FAILED: "A job has failed.",
    Kind.JOB_CANCELLED: "A job was cancelled.",
    Kind.RELEASE_PUBLISHED: "A release was published.",
    Kind.RECOVERY_MADE: "An administrator started a recovery, with which a person can make new keys.",
    Kind.RECOVERY_ACCEPTED: "A person accepted a recovery and made new keys.",
    Kind.RECOVERY_CANCELLED: "The recovery of a person was cancelled.",
    Kind.TEST: "This is the test that you requested.",
    Kind.CONFIRM: "Confirm this address.",
}
"""A sentence for each kind."""


def scope_of(kind: Kind) -> Scope | None:
    """The scope a key with scopes needs for this kind; None if it only concerns the endpoint or its principal."""
    return _SCOPE_OF.get(kind.value.partition(".")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One event to be delivered.

    Args:
        delivery_id: Its delivery to this endpoint.
        fence: The claim under which it is sent.
        event_id: Lets receivers recognise repeated deliveries.
        at: Time of the event, rounded up to the minute.
        ids: The affected objects.
        attempts: Number of earlier attempts.
    """

    delivery_id: UUID
    fence: int
    event_id: UUID
    kind: Kind
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


def message_of(event: NotificationEvent, delivery: NotificationDelivery) -> Message:
    """The message of an event, for a delivery that was claimed."""
    ids = dict(event.facts) | ({} if event.dataset_id is None else {"dataset_id": str(event.dataset_id)})
    return Message(
        delivery_id=delivery.id,
        fence=delivery.fence,
        event_id=event.id,
        kind=Kind(event.kind),
        at=full_minute(event.at),
        ids=ids,
        attempts=delivery.attempts,
    )


def full_minute(moment: datetime) -> datetime:
    """A time rounded up to the minute, as in the API."""
    floor = moment.astimezone(UTC).replace(second=0, microsecond=0)
    return floor if floor == moment else floor + timedelta(minutes=1)


def spelt(moment: datetime) -> str:
    """A time in UTC as text, such as 2027-01-31T00:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
