"""What an auditor reads: every entry, the caps, the sums and the state of every filter. Nothing in it is private."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from core.ledger.admission import BASIC, decimal_text
from core.ledger.chain import Entry, Head
from core.ledger.reservation import EntryKind, Reservation
from core.privacy.charge import FEMTO, MICRO, Charge, total
from core.privacy.filters import Admission, Cap, Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The ledger of one population at one moment.

    Args:
        population_id: whose ledger it is.
        rule: which filters guard it: "filters" or "basic".
        cap: the cap; None before an admin has set one.
        head: end of the chain; noted elsewhere, it is a witness against a rewritten history.
        entries: every entry, oldest first.
        reservations: the fold of the entries, one per job, in order of reservation.
        admission: the state of every filter over what is in force; None without a cap.
    """

    population_id: UUID
    rule: str
    cap: Cap | None
    head: Head
    entries: tuple[Entry, ...]
    reservations: tuple[Reservation, ...]
    admission: Admission | None

    def total(self, *states: EntryKind) -> Charge:
        """What is in force in reservations of these states."""
        return total(reservation.in_force for reservation in self.reservations if reservation.state in states)

    @property
    def spent(self) -> Charge:
        """What has been paid: spent and settled."""
        return self.total(EntryKind.SPENT, EntryKind.SETTLED)

    @property
    def reserved(self) -> Charge:
        """What is promised to jobs that no worker has claimed."""
        return self.total(EntryKind.RESERVED)

    @property
    def in_force(self) -> tuple[Charge, ...]:
        """What counts against the caps, one charge per reservation: what a quote is compared with."""
        return tuple(reservation.in_force for reservation in self.reservations)

    @property
    def carried_by(self) -> str | None:
        """The filter that carries the dataset: the holding one with the largest free share."""
        return None if self.admission is None else self.admission.carried_by

    def to_json(self) -> dict[str, Any]:
        """The statement as the API shows it; amounts are exact decimals in strings."""
        return {
            "schema": "understudy.statement/1",
            "population_id": str(self.population_id),
            "rule": self.rule,
            "cap": None if self.cap is None else {"epsilon": self.cap.epsilon, "delta": self.cap.delta},
            "spent": amounts(self.spent),
            "reserved": amounts(self.reserved),
            "totals": {state.value.lower(): amounts(self.total(state)) for state in EntryKind},
            "carried_by": self.carried_by,
            "filters": [] if self.admission is None else list(_filters(self.admission)),
            "head": {"sequence": self.head.sequence, "hash": self.head.hash.hex()},
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
    return {
        "sequence": entry.sequence,
        "kind": entry.movement.kind.value,
        "job_id": str(entry.movement.job_id),
        **amounts(entry.movement.charge),
        "charge": entry.movement.charge.to_json(),
        "mechanism": entry.mechanism,
        "fence": entry.fence,
        "at": entry.at.isoformat(),
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
