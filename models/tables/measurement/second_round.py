"""Contents of the second round: groups of codes and chosen pairs. Only noisy counts and public facts of the table are read."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from core.plan.counting_rules import FEWEST_GROUPS, counts_by_class, groups_wanted, noise_of_tables
from core.plan.plan import Plan
from core.plan.several_owners.member_plan import BYTES_OF_COUNT, MOST_COUNT_BYTES, MemberPlan
from core.plan.stages import AnchorPlan
from models.counting.memory import counter_of
from models.counting.question import Counter
from models.encoding import PrivateTable
from models.exchange import public_streams
from models.randomness import KeyedStreams, Purpose
from models.tables.anchor import MomentLayout, Pair
from models.tables.code_groups import Groups, group_codes, group_counts, sums_of_groups
from models.tables.estimation.column_distributions import column_stds, first_distributions, first_size
from models.tables.estimation.smoothing import CodeOrder
from models.tables.measurement.pair_choice import pairs_to_count
from models.tables.screening import (
    pairs_of_columns,
    screening_groups,
    screening_std,
    shares_from_independence,
    spreads_of,
)


def groups_of(
    columns: Sequence[npt.NDArray[np.float64]],
    table: PrivateTable | Counter,
    plan: Plan,
    *,
    pairs: tuple[Pair, ...] | None = None,
) -> tuple[Groups, ...]:
    """Merge the codes of every column but the target.

    Args:
        columns: noisy counts of the codes of every column.
        table: whose public facts are read.
        pairs: the pairs of columns other than the target that are counted; None if all are.
    """
    assert plan.summed is not None, "only an anchor of tables has groups"
    if plan.summed.combinations:
        return tuple(np.arange(codes) for codes in table.cardinalities)
    by_class = _by_class(table, plan, plan.summed)
    slices = table.cardinalities[table.target_index] if by_class and table.target_index is not None else 1
    wanted = partial(
        groups_wanted,
        size=records_that_count(columns, table, plan),
        noise_std=_noise_of_a_table(table, plan.summed, pairs),
        columns=len(columns),
        slices=slices,
    )
    most = [wanted(ordered=ordered) for ordered in table.ordered]
    distributions = first_round_distributions(columns, table, plan)

    def merged() -> tuple[Groups, ...]:
        return tuple(
            np.arange(len(distribution))
            if place == table.target_index
            else group_codes(
                distribution, most=most[place], ordered=table.ordered[place], alone=table.alone[place]
            )
            for place, distribution in enumerate(distributions)
        )

    groups = merged()
    if isinstance(plan, MemberPlan):
        # All members come to the same groups: the noisy sums are public.
        while (
            max(most) > FEWEST_GROUPS
            and BYTES_OF_COUNT * layout_of(groups, table, plan, pairs=pairs).released_cells > MOST_COUNT_BYTES
        ):
            most = [max(FEWEST_GROUPS, one * 9 // 10) for one in most]
            groups = merged()
    return groups


def layout_of(
    groups: Sequence[Groups],
    table: PrivateTable | Counter,
    plan: Plan,
    *,
    pairs: tuple[Pair, ...] | None = None,
) -> MomentLayout:
    """Tables that the second round of a plan's anchor counts."""
    assert plan.summed is not None, "only an anchor of tables has a layout"
    kept = plan.kept_groups
    return MomentLayout(
        cardinalities=group_counts(groups),
        target_index=table.target_index,
        by_class=_by_class(table, plan, plan.summed) if kept is None else kept.by_class,
        combinations=plan.summed.combinations,
        pairs=pairs,
        squares=None
        if pairs is None
        else (plan.summed.table_sensitivity / counter_of(table).most_records) ** 2,
    )


def screened_pairs(
    distances: npt.NDArray[np.float64],
    columns: Sequence[npt.NDArray[np.float64]],
    table: PrivateTable | Counter,
    plan: Plan,
    streams: KeyedStreams,
) -> tuple[Pair, ...]:
    """Choose the pairs without the target that are worth counting.

    What the noise of the first round does to the shares of groups is seen by adding as much to the noisy shares again. Codes are
    merged in the order of their noisy shares, so sums over groups are further off than sums over any other codes.

    Args:
        distances: (pairs,) noisy distances from independence, in records.
        columns: noisy counts of the codes of every column.
        table: whose public facts are read.
    """
    assert plan.summed is not None, "only an anchor of tables has a screening"
    assert plan.known is not None, "counts come from an anchor of tables"
    parts: tuple[float, ...] = (1.0,)
    if isinstance(plan, MemberPlan):
        # All members come to the same pairs: what they draw for the choice is public, as the noisy sums are.
        parts, streams = plan.federation.weights, public_streams(plan.federation)
    counter = counter_of(table)
    distributions, size = first_round_distributions(columns, counter, plan), first_size(columns)
    counted = records_that_count(columns, counter, plan)
    stds = column_stds(columns, plan.known, most_records=counter.most_records)
    drawn = streams.normals(
        Purpose.SCREENING_ERROR, 0, sum(len(distribution) for distribution in distributions)
    )
    pieces = np.split(drawn, np.cumsum([len(distribution) for distribution in distributions])[:-1])
    again = first_round_distributions(
        [
            distribution * size + piece * std
            for distribution, piece, std in zip(distributions, pieces, stds, strict=True)
        ],
        counter,
        plan,
    )
    errors = [
        np.abs(sums_of_groups(noisier, groups) - sums_of_groups(distribution, groups)).sum()
        for noisier, distribution, groups in zip(
            again, distributions, groups_for_screening(again, counter, size=counted), strict=True
        )
    ]
    groups = groups_for_screening(distributions, counter, size=counted)
    return pairs_to_count(
        shares_from_independence(
            distances, distributions, groups, size=size, errors=np.array(errors), parts=parts
        ),
        pairs_of_columns(len(distributions)),
        spreads_of(distributions, groups),
        target_index=counter.target_index,
        size=counted,
        cell_std=noise_of_tables(plan.summed, 1, most_records=counter.most_records),
        share_std=screening_std(plan.summed, len(distances), most_records=counter.most_records) / (2 * size),
    )


def first_round_distributions(
    columns: Sequence[npt.NDArray[np.float64]], table: PrivateTable | Counter, plan: Plan
) -> list[npt.NDArray[np.float64]]:
    """Shares of every column from the counts of the first round alone."""
    assert plan.known is not None, "counts come from an anchor of tables"
    stds = column_stds(columns, plan.known, most_records=counter_of(table).most_records)
    return first_distributions(columns, stds, code_order(table))


def groups_for_screening(
    distributions: Sequence[npt.NDArray[np.float64]], counter: Counter, *, size: float
) -> tuple[Groups, ...]:
    """Groups of the codes of every column, as coarse as the screening asks."""
    return screening_groups(distributions, size=size, ordered=counter.ordered, alone=counter.alone)


def records_that_count(
    columns: Sequence[npt.NDArray[np.float64]], table: PrivateTable | Counter, plan: Plan
) -> float:
    """The declared size, or the noisy number of records where several of a unit count."""
    return first_size(columns) if counter_of(table).most_records > 1 else plan.declared_size


def code_order(table: PrivateTable | Counter) -> CodeOrder:
    """Columns of a table whose neighbouring codes are alike, and codes without such neighbours."""
    return CodeOrder(ordered=table.ordered, alone=table.alone)


def _by_class(table: PrivateTable | Counter, plan: Plan, anchor: AnchorPlan) -> bool:
    return not anchor.combinations and counts_by_class(
        table.cardinalities,
        table.target_index,
        declared_size=plan.declared_size,
        noise_std=anchor.noise_std,
    )


def _noise_of_a_table(
    table: PrivateTable | Counter, anchor: AnchorPlan, pairs: tuple[Pair, ...] | None
) -> float:
    """Standard deviation of the noise on a cell of a table of average weight, in records."""
    if pairs is None:
        return anchor.noise_std
    of_target = 0 if table.target_index is None else len(table.cardinalities) - 1
    return noise_of_tables(anchor, len(pairs) + of_target, most_records=counter_of(table).most_records)
