"""The anchor's noisy moments as tables of counts for the bundle. Post-processing of a release, free of charge."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from core.releases.counts import CountTable, ReleasedCounts, in_steps, step_for
from core.synthesis.plan import Plan
from core.synthesis.stages import AnchorPlan
from models.anchor import MomentLayout, Moments
from models.encoding import PrivateTable
from models.idpgan.measurement import Measurement, layout_of

Floats = npt.NDArray[np.float64]


def released_counts(measured: Measurement, table: PrivateTable, plan: Plan) -> ReleasedCounts | None:
    """Write the noisy moments down as tables of counts; only public facts of the private table are read.

    Returns:
        The counts as they were released, unbiased; None where the plan has no anchor of a table.
    """
    if measured.moments is None or not isinstance(plan.anchor, AnchorPlan):
        return None
    return count_tables(
        measured.moments, layout_of(table, plan), plan.anchor, declared_size=plan.declared_size
    )


def count_tables(
    moments: Moments, layout: MomentLayout, anchor: AnchorPlan, *, declared_size: int
) -> ReleasedCounts:
    """Write noisy moments down as tables of counts.

    Args:
        moments: noisy.
        layout: of the moments.
        anchor: says how large the noise is.
        declared_size: declared number of privacy units.
    """
    tables = list(_tables(moments, layout, anchor))
    step = step_for(
        smallest_std=min(noise_std for _columns, noise_std, _counts in tables),
        declared_size=declared_size,
    )
    return ReleasedCounts(
        cardinalities=layout.cardinalities,
        step=step,
        tables=tuple(
            CountTable(columns=columns, noise_std=noise_std, cells=in_steps(counts, step))
            for columns, noise_std, counts in tables
        ),
    )


def _tables(
    moments: Moments, layout: MomentLayout, anchor: AnchorPlan
) -> Iterator[tuple[tuple[int, ...], float, Floats]]:
    """Every table once: its columns, the standard deviation of its noise, and its counts with one axis a column."""
    sliced: tuple[int, ...] = ()
    if layout.by_class and layout.target_index is not None:
        sliced = (layout.target_index,)
        yield sliced, anchor.noise_std / anchor.diagonal_weight, moments.classes
    one_std = anchor.noise_std / layout.diagonal_factor(anchor.diagonal_weight)
    blocks = list(zip(layout.features, layout.blocks, strict=True))
    for column, block in blocks:
        yield _sorted((*sliced, column), one_std, moments.ones[:, block], layout)
    for place, (column, block) in enumerate(blocks):
        for other, across in blocks[place + 1 :]:
            counts = moments.pairs[:, block, across]
            std = anchor.noise_std / layout.pair_weight(column, other)
            yield _sorted((*sliced, column, other), std, counts, layout)


def _sorted(
    columns: tuple[int, ...], noise_std: float, counts: Floats, layout: MomentLayout
) -> tuple[tuple[int, ...], float, Floats]:
    """One table with its columns in order; the first axis is the classes', or has one place where there are none."""
    shaped = counts.reshape([layout.cardinalities[column] for column in columns])
    order = sorted(range(len(columns)), key=columns.__getitem__)
    return tuple(columns[place] for place in order), noise_std, shaped.transpose(order)
