"""Idempotency of requests that spend budget.

The caller identifies a request with an ``Idempotency-Key``. The response is stored in the transaction that does the
work, so either both exist or neither. A repeat with the same body gets the stored response and the header
``Idempotency-Replayed: true``; a repeat with another body is refused. When several copies race, one inserts the key; the
others wait on the unique index until it has committed, and then read its response. A refused request stores nothing and
can be sent again.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Header
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.canonical import canonical
from core.db.tables.idempotency_key import IdempotencyKey
from core.errors import Conflict, InvalidInput

REPLAYED_HEADER = "Idempotency-Replayed"
MAX_LENGTH = 255


class IdempotencyKeyMissing(InvalidInput):
    """The endpoint spends budget and requires an Idempotency-Key."""

    code = "idempotency-key-missing"
    default_detail = (
        "This request can spend or grant privacy budget, so it requires an Idempotency-Key header."
    )
    default_remedy = "Send a new UUID for each intended order, and the same one when you repeat the request."


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used for another request."""

    code = "idempotency-key-reused"
    default_detail = "This Idempotency-Key was used for a request with another body."
    default_remedy = "Use a new key for a new order."


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A stored response."""

    status: int
    body: dict[str, Any]


IdempotencyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_LENGTH,
        pattern=r"^[\x21-\x7e]+$",
        description="Identifies this order. A repeat with the same key gets the first response again and has no further effect.",
    ),
]


def request_digest(*, endpoint: str, body: dict[str, Any]) -> bytes:
    """SHA-256 of the endpoint and the validated body; the order of members does not matter."""
    return hashlib.sha256(canonical([endpoint, body])).digest()


def find_answer(session: Session, *, principal_id: UUID, key: str, digest: bytes) -> Answer | None:
    """The stored response to this request, if it was processed before.

    Raises:
        IdempotencyKeyReused: The key belongs to another request.
    """
    row = session.scalar(
        select(IdempotencyKey).where(IdempotencyKey.principal_id == principal_id, IdempotencyKey.key == key)
    )
    if row is None:
        return None
    if row.request_digest != digest:
        raise IdempotencyKeyReused
    # The row is only ever committed together with its response.
    assert row.response_status is not None
    assert row.response_body is not None
    return Answer(status=row.response_status, body=row.response_body)


def once(
    session: Session, *, principal_id: UUID, key: str, digest: bytes, at: datetime, work: Callable[[], Answer]
) -> tuple[Answer, bool]:
    """Do the work and store its response in one transaction, or find the stored one. Returns it, and whether it was stored earlier.

    Raises:
        IdempotencyKeyReused: The key belongs to another request.
    """
    # Waits for a concurrent copy of the request.
    claimed = session.execute(
        insert(IdempotencyKey)
        .values(principal_id=principal_id, key=key, request_digest=digest, created_at=at)
        .on_conflict_do_nothing()
        .returning(IdempotencyKey.key)
    ).first()
    if claimed is None:
        earlier = find_answer(session, principal_id=principal_id, key=key, digest=digest)
        if earlier is not None:
            return earlier, True
    answer = work()
    session.execute(
        update(IdempotencyKey)
        .where(IdempotencyKey.principal_id == principal_id, IdempotencyKey.key == key)
        .values(response_status=answer.status, response_body=answer.body)
    )
    return answer, False
