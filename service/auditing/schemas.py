"""Wire types of the audit log."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from core.db.tables.audit_event import AuditEvent
from core.db.tables.audit_link import AuditLink
from core.ledger.audit_log import AuditCheck


class AuditEventView(BaseModel):
    """One event: actor, action, object, client address, time and outcome."""

    sequence: int = Field(
        description="Write order. Gaps are possible: a rolled back change used up a number."
    )
    at: datetime
    actor: str = Field(description="`principal/key`, the name of a process, or `anonymous`.")
    action: str
    object: str = Field(description="Id of the object, or `-`.")
    outcome: str = Field(description="`done`, or the code of the refusal.")
    client_address: str | None = Field(description="Client address; null for actions without a request.")
    request_id: str | None = Field(description="Identifies the request in the operator's log.")
    position: int | None = Field(
        description="Position in the hash chain; null for a few seconds after the event."
    )
    hash: str | None = Field(description="Hash of the chain link, hexadecimal.")

    @classmethod
    def of(cls, event: AuditEvent, link: AuditLink | None) -> Self:
        """Convert an event."""
        return cls(
            sequence=event.sequence,
            at=event.at,
            actor=event.actor,
            action=event.action,
            object=event.object,
            outcome=event.outcome,
            client_address=event.client_address,
            request_id=event.request_id,
            position=None if link is None else link.position,
            hash=None if link is None else link.hash.hex(),
        )


class AuditPage(BaseModel):
    """A page of events, newest first."""

    items: list[AuditEventView]
    next_before: int | None = Field(
        description="Pass as `before` to get the next page; null on the last page."
    )


class TrailEvent(BaseModel):
    """One event on a dataset or a dependent object: actor, action, time and outcome."""

    number: int = Field(
        description="Its number in this trail, starting from 1 for the oldest event. It shifts when older events leave the trail."
    )
    at: datetime
    actor: str = Field(description="A principal, the name of a process, or `anonymous`; without the key.")
    action: str = Field(description="Name of the action, or of the refused operation.")
    about: str = Field(
        description="dataset, member, job, release, request, grant, upload, sealed-report or charged-report."
    )
    object: str = Field(description="Id of the object; for a member, of the principal.")
    outcome: str = Field(description="`done`, or the code of the refusal.")

    @classmethod
    def of(cls, event: AuditEvent, about: str, *, number: int) -> Self:
        """Convert an event, without client address and key."""
        return cls(
            number=number,
            at=event.at,
            actor=event.actor.partition("/")[0],
            action=event.action,
            about=about,
            object=event.object.rpartition("/")[2],
            outcome=event.outcome,
        )


class TrailPage(BaseModel):
    """A page of a dataset's events, newest first."""

    items: list[TrailEvent]
    next_before: int | None = Field(
        description="Pass as `before` to get the next page; null on the last page."
    )


class SignedHead(BaseModel):
    """The head of a hash chain, signed by the service. Store a copy elsewhere and compare it later."""

    at: str = Field(description="Time of signing, exactly as in the signed document.")
    hash: str = Field(description="Hash of the last chain link, hexadecimal.")
    context: str = Field(description="Purpose of the signature.")
    algorithm: str
    key_id: str = Field(description="Id of the signing key; see GET /v1/signing-keys.")
    signature: str = Field(description="Ed25519 signature of context and canonical document, base64.")


class AuditHeadView(SignedHead):
    """The signed head of the audit log's chain."""

    position: int = Field(description="Number of events in the chain.")


class AuditVerification(BaseModel):
    """The result of verifying the whole audit log."""

    intact: bool
    checked: int = Field(description="Number of intact events from the first on.")
    broken_at: int | None = Field(description="Position of the first wrong or missing link.")
    problem: str | None = Field(description="Description of the problem.")
    waiting: int = Field(description="Events not yet in the chain.")
    head: AuditHeadView | None = Field(
        description="The signed head of the chain; null if the chain is broken."
    )

    @classmethod
    def of(cls, found: AuditCheck, head: dict[str, Any] | None) -> Self:
        """Convert a result."""
        return cls(
            intact=found.intact,
            checked=found.checked,
            broken_at=found.broken_at,
            problem=found.problem,
            waiting=found.waiting,
            head=None if head is None else AuditHeadView.model_validate(head),
        )
