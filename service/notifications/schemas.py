"""Wire types of notifications."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from core.db.outbox import Kind
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.notification_event import NotificationEvent
from core.platform.notifications.attempts import MAX_ATTEMPTS
from core.platform.notifications.details import Details, shown_secret
from core.platform.notifications.messages import CHOSEN
from service.wire import NextBefore, coarse

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
    """An endpoint to register, with its event kinds."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"channel": "webhook", "target": "https://example.org/hooks/understudy"},
                {"channel": "email", "target": "a.person@example.org", "kinds": ["job.succeeded"]},
            ]
        },
    )

    channel: Channel = Field(description="webhook for a program, email for a person.")
    target: Target = Field(description="The address: https://..., or an e-mail address.")
    kinds: set[ChosenKind] = Field(
        default_factory=set, max_length=len(CHOSEN), description="Event kinds to send. Default: all."
    )


class Confirmation(BaseModel):
    """The code sent to an e-mail address."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"code": "ABCD2345"}]})

    code: Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[\x20-\x7e]+$")]


class EndpointView(BaseModel):
    """An endpoint of the caller."""

    id: UUID
    channel: Channel
    target: str = Field(description="The address, visible to its owner only; sealed in the database.")
    kinds: list[Kind] = Field(description="Event kinds to send; empty for all.")
    state: EndpointState
    paused_because: str | None = Field(
        description="`unreachable`: a delivery failed twelve times within hours and no other succeeded; `gone`: the receiver"
        " answered 410; `key-ended`: the key that registered it is no longer valid; `sealed`: its address cannot be decrypted."
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
    """An endpoint with its secret; no other response ever contains the secret."""

    secret: str | None = Field(
        description="The secret for verifying signatures, in the form `whsec_...`. It is shown only once. Null for an e-mail address."
    )

    @classmethod
    def with_secret(cls, row: NotificationEndpoint, details: Details) -> Self:
        """Convert a row together with its secret."""
        secret = shown_secret(details.secret) if row.channel == "webhook" else None
        return cls(**EndpointView.of(row, details.target).model_dump(), secret=secret)


class EndpointList(BaseModel):
    """The caller's endpoints, oldest first."""

    items: list[EndpointView]


class DeliveryView(BaseModel):
    """The delivery of one event to an endpoint."""

    id: UUID
    event_id: UUID = Field(
        description="Id of the event; the header `webhook-id` is `msg_` followed by its digits."
    )
    kind: Kind
    about: dict[str, str] = Field(description="Ids of the objects concerned, as in the message.")
    happened_at: datetime = Field(description="Rounded up to the minute.")
    state: DeliveryState
    attempts: int = Field(description=f"Number of attempts; after {MAX_ATTEMPTS} the delivery has failed.")
    outcome: str | None = Field(
        description="Outcome of the last attempt: `delivered`, `http-` and a status, `unreachable`, `timeout`, `tls-failed`,"
        " `name-unknown`, `address-refused`, `answer-broken`, `mail-refused`, `broke-off`; or the reason why it was dropped."
    )
    tried_at: datetime | None = Field(description="Time of the last attempt, rounded up to the minute.")
    next_at: datetime | None = Field(description="Time of the next attempt, rounded up to the minute.")

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
    next_before: NextBefore

    @classmethod
    def of(cls, rows: Sequence[tuple[NotificationDelivery, NotificationEvent]], *, limit: int) -> Self:
        """Convert rows; the query asked for one more than the limit."""
        items = [DeliveryView.of(delivery, event) for delivery, event in rows[:limit]]
        return cls(items=items, next_before=items[-1].id if len(rows) > limit else None)


class TestAsked(BaseModel):
    """A test message was queued."""

    __test__ = False

    delivery_id: UUID = Field(description="Its entry in the delivery log.")
