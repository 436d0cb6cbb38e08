"""Assumed counts of columns that were not counted together, from tables that were; with limits instead of an interval.

Two columns are assumed conditionally independent given the columns that link them, along the shortest path of counted pairs, preferably
through the target; without a path they are assumed independent. A tree-structured graphical model draws them this way, and an anchor's generator is
fitted this way if screening excluded their pair. Three columns are fitted to their three pairs, counted or assumed, by iterative proportional
fitting (Deming and Stephan 1940), which gives the table of maximum entropy with these pairs.

Combinations excluded by the declared rules are 0 (`core.artifacts.asking.zeros`). The other ones are scaled to the counts of each column in
turn: independence becomes quasi-independence (Bishop, Fienberg and Holland 1975, chapter 5). If the rules make noisy counts of two columns
contradict each other, the two fits are averaged by inverse variance.

The error of the assumption was not measured, so no standard error is stated. `core.artifacts.asking.limits` holds under any dependence.
"""

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from core.artifacts.asking.estimates import Estimates, Floats
from core.artifacts.asking.zeros import NO_ZEROS, Zeros

MOST_CELLS: Final = 2**20
"""Maximum number of cells of a fitted table; memory and time are linear in it."""
_ROUNDS: Final = 50
_LEAST: Final = 1e-6
"""Replaces negative counts if some combinations are empty, in records, so that every possible combination can be scaled."""
_CLOSE: Final = 1e-3
"""Convergence tolerance in records: the largest difference between the fitted pairs and their targets."""


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


def assumption_in_words(names: Sequence[str], between: Sequence[str]) -> str:
    """Say that columns were not counted together, what is assumed of them given the columns `between`, and what the interval means."""
    known = "the counts of each column alone allow"
    if len(names) > 2:  # noqa: PLR2004
        taken = "assumed to depend on each other only through their pairs"
        known = "the counts of each column and of each counted pair allow"
    else:
        taken = f"assumed independent given {', '.join(between)}" if between else "assumed independent"
    return (
        f"Estimated, not counted: {', '.join(names[:-1])} and {names[-1]} were not counted together. "
        f"They are {taken}. The interval is the range that {known}, under any dependence."
    )


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
