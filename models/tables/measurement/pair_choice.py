"""Choice of the pairs of columns to count, from their noisy distances from independence. Post-processing: no row is read.

A pair is counted if its distance is above what counting it leaves wrong. Where two columns hang together through a third one, their own
pair need not be counted, because shrinkage begins at what the other pairs imply (`models.tables.estimation.implied`). `models.tables.measurement.tree_of_pairs` says what a
spanning tree of the largest distances implies of every distance, and how much of all distances it leaves unexplained. There are three choices:

1. Every pair far from independence.
2. Of a distance the tree leaves the root of its square less that of the implied one. For real columns, which are no tree.
3. Of a distance the tree leaves its excess over the implied one. For columns whose distances the tree explains nearly all (`MOST_UNEXPLAINED`).

Either way a tree leaves at least `LEAST_LEFT`. The second is taken where it saves a fifth of the tables (`MOST_TABLES`), the third where it saves
another third (`MOST_TABLES_OF_PATHS`).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from models.tables.anchor import Pair
from models.tables.measurement.tree_of_pairs import TreeOfPairs, spanning_tree

Floats = npt.NDArray[np.float64]

WORTH: Final = 1.0
"""Least distance, as a share of all records, of a pair that is counted, over the root of the noise of a cell as a share of them.
Groups grow with the root of the signal (`models.tables.code_groups`), so what counting a pair leaves wrong falls with that root."""
LEAST_LEFT: Final = 0.05
"""Share of all records that a tree leaves wrong of a pair at least: real columns are no tree, and chance sets every pair apart."""
MOST_TABLES: Final = 0.8
"""Part of the tables that are left at most where the tree is believed. A few tables less save less noise than the tree costs."""
MOST_UNEXPLAINED: Final = 0.1
"""Share of the squared distances outside the tree that it leaves unexplained at most where its paths are taken for the only ones."""
MOST_TABLES_OF_PATHS: Final = 2 / 3
"""Part of the tables that are left at most where a tree's paths are taken for the only ones."""
WITNESSES: Final = 3
"""Pairs of which a believed tree implies most, and which are counted for that: they show how much of the implied distributions is true."""


def pairs_to_count(
    shares: Floats,
    pairs: Sequence[Pair],
    spreads: Floats,
    *,
    target_index: int | None,
    size: float,
    cell_std: float,
    share_std: float,
) -> tuple[Pair, ...]:
    """Choose the pairs without the target that are counted; those with it always are.

    Args:
        shares: (pairs,) estimated total variation distances from independence.
        pairs: all pairs of columns, in the same order.
        spreads: (columns,) one less the sum of the squared shares of a column's groups.
        size: how many records count.
        cell_std: standard deviation of a cell's noise if one table were counted, in records.
        share_std: standard deviation of the noise of a distance, as a share of all records.
    """
    free = np.array([target_index not in pair for pair in pairs], dtype=np.bool_)
    open_to_choice = [pair for pair, is_free in zip(pairs, free, strict=True) if is_free]
    always = len(pairs) - len(open_to_choice)

    def chosen(distances: Floats, *, at_least: int = 0) -> tuple[Pair, ...]:
        return worth_counting(
            distances[free], open_to_choice, ties=shares[free],
            size=size, cell_std=cell_std, always=always, at_least=at_least,
        )  # fmt: skip

    def saves(chosen: Sequence[Pair], others: Sequence[Pair], *, most: float) -> bool:
        return len(chosen) + always <= most * (len(others) + always)

    far = chosen(shares)
    left = _left(len(far) + always, size=size, cell_std=cell_std)
    among_far = set(far)
    strong = ~free | (shares > left) | np.array([pair in among_far for pair in pairs], dtype=np.bool_)
    # A pair with the target costs no table: it yields to a distance that is larger by more than the noise.
    tree = spanning_tree(shares + share_std * ~free, shares, pairs, spreads, strong)
    fewer = chosen(beyond(tree, shares, np.sqrt(np.maximum(shares**2 - tree.implied**2, 0.0))))
    usual = fewer if fewer and saves(fewer, far, most=MOST_TABLES) else far
    if tree.unexplained(shares, share_std=share_std) > MOST_UNEXPLAINED:
        return usual
    rest = tree.excess(shares, share_std=share_std)
    witnesses = np.argsort(-np.where(tree.joined & free, tree.implied, 0.0), kind="stable")[:WITNESSES]
    rest[witnesses] = shares[witnesses]
    fewest = chosen(beyond(tree, shares, rest), at_least=1)
    return fewest if saves(fewest, usual, most=MOST_TABLES_OF_PATHS) else usual


def beyond(tree: TreeOfPairs, shares: Floats, rest: Floats) -> Floats:
    """Return what is left of every pair's distance if only pairs of a tree were counted; (pairs,), at most `shares`.

    Args:
        tree: whose paths explain distances.
        shares: (pairs,) distances from independence.
        rest: (pairs,) what a path leaves of them.
    """
    left: Floats = np.where(tree.joined, np.minimum(shares, np.maximum(rest, LEAST_LEFT)), shares)
    return left


def worth_counting(
    shares: Floats,
    pairs: Sequence[Pair],
    *,
    size: float,
    cell_std: float,
    always: int,
    ties: Floats | None = None,
    at_least: int = 0,
) -> tuple[Pair, ...]:
    """Choose the pairs whose distance is above what counting them leaves wrong; more pairs have more noise each.

    Args:
        shares: (pairs,) estimated distances from independence, or what is left of them.
        pairs: the pairs, in the same order.
        size: how many records count.
        cell_std: standard deviation of a cell's noise if one table were counted, in records.
        always: tables that are counted whatever is chosen.
        ties: (pairs,) what decides between equal shares, the larger first; None for the order of the pairs.
        at_least: pairs that are chosen whatever their distances are.
    """
    order = np.lexsort((-(shares if ties is None else ties), -shares))
    tables = always + np.arange(1, len(order) + 1)
    worth = shares[order] > _left(tables, size=size, cell_std=cell_std)
    many = len(order) if worth.all() else int(np.argmin(worth))
    # A planned release is always made, so at least one table is counted.
    chosen = order[: max(many, at_least if always else 1)]
    return tuple(pairs[place] for place in sorted(chosen.tolist()))


def _left(tables: int | npt.NDArray[np.int64], *, size: float, cell_std: float) -> Floats:
    """Share of all records that counting a pair leaves wrong, if so many tables are counted."""
    left: Floats = WORTH * np.sqrt(cell_std * np.sqrt(tables) / size)
    return left
