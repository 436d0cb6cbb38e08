"""From counts and scores to bounds on privacy: how much a distinguishing game proves.

Two ways, both used. *Threshold*: a threshold fixed beforehand, Clopper and Pearson's exact binomial bounds on its two
error rates; valid whatever the distribution of the score. *Location*: where the score is Gaussian with one standard deviation
in both worlds (the likelihood ratio of a Gaussian mechanism without sampling is), the difference of means over the
pooled standard deviation is a scaled noncentral t variable, so its bounds are exact too, and much tighter.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

Floats = npt.NDArray[np.float64]

_UNLIKELY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate between two one-sided bounds, each of the stated confidence."""

    estimate: float
    lower: float
    upper: float


def binomial_upper(successes: int, trials: int, *, confidence: float) -> float:
    """Clopper and Pearson (1934): the largest probability that does not make so few successes too unlikely."""
    if successes >= trials:
        return 1.0
    return float(stats.beta.ppf(confidence, successes + 1, trials - successes))


def binomial_lower(successes: int, trials: int, *, confidence: float) -> float:
    """The same from below."""
    return 1.0 - binomial_upper(trials - successes, trials, confidence=confidence)


def mu_by_location(present: Floats, absent: Floats, *, confidence: float) -> Interval:
    """The distance of two Gaussian worlds of one standard deviation, in units of it.

    With `n` and `m` scores, `t = (mean - mean) / (s sqrt(1/n + 1/m))` is noncentral t of `n + m - 2` degrees of
    freedom and noncentrality `mu / sqrt(1/n + 1/m)`; the bounds invert its distribution function.

    Args:
        present: scores where the canary was in the table.
        absent: scores where it was not.
        confidence: of each bound.
    """
    n, m = len(present), len(absent)
    freedom = n + m - 2
    pooled = math.sqrt(((n - 1) * present.var(ddof=1) + (m - 1) * absent.var(ddof=1)) / freedom)
    unit = math.sqrt(1.0 / n + 1.0 / m)
    t = float((present.mean() - absent.mean()) / (pooled * unit))

    reach = 9.0 * math.sqrt(1.0 + t * t / (2.0 * freedom))  # nine standard deviations of the estimate

    def noncentrality(tail: float) -> float:
        return float(optimize.brentq(lambda nc: _noncentral_t(t, freedom, nc) - tail, t - reach, t + reach))

    return Interval(
        estimate=t * unit,
        lower=noncentrality(confidence) * unit,
        upper=noncentrality(1.0 - confidence) * unit,
    )


def _noncentral_t(t: float, freedom: int, noncentrality: float) -> float:
    """P(T <= t), integrated over the chi distribution of the standard deviation: the library's function is NaN in far tails.

    With `x = s / sigma`, `P = E[Phi(t x - noncentrality)]`; the integrand is smooth and negligible beyond twelve
    standard deviations of `x`.
    """
    spread = 12.0 / math.sqrt(2.0 * freedom)
    x = np.linspace(max(1.0 - spread, 1e-9), 1.0 + spread, 2001)
    density = stats.chi.pdf(x * math.sqrt(freedom), freedom) * math.sqrt(freedom)
    return float(np.trapezoid(density * special.ndtr(t * x - noncentrality), x))


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What a threshold did: false alarms among the absent, misses among the present."""

    false_alarms: int
    absent: int
    misses: int
    present: int

    @classmethod
    def of(cls, present: Floats, absent: Floats, *, threshold: float) -> "Errors":
        """Count; a score above the threshold says "present"."""
        return cls(
            false_alarms=int((absent > threshold).sum()),
            absent=len(absent),
            misses=int((present <= threshold).sum()),
            present=len(present),
        )

    def rates(self, *, confidence: float) -> tuple[float, float]:
        """Upper bounds of the false alarm rate and the miss rate, together of the stated confidence."""
        each = 1.0 - (1.0 - confidence) / 2.0
        return (
            binomial_upper(self.false_alarms, self.absent, confidence=each),
            binomial_upper(self.misses, self.present, confidence=each),
        )


def mu_by_threshold(errors: Errors, *, confidence: float) -> float:
    """The least mu of a Gaussian mechanism that a test with these errors is possible against.

    A mu-GDP mechanism has `miss >= Phi(Phi^-1(1 - alarm) - mu)` for every test (Dong, Roth and Su 2022).
    """
    alarm, miss = errors.rates(confidence=confidence)
    if max(alarm, miss) >= 1.0:
        return 0.0
    return max(0.0, -float(stats.norm.ppf(alarm)) - float(stats.norm.ppf(miss)))


def epsilon_by_threshold(errors: Errors, *, delta: float, confidence: float) -> float:
    """The least epsilon at `delta` that a test with these errors is possible against.

    `1 - miss <= exp(epsilon) alarm + delta`, and the same with the worlds exchanged (Kairouz, Oh and Viswanath 2015).
    """
    alarm, miss = errors.rates(confidence=confidence)
    ratios = ((1.0 - miss - delta) / max(alarm, _UNLIKELY), (1.0 - alarm - delta) / max(miss, _UNLIKELY))
    return max([0.0, *(math.log(ratio) for ratio in ratios if ratio > 0.0)])
