"""Rows that break an order `a <= b` take values of other rows. Needs numpy alone: the script of a bundle holds a copy.

A generator draws two columns independently within a bin or a group of codes. Where `b` is close to `a`, as two dates a few days
apart, half of such rows break the order. Of rows drawn again until they keep it, `a` would be the smaller of two values and `b` the
larger, so one column would have too small values and the other too large ones. Where rows exchange values of `b`, both columns keep
theirs.

The values of both columns are visited in increasing order, `a` before an equal `b`. A row waits from its `a` to its `b`. A `b` whose
row does not wait is free: it goes to one of the waiting rows with equal chances, and that row's own `b` becomes free. A `b` that finds
no row waiting is left over, and so is a row in the end, which is drawn again. Left over are as many as values of `b` exceed those of `a`
up to some value, at most: no distribution under the order has such columns.

Nothing is assumed about `b - a` but its mean, which follows from the distributions of the two columns. The result is near the quasi-independent
distribution (Bishop, Fienberg and Holland 1975, chapter 5), in which all matchings that keep the order are equally likely, and not that distribution:
of a free value each waiting row has the same chance, but rows keep values that already suit them.
"""

from collections.abc import Sequence

import numpy as np

from core.plan.domain.rules.classes import Floats, Places
from core.plan.domain.rules.mending import AtMost, Rule

Order = tuple[AtMost, list[int]]
"""An order, and the places of the columns whose values rows exchange to keep it."""


def exchanged_orders(rules: Sequence[Rule], target: int | None) -> list[Order]:
    """Return the orders that rows can come to keep by exchanging values.

    Columns that other rules tie to a column move with it, so those rules are kept as before. Of both columns of an order the one with
    fewer moves. An order is left out if rules tie its columns to each other in another way too, other than by orders that follow from
    others, as `a <= c` from `a <= b` and `b <= c`.

    Args:
        rules: Of the table.
        target: The column that does not move, or None without one.
    """
    following = [rule for rule in rules if _follows(rule, rules)]
    found: list[Order] = []
    for rule in rules:
        if not isinstance(rule, AtMost) or rule in following:
            continue
        others = [other for other in rules if other.columns != rule.columns and other not in following]
        smaller, larger = (_tied(place, others) for place in rule.columns)
        if rule.columns[1] not in smaller:
            larger_moves = target not in larger and (len(larger) <= len(smaller) or target in smaller)
            found.append((rule, sorted(larger if larger_moves else smaller)))
    return found


def exchange(
    orders: Sequence[Order], columns: Sequence[Floats], target: int | None, rng: np.random.Generator
) -> None:
    """Exchange values between rows, first between rows of one label, then between all.

    Args:
        orders: What `exchanged_orders` returns.
        columns: All columns of the rows; changed in place.
        target: The column of the labels, or None without one.
        rng: The only source of chance.
    """
    groups = [np.arange(len(columns[0]))]
    if target is not None:
        labels = columns[target]
        groups = [*(np.flatnonzero(labels == label) for label in np.unique(labels)), *groups]
    for rule, moved in orders:
        for group in groups:
            low, high = (columns[place][group] for place in rule.columns)
            compared = rule.values[0].are_numbers(low) & rule.values[1].are_numbers(high)
            at, low, high = group[compared], low[compared], rule.latest(high[compared])
            if not (low > high).any():
                continue
            if rule.columns[1] in moved:
                sources = at[_matched(low, high, rng)]
            else:
                sources = at[_matched(-high, -low, rng)]
            for place in moved:
                columns[place][at] = columns[place][sources]


def _matched(low: Floats, high: Floats, rng: np.random.Generator) -> Places:
    """Match values so that the low one is at most the high one, as far as possible; as the module docstring says.

    Args:
        low: (rows,)
        high: (rows,)
        rng: Of the batch.

    Returns:
        (rows,) for each row the one whose high value it takes.
    """
    count = len(low)
    uniforms = rng.random(count).tolist()
    taken = np.arange(count).tolist()
    waiting: list[int] = []
    late: list[int] = []
    place = [-1] * count

    def leave(row: int) -> None:
        last = waiting.pop()
        if last != row:
            waiting[place[row]] = last
            place[last] = place[row]
        place[row] = -1

    for value in np.argsort(np.concatenate([low, high]), kind="stable").tolist():
        if value < count:
            place[value] = len(waiting)
            waiting.append(value)
        elif place[value - count] >= 0:
            leave(value - count)
        elif waiting:
            row = waiting[int(uniforms[value - count] * len(waiting))]
            leave(row)
            taken[row] = value - count
        else:
            late.append(value - count)
    for row, value in zip(waiting, late):  # noqa: B905 - the script runs on older Python too
        taken[row] = value
    return np.array(taken, dtype=np.int64)


def _tied(place: int, rules: Sequence[Rule]) -> set[int]:
    """The columns that rules tie to one, directly or through others, itself included."""
    tied, seen = {place}, 0
    while seen != len(tied):
        seen = len(tied)
        tied |= {column for rule in rules if tied & set(rule.columns) for column in rule.columns}
    return tied


def _follows(order: Rule, rules: Sequence[Rule]) -> bool:
    """Whether an order follows from others of other columns."""
    if not isinstance(order, AtMost):
        return False
    others = [rule.columns for rule in rules if isinstance(rule, AtMost) and rule.columns != order.columns]
    reached, seen = {order.columns[0]}, 0
    while seen != len(reached):
        seen = len(reached)
        reached |= {larger for smaller, larger in others if smaller in reached}
    return order.columns[1] in reached
