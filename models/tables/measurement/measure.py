"""The stage "measure": the noisy releases made before training, and between them only what noisy counts and public facts say."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.artifacts.counts import ReleasedCounts
from core.plan.counting_rules import counts_target_alone
from core.plan.plan import Plan
from core.plan.several_owners.member_plan import MemberPlan
from core.plan.stages import AnchorPlan
from models.counting.memory import counter_of
from models.counting.question import Counter
from models.encoding import PrivateTable
from models.exchange import CountExchange
from models.labels import noisy_label_distribution
from models.randomness import KeyedStreams
from models.tables.anchor import (
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
from models.tables.code_groups import Groups
from models.tables.estimation.column_distributions import first_size
from models.tables.estimation.targets import Counted
from models.tables.measurement.reuse import kept_groups, kept_pairs, with_columns, with_tables
from models.tables.measurement.second_round import (
    first_round_distributions,
    groups_for_screening,
    groups_of,
    layout_of,
    records_that_count,
    screened_pairs,
)
from models.tables.screening import noisy_distances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """Noisy releases; all of it may leave.

    Args:
        counted: by the anchor, or None without one.
        distribution: noisy shares of the target's classes where there is a target but no anchor.
    """

    counted: Counted | None
    distribution: npt.NDArray[np.float64] | None

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
        if self.distribution is not None:
            made["law"] = torch.from_numpy(self.distribution)
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
        return cls(counted=counted, distribution=tensors["law"].numpy() if "law" in tensors else None)


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
        earlier: counts of the releases that the plan reuses, in its order; public.
        exchange: adds the noisy counts of the other members of the plan's federation; None without one.
    """
    counted = distribution = None
    if isinstance(plan.anchor, AnchorPlan):
        counted = _count(table, plan, plan.anchor, streams, earlier, exchange)
    if plan.label_histogram is not None:
        assert isinstance(table, PrivateTable), "labels are counted without an anchor in rows alone"
        distribution = noisy_label_distribution(table, plan.label_histogram, streams)
    return Measurement(counted=counted, distribution=distribution)


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
    distributions, size = first_round_distributions(columns, counter, plan), first_size(columns)
    groups = groups_for_screening(distributions, counter, size=records_that_count(columns, counter, plan))
    own = plan.federation.weights[plan.federation.place] if isinstance(plan, MemberPlan) else 1.0

    def released(drawn: KeyedStreams) -> npt.NDArray[np.float64]:
        return noisy_distances(counter, distributions, groups, anchor, drawn, size=own * size)

    if exchange is None:
        distances = released(streams)
    else:
        distances = exchange.summed(place_of(SCREENING, anchor), streams, released)
    return screened_pairs(distances, columns, counter, plan, streams)


def _target_alone(counter: Counter, plan: Plan, anchor: AnchorPlan) -> bool:
    return counts_target_alone(
        len(counter.cardinalities),
        counter.target_index,
        anchor,
        declared_size=plan.declared_size,
        most_records=counter.most_records,
    )


def _pairs(chosen: Tensor) -> tuple[Pair, ...]:
    return tuple((first, second) for first, second in chosen.tolist())
