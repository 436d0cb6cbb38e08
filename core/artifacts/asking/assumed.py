"""Assumed counts of columns that were not counted together, from tables that were; with limits instead of an interval.

Two columns are assumed conditionally independent given the columns that link them, along the shortest path of counted pairs, preferably
through the target; without a path they are assumed independent. A tree-structured graphical model draws them this way, and an anchor's generator is
fitted this way if screening excluded their pair. Three columns are fitted to their three pairs, counted or assumed, by iterative proportional
fitting (Deming and Stephan 1940), which gives the table of maximum entropy with these pairs.

Combinations excluded by the declared rules are 0 (`core.artifacts.asking.zeros`). The other ones are scaled to the counts of each column in
turn: independence becomes quasi-independence (Bishop, Fienberg and Holland 1975, chapter 5). If the rules make noisy counts of two columns
contradict each other, the two fits are averaged by inverse variance.

The error of the assumption was not measured, so no standard error is stated. The limits from the counts of each column alone hold under
any dependence (Frechet 1935): two events of a and b among n records occur together in at least a + b - n and in at most min(a, b) records. Empty
combinations narrow the limits: records of the first event can be outside the second one only in groups that some of the event's own groups
allow.
"""

import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from core.artifacts.asking.estimates import CONFIDENCE, Estimates, Floats
from core.artifacts.asking.zeros import NO_ZEROS, Zeros
from core.plan.domain.rules.classes import Flags

MOST_CELLS: Final = 2**20
"""Maximum number of cells of a fitted table; memory and time are linear in it."""
_ROUNDS: Final = 50
_LEAST: Final = 1e-6
"""Replaces negative counts if some combinations are empty, in records, so that every possible combination can be scaled."""
_CLOSE: Final = 1e-3
"""Convergence tolerance in records: the largest difference between the fitted pairs and their targets."""
_QUANTITIES: Final = 4
"""Number of quantities bounded simultaneously, by Bonferroni: the total, an event of one column, and two of the other."""
_QUANTITIES_WITH_ZEROS: Final = 11
"""The same number if some combinations are empty: five for each of two events of one column, and the event of the other."""

Limits = tuple[float, float]
"""Lower and upper limit in records. They hold for all of a row's quantities at once in at least 95 of 100
releases."""


def path_between(estimates: Estimates, first: int, last: int, *, target: int | None) -> tuple[int, ...]:
    """Return the shortest path of counted pairs between two columns, ends included, preferably through the target; empty without a path."""
    before = {first: first}
    queue = deque([first])
    while queue and last not in before:
        column = queue.popleft()
        for other in sorted(estimates.counted_with(column), key=lambda one: (one != target, one)):
            if other not in before:
                before[other] = column
                queue.append(other)
    if last not in before:
        return ()
    path = [last]
    while path[-1] != first:
        path.append(before[path[-1]])
    return tuple(reversed(path))


def assumed_table(
    estimates: Estimates, columns: Sequence[int], *, target: int | None, zeros: Zeros = NO_ZEROS
) -> Floats:
    """Estimate the counts of every combination of groups of two or three counted columns, linked preferably by the target; one axis per column, in the given order."""
    if len(columns) == 2:  # noqa: PLR2004
        return _pair(estimates, columns[0], columns[1], target, zeros)
    start = np.ones([estimates.margin(column).size for column in columns])
    pairs: dict[tuple[int, ...], Floats] = {
        axes: _pair(estimates, columns[axes[0]], columns[axes[1]], target, zeros)
        for axes in itertools.combinations(range(len(columns)), 2)
    }
    return _fitted(start, pairs)


def assumption_in_words(names: Sequence[str], between: Sequence[str], *, has_interval: bool) -> str:
    """Say that columns were not counted together, what is assumed of them given the columns `between`, and what the interval means."""
    if len(names) > 2:  # noqa: PLR2004
        taken = "assumed to depend on each other only through their pairs"
    else:
        taken = f"assumed independent given {', '.join(between)}" if between else "assumed independent"
    interval = (
        "The interval is the range that the counts of each column alone allow, under any dependence."
        if has_interval
        else "No interval: the error of this assumption was not measured."
    )
    return (
        f"Estimated, not counted: {', '.join(names[:-1])} and {names[-1]} were not counted together. "
        f"They are {taken}. {interval}"
    )


def limits_of_rows(
    estimates: Estimates,
    columns: Sequence[int],
    events: Sequence[Sequence[Floats]],
    *,
    zeros: Zeros = NO_ZEROS,
) -> list[Limits]:
    """Limits of the number of records in every combination of events of two columns, each a (groups,) indicator of its column's groups."""
    empty = zeros.of_pair(columns[0], columns[1])
    if empty is not None:
        return [_limits_beside(estimates, columns, both, ~empty) for both in itertools.product(*events)]
    total = _limits(float(estimates.table(())), estimates.covariance((), {}, {}))
    alone = [
        [_limits_of(estimates, column, event) for event in of_column]
        for column, of_column in zip(columns, events, strict=True)
    ]
    return [
        (max(first[0] + second[0] - total[1], 0.0), min(first[1], second[1]))
        for first, second in itertools.product(*alone)
    ]


def _limits_beside(
    estimates: Estimates, columns: Sequence[int], events: Sequence[Floats], possible: Flags
) -> Limits:
    """Limits of one combination of two events if only some (groups of the first column, groups of the second) are possible."""
    low, high = 0.0, math.inf
    for axis in (0, 1):
        allowed = possible if axis == 0 else possible.T
        own, other = events[axis] > 0, events[1 - axis] > 0
        # First the event's own groups with a partner in the other event, then the partners of these groups outside the other event.
        meeting, outside = own & allowed[:, other].any(axis=1), ~other & allowed[own].any(axis=0)
        if not meeting.any():
            return 0.0, 0.0
        high = min(high, _limits_of(estimates, columns[axis], meeting, _QUANTITIES_WITH_ZEROS)[1])
        least = _limits_of(estimates, columns[axis], own, _QUANTITIES_WITH_ZEROS)[0]
        if outside.any():
            least -= _limits_of(estimates, columns[1 - axis], outside, _QUANTITIES_WITH_ZEROS)[1]
        low = max(low, least)
    return min(low, high), high


def limits_of_share(part: Limits, rest: Limits) -> Limits:
    """Limits of part / (part + rest)."""
    low = part[0] / (part[0] + rest[1]) if part[0] > 0 else 0.0
    high = part[1] / (part[1] + rest[0]) if rest[0] > 0 else 1.0
    return low, high


def _limits_of(
    estimates: Estimates, column: int, event: Floats | Flags, quantities: int = _QUANTITIES
) -> Limits:
    """Limits of the number of records in an event of one column."""
    weights = np.asarray(event, dtype=np.float64)
    estimate = float(weights @ estimates.margin(column))
    return _limits(estimate, estimates.margin_variance(column, weights), quantities)


def _limits(estimate: float, variance: float, quantities: int = _QUANTITIES) -> Limits:
    """Limits of one quantity that hold for a number of quantities simultaneously, by Bonferroni."""
    off = NormalDist().inv_cdf(1.0 - (1.0 - CONFIDENCE) / (2 * quantities)) * math.sqrt(variance)
    return max(estimate - off, 0.0), max(estimate + off, 0.0)


def _pair(estimates: Estimates, first: int, second: int, target: int | None, zeros: Zeros) -> Floats:
    """A table of two columns with the counts of each: counted, or assumed along the path between them."""
    if estimates.are_counted((first, second)):
        table = estimates.table((first, second))
    else:
        path = path_between(estimates, first, second, target=target)
        table = _along(estimates, path, (first, second), zeros)
    margins: dict[tuple[int, ...], Floats] = {(0,): estimates.margin(first), (1,): estimates.margin(second)}
    empty = zeros.of_pair(first, second)
    if empty is None:
        return _fitted(np.maximum(table, 0.0), margins)
    by_columns = _fitted(np.where(empty, 0.0, np.maximum(table, _LEAST)), margins)
    # If no table of the possible combinations has both margins, the fit ends with the second column's margin.
    margins[1,] = by_columns.sum(axis=0)
    by_rows = _fitted(by_columns, {(0,): margins[0,]})
    variances = [
        estimates.margin_variance(column, np.eye(1, estimates.margin(column).size)[0])
        for column in (first, second)
    ]
    trust = variances[1] / sum(variances) if sum(variances) else 0.5
    return trust * by_rows + (1.0 - trust) * by_columns


def _along(estimates: Estimates, path: Sequence[int], ends: tuple[int, int], zeros: Zeros) -> Floats:
    if not path:
        first, second = (np.maximum(estimates.margin(column), 0.0) for column in ends)
        product: Floats = np.outer(first, second) / max(float(second.sum()), 1e-9)
        return product
    table = _step(estimates, path[0], path[1], zeros)
    for left, right in itertools.pairwise(path[1:]):
        # Not clipped before summing: clipping negative noise would bias the sum upwards.
        step = _step(estimates, left, right, zeros)
        whole = step.sum(axis=1, keepdims=True)
        some = (
            whole > step.shape[1]
        )  # a cell below one record has no information; the right column's overall counts are used instead
        alone = np.maximum(estimates.margin(right), 0.0)
        share = np.where(some, step / np.where(some, whole, 1.0), alone / max(float(alone.sum()), 1e-9))
        table = table @ share
    return table


def _step(estimates: Estimates, left: int, right: int, zeros: Zeros) -> Floats:
    """A counted table without the noise of combinations that are known to be empty."""
    table, empty = estimates.table((left, right)), zeros.of_pair(left, right)
    return table if empty is None else np.where(empty, 0.0, table)


def _fitted(table: Floats, margins: Mapping[tuple[int, ...], Floats]) -> Floats:
    """Fit a table to margins in turn. Negative noisy counts become zero, and all margins are scaled to one total."""
    total = max(float(next(iter(margins.values())).sum()), 0.0)
    wanted = {}
    for axes, margin in margins.items():
        above = np.maximum(margin, 0.0)
        wanted[axes] = above * (total / max(float(above.sum()), 1e-9))
    for _ in range(_ROUNDS):
        off = 0.0
        for axes, margin in wanted.items():
            rest = tuple(axis for axis in range(table.ndim) if axis not in axes)
            is_now = table.sum(axis=rest)
            off = max(off, float(np.abs(is_now - margin).max()))
            factor = np.divide(margin, is_now, out=np.zeros_like(margin), where=is_now > 0)
            table = table * np.expand_dims(factor, rest)
        if off < _CLOSE:
            break
    return table
