"""Rows of an answer from estimates and their variances: the intervals of counts and ratios."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from core.artifacts.asking.estimates import DEVIATIONS
from core.artifacts.asking.result import Row


def counted(values: tuple[str, ...], estimate: float, error: float) -> Row:
    """Return the row of a count."""
    reach, shown = DEVIATIONS * error, max(estimate, 0.0)
    low, high = _possible(estimate - reach, estimate + reach, low=0.0, high=math.inf, error=error)
    return Row(values=values, estimate=shown, low=low, high=high, standard_error=error, unbiased=estimate)


def exact(rows: tuple[Row, ...], known: npt.NDArray[np.bool_], value: float) -> tuple[Row, ...]:
    """Return rows with the exact numbers that the public domain determines: these have no noise."""
    return tuple(
        replace(row, estimate=value, low=value, high=value, standard_error=0.0, unbiased=value)
        if is_known
        else row
        for row, is_known in zip(rows, known.tolist(), strict=True)
    )


def of_nothing(
    rows: tuple[Row, ...], known: npt.NDArray[np.bool_], *, low: float, high: float
) -> tuple[Row, ...]:
    """Return rows of ratios, without an estimate for those over no records."""
    return tuple(
        Row(values=row.values, estimate=None, low=low, high=high, standard_error=None, unbiased=None)
        if is_known
        else row
        for row, is_known in zip(rows, known.tolist(), strict=True)
    )


def ratio(
    values: tuple[str, ...],
    part: float,
    whole: float,
    variances: tuple[float, float, float],
    *,
    low: float,
    high: float,
) -> Row:
    """Return the ratio of a part to a whole with Fieller's interval, clipped to the possible range from `low` to `high`.

    Args:
        variances: variance of the numerator, covariance of both, variance of the denominator.
    """
    squared = DEVIATIONS**2
    above, both, below = variances
    if whole <= 0 or whole**2 <= squared * below:
        return Row(values=values, estimate=None, low=low, high=high, standard_error=None, unbiased=None)
    ratio = part / whole
    # (part - t whole)^2 <= squared (above - 2 t both + t^2 below), a quadratic in t that opens upwards.
    leading = whole**2 - squared * below
    middle = part * whole - squared * both
    root = math.sqrt(max(middle**2 - leading * (part**2 - squared * above), 0.0))
    error = math.sqrt(max(above - 2 * ratio * both + ratio**2 * below, 0.0)) / whole
    first, last = _possible(
        (middle - root) / leading, (middle + root) / leading, low=low, high=high, error=error
    )
    return Row(
        values=values,
        estimate=min(max(ratio, low), high),
        low=first,
        high=last,
        standard_error=error,
        unbiased=ratio,
    )


def _possible(first: float, last: float, *, low: float, high: float, error: float) -> tuple[float, float]:
    """The interval from `first` to `last`, clipped to the range from `low` to `high`, but not to a point at either end."""
    return max(min(first, high - error), low), min(max(last, low + error), high)


def drawn(variance: float, error: float) -> int | None:
    """Return the number of drawn rows whose sampling error equals a standard error, given the variance of one row."""
    if variance <= 0 or error <= 0:
        return None
    return math.ceil(variance / error**2)


def comparison(drawn_rows: int | None) -> tuple[str, ...]:
    """Return the note that compares the answer with drawn rows."""
    generator = "the generator's unknown error adds to it"
    if drawn_rows is None:
        return (f"Drawn rows have sampling error; {generator}.",)
    return (
        f"For the largest group, fewer than {drawn_rows:,} drawn rows are less accurate by sampling error alone; {generator}.",
    )


def of_bins(name: str, half: float, *, merged: bool) -> tuple[str, ...]:
    """Describe what the interval of a mean covers and what it does not, one sentence for each.

    Args:
        half: the largest distance between a value and the number that represents it.
        merged: whether the mean of a group of bins represents a value, instead of the midpoint of its bin.
    """
    part, number = ("group of bins", "mean") if merged else ("bin", "midpoint")
    counts_as = f"'{name}' with each value taken as the {number} of its {part}"
    further = f"the mean of the values themselves may lie up to {half:,.6g}"
    return (
        f"The intervals are of the mean of {counts_as}.",
        f"They do not cover the position of a value in its {part}: {further} beyond either end.",
    )
