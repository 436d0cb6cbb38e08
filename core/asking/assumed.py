"""Counts of columns that were not counted together, from the tables that were: a model's answer, with limits instead of an interval.

Two columns are taken as independent given the columns that link them: along the shortest path of pairs that were counted, over
the target where it links both, and as plainly independent where no path does. That is how a graphical model of a tree draws
them, and how an anchor's generator is fitted where a screening left their pair out. Three columns are fitted to their three
pairs, counted or assumed, by iterative proportional fitting (Deming and Stephan 1940): the table of largest entropy with
these pairs.

How far an assumption is from the truth was not measured, so no standard error is stated. What the counts of each column alone
allow holds whatever the dependence (Frechet 1935): two events of a and b among n records hold together in a + b - n records at
least, and in the smaller of a and b at most.
"""

import itertools
import math
from collections import deque
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

import numpy as np

from core.asking.estimates import CONFIDENCE, Estimates, Floats

MOST_CELLS: Final = 2**20
"""Cells of a table that is fitted; memory and time are linear in them."""
_ROUNDS: Final = 50
_CLOSE: Final = 1e-3
"""Records by which the fitted pairs may differ from what they are fitted to."""
_QUANTITIES: Final = 4
"""Of which limits are made at once, by Bonferroni's bound: the total, an event of one column, and two of the other."""
_DEVIATIONS: Final = NormalDist().inv_cdf(1.0 - (1.0 - CONFIDENCE) / (2 * _QUANTITIES))

Limits = tuple[float, float]
"""The least and the most records, in at least 95 of 100 releases for all of a row's quantities at once."""


def path_between(estimates: Estimates, first: int, last: int, *, target: int | None) -> tuple[int, ...]:
    """Return the columns of the shortest path of counted pairs, both ends included; empty where no path links them.

    Args:
        estimates: of the release.
        first: place of a column.
        last: place of another.
        target: its place; it is preferred among paths of the same length.
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
    """Estimate the counts of every combination of groups of two or three columns; one axis a column, in the given order.

    Args:
        estimates: of the release.
        columns: places of columns that were not counted together.
        target: its place.
    """
    if len(columns) == 2:  # noqa: PLR2004
        return _pair(estimates, columns[0], columns[1], target)
    start = np.ones([estimates.margin(column).size for column in columns])
    pairs: dict[tuple[int, ...], Floats] = {
        axes: _pair(estimates, columns[axes[0]], columns[axes[1]], target)
        for axes in itertools.combinations(range(len(columns)), 2)
    }
    return _fitted(start, pairs)


def assumption_in_words(names: Sequence[str], between: Sequence[str], *, has_interval: bool) -> str:
    """Say that columns were not counted together, what was assumed of them, and what the interval is.

    Args:
        names: of the columns.
        between: names of the columns that link two of them.
        has_interval: whether the answer has one.
    """
    if len(names) > 2:  # noqa: PLR2004
        taken = "taken to depend on each other only as their pairs do"
    else:
        taken = f"taken as independent given {', '.join(between)}" if between else "taken as independent"
    interval = (
        "The interval is what the counts of each column alone allow, however the two depend on each other."
        if has_interval
        else "No interval: how far that is from the truth was not measured."
    )
    return (
        f"Estimated, not counted: {', '.join(names[:-1])} and {names[-1]} were not counted together. "
        f"They are {taken}. {interval}"
    )


def limits_of_rows(
    estimates: Estimates, columns: Sequence[int], events: Sequence[Sequence[Floats]]
) -> list[Limits]:
    """Limits of the records of which an event of each column holds, for every combination of events.

    Args:
        estimates: of the release.
        columns: places of two columns.
        events: of each column, (groups,) of every event which groups it holds.
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
    """Limits of one quantity, wide enough for all of a row's at once."""
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
        # Not clipped before they are summed over: what noise puts below zero would be lost on one side only.
        step = estimates.table((left, right))
        whole = step.sum(axis=1, keepdims=True)
        some = (
            whole > step.shape[1]
        )  # a record a cell; of less nothing can be told, and the column right counts for all
        alone = np.maximum(estimates.margin(right), 0.0)
        share = np.where(some, step / np.where(some, whole, 1.0), alone / max(float(alone.sum()), 1e-9))
        table = table @ share
    return table


def _fitted(table: Floats, margins: Mapping[tuple[int, ...], Floats]) -> Floats:
    """Fit a table to margins by turns; what noise puts below zero counts as nothing, and all margins have one total."""
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
