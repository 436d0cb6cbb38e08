"""Counts of columns that were not counted together, assumed from tables that were; with limits instead of an interval.

Two columns are taken as conditionally independent given the columns that link them: along the shortest path
of counted pairs, preferably over the target, and as independent if no path links them. A tree-structured
graphical model draws them this way, and an anchor's generator is fitted this way if screening left their pair
out. Three columns are fitted to their three pairs, counted or assumed, by iterative proportional fitting
(Deming and Stephan 1940), which gives the table of maximum entropy with these pairs.

The error of the assumption was not measured, so no standard error is stated. The limits from the counts of
each column alone hold under any dependence (Frechet 1935): two events of a and b among n records occur
together in at least a + b - n and in at most min(a, b) records.
"""

import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from core.artifacts.asking.estimates import CONFIDENCE, Estimates, Floats

MOST_CELLS: Final = 2**20
"""Maximum number of cells of a fitted table; memory and time are linear in it."""
_ROUNDS: Final = 50
_CLOSE: Final = 1e-3
"""Convergence tolerance in records: how far the fitted pairs may differ from their targets."""
_QUANTITIES: Final = 4
"""Quantities bounded simultaneously, by Bonferroni: the total, an event of one column, and two of the other."""
_DEVIATIONS: Final = NormalDist().inv_cdf(1.0 - (1.0 - CONFIDENCE) / (2 * _QUANTITIES))

Limits = tuple[float, float]
"""Lower and upper limit in records, which hold for all of a row's quantities at once in at least 95 of 100
releases."""


def path_between(estimates: Estimates, first: int, last: int, *, target: int | None) -> tuple[int, ...]:
    """Return the shortest path of counted pairs between two columns, both ends included; empty without a path.

    Args:
        target: index of the target, preferred among paths of the same length.
    """
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


def assumed_table(estimates: Estimates, columns: Sequence[int], *, target: int | None) -> Floats:
    """Estimate the counts of every combination of groups of two or three columns; one axis per column, in the given order."""
    if len(columns) == 2:  # noqa: PLR2004
        return _pair(estimates, columns[0], columns[1], target)
    start = np.ones([estimates.margin(column).size for column in columns])
    pairs: dict[tuple[int, ...], Floats] = {
        axes: _pair(estimates, columns[axes[0]], columns[axes[1]], target)
        for axes in itertools.combinations(range(len(columns)), 2)
    }
    return _fitted(start, pairs)


def assumption_in_words(names: Sequence[str], between: Sequence[str], *, has_interval: bool) -> str:
    """Say that columns were not counted together, what was assumed, and what the interval means.

    Args:
        between: names of the columns that link two of them.
    """
    if len(names) > 2:  # noqa: PLR2004
        taken = "assumed to depend on each other only through their pairs"
    else:
        taken = f"assumed independent given {', '.join(between)}" if between else "assumed independent"
    interval = (
        "The interval is what the counts of each column alone allow, however the two depend on each other."
        if has_interval
        else "No interval: the error of this assumption was not measured."
    )
    return (
        f"Estimated, not counted: {', '.join(names[:-1])} and {names[-1]} were not counted together. "
        f"They are {taken}. {interval}"
    )


def limits_of_rows(
    estimates: Estimates, columns: Sequence[int], events: Sequence[Sequence[Floats]]
) -> list[Limits]:
    """Limits of the number of records in every combination of events of two columns.

    Args:
        events: for each column its events, each a (groups,) indicator of the groups it contains.
    """
    total = _limits(float(estimates.table(())), estimates.covariance((), {}, {}))
    alone = [
        [
            _limits(float(event @ estimates.margin(column)), estimates.margin_variance(column, event))
            for event in of_column
        ]
        for column, of_column in zip(columns, events, strict=True)
    ]
    return [
        (max(first[0] + second[0] - total[1], 0.0), min(first[1], second[1]))
        for first, second in itertools.product(*alone)
    ]


def limits_of_share(part: Limits, rest: Limits) -> Limits:
    """Limits of part / (part + rest)."""
    low = part[0] / (part[0] + rest[1]) if part[0] > 0 else 0.0
    high = part[1] / (part[1] + rest[0]) if rest[0] > 0 else 1.0
    return low, high


def _limits(estimate: float, variance: float) -> Limits:
    """Limits of one quantity, wide enough to hold for all of a row's simultaneously."""
    off = _DEVIATIONS * math.sqrt(variance)
    return max(estimate - off, 0.0), max(estimate + off, 0.0)


def _pair(estimates: Estimates, first: int, second: int, target: int | None) -> Floats:
    """A table of two columns with the counts of each: as counted, or assumed along the path between them."""
    if estimates.are_counted((first, second)):
        table = estimates.table((first, second))
    else:
        table = _along(estimates, path_between(estimates, first, second, target=target), (first, second))
    return _fitted(np.maximum(table, 0.0), {(0,): estimates.margin(first), (1,): estimates.margin(second)})


def _along(estimates: Estimates, path: Sequence[int], ends: tuple[int, int]) -> Floats:
    if not path:
        first, second = (np.maximum(estimates.margin(column), 0.0) for column in ends)
        product: Floats = np.outer(first, second) / max(float(second.sum()), 1e-9)
        return product
    table = estimates.table(path[:2])
    for left, right in itertools.pairwise(path[1:]):
        # Not clipped before summing: clipping noise below zero would bias the sum upwards.
        step = estimates.table((left, right))
        whole = step.sum(axis=1, keepdims=True)
        some = (
            whole > step.shape[1]
        )  # below one record a cell says nothing; the right column's overall counts are used instead
        alone = np.maximum(estimates.margin(right), 0.0)
        share = np.where(some, step / np.where(some, whole, 1.0), alone / max(float(alone.sum()), 1e-9))
        table = table @ share
    return table


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
