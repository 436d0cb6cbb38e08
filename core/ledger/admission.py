"""Admission: whether a request fits under a cap beside what is in force, and the wording of a refusal. Pure functions."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from core.dp.charge import FEMTO, MICRO, Charge, total
from core.dp.filters import Admission, Cap, FilterUse, admit, remaining_femtos
from core.dp.remaining import remaining_epsilon
from core.errors import BudgetRefused
from core.ledger.errors import CapBelowSpent

BASIC: Final = "basic"
_PLACES: Final = {MICRO: 6, FEMTO: 15}
LARGEST_SUM: Final = 2**63 - 1
"""Largest amount that a ledger in Postgres can hold, some 9,223 charges of an infinite divergence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """What one filter was asked for and what it had left; integers in `unit`-ths of `quantity`."""

    filter: str
    quantity: str
    unit: int
    requested: int
    remaining: int

    @property
    def difference(self) -> int:
        """By how much the request exceeds what was left."""
        return self.requested - self.remaining

    def to_json(self) -> dict[str, str]:
        """Return the amounts as exact decimals."""
        return {
            "quantity": self.quantity,
            "requested": decimal_text(self.requested, self.unit),
            "remaining": decimal_text(self.remaining, self.unit),
            "difference": decimal_text(self.difference, self.unit),
        }


def require_room(
    cap: Cap,
    in_force: Charge,
    request: Charge,
    *,
    refusal: type[BudgetRefused] = BudgetRefused,
    payer: str = "the dataset's cap",
    within: Cap | None = None,
    remedy: str = "Order with a smaller epsilon or delta, or ask an admin to raise the dataset's cap.",
) -> Admission:
    """Admit `request` on top of `in_force` (everything spent and reserved).

    Args:
        within: the cap that a grant lies within; None if `cap` is no grant.

    Raises:
        BudgetRefused: no filter holds with the request added. The message states what the request costs and what `payer`
            has left for one more; the facts state requested, remaining and difference for every filter. `refusal` is the
            class raised.
    """
    after = admit(cap, [in_force, request])
    if after.admitted:
        return after
    shortages = _shortages(admit(cap, [in_force]), after)
    nearest = nearest_filter(after)
    raise refusal(
        _refusal_text(cap, in_force, request, payer, within),
        remedy=remedy,
        filter=nearest,
        shortages=[{"filter": shortage.filter, **shortage.to_json()} for shortage in shortages],
    )


def require_recordable(in_force: Charge, request: Charge) -> None:
    """Check that the ledger can hold the sums of `in_force` (everything spent and reserved) and `request`.

    Raises:
        BudgetRefused: an amount would be larger than any that can be stored.
    """
    after = total((in_force, request))
    if max(after.epsilon_micros, after.delta_femtos, *after.rdp_micros) > LARGEST_SUM:
        raise BudgetRefused(
            "The dataset's ledger cannot hold the sums with this order: an amount would exceed 2^63 units.",
            remedy="Cancel orders that no worker has claimed, if any: what is spent stays. An order whose categories are learnt adds the largest"
            " amounts; one of a version of the dataset that declares its categories adds less.",
        )


def require_cap_above(cap: Cap, in_force: Charge) -> Admission:
    """Check that everything spent and reserved fits under a new cap.

    Raises:
        CapBelowSpent: no filter would hold under the cap.
    """
    nothing, after = admit(cap, ()), admit(cap, [in_force])
    if after.admitted:
        return after
    nearest = nearest_filter(after)
    shortages = [shortage for shortage in _shortages(nothing, after) if shortage.filter == nearest]
    raise CapBelowSpent(
        f"A cap of epsilon {cap.epsilon:g} and delta {cap.delta:g} does not cover what is spent and reserved: epsilon"
        f" {decimal_text(in_force.epsilon_micros, MICRO)} and delta {decimal_text(in_force.delta_femtos, FEMTO)} as plain sums.",
        remedy="What was released cannot be taken back: choose a cap that covers it; the statement shows the sums.",
        filter=nearest,
        shortages=[{"filter": nearest, **shortage.to_json()} for shortage in shortages],
    )


def nearest_filter(admission: Admission) -> str:
    """Return the filter that is exceeded by the smallest share of its capacity."""
    return max(admission.filters, key=lambda name: admission.filters[name].free_share)


def decimal_text(amount: int, unit: int) -> str:
    """Return `amount` unit-ths as an exact decimal without trailing zeros: (1500000, MICRO) is 1.5."""
    text = f"{Decimal(amount).scaleb(-_PLACES[unit]):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short_of(cap: Cap, in_force: Charge, request: Charge, left: float) -> list[str]:
    """Return what is too little for a request that was refused: epsilon, delta or both.

    Args:
        left: the largest epsilon of one more typical job at the default delta.
    """
    basic = admit(cap, [in_force]).filters[BASIC]
    # Without delta nothing is left for one more job, however much epsilon is.
    short = ["epsilon"] if request.epsilon_micros > max(basic.remaining_micros, left * MICRO) else []
    if request.delta_femtos > remaining_femtos(cap, [in_force]):
        short.append("delta")
    # Enough of both: the divergence of its mechanism is larger than that of a typical job at the default delta.
    return short or ["epsilon"]


def _refusal_text(cap: Cap, in_force: Charge, request: Charge, payer: str, within: Cap | None) -> str:
    """Say what a request costs and what is left, in epsilon and delta, whichever filter decides."""
    left = remaining_epsilon(cap, [in_force], thresholds=request.basic_alone, within=within)
    asked, delta = decimal_text(request.epsilon_micros, MICRO), decimal_text(request.delta_femtos, FEMTO)
    if request.epsilon_micros > left * MICRO and short_of(cap, in_force, request, left) == ["epsilon"]:
        return f"This order costs epsilon {asked}, and {payer} has {left:.4g} left for one more order."
    # Too little delta, or enough epsilon at the usual delta: this order's own, or the shape of its mechanism, does not fit.
    free = remaining_femtos(cap, [in_force])
    default = f"delta {cap.default_job_delta():g}" if within is None else "the default delta"
    return (
        f"This order costs epsilon {asked} and delta {delta}. Of {payer}, delta {decimal_text(free, FEMTO)} is left, and epsilon"
        f" {left:.4g} for one more order at {default}."
    )


def _shortages(before: Admission, after: Admission) -> list[Shortage]:
    """Return every amount that does not fit, filter by filter."""
    found = []
    for name, use in after.filters.items():
        if use.used_micros > use.capacity_micros:
            found.append(_micro_shortage(name, before.filters[name], use))
        found.extend(_femto_shortage(name, before.filters[name], use))
    return found


def _micro_shortage(name: str, before: FilterUse, after: FilterUse) -> Shortage:
    return Shortage(
        filter=name,
        quantity="epsilon" if name == BASIC else "Renyi divergence",
        unit=MICRO,
        requested=after.used_micros - before.used_micros,
        remaining=max(0, before.remaining_micros),
    )


def _femto_shortage(name: str, before: FilterUse, after: FilterUse) -> list[Shortage]:
    match before, after:
        case (
            FilterUse(used_femtos=int() as used_before),
            FilterUse(used_femtos=int() as used, capacity_femtos=int() as capacity),
        ) if used > capacity:
            remaining = max(0, capacity - used_before)
            return [
                Shortage(
                    filter=name,
                    quantity="delta",
                    unit=FEMTO,
                    requested=used - used_before,
                    remaining=remaining,
                )
            ]
    return []
