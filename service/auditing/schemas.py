"""Wire types of the audit log."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, Field

from core.audit.chain import AuditCheck
from core.db.tables.audit_event import AuditEvent
from core.db.tables.audit_link import AuditLink


class AuditEventView(BaseModel):
    """One event: who did what to which object, from where, when, with which outcome."""

    sequence: int = Field(
        description="Order of writing; numbers may be missing, for a change that was rolled back drew one."
    )
    at: datetime
    actor: str = Field(description="`principal/key`, the name of a process, or `anonymous`.")
    action: str
    object: str = Field(description="Id of the thing acted on, or `-`.")
    outcome: str = Field(description="`done`, or the code of the refusal.")
    client_address: str | None = Field(
        description="Where the request came from; null for what no request did."
    )
    request_id: str | None = Field(description="Names the request in the operator's log.")
    position: int | None = Field(
        description="Place in the chain of hashes; null for a few seconds after the event."
    )
    hash: str | None = Field(description="Hash of the link, hexadecimal.")

    @classmethod
    def of(cls, event: AuditEvent, link: AuditLink | None) -> Self:
        """Show an event."""
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
    next_before: int | None = Field(description="Ask for the next page with before=...; null on the last.")


class TrailEvent(BaseModel):
    """One event on a dataset or on what hangs on it: who did what, when, with which outcome."""

    number: int = Field(
        description="Its number in this trail, the oldest being 1; it moves where older events leave the trail."
    )
    at: datetime
    actor: str = Field(
        description="A principal, the name of a process, or `anonymous`; not the key that was used."
    )
    action: str = Field(description="Name of an action, or of the operation that was refused.")
    about: str = Field(
        description="dataset, member, job, release, request, grant, upload, sealed-report or charged-report."
    )
    object: str = Field(description="Id of the thing acted on; of a member, the principal.")
    outcome: str = Field(description="`done`, or the code of the refusal.")

    @classmethod
    def of(cls, event: AuditEvent, about: str, *, number: int) -> Self:
        """Show an event, without where it came from and with which key."""
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
    next_before: int | None = Field(description="Ask for the next page with before=...; null on the last.")


class SignedHead(BaseModel):
    """The end of a chain, signed by the service: keep it anywhere, and compare later."""

    at: str = Field(description="When it was signed, spelt as it was signed.")
    hash: str = Field(description="Hash of the last link, hexadecimal.")
    context: str = Field(description="What the signature is for.")
    algorithm: str
    key_id: str = Field(description="Which key signed; see GET /v1/signing-keys.")
    signature: str = Field(description="Ed25519 over context and canonical document, base64.")


class AuditHeadView(SignedHead):
    """The end of the audit log's chain, signed."""

    position: int = Field(description="How many events the chain covers.")


class AuditVerification(BaseModel):
    """What a verification of the whole audit log found."""

    intact: bool
    checked: int = Field(description="Events whose links are whole, counted from the first.")
    broken_at: int | None = Field(description="Position of the first link that is wrong or missing.")
    problem: str | None = Field(description="What is wrong.")
    waiting: int = Field(description="Events that have no place in the chain yet.")
    head: AuditHeadView | None = Field(description="The signed end of the chain; null where it is not whole.")

    @classmethod
    def of(cls, found: AuditCheck, head: dict[str, Any] | None) -> Self:
        """Show what was found."""
        return cls(
            intact=found.intact,
            checked=found.checked,
            broken_at=found.broken_at,
            problem=found.problem,
            waiting=found.waiting,
            head=None if head is None else AuditHeadView.model_validate(head),
        )
