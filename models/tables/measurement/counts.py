"""The anchor's noisy counts as tables for the bundle. Post-processing of a release, free of charge."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from core.artifacts.counts import CountTable, ReleasedCounts, in_steps, step_for
from core.plan.counting_rules import column_weights
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.counting.question import Counter
from models.encoding import PrivateTable
from models.tables.anchor import MomentLayout, Moments
from models.tables.estimation.targets import Counted
from models.tables.measurement.measure import Measurement
from models.tables.measurement.second_round import layout_of

Floats = npt.NDArray[np.float64]


def released_counts(
    measured: Measurement, table: PrivateTable | Counter, plan: Plan
) -> ReleasedCounts | None:
    """The noisy counts as tables; only public facts of the private table are read.

    Returns:
        The counts as released, unbiased, combined with those that the plan reuses; None where the plan has no anchor of a
        table.
    """
    if measured.counted is None or plan.known is None:
        return None
    layout = layout_of(measured.counted.groups, table, plan, pairs=measured.counted.pairs)
    return count_tables(measured.counted, layout, plan.known, declared_size=plan.declared_size)


def count_tables(
    counted: Counted, layout: MomentLayout, anchor: AnchorPlan, *, declared_size: int
) -> ReleasedCounts:
    """Noisy counts as tables."""
    tables = [*_columns(counted, anchor), *_tables(counted.moments, layout, anchor)]
    step = step_for(
        smallest_std=min(noise_std for _columns, noise_std, _counts in tables),
        declared_size=declared_size,
    )
    return ReleasedCounts(
        cardinalities=tuple(len(counts) for counts in counted.columns),
        step=step,
        tables=tuple(
            CountTable(columns=columns, noise_std=noise_std, cells=in_steps(counts, step))
            for columns, noise_std, counts in tables
        ),
        groups=counted.groups,
    )


Table = tuple[tuple[int, ...], float, Floats]


def _columns(counted: Counted, anchor: AnchorPlan) -> Iterator[Table]:
    """The tables of the first round: of every column."""
    cardinalities = tuple(len(counts) for counts in counted.columns)
    weights = column_weights(cardinalities, anchor, most_records=counted.most_records)
    for column, (counts, weight) in enumerate(zip(counted.columns, weights.tolist(), strict=True)):
        yield (column,), anchor.noise_std / weight, counts


def _tables(moments: Moments, layout: MomentLayout, anchor: AnchorPlan) -> Iterator[Table]:
    """Every table of the second round once: its columns, the standard deviation of its noise, its counts with one axis a column."""
    blocks = dict(zip(layout.features, layout.blocks, strict=True))
    for columns, weight in layout.weights.items():
        if moments.combinations is not None:
            yield columns, anchor.noise_std / weight, moments.combinations
            continue
        first = blocks[columns[0]]
        counts = moments.ones[:, first] if len(columns) == 1 else moments.pairs[:, first, blocks[columns[1]]]
        yield _sorted((*layout.class_column, *columns), anchor.noise_std / weight, counts, layout)


def _sorted(columns: tuple[int, ...], noise_std: float, counts: Floats, layout: MomentLayout) -> Table:
    """One table with its columns in order; the first axis is the classes', or has one place where there are none."""
    shaped = counts.reshape([layout.cardinalities[column] for column in columns])
    order = sorted(range(len(columns)), key=columns.__getitem__)
    return tuple(columns[place] for place in order), noise_std, shaped.transpose(order)
