"""The stage "measure": the noisy releases made before training, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.artifacts.counts import ReleasedCounts
from core.plan.counting_rules import (
    FEWEST_GROUPS,
    counts_by_class,
    counts_target_alone,
    groups_wanted,
    noise_of_tables,
)
from core.plan.member_plan import BYTES_OF_COUNT, MOST_COUNT_BYTES, MemberPlan
from core.plan.options import IdpganOptions
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.anchor import (
    FIRST_ROUND,
    SCREENING,
    SECOND_ROUND,
    MomentLayout,
    Moments,
    Pair,
    cells_of_moments,
    moments_of_cells,
    noisy_columns,
    noisy_moments,
    place_of,
)
from models.counting.memory import counter_of
from models.counting.question import Counter
from models.encoding import PrivateTable
from models.exchange import CountExchange, public_streams
from models.grouping import Groups, group_codes, group_counts, sums_of_groups
from models.idpgan.combinations import combination_targets
from models.idpgan.labels import noisy_label_law
from models.idpgan.moment_loss import SHARE_POWERS, MomentLoss
from models.idpgan.reuse import kept_groups, kept_pairs, with_columns, with_tables
from models.idpgan.targets import (
    Counted,
    MomentTargets,
    column_stds,
    first_laws,
    first_size,
    moment_targets,
)
from models.idpgan.variety import noisy_variety
from models.pair_choice import pairs_to_count
from models.randomness import KeyedStreams, Purpose
from models.screening import (
    noisy_distances,
    pairs_of_columns,
    screening_groups,
    screening_std,
    shares_from_independence,
    spreads_of,
)
from models.smoothing import CodeOrder
from models.synthesizer import NoisyVariety


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """Noisy releases; all of it may leave.

    Args:
        counted: by the anchor, or None without one.
        law: noisy shares of the target's classes where there is a target but no anchor.
    """

    counted: Counted | None
    law: npt.NDArray[np.float64] | None

    @property
    def anchored(self) -> bool:
        """Whether there are counts to pre-train on."""
        return self.counted is not None

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        made: dict[str, Tensor] = {}
        if self.counted is not None:
            made |= {
                "columns": torch.from_numpy(np.concatenate(self.counted.columns)),
                "groups": torch.from_numpy(np.concatenate(self.counted.groups)),
                "pairs": torch.from_numpy(self.counted.moments.pairs),
                "ones": torch.from_numpy(self.counted.moments.ones),
            }
            if self.counted.moments.combinations is not None:
                made["combinations"] = torch.from_numpy(self.counted.moments.combinations)
            if self.counted.pairs is not None:
                chosen = torch.tensor(self.counted.pairs, dtype=torch.int64)
                made["chosen"] = chosen.reshape(-1, 2)
        if self.law is not None:
            made["law"] = torch.from_numpy(self.law)
        return made

    @classmethod
    def restore(cls, tensors: dict[str, Tensor], table: PrivateTable | Counter) -> "Measurement":
        """Read the result of `tensors`.

        Args:
            tensors: of a checkpoint.
            table: of which public facts are read.
        """
        counted = None
        if "pairs" in tensors:
            stops = np.cumsum(table.cardinalities)[:-1]
            counted = Counted(
                columns=tuple(np.split(tensors["columns"].numpy(), stops)),
                groups=tuple(np.split(tensors["groups"].numpy(), stops)),
                moments=Moments(
                    pairs=tensors["pairs"].numpy(),
                    ones=tensors["ones"].numpy(),
                    combinations=tensors["combinations"].numpy() if "combinations" in tensors else None,
                ),
                most_records=counter_of(table).most_records,
                pairs=_pairs(tensors["chosen"]) if "chosen" in tensors else None,
            )
        return cls(counted=counted, law=tensors["law"].numpy() if "law" in tensors else None)


def measure(
    table: PrivateTable | Counter,
    plan: Plan,
    streams: KeyedStreams,
    *,
    earlier: Sequence[ReleasedCounts] = (),
    exchange: CountExchange | None = None,
) -> Measurement:
    """Make the plan's releases: the anchor's counts, or the label histogram.

    Args:
        table: the rows, or a counter of them.
        plan: what is released.
        streams: of the job.
        earlier: counts of the releases that the plan reuses, in its order; public.
        exchange: adds the noisy counts of the other members of the plan's federation; None without one.
    """
    counted = law = None
    if isinstance(plan.anchor, AnchorPlan):
        counted = _count(table, plan, plan.anchor, streams, earlier, exchange)
    if plan.label_histogram is not None:
        assert isinstance(table, PrivateTable), "labels are counted without an anchor in rows alone"
        law = noisy_label_law(table, plan.label_histogram, streams)
    return Measurement(counted=counted, law=law)


def _count(
    table: PrivateTable | Counter,
    plan: Plan,
    anchor: AnchorPlan,
    streams: KeyedStreams,
    earlier: Sequence[ReleasedCounts],
    exchange: CountExchange | None,
) -> Counted:
    """Count columns, then groups of their codes; between the rounds only noisy counts and public facts are read."""
    counter, summed = counter_of(table), plan.summed
    assert summed is not None, "counts come from an anchor of tables"
    assert isinstance(plan, MemberPlan) == (exchange is not None), "noise of sums is that of as many members"
    columns = with_columns(_columns(counter, anchor, streams, exchange), plan, earlier)
    pairs = kept_pairs(plan, earlier, target_index=counter.target_index)
    if anchor.screening_sensitivity:
        pairs = _screen(columns, counter, plan, anchor, streams, exchange)
    elif plan.kept_groups is None and _target_alone(counter, plan, summed):
        pairs = ()
    if (groups := kept_groups(plan, earlier)) is None:
        groups = groups_of(columns, counter, plan, pairs=pairs)
    layout = layout_of(groups, counter, plan, pairs=pairs)
    if not layout.weights:
        nothing = np.zeros((layout.slices, layout.cells, layout.cells))
        moments = Moments(pairs=nothing, ones=nothing[:0, 0])
    else:
        moments = _moments(counter, layout, anchor, streams, groups, exchange)
        moments = with_tables(moments, layout, plan, earlier)
    return Counted(
        columns=columns,
        groups=groups,
        moments=moments,
        most_records=counter.most_records,
        pairs=pairs,
    )


def _columns(
    counter: Counter, anchor: AnchorPlan, streams: KeyedStreams, exchange: CountExchange | None
) -> list[npt.NDArray[np.float64]]:
    """Release the first round, and in a federation add the noisy counts of the other members."""
    if exchange is None:
        return noisy_columns(counter, anchor, streams)
    cells = exchange.summed(
        place_of(FIRST_ROUND, anchor),
        streams,
        lambda own: np.concatenate(noisy_columns(counter, anchor, own)),
    )
    return np.split(cells, np.cumsum(counter.cardinalities)[:-1])


def _moments(
    counter: Counter,
    layout: MomentLayout,
    anchor: AnchorPlan,
    streams: KeyedStreams,
    groups: Sequence[Groups],
    exchange: CountExchange | None,
) -> Moments:
    """Release the second round, and in a federation add the noisy counts of the other members."""
    if exchange is None:
        return noisy_moments(counter, layout, anchor, streams, groups=groups)

    def counted(own: KeyedStreams) -> npt.NDArray[np.float64]:
        return cells_of_moments(noisy_moments(counter, layout, anchor, own, groups=groups), layout)

    return moments_of_cells(exchange.summed(place_of(SECOND_ROUND, anchor), streams, counted), layout)


def _screen(
    columns: Sequence[npt.NDArray[np.float64]],
    counter: Counter,
    plan: Plan,
    anchor: AnchorPlan,
    streams: KeyedStreams,
    exchange: CountExchange | None,
) -> tuple[Pair, ...]:
    """Release every pair's distance from independence, and choose the pairs without the target that are worth counting."""
    laws, size = _first_laws(columns, counter, plan), first_size(columns)
    groups = _screening_groups(laws, counter, size=_records_that_count(columns, counter, plan))
    own = plan.federation.weights[plan.federation.place] if isinstance(plan, MemberPlan) else 1.0

    def released(drawn: KeyedStreams) -> npt.NDArray[np.float64]:
        return noisy_distances(counter, laws, groups, anchor, drawn, size=own * size)

    if exchange is None:
        distances = released(streams)
    else:
        distances = exchange.summed(place_of(SCREENING, anchor), streams, released)
    return screened_pairs(distances, columns, counter, plan, streams)


def screened_pairs(
    distances: npt.NDArray[np.float64],
    columns: Sequence[npt.NDArray[np.float64]],
    table: PrivateTable | Counter,
    plan: Plan,
    streams: KeyedStreams,
) -> tuple[Pair, ...]:
    """Choose the pairs without the target that are worth counting; only public facts of the table are read.

    What the noise of the first round does to the shares of groups is seen by adding as much to the noisy shares again. Codes are
    merged in the order of their noisy shares, so sums over groups are further off than sums over any other codes.

    Args:
        distances: (pairs,) noisy distances from independence, in records.
        columns: noisy counts of the codes of every column.
        table: whose public facts are read.
        plan: of the job.
        streams: of the job.
    """
    assert plan.summed is not None, "only an anchor of tables has a screening"
    assert plan.known is not None, "counts come from an anchor of tables"
    parts: tuple[float, ...] = (1.0,)
    if isinstance(plan, MemberPlan):
        # All members come to the same pairs: what they draw for the choice is public, as the noisy sums are.
        parts, streams = plan.federation.weights, public_streams(plan.federation)
    counter = counter_of(table)
    laws, size = _first_laws(columns, counter, plan), first_size(columns)
    counted = _records_that_count(columns, counter, plan)
    stds = column_stds(columns, plan.known, most_records=counter.most_records)
    drawn = streams.normals(Purpose.SCREENING_ERROR, 0, sum(len(law) for law in laws))
    pieces = np.split(drawn, np.cumsum([len(law) for law in laws])[:-1])
    again = _first_laws(
        [law * size + piece * std for law, piece, std in zip(laws, pieces, stds, strict=True)], counter, plan
    )
    errors = [
        np.abs(sums_of_groups(noisier, groups) - sums_of_groups(law, groups)).sum()
        for noisier, law, groups in zip(
            again, laws, _screening_groups(again, counter, size=counted), strict=True
        )
    ]
    groups = _screening_groups(laws, counter, size=counted)
    return pairs_to_count(
        shares_from_independence(distances, laws, groups, size=size, errors=np.array(errors), parts=parts),
        pairs_of_columns(len(laws)),
        spreads_of(laws, groups),
        target_index=counter.target_index,
        size=counted,
        cell_std=noise_of_tables(plan.summed, 1, most_records=counter.most_records),
        share_std=screening_std(plan.summed, len(distances), most_records=counter.most_records) / (2 * size),
    )


def _screening_groups(
    laws: Sequence[npt.NDArray[np.float64]], counter: Counter, *, size: float
) -> tuple[Groups, ...]:
    return screening_groups(laws, size=size, ordered=counter.ordered, alone=counter.alone)


def _records_that_count(
    columns: Sequence[npt.NDArray[np.float64]], table: PrivateTable | Counter, plan: Plan
) -> float:
    """The declared size, or the noisy number of records where several of a unit count."""
    return first_size(columns) if counter_of(table).most_records > 1 else plan.declared_size


def _with_target(table: PrivateTable | Counter) -> int:
    return 0 if table.target_index is None else len(table.cardinalities) - 1


def _pairs(chosen: Tensor) -> tuple[Pair, ...]:
    return tuple((first, second) for first, second in chosen.tolist())


def groups_of(
    columns: Sequence[npt.NDArray[np.float64]],
    table: PrivateTable | Counter,
    plan: Plan,
    *,
    pairs: tuple[Pair, ...] | None = None,
) -> tuple[Groups, ...]:
    """Merge the codes of every column but the target; only public facts of the table are read.

    Args:
        columns: noisy counts of the codes of every column.
        table: whose public facts are read.
        plan: of the job.
        pairs: the pairs of columns other than the target that are counted; None if all are.
    """
    assert plan.summed is not None, "only an anchor of tables has groups"
    if plan.summed.combinations:
        return tuple(np.arange(codes) for codes in table.cardinalities)
    by_class = _by_class(table, plan, plan.summed)
    slices = table.cardinalities[table.target_index] if by_class and table.target_index is not None else 1
    wanted = partial(
        groups_wanted,
        size=_records_that_count(columns, table, plan),
        noise_std=_noise_of_a_table(table, plan.summed, pairs),
        columns=len(columns),
        slices=slices,
    )
    most = [wanted(ordered=ordered) for ordered in table.ordered]
    laws = _first_laws(columns, table, plan)

    def merged() -> tuple[Groups, ...]:
        return tuple(
            np.arange(len(law))
            if place == table.target_index
            else group_codes(law, most=most[place], ordered=table.ordered[place], alone=table.alone[place])
            for place, law in enumerate(laws)
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
    """Tables that the second round of a plan's anchor counts; only public facts of the table are read."""
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


def _first_laws(
    columns: Sequence[npt.NDArray[np.float64]], table: PrivateTable | Counter, plan: Plan
) -> list[npt.NDArray[np.float64]]:
    assert plan.known is not None, "counts come from an anchor of tables"
    stds = column_stds(columns, plan.known, most_records=counter_of(table).most_records)
    return first_laws(columns, stds, _order_of(table))


def _order_of(table: PrivateTable | Counter) -> CodeOrder:
    return CodeOrder(ordered=table.ordered, alone=table.alone)


def _target_alone(counter: Counter, plan: Plan, anchor: AnchorPlan) -> bool:
    return counts_target_alone(
        len(counter.cardinalities),
        counter.target_index,
        anchor,
        declared_size=plan.declared_size,
        most_records=counter.most_records,
    )


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
    tables = len(pairs) + _with_target(table)
    return noise_of_tables(anchor, tables, most_records=counter_of(table).most_records)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """The part of the noisy counts that the generator uses.

    Args:
        layout: which counts of groups there are.
        targets: the counts, consistent and shrunk.
        groups: of every column (codes,) the group of each code.
        loss: the distance to the targets.
        law: shares of the target's classes, or None without a target.
        variety: how much the generator's draws must vary.
    """

    layout: MomentLayout
    targets: MomentTargets
    groups: tuple[Groups, ...]
    loss: MomentLoss
    law: npt.NDArray[np.float64] | None
    variety: NoisyVariety


def make_anchor(counted: Counted, table: PrivateTable | Counter, plan: Plan) -> Anchor:
    """Prepare the noisy counts for the generator and make them consistent; only public facts of the table are read."""
    assert plan.known is not None, "counts come from an anchor of tables"
    assert isinstance(plan.options, IdpganOptions), "graphical models have targets of their own"
    layout = layout_of(counted.groups, table, plan, pairs=counted.pairs)
    make = combination_targets if layout.combinations else moment_targets
    targets = make(counted, layout, plan.known, order=_order_of(table), forbidden=table.forbidden())
    return Anchor(
        layout=layout,
        targets=targets,
        groups=counted.groups,
        loss=MomentLoss(layout, targets, share_power=SHARE_POWERS[plan.options.generator]),
        law=None if table.target_index is None else targets.columns[table.target_index],
        variety=noisy_variety(targets, layout),
    )
