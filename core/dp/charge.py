"""The cost of a mechanism in integers, rounded up: the only amounts that the ledger adds."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer

from core.dp.accountant import epsilons, rdp_at
from core.dp.errors import InvalidGuarantee
from core.dp.guarantee import check_delta
from core.dp.mechanism import Mechanism
from core.values import CountOrNone, Published, Value

ORDERS = (4, 6, 8, 12, 16, 32)
"""Renyi orders of the filters, fixed for ever: an order chosen after the fact would not be a filter."""

UNBOUNDED_MICROS = 10**15
"""Represents an infinite divergence, that of a mechanism with a threshold. No filter that adds it holds."""

MICRO = 10**6
FEMTO = 10**15


def decimal_of(value: float) -> Fraction:
    """Return the shortest decimal that parses as `value`, exactly: the number as a person wrote it."""
    return Fraction(repr(float(value)))


def _in_order(amounts: object) -> object:
    return [amounts.get(str(order)) for order in ORDERS] if isinstance(amounts, Mapping) else amounts


def _by_order(amounts: tuple[int, ...]) -> dict[str, int]:
    return {str(order): amount for order, amount in zip(ORDERS, amounts, strict=True)}


class RenyiMicros(BaseModel):
    """Renyi divergence by order, in millionths: the document names the orders, so it is readable without documentation."""

    order_4: CountOrNone = Field(alias="4")
    order_6: CountOrNone = Field(alias="6")
    order_8: CountOrNone = Field(alias="8")
    order_12: CountOrNone = Field(alias="12")
    order_16: CountOrNone = Field(alias="16")
    order_32: CountOrNone = Field(alias="32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Value):
    """The cost of one mechanism under every filter."""

    UNREADABLE = InvalidGuarantee, "the charge lacks a member, or has one that is no whole number"

    epsilon_micros: Annotated[int, Published(CountOrNone)]
    """Reported epsilon at the charge's delta, in millionths, rounded up."""
    delta_femtos: Annotated[int, Published(CountOrNone)]
    """The delta that epsilon was computed at, in 1e-15, rounded up."""
    rdp_micros: Annotated[
        tuple[int, ...], BeforeValidator(_in_order), PlainSerializer(_by_order), Published(RenyiMicros)
    ]
    """Renyi divergence at each of `ORDERS`, in millionths, rounded up."""

    def __post_init__(self) -> None:
        amounts = (self.epsilon_micros, self.delta_femtos, *self.rdp_micros)
        if len(self.rdp_micros) != len(ORDERS) or set(map(type, amounts)) != {int} or min(amounts) < 0:
            raise InvalidGuarantee("a charge consists of non-negative integers, one per filter")

    @property
    def basic_alone(self) -> bool:
        """Whether only basic composition covers it, and everything beside it: that of a threshold, or a sum with one."""
        return min(self.rdp_micros) >= UNBOUNDED_MICROS


def charge_of(mechanism: Mechanism, *, delta: float) -> Charge:
    """Return the cost of `mechanism`, its epsilon taken at `delta`.

    Raises:
        InvalidGuarantee: `delta` is out of range.
    """
    check_delta(delta)
    epsilon = epsilons(mechanism, delta=delta).reported
    renyi = rdp_at(mechanism, ORDERS)
    return Charge(
        epsilon_micros=math.ceil(Fraction(epsilon) * MICRO),
        delta_femtos=math.ceil(decimal_of(delta) * FEMTO),
        rdp_micros=tuple(
            UNBOUNDED_MICROS if math.isinf(amount) else math.ceil(Fraction(amount) * MICRO)
            for amount in renyi
        ),
    )


def total(charges: Iterable[Charge]) -> Charge:
    """Return the sum of `charges`, amount by amount; zero for none."""
    epsilon_micros, delta_femtos, rdp_micros = 0, 0, [0] * len(ORDERS)
    for charge in charges:
        epsilon_micros += charge.epsilon_micros
        delta_femtos += charge.delta_femtos
        rdp_micros = [a + b for a, b in zip(rdp_micros, charge.rdp_micros, strict=True)]
    return Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))
