"""Planning and quoting selections: the cost of selecting, and that of the winner's training.

Pure and data-free; `core.plan.plan.make_plan` plans each candidate twice: on its part and on all units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from core.dp.accountant import Epsilons, epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import round_up
from core.dp.charge import Charge
from core.dp.errors import InvalidGuarantee, InvalidMechanism, TargetOutOfReach
from core.dp.filters import Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Chosen, Composed, Parallel, PermuteAndFlip
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import BoundNeedsAnchor, InvalidSelection, InvalidSpec
from core.plan.learning import learning_of
from core.plan.plan import DomainShape, Plan, make_plan
from core.plan.quote import Quote, effect_of
from core.plan.selections.plan import SelectionPlan, SelectionSpec, part_size
from core.plan.spec import SynthesisSpec
from core.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The facts that all plans of one selection share."""

    domain: DomainShape | ImageDomain
    adjacency: Adjacency
    privacy_unit: PrivacyUnit

    def plan(self, number: int, spec: SynthesisSpec, guarantee: PrivacyGuarantee, size: int) -> Plan:
        """Return the plan of a candidate on `size` units."""
        try:
            return make_plan(
                spec=spec,
                guarantee=guarantee,
                declared_size=size,
                domain=self.domain,
                adjacency=self.adjacency,
                privacy_unit=self.privacy_unit,
            )
        except (InvalidSpec, TargetOutOfReach) as error:
            raise InvalidSelection(
                f"candidate {number} makes no plan for {size} units: {error.detail}", remedy=error.remedy
            ) from None


def make_selection_plan(
    *,
    selection: SelectionSpec,
    guarantee: PrivacyGuarantee,
    declared_size: int,
    domain: DomainShape | ImageDomain,
    adjacency: Adjacency,
    privacy_unit: PrivacyUnit,
) -> SelectionPlan:
    """Return the plan of a selection: every candidate on its part and on all units, and the total cost.

    Args:
        guarantee: Of the winner's training alone; all plans use its delta.
        domain: With a target, or labels.

    Raises:
        InvalidSelection: There is no target or label to judge by, no plan exists for a candidate on a part or
            on all units, or two candidates have the same plans.
        InvalidGuarantee: The epsilon of the candidates or of the choice is out of range.
    """
    _require_labels(domain)
    _require_declared(domain)
    _require_calibrated(selection.candidates)
    count = len(selection.candidates)
    size = part_size(declared_size, candidates=count)
    if size < 1:
        raise InvalidSelection(
            "the declared size is too small for this many parts", remedy="name fewer candidates"
        )
    try:
        choice = PermuteAndFlip(epsilon=selection.choice_epsilon, candidates=count)
    except InvalidMechanism as error:
        raise InvalidGuarantee(error.detail, remedy="choose a choice_epsilon between 0.05 and 1") from None
    each = PrivacyGuarantee(epsilon=selection.epsilon, delta=guarantee.delta)
    if privacy_unit.records is not None:
        raise BoundNeedsAnchor
    facts = _Facts(domain=domain, adjacency=adjacency, privacy_unit=privacy_unit)
    numbered = list(enumerate(selection.candidates))
    candidates = tuple(facts.plan(number, spec, each, size) for number, spec in numbered)
    finals = tuple(facts.plan(number, spec, guarantee, declared_size) for number, spec in numbered)
    _require_differences(candidates, finals)
    together = Composed(
        parts=(
            Parallel(parts=(*(plan.mechanism for plan in candidates), choice)),
            Chosen(parts=tuple(plan.mechanism for plan in finals)),
        )
    )
    found = epsilons(together, delta=guarantee.delta)
    return SelectionPlan(
        guarantee=PrivacyGuarantee(epsilon=round_up(found.reported), delta=guarantee.delta),
        declared_size=declared_size,
        part_size=size,
        choice_epsilon=choice.epsilon,
        candidates=candidates,
        finals=finals,
        epsilons=found,
    )


def _require_labels(domain: DomainShape | ImageDomain) -> None:
    labelled = bool(domain.labels) if isinstance(domain, ImageDomain) else domain.target_index is not None
    if not labelled:
        raise InvalidSelection(
            "candidates are judged by the label that a classifier predicts, and the domain declares none",
            remedy="declare a target or labels, or order one generator with options of your own",
        )
    if (
        isinstance(domain, TableDomain)
        and domain.target_index is not None
        and len(domain.derived_from(domain.target_index)) > 1
    ):
        raise InvalidSelection(
            f"candidates are judged by how well '{domain.target}' is predicted, and its patterns or distances from it leak it",
            remedy="declare the target without patterns and no column by its distance from it, or order one generator with options of your own",
        )


def _require_declared(domain: DomainShape | ImageDomain) -> None:
    """Refuse a domain that is learnt: every candidate would learn a different one, and they could not be compared."""
    if learning_of(domain).releases:
        raise InvalidSelection(
            "the domain leaves bounds, bins or categories to be learnt, and candidates have to share one domain",
            remedy="order one generator, or declare a new version of the dataset that takes over what a release has learnt",
        )


def _require_calibrated(candidates: Sequence[SynthesisSpec]) -> None:
    """Refuse ordered noise: a part is smaller than the whole, so a candidate's number of steps would not be its winner's."""
    if any("first_noise_multiplier" in spec.options for spec in candidates):
        raise InvalidSelection(
            "a candidate sets first_noise_multiplier, and the noise of candidates is calibrated",
            remedy="leave out first_noise_multiplier, or order one generator",
        )


def _require_differences(candidates: Sequence[Plan], finals: Sequence[Plan]) -> None:
    """Refuse two candidates with the same plans, such as an explicit option and the default: a part would be wasted."""
    seen: dict[tuple[str, str], int] = {}
    for number, (on_part, on_all) in enumerate(zip(candidates, finals, strict=True)):
        first = seen.setdefault((on_part.digest(), on_all.digest()), number)
        if first < number:
            raise InvalidSelection(
                f"candidates {first} and {number} have the same training, on a part and on all units",
                remedy="leave out one of them",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(Value):
    """A training of a candidate: on its part, or on all units."""

    synthesizer: str
    epsilon: Epsilons
    declared_size: int
    steps: int
    sampling_rate: float
    expected_batch_size: int

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Read the numbers of a plan."""
        return cls(
            synthesizer=plan.synthesizer,
            epsilon=plan.epsilons,
            declared_size=plan.declared_size,
            steps=plan.steps,
            sampling_rate=plan.sampling_rate,
            expected_batch_size=plan.expected_batch_size,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Selecting(Value):
    """The cost of selecting alone."""

    parts: int
    part_size: int
    choice_epsilon: float
    epsilon: Epsilons
    candidates: tuple[Training, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Final(Value):
    """The cost of the winner's training alone, whichever wins."""

    epsilon: Epsilons
    candidates: tuple[Training, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionQuote(Quote):
    """The quote of a selection: `epsilon` is that of both together."""

    selection: Selecting
    final: Final


def make_selection_quote(plan: SelectionPlan, cap: Cap | None, charges: Sequence[Charge]) -> SelectionQuote:
    """Return the quote; `cap` and `charges` as in `effect_of`."""
    delta = plan.guarantee.delta
    return SelectionQuote(
        **effect_of(plan, cap, charges),
        selection=Selecting(
            parts=plan.parts,
            part_size=plan.part_size,
            choice_epsilon=plan.choice.epsilon,
            epsilon=epsilons(plan.selecting, delta=delta),
            candidates=tuple(Training.of(one) for one in plan.candidates),
        ),
        final=Final(
            epsilon=epsilons(plan.training, delta=delta),
            candidates=tuple(Training.of(one) for one in plan.finals),
        ),
    )
