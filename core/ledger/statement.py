"""What an auditor reads: every entry, the caps, the sums and the state of every filter. Nothing in it is private."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from core.ledger.admission import BASIC, decimal_text
from core.ledger.balance import Balance
from core.ledger.chain import Entry, Head
from core.ledger.reservation import EntryKind, Reservation
from core.privacy.charge import FEMTO, MICRO, Charge, total
from core.privacy.filters import Admission, Cap, Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The budget of one population at one moment, without its history.

    Args:
        population_id: whose budget it is.
        rule: which filters guard it: "filters" or "basic".
        cap: the cap; None before an admin has set one.
        frozen_at: since when nothing new may be reserved or spent; None when orders are taken.
        head: end of the chain; noted elsewhere, it is a witness against a rewritten history.
        balance: what is spent and reserved.
        admission: the state of every filter over both; None without a cap.
    """

    population_id: UUID
    rule: str
    cap: Cap | None
    frozen_at: datetime | None
    head: Head
    balance: Balance
    admission: Admission | None

    @property
    def carried_by(self) -> str | None:
        """The filter that carries the dataset: the holding one with the largest free share."""
        return None if self.admission is None else self.admission.carried_by

    def to_json(self) -> dict[str, Any]:
        """The summary as the API shows it; amounts are exact decimals in strings."""
        return {
            "population_id": str(self.population_id),
            "rule": self.rule,
            "cap": None if self.cap is None else {"epsilon": self.cap.epsilon, "delta": self.cap.delta},
            "frozen_at": None if self.frozen_at is None else self.frozen_at.isoformat(),
            "spent": amounts(self.balance.spent),
            "reserved": amounts(self.balance.reserved),
            "carried_by": self.carried_by,
            "filters": [] if self.admission is None else list(_filters(self.admission)),
            "head": {"sequence": self.head.sequence, "hash": self.head.hash.hex()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The ledger of one population at one moment.

    Args:
        summary: the sums over all entries, recomputed from them.
        entries: every entry, oldest first.
        reservations: the fold of the entries, one per job, in order of reservation.
    """

    summary: Summary
    entries: tuple[Entry, ...]
    reservations: tuple[Reservation, ...]

    @property
    def movements(self) -> tuple[Entry, ...]:
        """The entries that move a job's reservation, without people's decisions."""
        return tuple(entry for entry in self.entries if entry.movement is not None)

    def total(self, *states: EntryKind) -> Charge:
        """What is in force in reservations of these states."""
        return total(reservation.in_force for reservation in self.reservations if reservation.state in states)

    @property
    def in_force(self) -> tuple[Charge, ...]:
        """What counts against the caps, one charge per reservation."""
        return tuple(reservation.in_force for reservation in self.reservations)

    def to_json(self) -> dict[str, Any]:
        """The statement as the API shows it; amounts are exact decimals in strings."""
        return {
            "schema": "understudy.statement/2",
            **self.summary.to_json(),
            "totals": {state.value.lower(): amounts(self.total(state)) for state in EntryKind},
            "entries": [entry_json(entry) for entry in self.entries],
        }


def amounts(charge: Charge) -> dict[str, str]:
    """Epsilon and delta of a charge as exact decimals."""
    return {
        "epsilon": decimal_text(charge.epsilon_micros, MICRO),
        "delta": decimal_text(charge.delta_femtos, FEMTO),
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """One entry, with all that its hash covers."""
    movement = entry.movement
    shown: dict[str, Any] = {"sequence": entry.sequence, "kind": entry.kind, "at": entry.at.isoformat()}
    if movement is not None:
        shown |= {
            "job_id": str(movement.job_id),
            "grant_id": None if movement.grant_id is None else str(movement.grant_id),
            **amounts(movement.charge),
            "charge": movement.charge.to_json(),
            "mechanism": entry.mechanism,
            "fence": entry.fence,
        }
    if entry.decision is not None:
        shown["terms"] = entry.decision.terms
    return shown | {
        "balance": None if entry.balance is None else entry.balance.to_numbers(),
        "grant_balance": None if entry.grant_balance is None else entry.grant_balance.to_numbers(),
        "previous_hash": entry.previous_hash.hex(),
        "hash": entry.hash.hex(),
    }


def _filters(admission: Admission) -> Iterable[dict[str, Any]]:
    for name, room in admission.rooms.items():
        yield {
            "filter": name,
            "holds": room.holds,
            "carries": name == admission.carried_by,
            "quantity": "epsilon" if name == BASIC else "Renyi divergence",
            # A filter without capacity promises nothing: shown as zero, and it never holds.
            "capacity": decimal_text(max(0, room.capacity_micros), MICRO),
            "used": decimal_text(room.used_micros, MICRO),
            "remaining": decimal_text(max(0, room.remaining_micros), MICRO),
            "delta": _delta(room),
        }


def _delta(room: Room) -> dict[str, str] | None:
    if room.capacity_femtos is None or room.used_femtos is None:
        return None
    return {
        "capacity": decimal_text(room.capacity_femtos, FEMTO),
        "used": decimal_text(room.used_femtos, FEMTO),
        "remaining": decimal_text(max(0, room.capacity_femtos - room.used_femtos), FEMTO),
    }
