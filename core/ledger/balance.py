"""The running totals that every entry carries: what a population, or a grant, has spent and reserved after it.

Admission reads the last entry instead of all of them, so it costs the same in a ledger of ten entries and of a
hundred thousand. The totals are covered by the entry's hash and recomputed by every verification.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from core.ledger.reservation import NOTHING, EntryKind, Reservation
from core.privacy.charge import ORDERS, Charge, total

_PER_CHARGE: Final = 2 + len(ORDERS)
SPENT_EPSILON: Final = 1
RESERVED_EPSILON: Final = 1 + _PER_CHARGE
"""Places of the two epsilons among the numbers of a balance, counted from 1 as the database counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What counts against a cap.

    Args:
        spent: of reservations that are spent or settled.
        reserved: of reservations that no worker has claimed.
    """

    spent: Charge
    reserved: Charge

    @property
    def in_force(self) -> Charge:
        """Both together: what admission adds the request to."""
        return total((self.spent, self.reserved))

    def after(self, before: Reservation | None, now: Reservation) -> "Balance":
        """The balance once one reservation has moved from `before` (None: it did not exist) to `now`."""
        rest = self if before is None else self._without(before)
        match now.state:
            case EntryKind.RESERVED:
                return Balance(spent=rest.spent, reserved=total((rest.reserved, now.in_force)))
            case _:
                return Balance(spent=total((rest.spent, now.in_force)), reserved=rest.reserved)

    def to_numbers(self) -> list[int]:
        """Sixteen integers: spent, then reserved; each epsilon, delta and the Renyi amounts in order."""
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
    """The balance from the reservations themselves, without any running total."""
    balance = EMPTY_BALANCE
    for reservation in reservations:
        balance = balance.after(None, reservation)
    return balance


def _numbers(charge: Charge) -> list[int]:
    return [charge.epsilon_micros, charge.delta_femtos, *charge.rdp_micros]


def _charge(numbers: Sequence[int]) -> Charge:
    epsilon_micros, delta_femtos, *rdp_micros = numbers
    return Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))


def _less(charge: Charge, part: Charge) -> Charge:
    """Amount by amount; `Charge` itself refuses a negative one, so a wrong total can never make room."""
    return Charge(
        epsilon_micros=charge.epsilon_micros - part.epsilon_micros,
        delta_femtos=charge.delta_femtos - part.delta_femtos,
        rdp_micros=tuple(a - b for a, b in zip(charge.rdp_micros, part.rdp_micros, strict=True)),
    )
