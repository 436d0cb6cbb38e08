"""Wire types of notifications."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.notification_event import NotificationEvent
from core.notifications.attempts import MAX_ATTEMPTS
from core.notifications.details import Details, shown_secret
from core.notifications.kinds import CHOSEN, Kind
from service.wire import coarse

Channel = Literal["webhook", "email"]
EndpointState = Literal["unconfirmed", "active", "paused"]
DeliveryState = Literal["waiting", "delivered", "failed", "dropped"]


def _may_be_chosen(kind: Kind) -> Kind:
    if kind not in CHOSEN:
        message = "not a kind that can be chosen"
        raise ValueError(message)
    return kind


ChosenKind = Annotated[
    Kind,
    AfterValidator(_may_be_chosen),
    WithJsonSchema({"type": "string", "enum": [kind.value for kind in CHOSEN]}),
]
Target = Annotated[str, StringConstraints(min_length=3, max_length=1000, pattern=r"^[\x21-\x7e]+$")]


class EndpointOrder(BaseModel):
    """Where the caller wants to be told, and of what."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"channel": "webhook", "target": "https://example.org/hooks/understudy"},
                {"channel": "email", "target": "a.person@example.org", "kinds": ["job.succeeded"]},
            ]
        },
    )

    channel: Channel = Field(description="A program (webhook) or a person (email).")
    target: Target = Field(description="The address: https://..., or an e-mail address.")
    kinds: set[ChosenKind] = Field(
        default_factory=set, max_length=len(CHOSEN), description="What is told; leave out for everything."
    )


class Confirmation(BaseModel):
    """The code that was sent to an e-mail address."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"code": "ABCD2345"}]})

    code: Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[\x20-\x7e]+$")]


class EndpointView(BaseModel):
    """An endpoint of the caller."""

    id: UUID
    channel: Channel
    target: str = Field(description="The address, for its owner's eyes; it is sealed in the database.")
    kinds: list[Kind] = Field(description="What is told; empty for everything.")
    state: EndpointState
    paused_because: str | None = Field(
        description="`unreachable`: a delivery failed twelve times within hours and nothing else got through; `gone`: the receiver"
        " answered 410; `key-ended`: the key that registered it has ended; `sealed`: its address cannot be opened."
    )
    created_at: datetime

    @classmethod
    def of(cls, row: NotificationEndpoint, target: str) -> Self:
        """Show a row."""
        return cls.model_validate(
            {
                "id": row.id,
                "channel": row.channel,
                "target": target,
                "kinds": row.kinds,
                "state": row.state,
                "paused_because": row.paused_because,
                "created_at": coarse(row.created_at),
            }
        )


class NewEndpoint(EndpointView):
    """An endpoint with its secret; the only answers that ever hold it."""

    secret: str | None = Field(
        description="What signatures are verified with, in the form `whsec_...`. It is shown once. Null for an e-mail address."
    )

    @classmethod
    def with_secret(cls, row: NotificationEndpoint, details: Details) -> Self:
        """Show a row together with its secret."""
        secret = shown_secret(details.secret) if row.channel == "webhook" else None
        return cls(**EndpointView.of(row, details.target).model_dump(), secret=secret)


class EndpointList(BaseModel):
    """The caller's endpoints, oldest first."""

    items: list[EndpointView]


class DeliveryView(BaseModel):
    """One event on its way to an endpoint."""

    id: UUID
    event_id: UUID = Field(description="What the message is called: `webhook-id` is `msg_` and its digits.")
    kind: Kind
    about: dict[str, str] = Field(description="Ids of what happened; what the message says.")
    happened_at: datetime = Field(description="Rounded up to the minute.")
    state: DeliveryState
    attempts: int = Field(description=f"How often it was tried; after {MAX_ATTEMPTS} times it has failed.")
    outcome: str | None = Field(
        description="Of the last attempt: `delivered`, `http-` and a status, `unreachable`, `timeout`, `tls-failed`,"
        " `name-unknown`, `address-refused`, `answer-broken`, `mail-refused`, `broke-off`; or why it was dropped."
    )
    tried_at: datetime | None = Field(description="Of the last attempt, rounded up to the minute.")
    next_at: datetime | None = Field(description="When it is tried next, rounded up to the minute.")

    @classmethod
    def of(cls, row: NotificationDelivery, event: NotificationEvent) -> Self:
        """Show a row."""
        dataset = {} if event.dataset_id is None else {"dataset_id": str(event.dataset_id)}
        return cls.model_validate(
            {
                "id": row.id,
                "event_id": event.id,
                "kind": event.kind,
                "about": dict(event.facts) | dataset,
                "happened_at": coarse(event.at),
                "state": row.state,
                "attempts": row.attempts,
                "outcome": row.outcome,
                "tried_at": None if row.tried_at is None else coarse(row.tried_at),
                "next_at": None if row.next_at is None else coarse(row.next_at),
            }
        )


class DeliveryPage(BaseModel):
    """A page of deliveries, newest first."""

    items: list[DeliveryView]
    next_before: UUID | None = Field(description="Ask for the next page with before=...; null on the last.")

    @classmethod
    def of(cls, rows: Sequence[tuple[NotificationDelivery, NotificationEvent]], *, limit: int) -> Self:
        """Show rows, of which one more than the limit was asked for."""
        items = [DeliveryView.of(delivery, event) for delivery, event in rows[:limit]]
        return cls(items=items, next_before=items[-1].id if len(rows) > limit else None)


class TestAsked(BaseModel):
    """A test is on its way."""

    __test__ = False

    delivery_id: UUID = Field(description="Its entry in the log of deliveries.")
