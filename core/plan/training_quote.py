"""The quote of a generator: what it would cost and train, and the expected error of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from core.dp.charge import Charge
from core.dp.filters import Cap
from core.dp.gaussian import joint_noise_multiplier
from core.plan.domain.columns.kinds import Learnt
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.expected_error import ExpectedError, expected_error
from core.plan.expected_marginals import expected_marginals_error
from core.plan.graphical import MarginalsPlan
from core.plan.learning import expected_clamped
from core.plan.plan import Plan
from core.plan.quote import Quote, effect_of
from core.plan.reuse_rules import epsilon_as_if
from core.plan.split import Split, split_of
from core.values import OrAbsent, Value

IMAGES: Final = "images"
NO_ANCHOR: Final = "no-anchor"
"""Why a quote has no expected error: images; a critic alone counts nothing."""


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
    """`IMAGES` or `NO_ANCHOR`."""
    reused: OrAbsent[Reuse] = None


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


def expected_error_in(plan: Plan, domain: TableDomain | ImageDomain) -> ExpectedError | str:
    """Return what a plan would count and the expected error of its synthetic rows, from public facts; or why it is unknown.

    Reused counts reduce the error.
    """
    if isinstance(domain, ImageDomain):
        return IMAGES
    if isinstance(plan.anchor, MarginalsPlan):
        return expected_marginals_error(
            plan.anchor,
            engine="aim" if plan.synthesizer == "aim" else "mst",
            cardinalities=domain.cardinalities,
            target_index=domain.target_index,
            declared_size=plan.declared_size,
        )
    if plan.known is None:
        return NO_ANCHOR
    return expected_error(
        plan.known,
        cardinalities=domain.cardinalities,
        ordered=domain.ordered,
        target_index=domain.target_index,
        declared_size=plan.declared_size,
        most_records=plan.privacy_unit.most_records,
        kept=plan.kept_groups,
    )


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
