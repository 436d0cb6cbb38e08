"""The best that an adaptive adversary can do against an admission rule, exactly: every choice may depend on every output.

Mechanisms are randomised responses whose pure epsilons are multiples of one unit, and releases that show everything with a
small probability; so the privacy loss of a transcript is an integer (or infinite) and the adversary's best strategy is
a dynamic programme over what was charged and the loss so far. Under the table the adversary aims at, a transcript of loss l
adds probability times (1 - exp(epsilon - l)) to delta(epsilon); the expectation of that over the best strategy is the largest
hockey-stick divergence of the whole interaction. No sampling, no error but float64's.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from core.dp.charge import FEMTO, MICRO, ORDERS, Charge, total


@dataclass(frozen=True)
class Response:
    """Randomised response of pure epsilon `units * unit`, which shows the truth outright with probability `leak`."""

    units: int
    leak: float = 0.0

    def rises(self, unit: float) -> float:
        """Probability, under the table aimed at, of the output that speaks for it, if it does not leak."""
        return 1 / (1 + math.exp(-self.units * unit))

    def charge(self, unit: float) -> Charge:
        """What it costs: basic composition as it is, divergences exactly (a leak has none), all rounded up."""
        pure = self.units * unit
        rdp = [math.ceil(response_rdp(pure, order) * MICRO) for order in ORDERS]
        return Charge(
            epsilon_micros=math.ceil(pure * MICRO),
            delta_femtos=math.ceil(self.leak * FEMTO),
            rdp_micros=tuple(10**15 if self.leak else amount for amount in rdp),
        )


def response_rdp(pure: float, order: int) -> float:
    up, down = 1 / (1 + math.exp(-pure)), 1 / (1 + math.exp(pure))
    return math.log(up**order * down ** (1 - order) + down**order * up ** (1 - order)) / (order - 1)


Counts = tuple[int, ...]
"""How many of each offered mechanism were run."""


def largest_delta(
    offers: list[Response], allowed: Callable[[Counts], bool], *, unit: float, epsilon: float
) -> float:
    """Return the largest delta(epsilon) of an interaction that runs offers while `allowed`, in any order, on any grounds."""
    allows = cache(allowed)

    @cache
    def value(counts: Counts, loss: int) -> float:
        best = max(-math.expm1(epsilon - loss * unit), 0.0)  # stop here
        for number, offer in enumerate(offers):
            after = tuple(count + (number == place) for place, count in enumerate(counts))
            if allows(after):
                rises = offer.rises(unit)
                honest = rises * value(after, loss + offer.units) + (1 - rises) * value(
                    after, loss - offer.units
                )
                best = max(best, offer.leak + (1 - offer.leak) * honest)
        return best

    answer = value((0,) * len(offers), 0)
    value.cache_clear()
    return answer


def fixed_delta(offers: list[Response], counts: Counts, *, unit: float, epsilon: float) -> float:
    """Return delta(epsilon) of exactly these runs, as if they had been fixed beforehand."""
    distribution = {0: 1.0}
    kept = 1.0
    for offer, count in zip(offers, counts, strict=True):
        kept *= (1 - offer.leak) ** count
        for _ in range(count):
            after: dict[int, float] = {}
            for loss, mass in distribution.items():
                for step, chance in ((offer.units, offer.rises(unit)), (-offer.units, 1 - offer.rises(unit))):
                    after[loss + step] = after.get(loss + step, 0.0) + mass * chance
            distribution = after
    finite = math.fsum(
        mass * max(-math.expm1(epsilon - loss * unit), 0.0) for loss, mass in distribution.items()
    )
    return 1 - kept + kept * finite


def charged(offers: list[Response], counts: Counts, unit: float) -> Charge:
    return total(
        offer.charge(unit) for offer, count in zip(offers, counts, strict=True) for _ in range(count)
    )


def settled_prefix(rounds: int, *, unit: float, delta: float, pair_of: int | None = None) -> Charge:
    """The charge of so many rounds of a job, each a response of pure epsilon `unit`: epsilon at `delta`, and the divergences.

    Args:
        pair_of: rounds whose epsilon is charged; those of the divergences if None.
    """
    renyi = [math.ceil(rounds * response_rdp(unit, order) * MICRO) for order in ORDERS]
    return Charge(
        epsilon_micros=math.ceil(
            _epsilon_of(rounds if pair_of is None else pair_of, unit=unit, delta=delta) * MICRO
        ),
        delta_femtos=math.ceil(delta * FEMTO),
        rdp_micros=tuple(renyi),
    )


@cache
def _epsilon_of(rounds: int, *, unit: float, delta: float) -> float:
    low, high = 0.0, rounds * unit
    while high - low > 1e-9:
        middle = (low + high) / 2
        if fixed_delta([Response(1)], (rounds,), unit=unit, epsilon=middle) > delta:
            low = middle
        else:
            high = middle
    return high


def largest_delta_of_stopped(
    rounds: int,
    settled: Callable[[int], Charge],
    affordable: Callable[[Charge, Charge], bool],
    *,
    unit: float,
    epsilon: float,
    parts: int,
) -> float:
    """Return the largest delta(epsilon) of a job that shows each round, may be stopped at a part, and is followed by a pure response.

    Args:
        rounds: of the whole job, each a response of pure epsilon `unit`.
        settled: what the job is charged if it is stopped after some rounds.
        affordable: whether a response's charge is admitted beside the job's.
        parts: the job may be stopped after each of so many equal parts.
    """
    up = Response(1).rises(unit)
    most = {
        stop: max(
            units
            for units in range(math.floor(epsilon / unit) + 1)
            if not units or affordable(settled(stop), Response(units).charge(unit))
        )
        for stop in range(rounds // parts, rounds + 1, rounds // parts)
    }

    def over(loss: int) -> float:
        return max(-math.expm1(epsilon - loss * unit), 0.0)

    def stopped(units: int, loss: int) -> float:
        rises = Response(units).rises(unit)
        return rises * over(loss + units) + (1 - rises) * over(loss - units)

    @cache
    def value(done: int, loss: int) -> float:
        best = max(stopped(units, loss) for units in range(most[done] + 1)) if done in most else 0.0
        if done == rounds:
            return best
        return max(best, up * value(done + 1, loss + 1) + (1 - up) * value(done + 1, loss - 1))

    return value(0, 0)
