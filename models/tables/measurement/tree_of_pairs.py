"""A spanning tree of the pairs of columns that are farthest from independence, and the distances that its paths imply.

For two columns `a` and `c` that are joined by a path of pairs, columns along it taken for a Markov chain, the implied distance is

    d(a, c) = g(a) g(c) r(a, b) r(b, ...) ... r(..., c),    r(a, b) = d(a, b) / (g(a) g(b)),    g(a)^2 = 1 - sum of squared shares of a

which is exact for columns of two codes, whose `r` is the correlation. For columns of more codes it is right on average: a common cause of many
codes ties some of the columns that it drives more and others less. So no single pair says whether the tree is true; all pairs outside it together do,
by the share of their squared distances that the implied ones leave unexplained. docs/rules-study.md has what simulated
and real tables leave.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from models.tables.anchor import Pair

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SMALLEST: Final = 1e-15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeOfPairs:
    """Estimates of every pair from a tree.

    Args:
        implied: (pairs,) distances from independence that paths imply; zero where none joins the columns.
        inside: (pairs,) whether the pair is of the tree.
    """

    implied: Floats
    inside: Flags

    @property
    def joined(self) -> Flags:
        """(pairs,) whether a path of more than one pair joins the columns."""
        return (self.implied > 0) & ~self.inside

    def unexplained(self, shares: Floats, *, share_std: float) -> float:
        """Return the share of the squared distances outside the tree that the implied ones leave; one where noise hides them.

        Args:
            shares: (pairs,) noisy distances from independence.
            share_std: standard deviation of their noise, whose expected square is taken off.
        """
        noise = self._noise(shares, share_std)
        whole = np.square(shares[~self.inside]).sum() - noise
        if whole <= noise:
            return 1.0
        return float(max(self._wrong(shares) - noise, 0.0) / whole)

    def excess(self, shares: Floats, *, share_std: float) -> Floats:
        """Return by how much distances exceed the implied ones, less what their noise explains of all differences; (pairs,).

        Args:
            shares: (pairs,) noisy distances from independence.
            share_std: standard deviation of their noise.
        """
        wrong = self._wrong(shares)
        true = max(wrong - self._noise(shares, share_std), 0.0) / max(wrong, SMALLEST)
        excess: Floats = true * np.maximum(shares - self.implied, 0.0)
        return excess

    def _wrong(self, shares: Floats) -> float:
        """Sum of the squared differences outside the tree."""
        return float(np.square(shares - self.implied)[~self.inside].sum())

    def _noise(self, shares: Floats, share_std: float) -> float:
        """Amount that noise adds to a sum of squares outside the tree. A distance of zero is known to be small, whatever its noise."""
        return share_std**2 * float(np.count_nonzero(shares[~self.inside]))


def spanning_tree(
    order: Floats, shares: Floats, pairs: Sequence[Pair], spreads: Floats, strong: Flags
) -> TreeOfPairs:
    """Join columns by the first pairs of an order that close no circle (Kruskal 1956).

    Args:
        order: (pairs,) the larger, the earlier.
        shares: (pairs,) distances from independence.
        pairs: all pairs of columns.
        spreads: (columns,) one less the sum of the squared shares of a column.
        strong: (pairs,) the pairs of which the tree is made.
    """
    first, second = np.array(pairs).T
    possible = np.sqrt(np.maximum(spreads[first] * spreads[second], 1e-9))
    strength = np.minimum(shares / possible, 1.0)
    near: list[dict[int, float]] = [{} for _ in spreads]
    root = np.arange(len(spreads))
    for place in np.argsort(-order, kind="stable").tolist():
        i, j = pairs[place]
        if strong[place] and root[i] != root[j]:
            root[root == root[i]] = root[j]
            near[i][j] = near[j][i] = float(strength[place])
    along = np.stack([_strengths_from(column, near) for column in range(len(spreads))])[first, second]
    return TreeOfPairs(implied=possible * along, inside=np.array([j in near[i] for i, j in pairs]))


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
