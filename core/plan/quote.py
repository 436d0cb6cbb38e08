"""Quotes: what an order would cost, before anything runs and without opening the dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import FEMTO, MICRO, Charge, charge_of
from core.dp.filters import Admission, Cap, Room, admit
from core.dp.gaussian import joint_noise_multiplier
from core.dp.group_privacy import epsilon_of_group
from core.dp.guarantee import PrivacyGuarantee
from core.dp.remaining import remaining_epsilon
from core.plan.domain.columns.kinds import Learnt
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan
from core.plan.expected_error import ExpectedError, expected_error
from core.plan.learning import expected_clamped
from core.plan.marginals import MarginalsPlan
from core.plan.plan import Plan
from core.plan.reusing import epsilon_as_if
from core.plan.selection import OrderedPlan
from core.plan.split import Split, split_of
from core.values import OrAbsent, Value

GROUPS: Final = (2, 5)
"""Sizes of the groups whose loss a quote states: units that one person could be."""

IMAGES: Final = "images"
NO_ANCHOR: Final = "no-anchor"
CHOSEN_UNDER_NOISE: Final = "chosen-under-noise"
"""Why a quote has no expected error: images; a critic alone counts nothing; a graphical model chooses its
counts under noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterState(Value):
    """A privacy filter with an order included, in plain units."""

    holds: bool
    capacity: float
    used: float
    capacity_delta: OrAbsent[float] = None
    used_delta: OrAbsent[float] = None

    @classmethod
    def of(cls, room: Room) -> Self:
        """Convert the integers of a filter."""
        owns_delta = room.capacity_femtos is not None and room.used_femtos is not None
        return cls(
            holds=room.holds,
            capacity=max(room.capacity_micros, 0) / MICRO,
            used=room.used_micros / MICRO,
            capacity_delta=(room.capacity_femtos or 0) / FEMTO if owns_delta else None,
            used_delta=(room.used_femtos or 0) / FEMTO if owns_delta else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLoss(Value):
    """The loss of a group of units together, two records of one person for example, at the quote's delta."""

    units: int
    epsilon: float | None
    """An upper bound (`core.dp.group_privacy`); None if a learnt threshold takes delta, which grows with the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote(Value):
    """The members of every quote: guarantee, cost, and effect on a budget."""

    UNREADABLE = InvalidPlan, "a member of the quote is missing, unknown or of the wrong type"

    synthesizer: str
    guarantee: PrivacyGuarantee
    adjacency: Adjacency
    privacy_unit: PrivacyUnit
    declared_size: int
    epsilon: Epsilons
    groups: tuple[GroupLoss, ...]
    """For groups of `GROUPS` units."""
    charge: Charge
    fits: bool
    """Whether a filter admits the charge; never without a budget."""
    carried_by: str | None
    """The filter that admits it."""
    filters: Mapping[str, FilterState]
    """By name; empty without a budget."""
    remaining_epsilon: float | None
    """None without a budget."""
    remaining_epsilon_after: float | None
    """As before if the charge does not fit."""
    plan_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockNoise(Value):
    """The noise of a block of the schedule."""

    first_step: int
    steps: int
    noise_multiplier: float
    with_histograms: OrAbsent[float] = None
    """The effective noise multiplier of steps that refresh the clipping thresholds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntColumn(Value):
    """A learnt column."""

    column: int | None
    """Place in the domain; None for the number of records of units."""
    learns: Learnt
    noise_std: float
    """In units, on every count."""
    threshold: float | None
    """The noisy number of units that a category must exceed; only of categories."""
    clamped_share: OrAbsent[float] = None
    """The share of a column's numbers that its learnt bounds typically clamp; only of bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning(Value):
    """The learnt parts of the domain.

    Only basic composition covers a job with a threshold, so its filter and those of later jobs is `basic`.
    """

    delta: float
    releases: tuple[LearntColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedRelease(Value):
    """A release whose counts a plan reuses; its counts contain those of `holds`."""

    release_id: str
    holds: tuple[str, ...]
    counts: Literal["columns", "columns-and-pairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse(Value):
    """The reused releases, and the gain in epsilon."""

    epsilon_as_if: float
    """The epsilon at which one plan would have counted as precisely as all counts together, at the plan's delta."""
    epsilon_alone: float
    """Likewise for the plan's own counts."""
    releases: tuple[ReusedRelease, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingQuote(Quote):
    """The quote of a generator."""

    steps: int
    sampling_rate: float
    expected_batch_size: int
    noise: tuple[BlockNoise, ...]
    split: Split
    learning: OrAbsent[Learning] = None
    expected_error: ExpectedError | None
    """None if it is not known in advance."""
    expected_error_missing: OrAbsent[str] = None
    """`IMAGES`, `NO_ANCHOR` or `CHOSEN_UNDER_NOISE`."""
    reused: OrAbsent[Reuse] = None


def plan_charge(plan: OrderedPlan) -> Charge:
    """Return what the whole plan costs, at the delta of its guarantee."""
    return charge_of(plan.mechanism, delta=plan.guarantee.delta)


def make_quote(
    plan: Plan, cap: Cap | None, charges: Sequence[Charge], *, domain: TableDomain | ImageDomain
) -> TrainingQuote:
    """Return the quote of a generator; `cap` and `charges` as in `effect_of`."""
    error = expected_error_in(plan, domain)
    return TrainingQuote(
        **effect_of(plan, cap, charges),
        steps=plan.steps,
        sampling_rate=plan.sampling_rate,
        expected_batch_size=plan.expected_batch_size,
        noise=_noise_of(plan),
        split=split_of(plan),
        learning=_learning_in(plan),
        expected_error=error if isinstance(error, ExpectedError) else None,
        expected_error_missing=error if isinstance(error, str) else None,
        reused=_reused_in(plan),
    )


def effect_of(
    plan: OrderedPlan, cap: Cap | None, charges: Sequence[Charge], *, thresholds: bool = False
) -> dict[str, Any]:
    """Return the members of `Quote`, by name: what a plan promises and costs, and its effect on a budget.

    Args:
        cap: The population's cap; None if no budget is set, and then nothing fits.
        charges: Everything spent and reserved so far.
        thresholds: Whether later jobs may have thresholds though this one has none.
    """
    charge = plan_charge(plan)
    thresholds = thresholds or charge.basic_alone
    admission = None if cap is None else admit(cap, [*charges, charge])
    fits = admission is not None and admission.admitted
    after = [*charges, charge] if fits else [*charges]
    return {
        "synthesizer": plan.synthesizer,
        "guarantee": plan.guarantee,
        "adjacency": plan.adjacency,
        "privacy_unit": plan.privacy_unit,
        "declared_size": plan.declared_size,
        "epsilon": plan.epsilons,
        "groups": tuple(
            GroupLoss(
                units=units, epsilon=epsilon_of_group(plan.mechanism, units, delta=plan.guarantee.delta)
            )
            for units in GROUPS
        ),
        "charge": charge,
        "fits": fits,
        "carried_by": None if admission is None else admission.carried_by,
        "filters": {} if admission is None else _states(admission),
        "remaining_epsilon": None if cap is None else remaining_epsilon(cap, charges, thresholds=thresholds),
        "remaining_epsilon_after": None
        if cap is None
        else remaining_epsilon(cap, after, thresholds=thresholds),
        "plan_digest": plan.digest(),
    }


def expected_error_in(plan: Plan, domain: TableDomain | ImageDomain) -> ExpectedError | str:
    """Return what a plan would count and the expected error of its synthetic rows, from public facts; or why it is unknown.

    Reused counts reduce the error.
    """
    if isinstance(domain, ImageDomain):
        return IMAGES
    if plan.known is None:
        return CHOSEN_UNDER_NOISE if isinstance(plan.anchor, MarginalsPlan) else NO_ANCHOR
    return expected_error(
        plan.known,
        cardinalities=domain.cardinalities,
        ordered=domain.ordered,
        target_index=domain.target_index,
        declared_size=plan.declared_size,
        most_records=plan.privacy_unit.most_records,
        kept=plan.kept_groups,
    )


def _states(admission: Admission) -> dict[str, FilterState]:
    return {name: FilterState.of(room) for name, room in admission.rooms.items()}


def _noise_of(plan: Plan) -> tuple[BlockNoise, ...]:
    return tuple(
        BlockNoise(
            first_step=block.first_step,
            steps=block.steps,
            noise_multiplier=block.noise_multiplier,
            with_histograms=None
            if plan.acts is None
            else joint_noise_multiplier(
                block.noise_multiplier,
                histograms=plan.acts.groups,
                histogram_noise_multiplier=plan.acts.noise_multiplier,
            ),
        )
        for block in plan.blocks
    )


def _learning_in(plan: Plan) -> Learning | None:
    learning = plan.learning
    if learning is None:
        return None
    releases = (
        LearntColumn(
            column=one.column,
            learns=one.learns,
            noise_std=learning.noise_multiplier * one.sensitivity,
            threshold=learning.threshold if one.learns == "categories" else None,
            clamped_share=expected_clamped(learning.noise_multiplier * one.sensitivity, plan.declared_size)
            if one.learns == "bounds"
            else None,
        )
        for one in learning.releases
    )
    return Learning(delta=learning.delta, releases=tuple(releases))


def _reused_in(plan: Plan) -> Reuse | None:
    if not plan.reused:
        return None
    releases = (
        ReusedRelease(
            release_id=one.release_id,
            holds=one.holds,
            counts="columns" if one.tables is None else "columns-and-pairs",
        )
        for one in plan.reused
    )
    return Reuse(
        epsilon_as_if=epsilon_as_if(plan),
        epsilon_alone=epsilon_as_if(plan, alone=True),
        releases=tuple(releases),
    )
