"""The private side of "aim" and "mst": their only code that reads rows.

A unit with `m` records weighs `floor(2^20 / m) / 2^20` in each of them, at most 1 in all. So adding it adds at most 1 in all to the
cells of any marginal, and no cell decreases. Three kinds of vectors are
released, each with Gaussian noise on the public grid 2^-20:

* the one-way counts of all `d` columns: L2 sensitivity `sqrt(d)`;
* the scores of `c` candidates. The score of a marginal is the sum over its cells of the excess of the count over a public count,
  that of the current model. Adding a unit raises the positive parts by between 0 and 1 in sum: `sqrt(c)`;
* the counts of `k` marginals that were chosen by what had been released before: `sqrt(k)`.

Counts, model and scores are whole numbers of the grid, so sums depend on no order. docs/mechanisms/graphical.md has the proofs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.plan.graphical import Clique, MarginalsPlan
from models.dp.count_noise import GRID, release_counts
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose

_LARGEST_COUNT = 2.0**62

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Marginals:
    """Noisy counts of marginals with one standard deviation.

    Args:
        noise_std: of the noise on every cell, in records.
        tables: counts in records by columns, one axis a column.
    """

    noise_std: float
    tables: dict[Clique, Floats]


class Measuring:
    """Makes the releases of a graphical model's plan.

    Args:
        kept: releases of an earlier attempt by purpose and round; what is in it is not released again.
    """

    def __init__(
        self,
        table: PrivateTable,
        plan: MarginalsPlan,
        streams: KeyedStreams,
        kept: Mapping[tuple[int, int], Tensor] | None = None,
    ) -> None:
        self._codes = table.codes
        self._cardinalities = table.cardinalities
        self._plan, self._streams = plan, streams
        records = np.bincount(table.unit_of_record, minlength=1)[table.unit_of_record]
        # Integers below 2^53, which bincount adds up in float64 without rounding.
        self._shares: Floats = np.floor((1.0 / GRID) / records) if len(records) else np.zeros(0)
        self.released: dict[tuple[int, int], Tensor] = dict(kept or {})

    def one_way(self) -> Marginals:
        """Release the counts of every column."""
        columns = [(column,) for column in range(self._plan.columns)]
        std = self._plan.one_way_noise_multiplier * self._plan.one_way_sensitivity
        return self._counted(Purpose.ONE_WAY_NOISE, 0, columns, std)

    def scores(self, number: int, expected: Mapping[Clique, Floats]) -> Floats:
        """Release by how much the counts of candidates exceed those of a model, in records.

        Args:
            number: of the round.
            expected: counts of every candidate that follow from what was released before.

        Returns:
            (candidates,) noisy scores.
        """
        assert len(expected) == self._plan.candidates, "one score a candidate"
        std = self._plan.scores_noise_multiplier * self._plan.scores_sensitivity
        sensitivity = math.sqrt(len(expected))
        return self._released(Purpose.SCORE_NOISE, number, lambda: self._excesses(expected), std, sensitivity)

    def marginals(self, number: int, chosen: Sequence[Clique]) -> Marginals:
        """Release the counts of the marginals that a round chose."""
        assert len(chosen) <= self._plan.marginals_per_round, "no more than the plan has"
        assert len(set(chosen)) == len(chosen), "each once"
        std = self._plan.marginals_noise_multiplier * self._plan.marginals_sensitivity
        return self._counted(Purpose.MARGINAL_NOISE, number, chosen, std)

    def _counted(self, purpose: Purpose, number: int, cliques: Sequence[Clique], std: float) -> Marginals:
        shapes = [tuple(self._cardinalities[column] for column in clique) for clique in cliques]
        sizes = [math.prod(shape) for shape in shapes]

        def exact() -> Floats:
            return np.concatenate([np.zeros(0), *(self._counts(clique) * GRID for clique in cliques)])

        noisy = self._released(purpose, number, exact, std, math.sqrt(len(cliques)))
        parts = np.split(noisy, np.cumsum(sizes)[:-1]) if sizes else []
        tables = {
            clique: part.reshape(shape) for clique, part, shape in zip(cliques, parts, shapes, strict=True)
        }
        return Marginals(noise_std=std, tables=tables)

    def _counts(self, clique: Clique) -> Floats:
        """Exact counts of a marginal, flat, as whole numbers of the grid; private."""
        cells = np.zeros(len(self._codes), dtype=np.int64)
        for column in clique:
            cells = cells * self._cardinalities[column] + self._codes[:, column]
        size = math.prod(self._cardinalities[column] for column in clique)
        return np.bincount(cells, weights=self._shares, minlength=size).astype(np.float64)

    def _excesses(self, expected: Mapping[Clique, Floats]) -> Floats:
        """Exact scores; private."""
        found = []
        for clique, counts in expected.items():
            # The public counts are rounded first, so that the score is exact.
            public: Integers = np.rint(np.clip(counts.ravel() / GRID, 0, _LARGEST_COUNT)).astype(np.int64)
            found.append(int(np.maximum(self._counts(clique).astype(np.int64) - public, 0).sum()) * GRID)
        return np.array(found)

    def _released(
        self, purpose: Purpose, number: int, exact: Callable[[], Floats], std: float, sensitivity: float
    ) -> Floats:
        """Release a vector once, or take it from an earlier attempt."""
        kept = self.released.get((purpose, number))
        if kept is None:
            noisy = release_counts(exact(), std, self._streams, purpose, number, sensitivity=sensitivity)
            kept = torch.from_numpy(noisy)
            self.released[purpose, number] = kept
        released: Floats = kept.numpy()
        return released
