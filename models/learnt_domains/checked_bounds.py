"""Checks of declared bounds: a noisy tree of counts of each checked column, from rows in memory or read batch by batch."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.plan.crowding import with_checks
from core.plan.domain.codec import numbers_of
from core.plan.domain.columns.kinds import Column, NumericColumn, TimeColumn
from core.plan.domain.table import TableDomain
from core.plan.learning import LearningPlan
from models.counting.question import WHOLE_RECORD
from models.counting.units import RowShards, record_weights
from models.dp.count_noise import release_counts
from models.learnt_domains.bins import FineGrid, NoisyTree
from models.learnt_domains.crowded_bins import check_grid, with_uncrowded_bins
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import TrainingHost

Floats = npt.NDArray[np.float64]


def present_numbers(
    column: NumericColumn | TimeColumn, pieces: Sequence[pa.Array], shares: Floats
) -> tuple[Floats, Floats]:
    """Return the numbers that are neither null nor special, within the column's bounds, and the shares of their records.

    Each number depends on its own record alone.

    Args:
        pieces: values of all records.
        shares: (records,) what each adds to a count.
    """
    numbers = np.concatenate([np.zeros(0), *(numbers_of(column, piece) for piece in pieces)])
    numbers = np.clip(numbers, column.lower, column.upper)
    present = ~(np.isnan(numbers) | np.isin(numbers, column.specials))
    return numbers[present], shares[present]


def checked_column(
    column: NumericColumn | TimeColumn,
    grid: FineGrid,
    leaves: Floats,
    plan: LearningPlan,
    streams: KeyedStreams,
    step: int,
    *,
    declared_size: int,
) -> NumericColumn | TimeColumn:
    """Release the noisy tree over exact counts, and return the column with bins that are not crowded.

    Args:
        leaves: (leaves,) records in units of the grid, whole numbers below 2^53: every sum of them is exact.
    """
    release = plan.releases[step]
    std = plan.noise_multiplier * release.sensitivity
    exact = [leaves.reshape(-1, size).sum(axis=1) / WHOLE_RECORD for size in grid.sizes]
    noisy = release_counts(
        np.concatenate(exact), std, streams, Purpose.LEARNING_NOISE, step, sensitivity=release.sensitivity
    )
    pieces = np.split(noisy, np.cumsum([len(part) for part in exact])[:-1])
    tree = NoisyTree(grid=grid, counts=tuple(pieces), std=std)
    return with_uncrowded_bins(column, tree, declared_size=declared_size, cut_tails=plan.cut_tails)


def check_bounds(
    shards: RowShards,
    domain: TableDomain,
    plan: LearningPlan,
    streams: KeyedStreams,
    host: TrainingHost,
    *,
    declared_size: int,
    key: bytes,
) -> TableDomain:
    """Make the plan's checks, and return the domain with bins that are not crowded. Memory does not depend on the number of rows.

    The progress mark is durable before anything is counted. A resumed job checks again, with the same noise.

    Args:
        shards: private rows with `storage_schema(domain)`.
        plan: of checks alone.
        key: of the job, for the hashes that distinguish units.

    Raises:
        ValueError: the plan checks other columns.
    """
    host.advance(stage="measure", step=1, total=1)
    checked = with_checks(domain, plan.checks)
    if not plan.only_checks or tuple((one.column, one.learns) for one in plan.releases) != checked.learnt:
        raise ValueError("the plan checks another domain")
    columns = [
        column
        for column in checked.modelled
        if isinstance(column, NumericColumn | TimeColumn) and column.learn
    ]
    grids = [check_grid(column) for column in columns]
    sums = [np.zeros(grid.leaves) for grid in grids]
    unit = domain.privacy_unit
    weights = None if unit is None else record_weights(shards, unit, key=key, bound=None)
    names = [column.name for column in columns]
    for shard in range(len(shards)):
        start = 0
        for batch in shards.read(shard, names):
            stop = start + batch.num_rows
            shares = (
                np.full(batch.num_rows, float(WHOLE_RECORD))
                if weights is None
                else weights[shard][start:stop].astype(np.float64)
            )
            for place, column in enumerate(columns):
                numbers, own = present_numbers(column, [batch.column(column.name)], shares)
                sums[place] += np.bincount(
                    grids[place].leaf_of(numbers), weights=own, minlength=grids[place].leaves
                )
            start = stop
    found: dict[str, Column] = {
        column.name: checked_column(
            column, grids[place], sums[place], plan, streams, place, declared_size=declared_size
        )
        for place, column in enumerate(columns)
    }
    return replace(domain, columns=tuple(found.get(column.name, column) for column in domain.columns))
