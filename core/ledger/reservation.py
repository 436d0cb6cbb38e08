"""Reservations and balances: what movements fold to. Nothing about a reservation is stored besides its movements.

    RESERVED -> SPENT | VOIDED        SPENT -> SETTLED

The plan's charge counts against the caps while it is reserved and once it is spent; after VOIDED nothing counts, and
after SETTLED the charge of the executed prefix.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Self
from uuid import UUID

from core.dp.charge import ORDERS, Charge, total
from core.ledger.errors import IllegalFold

NOTHING: Final = total(())


class EntryKind(StrEnum):
    """What a movement does to its reservation, and the state of the reservation afterwards."""

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
    """One step of a job's reservation.

    Attributes:
        kind: what happens.
        job_id: whose reservation it is.
        charge: what counts against the caps from now on.
        grant_id: the grant that the job draws on; None if it draws on the population's cap alone.
    """

    kind: EntryKind
    job_id: UUID
    charge: Charge
    grant_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The state of one job's reservation.

    Attributes:
        state: the kind of its last movement.
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
        """Return the reservation after one more movement.

        Raises:
            IllegalFold: the movement may not follow, or may not carry its charge.
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
    """Fold the movements of one job, in order, to its reservation.

    Raises:
        IllegalFold: they do not begin with RESERVED, or one may not follow the one before.
        ValueError: there are none, or they belong to several jobs.
    """
    (reservation,) = fold_all(movements).values()
    return reservation


def fold_all(movements: Iterable[Movement]) -> dict[UUID, Reservation]:
    """Fold the movements of a population, in order of sequence, to its reservations by job.

    Raises:
        IllegalFold: as `fold`.
    """
    reservations: dict[UUID, Reservation] = {}
    for movement in movements:
        fold_into(reservations, movement)
    return reservations


def fold_into(reservations: dict[UUID, Reservation], movement: Movement) -> None:
    """Apply one movement to the reservations of a population; nothing changes if it raises.

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
    """Return the charge of an executed prefix, never above that of the whole plan (`by`).

    The prefix is a post-processing of the plan, so both charges are valid for it and the smaller may be taken: each
    Renyi amount by itself, but (epsilon, delta) as a pair, because a smaller epsilon at a larger delta is no smaller
    charge. A prefix can only cost more through the rounding of the accountants.
    """
    smaller_pair = charge.epsilon_micros <= by.epsilon_micros and charge.delta_femtos <= by.delta_femtos
    pair = charge if smaller_pair else by
    return Charge(
        epsilon_micros=pair.epsilon_micros,
        delta_femtos=pair.delta_femtos,
        rdp_micros=tuple(map(min, charge.rdp_micros, by.rdp_micros)),
    )


_PER_CHARGE: Final = 2 + len(ORDERS)
SPENT_EPSILON: Final = 1
RESERVED_EPSILON: Final = 1 + _PER_CHARGE
"""Indices of the two epsilons among the numbers of a balance, counted from 1 as PostgreSQL counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What counts against a cap: the running total that every entry carries.

    Admission reads the last entry instead of all of them, so an order costs the same in a ledger of ten entries and of
    a hundred thousand. The entry's hash covers the totals, and every verification recomputes them.

    Attributes:
        spent: of reservations that are spent or settled.
        reserved: of reservations that no worker has claimed.
    """

    spent: Charge
    reserved: Charge

    @property
    def in_force(self) -> Charge:
        """Spent and reserved together: what admission adds a request to."""
        return total((self.spent, self.reserved))

    def after(self, before: Reservation | None, now: Reservation) -> "Balance":
        """Return the balance after one reservation moved from `before` (None if it is new) to `now`."""
        rest = self if before is None else self._without(before)
        match now.state:
            case EntryKind.RESERVED:
                return Balance(spent=rest.spent, reserved=total((rest.reserved, now.in_force)))
            case _:
                return Balance(spent=total((rest.spent, now.in_force)), reserved=rest.reserved)

    def to_numbers(self) -> list[int]:
        """Return sixteen integers: spent, then reserved; of each epsilon, delta and the Renyi amounts in order."""
        return [*_numbers(self.spent), *_numbers(self.reserved)]

    @classmethod
    def from_numbers(cls, numbers: Sequence[int]) -> Self:
        """Read what `to_numbers` wrote."""
        return cls(spent=_charge(numbers[:_PER_CHARGE]), reserved=_charge(numbers[_PER_CHARGE:]))

    def _without(self, reservation: Reservation) -> "Balance":
        if reservation.state is EntryKind.RESERVED:
            return Balance(spent=self.spent, reserved=_less(self.reserved, reservation.in_force))
        return Balance(spent=_less(self.spent, reservation.in_force), reserved=self.reserved)


EMPTY_BALANCE: Final = Balance(spent=NOTHING, reserved=NOTHING)


def balance_of(reservations: Iterable[Reservation]) -> Balance:
    """Sum the reservations themselves, without any running total."""
    balance = EMPTY_BALANCE
    for reservation in reservations:
        balance = balance.after(None, reservation)
    return balance


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


def _numbers(charge: Charge) -> list[int]:
    return [charge.epsilon_micros, charge.delta_femtos, *charge.rdp_micros]


def _charge(numbers: Sequence[int]) -> Charge:
    epsilon_micros, delta_femtos, *rdp_micros = numbers
    return Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))


def _less(charge: Charge, part: Charge) -> Charge:
    # `Charge` refuses negative amounts, so a wrong total can never make room.
    return Charge(
        epsilon_micros=charge.epsilon_micros - part.epsilon_micros,
        delta_femtos=charge.delta_femtos - part.delta_femtos,
        rdp_micros=tuple(a - b for a, b in zip(charge.rdp_micros, part.rdp_micros, strict=True)),
    )
