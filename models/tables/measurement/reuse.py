"""Combining the anchor's counts with those of earlier releases. Post-processing of releases, free of charge.

Earlier counts are public, were fixed when the job was ordered, and come in the order in which its plan names them. Each cell becomes the inverse-variance weighted mean of its
noisy counts. Within one round all tables of a release share one noise multiplier, so one weight per release is enough.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from core.artifacts.counts import ReleasedCounts
from core.plan.counting_rules import column_weights
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.tables.anchor import MomentLayout, Moments, Pair, in_order, moments_of
from models.tables.code_groups import Groups, group_counts

_PAIR = 2
_ROUNDED = 1e-6
"""Relative difference of standard deviations that rounding may cause."""
Floats = npt.NDArray[np.float64]


def require_usable(
    plan: Plan,
    earlier: Sequence[ReleasedCounts],
    *,
    cardinalities: tuple[int, ...],
    target_index: int | None,
) -> None:
    """Check, before a row is read, that the counts are those that the plan reuses.

    Raises:
        ValueError: one is missing, of other columns or other groups, lacks a table, or has another precision than the plan says.
    """
    if len(earlier) != len(plan.reused):
        raise ValueError("not as many earlier counts as the plan takes over")
    for counts in earlier:
        columns = {table.columns for table in counts.tables}
        if counts.cardinalities != cardinalities or any(
            (place,) not in columns for place in range(len(cardinalities))
        ):
            raise ValueError("the earlier counts are of other columns")
    own, most_records = _own(plan), plan.privacy_unit.most_records
    weights = column_weights(cardinalities, own, most_records=most_records).tolist()
    of_columns: dict[tuple[int, ...], float] = {
        (place,): own.column_sensitivity / weight for place, weight in enumerate(weights)
    }
    for one, counts in zip(plan.reused, earlier, strict=True):
        _require_precision(counts, of_columns, one.columns_noise_multiplier)
    groups, kept = kept_groups(plan, earlier), plan.kept_groups
    if groups is None or kept is None:
        return
    pairs = kept_pairs(plan, earlier, target_index=target_index)
    layout = MomentLayout(
        cardinalities=group_counts(groups),
        target_index=target_index,
        by_class=kept.by_class,
        combinations=own.combinations,
        pairs=pairs,
        squares=None if pairs is None else (own.table_sensitivity / most_records) ** 2,
    )
    of_tables = {
        tuple(sorted((*layout.class_column, *columns))): own.table_sensitivity / weight
        for columns, weight in layout.weights.items()
    }
    for noise, counts in _with_tables(plan, earlier):
        _moments(counts, layout)
        _require_precision(counts, of_tables, noise)


def _require_precision(
    counts: ReleasedCounts, units: Mapping[tuple[int, ...], float], noise_multiplier: float
) -> None:
    """Compare the stated noise of tables with the plan; `units` is the noise at a noise multiplier of one.

    Raises:
        ValueError: a table has another noise.
    """
    for table in counts.tables:
        wanted = units.get(table.columns)
        if wanted is not None and not math.isclose(
            table.noise_std, wanted * noise_multiplier, rel_tol=_ROUNDED
        ):
            raise ValueError("the earlier counts are of another precision")


def with_columns(
    columns: Sequence[Floats], plan: Plan, earlier: Sequence[ReleasedCounts]
) -> tuple[Floats, ...]:
    """Combine the noisy counts of the codes of every column.

    Args:
        columns: of the plan's first round, in records.
    """
    if not plan.reused:
        return tuple(columns)
    own = _own(plan)
    noises = [own.noise_std / own.column_sensitivity, *(one.columns_noise_multiplier for one in plan.reused)]
    tables = [_by_columns(one) for one in earlier]
    return tuple(
        _mean([counts, *(table[place,] for table in tables)], noises) for place, counts in enumerate(columns)
    )


def kept_groups(plan: Plan, earlier: Sequence[ReleasedCounts]) -> tuple[Groups, ...] | None:
    """Return the groups of the earlier pairs that the plan reuses; None where it makes its own.

    Raises:
        ValueError: pairs that are reused together have different groups.
    """
    kept = [counts.groups for _noise, counts in _with_tables(plan, earlier)]
    if any(not np.array_equal(a, b) for one in kept[1:] for a, b in zip(kept[0], one, strict=True)):
        raise ValueError("the earlier counts are of different groups")
    return kept[0] if kept else None


def kept_pairs(
    plan: Plan, earlier: Sequence[ReleasedCounts], *, target_index: int | None
) -> tuple[Pair, ...] | None:
    """Return the earlier pairs without the target that the plan reuses; None if these are all pairs, or none is reused."""
    kept = plan.kept_groups
    if kept is None or not kept.screened:
        return None
    ((_noise, counts),) = _with_tables(plan, earlier)
    sliced = {target_index} if kept.by_class else set()
    tables = sorted(table.columns for table in counts.tables if sliced <= set(table.columns))
    features = [tuple(column for column in columns if column not in sliced) for columns in tables]
    return tuple((one[0], one[1]) for one in features if len(one) == _PAIR and target_index not in one)


def with_tables(
    moments: Moments, layout: MomentLayout, plan: Plan, earlier: Sequence[ReleasedCounts]
) -> Moments:
    """Combine the noisy counts of groups; the layout is over the groups that are kept."""
    taken = list(_with_tables(plan, earlier))
    if not taken:
        return moments
    own = _own(plan)
    noises = [own.noise_std / own.table_sensitivity, *(noise for noise, _counts in taken)]
    others = [_moments(counts, layout) for _noise, counts in taken]
    counted = [one.combinations for one in (moments, *others) if one.combinations is not None]
    return Moments(
        pairs=_mean([moments.pairs, *(one.pairs for one in others)], noises),
        ones=_mean([moments.ones, *(one.ones for one in others)], noises),
        combinations=_mean(counted, noises) if counted else None,
    )


def _own(plan: Plan) -> AnchorPlan:
    assert isinstance(plan.anchor, AnchorPlan), "only an anchor of tables reuses counts"
    return plan.anchor


def _with_tables(plan: Plan, earlier: Sequence[ReleasedCounts]) -> Iterator[tuple[float, ReleasedCounts]]:
    for one, counts in zip(plan.reused, earlier, strict=True):
        if one.tables is not None:
            yield one.tables.noise_multiplier, counts


def _mean(counts: Sequence[Floats], noises: Sequence[float]) -> Floats:
    """The mean of counts weighted by the inverse squares of their noise multipliers."""
    weights = np.array(noises) ** -2.0
    weights /= weights.sum()
    combined: Floats = counts[0] * weights[0]
    for values, weight in zip(counts[1:], weights[1:], strict=True):
        combined = combined + values * weight
    return combined


def _by_columns(counts: ReleasedCounts) -> dict[tuple[int, ...], Floats]:
    """Every table in records, by its columns."""
    return {table.columns: table.cells.astype(np.float64) * counts.step for table in counts.tables}


def _moments(counts: ReleasedCounts, layout: MomentLayout) -> Moments:
    """Read tables as the second round of a layout.

    Raises:
        ValueError: a table is missing.
    """
    tables = _by_columns(counts)
    asked = [(*layout.class_column, *columns) for columns in layout.weights]
    if any(tuple(sorted(columns)) not in tables for columns in asked):
        raise ValueError("the earlier counts lack a table")
    return moments_of(layout, (in_order(tables[tuple(sorted(columns))], columns) for columns in asked))
