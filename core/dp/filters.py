"""Privacy filters: whether one more job fits under a population's cap. One of a few filters must hold.

Later jobs are chosen after earlier releases were seen, so bounds for fixed parameters do not apply between
jobs. Each filter below stays valid under such adaptive choice, and each owns a fixed share of the cap's delta:

* basic: the sums of epsilons and of deltas (Rogers, Roth, Ullman and Vadhan 2016);
* Renyi divergence at one pre-committed order (Feldman and Zrnic 2021), for each order in `ORDERS`.

One surviving filter is enough, because the transcript determines which filters hold: split the transcripts by the
first that does, and add up the hockey-stick inequalities over the parts (docs/decisions/accountant-as-filter.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from core.dp.charge import FEMTO, MICRO, ORDERS, UNBOUNDED_MICROS, Charge, decimal_of, total
from core.dp.guarantee import SMALLEST_DELTA, check_delta, check_epsilon

JOBS_PER_DELTA_CAP = 16
"""A job without a delta is charged the delta cap divided by this."""


class AdmissionRule(StrEnum):
    """The filters that guard a population."""

    FILTERS = "filters"
    """Basic and Renyi filters together; the basic filter has half of the delta cap."""
    BASIC = "basic"
    """Basic composition alone, with the whole delta cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The guarantee that all releases about one population together satisfy."""

    epsilon: float
    delta: float
    rule: AdmissionRule

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    def default_job_delta(self) -> float:
        """Return the default delta of a job; under a tiny cap, the smallest that can be promised."""
        return max(self.delta / JOBS_PER_DELTA_CAP, SMALLEST_DELTA)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterUse:
    """What one filter admits and what of it is used, in integers (millionths; for basic also 1e-15 of delta)."""

    capacity_micros: int
    used_micros: int
    capacity_femtos: int | None = None
    used_femtos: int | None = None

    @property
    def holds(self) -> bool:
        """Whether the used amount fits into the capacity."""
        fits = self.used_micros <= self.capacity_micros
        if self.capacity_femtos is not None and self.used_femtos is not None:
            fits = fits and self.used_femtos <= self.capacity_femtos
        return fits

    @property
    def remaining_micros(self) -> int:
        """The free amount; negative when exceeded."""
        return self.capacity_micros - self.used_micros

    @property
    def free_share(self) -> Fraction:
        """The free share of the capacity, of the scarcer resource; -1 for a filter without capacity."""
        if self.capacity_micros <= 0:
            return Fraction(-1)
        share = Fraction(self.remaining_micros, self.capacity_micros)
        if self.capacity_femtos and self.used_femtos is not None:
            share = min(share, Fraction(self.capacity_femtos - self.used_femtos, self.capacity_femtos))
        return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The result of all filters for one list of charges."""

    filters: dict[str, FilterUse]
    """Per filter ("basic", "rdp-4", ...), with all the charges counted as used."""

    @property
    def holds(self) -> dict[str, bool]:
        """Whether each filter holds, by name."""
        return {name: use.holds for name, use in self.filters.items()}

    @property
    def admitted(self) -> bool:
        """Whether some filter holds."""
        return any(use.holds for use in self.filters.values())

    @property
    def carried_by(self) -> str | None:
        """The holding filter with the largest free share; None when none holds."""
        holding = {name: use for name, use in self.filters.items() if use.holds}
        return max(holding, key=lambda name: holding[name].free_share) if holding else None


def rdp_capacity(cap: Cap, order: int) -> float:
    """Return B(order): the Renyi divergence that converts to the cap at this filter's share of delta.

    Inverts Canonne, Kamath and Steinke 2020, proposition 12, at delta_cap / (2 |ORDERS|).
    """
    share = cap.delta / (2 * len(ORDERS))
    return max(0.0, cap.epsilon + math.log(order * share) / (order - 1) - math.log1p(-1 / order))


def admit(cap: Cap, charges: Sequence[Charge]) -> Admission:
    """Say whether `charges` (everything spent and reserved, and the job in question) fit under `cap`."""
    used = total(charges)
    epsilon_capacity, delta_capacity, renyi_capacities = _capacities(cap)
    filters = {
        "basic": FilterUse(
            capacity_micros=epsilon_capacity,
            used_micros=used.epsilon_micros,
            capacity_femtos=delta_capacity,
            used_femtos=used.delta_femtos,
        )
    }
    for order, capacity in renyi_capacities:
        amount = used.rdp_micros[ORDERS.index(order)]
        # An infinite divergence fits under no cap.
        bounded = min(capacity, UNBOUNDED_MICROS - 1)
        filters[f"rdp-{order}"] = FilterUse(capacity_micros=bounded, used_micros=amount)
    return Admission(filters=filters)


def remaining_femtos(cap: Cap, charges: Sequence[Charge]) -> int:
    """Return the delta that the basic filter has left, in 1e-15; 0 if none."""
    basic = admit(cap, charges).filters["basic"]
    return max(0, (basic.capacity_femtos or 0) - (basic.used_femtos or 0))


@lru_cache(maxsize=1024)
def _capacities(cap: Cap) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """The capacities of a cap's filters: epsilon, the basic filter's share of delta, and the Renyi divergence per order."""
    basic_share = 1 if cap.rule is AdmissionRule.BASIC else 2
    renyi: tuple[tuple[int, int], ...] = ()
    if cap.rule is AdmissionRule.FILTERS:
        floors = [(order, math.floor(Fraction(rdp_capacity(cap, order)) * MICRO)) for order in ORDERS]
        # A filter without capacity promises nothing, so it must not hold even without charges.
        renyi = tuple((order, capacity if capacity > 0 else -1) for order, capacity in floors)
    return (
        math.floor(decimal_of(cap.epsilon) * MICRO),
        math.floor(decimal_of(cap.delta) * FEMTO / basic_share),
        renyi,
    )
