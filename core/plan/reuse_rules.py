"""Choosing which earlier counts a plan reuses, by a public rule on the plans of releases.

Releases are considered from the most precise on; one is skipped if some of its counts are included in one
already taken. The pairs of the first release are reused and its groups kept, unless the plan alone would use
much finer groups, or counts by class or pairs without the target that the release does not have. A plan that
reuses pairs counts the same pairs without a screening of its own; if the order sets the share of a screening,
pairs are reused only if neither release nor plan has one. Pairs of a further release are reused if both counted all
pairs and every code individually; otherwise only its one-way counts are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.dp.accountant import epsilons
from core.dp.gaussian import epsilon_of
from core.plan.counting_rules import (
    counts_by_class,
    counts_target_alone,
    groups_wanted,
    noise_of_tables,
)
from core.plan.expected_error import typical_tables
from core.plan.plan import DomainShape, Plan
from core.plan.reused_counts import ReusedCounts, ReusedTables
from core.plan.stages import AnchorPlan, anchor_plan

MOST_REUSED: Final = 8
"""Maximum number of bundles that one job reads; each may include the counts of many earlier releases."""
FINER: Final = 1.5
"""A plan keeps earlier groups unless it would use more than this many times as many on its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCounts:
    """Counts of an earlier release of the same rows.

    Args:
        counts_sha256: of `counts.bin` in its bundle.
    """

    release_id: str
    plan: Plan
    counts_sha256: str

    @property
    def releases(self) -> frozenset[str]:
        """The release, and those whose counts it includes."""
        return frozenset({self.release_id}.union(*(one.releases for one in self.plan.reused)))


def may_reuse(plan: Plan) -> bool:
    """Whether a plan counts codes of declared columns in two rounds, as reused counts must have been.

    A release whose plan checked declared bounds has declared columns if its domain is the declared one, which its certificate says.
    """
    anchor = plan.anchor
    declared = plan.learning is None or plan.learning.only_checks
    return isinstance(anchor, AnchorPlan) and anchor.column_sensitivity > 0 and declared


def with_reuse(
    plan: Plan, earlier: Sequence[EarlierCounts], shape: DomainShape, *, share_ordered: bool = False
) -> Plan:
    """Return the plan with reused counts; unchanged if there are none to reuse.

    Args:
        plan: without reuse.
        earlier: releases of the same rows under the same declared domain, newest first.
        share_ordered: whether the order sets the share of the screening, which is then kept.
    """
    usable = [one for one in earlier if may_reuse(one.plan) and _counted_alike(one.plan, plan)]
    if not may_reuse(plan) or not usable:
        return plan
    # An earlier release has counted the declared bins: its check kept them, or there was none.
    plan = plan.without_checks()
    if plan.learning is not None:
        return plan
    # The sort is stable: among equals the newest comes first.
    ordered = sorted(usable, key=lambda one: _known(one.plan).noise_multiplier)
    taken: list[EarlierCounts] = []
    for one in ordered:
        if len(taken) < MOST_REUSED and all(one.releases.isdisjoint(other.releases) for other in taken):
            taken.append(one)
    kept = _tables(taken[0].plan, shape)
    if not _keeps_groups(plan, kept, shape) or (share_ordered and _screens(plan, kept)):
        kept = None
    if _target_alone(taken[0].plan, shape) and not _target_alone(plan, shape):
        kept = None  # the plan counts pairs that the release left out
    if kept is not None:
        plan = _without_screening(plan, shape)
    # Where a unit may have several records, groups follow the noisy number of records, of which each release has its own.
    alike = plan.privacy_unit.most_records == 1 or (kept is not None and kept.combinations)
    reused = [
        _reused(one, _lined_up(_tables(one.plan, shape), kept, shape) if alike else None) for one in taken[1:]
    ]
    return replace(plan, reused=(_reused(taken[0], kept), *reused))


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsPrecision:
    """Questions that the counts of a release answer, and how precisely, from public facts.

    Args:
        columns: number of columns counted one by one.
        pairs: number of jointly counted pairs; None if noisy distances chose them, which only the counts list.
        by_class: whether columns and pairs are counted within each class of the target.
        most_groups: approximate maximum number of groups of a column in pairs; None without pairs.
        column_std: standard deviation of the noise on a cell of a column of average weight, in records.
        pair_std: an upper bound of the same for a pair, attained if all pairs are counted; None without pairs.
        epsilon_as_if: epsilon at which one plan would have counted as precisely.
        delta: of `epsilon_as_if`.
        holds: earlier releases whose counts are included.
    """

    columns: int
    pairs: int | None
    by_class: bool
    most_groups: int | None
    column_std: float
    pair_std: float | None
    epsilon_as_if: float
    delta: float
    holds: tuple[str, ...]


def precision_of(one: EarlierCounts, shape: DomainShape) -> CountsPrecision:
    """Describe what the counts of a release can answer."""
    anchor, columns = _known(one.plan), len(shape.cardinalities)
    tables, possible = _tables(one.plan, shape), columns * (columns - 1) // 2
    most_records = one.plan.privacy_unit.most_records
    return CountsPrecision(
        columns=columns,
        pairs=None if tables is not None and tables.screened else possible,
        by_class=tables is not None and tables.by_class,
        most_groups=None if tables is None else tables.most_groups,
        column_std=anchor.noise_std / anchor.column_sensitivity * most_records * math.sqrt(columns),
        pair_std=None if tables is None else _pair_std(anchor, shape, most_records=most_records),
        epsilon_as_if=epsilon_as_if(one.plan),
        delta=one.plan.guarantee.delta,
        holds=tuple(sorted(one.releases - {one.release_id})),
    )


def epsilon_as_if(plan: Plan, *, alone: bool = False) -> float:
    """Return the epsilon at which one plan would have counted as precisely, at the plan's delta.

    Args:
        plan: with a table anchor in two rounds.
        alone: whether to exclude reused counts.
    """
    anchor = plan.anchor if alone else plan.known
    assert isinstance(anchor, AnchorPlan), "an anchor of tables"
    mu = sum(part.noise_multiplier**-2 for part in anchor.parts) ** 0.5
    return epsilon_of(mu, plan.guarantee.delta)


def _pair_std(anchor: AnchorPlan, shape: DomainShape, *, most_records: int) -> float:
    """Return an upper bound of the standard deviation of the noise on a cell of a pair, in records."""
    if not anchor.combinations:
        return noise_of_tables(anchor, math.comb(len(shape.cardinalities), 2), most_records=most_records)
    summed = math.prod(shape.cardinalities) / math.prod(sorted(shape.cardinalities)[:2])
    return noise_of_tables(anchor, 1, most_records=most_records) * math.sqrt(summed)


def _known(plan: Plan) -> AnchorPlan:
    assert plan.known is not None, "a plan that may reuse"
    return plan.known


def _counted_alike(one: Plan, other: Plan) -> bool:
    return (one.declared_size, one.adjacency, one.privacy_unit) == (
        other.declared_size,
        other.adjacency,
        other.privacy_unit,
    )


def _tables(plan: Plan, shape: DomainShape) -> ReusedTables | None:
    """The pairs of a release of this plan; None with a single column."""
    anchor = _known(plan)
    if not anchor.table_sensitivity:
        return None
    noise_multiplier = anchor.noise_std / anchor.table_sensitivity
    if (kept := plan.kept_groups) is not None:
        return replace(kept, noise_multiplier=noise_multiplier)
    by_class, most = _own_groups(plan, shape)
    return ReusedTables(
        noise_multiplier=noise_multiplier,
        most_groups=most,
        by_class=by_class,
        screened=anchor.screening_sensitivity > 0 or _target_alone(plan, shape),
        combinations=anchor.combinations,
    )


def _own_groups(plan: Plan, shape: DomainShape) -> tuple[bool, int]:
    """Whether a plan without earlier groups counts by class, and its maximum number of groups.

    Only the counts list how many pairs a screening chose; a typical number is assumed.
    """
    assert isinstance(plan.anchor, AnchorPlan), "a plan that may reuse"
    if plan.anchor.combinations:
        return False, max(shape.cardinalities)
    noise_std, sizes, target = plan.anchor.noise_std, tuple(shape.cardinalities), shape.target_index
    by_class = counts_by_class(sizes, target, declared_size=plan.declared_size, noise_std=noise_std)
    slices = sizes[target] if by_class and target is not None else 1
    if (alone := _target_alone(plan, shape)) or plan.anchor.screening_sensitivity:
        tables = len(sizes) - 1 if alone else typical_tables(len(sizes), target)
        noise_std = noise_of_tables(plan.anchor, tables, most_records=plan.privacy_unit.most_records)
    most = groups_wanted(size=plan.declared_size, noise_std=noise_std, columns=len(sizes), slices=slices)
    return by_class, most


def _target_alone(plan: Plan, shape: DomainShape) -> bool:
    """Whether a plan without earlier groups counts pairs with the target alone."""
    assert isinstance(plan.anchor, AnchorPlan), "a plan that may reuse"
    return counts_target_alone(
        len(shape.cardinalities),
        shape.target_index,
        plan.anchor,
        declared_size=plan.declared_size,
        most_records=plan.privacy_unit.most_records,
    )


def _keeps_groups(plan: Plan, kept: ReusedTables | None, shape: DomainShape) -> bool:
    by_class, most = _own_groups(plan, shape)
    if kept is None or kept.combinations != _known(plan).combinations:
        return False
    return most <= FINER * kept.most_groups and kept.by_class >= by_class


def _screens(plan: Plan, kept: ReusedTables | None) -> bool:
    """Whether a screening chooses pairs, in the plan or in the tables that it could reuse."""
    assert isinstance(plan.anchor, AnchorPlan), "a plan that may reuse"
    return plan.anchor.screening_sensitivity > 0 or (kept is not None and kept.screened)


def _without_screening(plan: Plan, shape: DomainShape) -> Plan:
    """The plan as if the order had set the share of the screening to zero: tables get the share, and the noise is unchanged."""
    assert isinstance(plan.anchor, AnchorPlan), "a plan that may reuse"
    if not plan.anchor.screening_sensitivity:
        return plan
    anchor = anchor_plan(
        len(shape.cardinalities),
        diagonal_weight=plan.anchor.diagonal_weight,
        noise_multiplier=plan.anchor.noise_multiplier,
        most_records=plan.privacy_unit.most_records,
    )
    options = plan.idpgan_options.model_copy(update={"anchor_screening_share": 0.0})
    made = replace(plan, anchor=anchor, options=options)
    return replace(made, epsilons=epsilons(made.mechanism, delta=plan.guarantee.delta))


def _lined_up(
    tables: ReusedTables | None, kept: ReusedTables | None, shape: DomainShape
) -> ReusedTables | None:
    """The pairs if they match the kept ones in pairs and groups: both count all pairs, and no column has more codes than groups."""
    codes = max(
        (size for place, size in enumerate(shape.cardinalities) if place != shape.target_index), default=0
    )
    if tables is None or kept is None or tables.by_class != kept.by_class:
        return None
    if tables.combinations != kept.combinations:
        return None
    if tables.screened or kept.screened:
        return None
    return tables if codes <= min(tables.most_groups, kept.most_groups) else None


def _reused(one: EarlierCounts, tables: ReusedTables | None) -> ReusedCounts:
    anchor = _known(one.plan)
    return ReusedCounts(
        release_id=one.release_id,
        counts_sha256=one.counts_sha256,
        holds=tuple(sorted(one.releases - {one.release_id})),
        columns_noise_multiplier=anchor.noise_std / anchor.column_sensitivity,
        tables=tables,
    )
