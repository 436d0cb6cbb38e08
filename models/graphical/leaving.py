"""What leaves a training beside the model: noisy counts for the bundle, and how much of the variety they are sure of."""

import numpy as np

from core.releases.counts import CountTable, ReleasedCounts, in_steps, step_for
from models.graphical.estimate import Combined
from models.graphical.measuring import Marginals
from models.idpgan.variety import DRAWS, OPEN, SURE
from models.synthesizer import NoisyVariety


def released_counts(
    measured: Combined, cardinalities: tuple[int, ...], *, declared_size: int
) -> ReleasedCounts:
    """Write everything that was measured down as tables of counts, unbiased.

    Args:
        measured: one entry a marginal.
        cardinalities: codes of every column.
        declared_size: declared number of privacy units.
    """
    tables = sorted(measured.tables.items(), key=lambda entry: (entry[1][1], len(entry[0]), entry[0]))
    step = step_for(smallest_std=min(std for _, (_, std) in tables), declared_size=declared_size)
    return ReleasedCounts(
        cardinalities=cardinalities,
        step=step,
        tables=tuple(
            CountTable(columns=columns, noise_std=std, cells=in_steps(counts, step))
            for columns, (counts, std) in tables
        ),
        groups=tuple(np.arange(codes) for codes in cardinalities),
    )


def noisy_variety(one_way: Marginals, cardinalities: tuple[int, ...]) -> NoisyVariety:
    """Say what the one-way counts are sure of.

    Args:
        one_way: noisy counts of every column.
        cardinalities: codes of every column.
    """
    columns = len(cardinalities)
    spread, is_open, different = np.zeros(columns), np.zeros(columns, dtype=np.bool_), np.zeros(columns)
    for (column,), counts in one_way.tables.items():
        total = max(float(counts.sum()), 1.0)
        std = one_way.noise_std / total
        shares = counts / total
        spread[column] = max(0.0, 1.0 - float(shares.max()) - SURE * std)
        is_open[column] = std >= OPEN
        sure = np.where(shares > SURE * std, shares, 0.0)
        different[column] = -np.expm1(-DRAWS * sure).sum()
    return NoisyVariety(
        spread=spread, is_open=is_open, spread_within=None, combinations=float(different.max())
    )
