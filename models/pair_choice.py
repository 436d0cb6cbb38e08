"""Which pairs of columns are counted, from their noisy distances from independence. Post-processing: no row is read.

A pair is counted if its distance is above what counting it leaves wrong. Where two columns hang together through a third one, their own
pair need not be counted, because shrinkage begins at what the other pairs imply (`models.idpgan.implied`). For two columns `a` and `c` that
are joined by a path of pairs that are worth counting, the implied distance is

    d(a, c) = g(a) g(c) r(a, b) r(b, ...) ... r(..., c),    r(a, b) = d(a, b) / (g(a) g(b)),    g(a)^2 = 1 - sum of squared shares of a

which is exact for columns of two codes, whose `r` is the correlation. The paths are those of the spanning tree of the largest distances
(Kruskal 1956). Of a distance `d` the tree leaves the root of `d^2` less the square of the implied one, but at least `LEAST_LEFT`. It
decides where that saves a fifth of the tables or more (`MOST_TABLES`); otherwise every pair far from independence is counted.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from models.anchor import Pair

Floats = npt.NDArray[np.float64]

WORTH: Final = 1.0
"""Least distance, as a share of all records, of a pair that is counted, over the root of the noise of a cell as a share of them.
Groups grow with the root of the signal (`models.grouping`), so what counting a pair leaves wrong falls with that root."""
LEAST_LEFT: Final = 0.05
"""Share of all records that a tree leaves wrong of a pair at least: real columns are no tree, and chance sets every pair apart."""
MOST_TABLES: Final = 0.8
"""Part of the tables that are left at most where the tree is believed. A few tables less save less noise than the tree costs."""


def pairs_to_count(
    shares: Floats,
    pairs: Sequence[Pair],
    spreads: Floats,
    *,
    target_index: int | None,
    declared_size: int,
    cell_std: float,
) -> tuple[Pair, ...]:
    """Choose the pairs without the target that are counted; those with it always are.

    Args:
        shares: (pairs,) estimated total variation distances from independence.
        pairs: all pairs of columns, in the same order.
        spreads: (columns,) one less the sum of the squared shares of a column's groups.
        target_index: the target, or None.
        declared_size: declared number of units.
        cell_std: standard deviation of a cell's noise if one table were counted, in records.
    """
    free = np.array([target_index not in pair for pair in pairs], dtype=np.bool_)
    open_to_choice = [pair for pair, is_free in zip(pairs, free, strict=True) if is_free]
    always = len(pairs) - len(open_to_choice)

    def chosen(distances: Floats) -> tuple[Pair, ...]:
        return worth_counting(
            distances[free], open_to_choice, declared_size=declared_size, cell_std=cell_std, always=always
        )

    far = chosen(shares)
    left = _left(len(far) + always, declared_size=declared_size, cell_std=cell_std)
    strong = set(far) | {pair for pair, share in zip(pairs, shares, strict=True) if share > left}
    fewer = chosen(beyond_a_tree(shares, pairs, spreads, strong))
    saves = len(fewer) > 0 and len(fewer) + always <= MOST_TABLES * (len(far) + always)
    return fewer if saves else far


def worth_counting(
    shares: Floats, pairs: Sequence[Pair], *, declared_size: int, cell_std: float, always: int
) -> tuple[Pair, ...]:
    """Choose the pairs whose distance is above what counting them leaves wrong; more pairs have more noise each.

    Args:
        shares: (pairs,) estimated distances from independence, or what is left of them.
        pairs: the pairs, in the same order.
        declared_size: declared number of units.
        cell_std: standard deviation of a cell's noise if one table were counted, in records.
        always: tables that are counted whatever is chosen.
    """
    order = np.argsort(-shares, kind="stable")
    tables = always + np.arange(1, len(order) + 1)
    worth = shares[order] > _left(tables, declared_size=declared_size, cell_std=cell_std)
    many = len(order) if worth.all() else int(np.argmin(worth))
    chosen = order[
        : max(many, 0 if always else 1)
    ]  # a planned release is always made, so at least one table is counted
    return tuple(pairs[place] for place in sorted(chosen.tolist()))


def beyond_a_tree(shares: Floats, pairs: Sequence[Pair], spreads: Floats, strong: Collection[Pair]) -> Floats:
    """Return what is left of every pair's distance if only pairs of a tree were counted; (pairs,), at most `shares`.

    Args:
        shares: (pairs,) distances from independence.
        pairs: all pairs of columns, in the same order.
        spreads: (columns,) one less the sum of the squared shares of a column.
        strong: the pairs of which the tree is made.
    """
    first, second = np.array(pairs).T
    possible = np.sqrt(np.maximum(spreads[first] * spreads[second], 1e-9))
    strength = np.minimum(shares / possible, 1.0)
    near: list[dict[int, float]] = [{} for _ in spreads]
    root = np.arange(len(spreads))
    for place in np.argsort(-shares, kind="stable").tolist():
        i, j = pairs[place]
        if (i, j) in strong and root[i] != root[j]:
            root[root == root[i]] = root[j]
            near[i][j] = near[j][i] = float(strength[place])
    along = np.stack([_strengths_from(column, near) for column in range(len(spreads))])[first, second]
    rest = np.sqrt(np.maximum(shares**2 - (possible * along) ** 2, 0.0))
    is_joined = (along > 0) & np.array([j not in near[i] for i, j in pairs])
    left: Floats = np.where(is_joined, np.minimum(shares, np.maximum(rest, LEAST_LEFT)), shares)
    return left


def _strengths_from(start: int, near: Sequence[Mapping[int, float]]) -> Floats:
    """Products of the strengths along the paths from one column to every other; zero where none joins them."""
    found = np.zeros(len(near))
    found[start] = 1.0
    waiting = [(start, start)]
    while waiting:
        column, before = waiting.pop()
        for following, strength in near[column].items():
            if following != before:
                found[following] = found[column] * strength
                waiting.append((following, column))
    return found


def _left(tables: int | npt.NDArray[np.int64], *, declared_size: int, cell_std: float) -> Floats:
    """Share of all records that counting a pair leaves wrong, if so many tables are counted."""
    left: Floats = WORTH * np.sqrt(cell_std * np.sqrt(tables) / declared_size)
    return left
