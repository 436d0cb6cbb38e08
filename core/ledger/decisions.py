"""What people decide about a budget, as entries of the same chain as the movements of jobs.

Caps, grants and freezes bound what jobs may draw; a change of one that left no trace would be a way around the
ledger. The rows that show them (budgets, grants) are copies: a verification compares them with the chain.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class DecisionKind(StrEnum):
    """What was decided."""

    CAP_SET = "CAP_SET"
    GRANTED = "GRANTED"
    GRANT_CLOSED = "GRANT_CLOSED"
    FROZEN = "FROZEN"
    UNFROZEN = "UNFROZEN"


class GrantState(StrEnum):
    """Where a grant stands; the last two are how it ends."""

    OPEN = "open"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision.

    Args:
        kind: what was decided.
        terms: its JSON: who (`by`), why (`reason`), and what the kind needs.
    """

    kind: DecisionKind
    terms: dict[str, Any]


def cap_set(*, epsilon: float, delta: float, by: str, reason: str | None) -> Decision:
    """A cap was set or changed."""
    return Decision(
        kind=DecisionKind.CAP_SET, terms={"epsilon": epsilon, "delta": delta, "by": by, "reason": reason}
    )


def granted(
    *, grant_id: UUID, holder: UUID, epsilon: float, delta: float, expires_at: datetime, by: str
) -> Decision:
    """A grant was made."""
    return Decision(
        kind=DecisionKind.GRANTED,
        terms={
            "grant_id": str(grant_id),
            "holder_id": str(holder),
            "epsilon": epsilon,
            "delta": delta,
            "expires_at": expires_at.astimezone(UTC).isoformat(timespec="microseconds"),
            "by": by,
        },
    )


def grant_closed(*, grant_id: UUID, outcome: GrantState, by: str) -> Decision:
    """A grant has expired or was revoked: nothing new draws on it."""
    return Decision(
        kind=DecisionKind.GRANT_CLOSED,
        terms={"grant_id": str(grant_id), "outcome": outcome.value, "by": by},
    )


def frozen(*, by: str, reason: str) -> Decision:
    """Nothing new is reserved or spent until it is unfrozen."""
    return Decision(kind=DecisionKind.FROZEN, terms={"by": by, "reason": reason})


def unfrozen(*, by: str, reason: str) -> Decision:
    """Orders are taken again."""
    return Decision(kind=DecisionKind.UNFROZEN, terms={"by": by, "reason": reason})
