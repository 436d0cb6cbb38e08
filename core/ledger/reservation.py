"""A reservation is the fold of its entries; nothing about it is stored anywhere else.

    RESERVED -> SPENT | VOIDED        SPENT -> SETTLED

What counts against the caps: the plan's charge while reserved and once spent, nothing when voided, the charge of
the executed prefix when settled.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from core.ledger.errors import IllegalFold
from core.privacy.charge import Charge, total

NOTHING: Final = total(())


class EntryKind(StrEnum):
    """What an entry does to its reservation; also the state a reservation is in after it."""

    RESERVED = "RESERVED"
    SPENT = "SPENT"
    VOIDED = "VOIDED"
    SETTLED = "SETTLED"


SUCCESSORS: Final[dict[EntryKind | None, frozenset[EntryKind]]] = {
    None: frozenset({EntryKind.RESERVED}),
    EntryKind.RESERVED: frozenset({EntryKind.SPENT, EntryKind.VOIDED}),
    EntryKind.SPENT: frozenset({EntryKind.SETTLED}),
    EntryKind.VOIDED: frozenset(),
    EntryKind.SETTLED: frozenset(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """The part of an entry that the fold reads: what counts for this job from now on.

    Args:
        kind: what happens.
        job_id: to whose reservation.
        charge: what counts against the caps from now on.
        grant_id: the grant that the job draws on; None where it draws on the population's cap alone.
    """

    kind: EntryKind
    job_id: UUID
    charge: Charge
    grant_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Where one job stands.

    Args:
        job_id: whose reservation it is.
        state: the kind of its last entry.
        reserved: the charge of the whole plan.
        in_force: what counts against the caps now.
        grant_id: the grant it draws on, if any.
    """

    job_id: UUID
    state: EntryKind
    reserved: Charge
    in_force: Charge
    grant_id: UUID | None = None

    def after(self, movement: Movement) -> "Reservation":
        """The reservation with one more entry.

        Raises:
            IllegalFold: the entry may not follow, or its charge is not one it may carry.
        """
        if movement.kind not in SUCCESSORS[self.state]:
            raise IllegalFold(self.job_id, f"{movement.kind} after {self.state}")
        if movement.grant_id != self.grant_id:
            raise IllegalFold(self.job_id, "moved to another grant")
        match movement.kind:
            case EntryKind.SPENT if movement.charge != self.reserved:
                raise IllegalFold(self.job_id, "spent something else than was reserved")
            case EntryKind.VOIDED if movement.charge != NOTHING:
                raise IllegalFold(self.job_id, "voided but still charged")
            case EntryKind.SETTLED if not at_most(movement.charge, self.reserved):
                raise IllegalFold(self.job_id, "settled above what was reserved")
        return replace(self, state=movement.kind, in_force=movement.charge)


def fold(movements: Iterable[Movement]) -> Reservation:
    """The reservation that the entries of one job, in order, amount to.

    Raises:
        IllegalFold: they do not begin with RESERVED, or one may not follow the one before.
        ValueError: there are none, or they are of several jobs.
    """
    (reservation,) = fold_all(movements).values()
    return reservation


def fold_all(movements: Iterable[Movement]) -> dict[UUID, Reservation]:
    """All reservations of a population, by job, from its entries in order of sequence.

    Raises:
        IllegalFold: as `fold`.
    """
    reservations: dict[UUID, Reservation] = {}
    for movement in movements:
        fold_into(reservations, movement)
    return reservations


def fold_into(reservations: dict[UUID, Reservation], movement: Movement) -> None:
    """Add one entry to the reservations of a population; changes nothing when it raises.

    Raises:
        IllegalFold: as `fold`.
    """
    known = reservations.get(movement.job_id)
    reservations[movement.job_id] = _opened(movement) if known is None else known.after(movement)


def at_most(charge: Charge, bound: Charge) -> bool:
    """Whether no amount of `charge` is above the same amount of `bound`."""
    return (
        charge.epsilon_micros <= bound.epsilon_micros
        and charge.delta_femtos <= bound.delta_femtos
        and all(amount <= limit for amount, limit in zip(charge.rdp_micros, bound.rdp_micros, strict=True))
    )


def bounded(charge: Charge, *, by: Charge) -> Charge:
    """The charge of an executed prefix, never above that of the whole plan.

    The prefix is a post-processing of the plan, so both charges are valid for it, and the smaller may be taken: of
    the Renyi amounts one by one, of (epsilon, delta) as a pair, because a smaller epsilon at a larger delta is no
    smaller charge. Rounding of the accountants is the only way in which a prefix can come out dearer.
    """
    smaller_pair = charge.epsilon_micros <= by.epsilon_micros and charge.delta_femtos <= by.delta_femtos
    pair = charge if smaller_pair else by
    return Charge(
        epsilon_micros=pair.epsilon_micros,
        delta_femtos=pair.delta_femtos,
        rdp_micros=tuple(map(min, charge.rdp_micros, by.rdp_micros)),
    )


def _opened(movement: Movement) -> Reservation:
    if movement.kind is not EntryKind.RESERVED:
        raise IllegalFold(movement.job_id, f"begins with {movement.kind}")
    return Reservation(
        job_id=movement.job_id,
        state=movement.kind,
        reserved=movement.charge,
        in_force=movement.charge,
        grant_id=movement.grant_id,
    )
