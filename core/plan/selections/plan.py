"""The plan of a selection: candidates are trained on disjoint parts, one is chosen on a further part and trained on all units.

Each of the `m` candidates gets a part of the units, and the choice a part of its own; a keyed
pseudorandom coin assigns a unit's part. Adding or removing a unit changes one part, so selecting costs the maximum over the
parts (`Parallel`). Training the winner on all units is added; which candidate's plan that is depends on the
release (`Chosen`). Everything is fixed before a row is read (docs/mechanisms/selection.md).
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, PlainSerializer

from core.canonical import canonical
from core.dp import mechanism as mechanisms
from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Chosen, Composed, Mechanism, Parallel, PermuteAndFlip
from core.plan.errors import InvalidPlan, InvalidSelection
from core.plan.mechanism_forms import FEWEST_CANDIDATES, MOST_CANDIDATES, SelectionMechanismForm
from core.plan.plan import Plan
from core.plan.plan_document import VERSION, PlanDocument
from core.plan.spec import SynthesisSpec
from core.values import Count, CountOrNone, Positive, Published, Value, derived

KIND: Final = "selection"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSpec(Value):
    """The candidates, and the budget of the choice.

    Raises:
        InvalidSelection: too few or too many candidates, or two equal ones.
    """

    candidates: tuple[SynthesisSpec, ...]
    epsilon: float
    """Epsilon of every candidate's training on its part, at the order's delta."""
    choice_epsilon: float
    """Epsilon of the choice among them; pure."""

    def __post_init__(self) -> None:
        if not FEWEST_CANDIDATES <= len(self.candidates) <= MOST_CANDIDATES:
            raise InvalidSelection(
                f"a selection has {FEWEST_CANDIDATES} to {MOST_CANDIDATES} candidates",
                remedy="name a number in this range; each gets a part of the units, so fewer are better",
            )
        texts = [canonical(spec.to_json()) for spec in self.candidates]
        for number, text in enumerate(texts):
            if (first := texts.index(text)) < number:
                raise InvalidSelection(
                    f"candidates {first} and {number} are the same", remedy="leave out one of them"
                )


Plans = Annotated[tuple[Plan, ...], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionPlan(PlanDocument):
    """Plan of one selection; used in place of a `Plan`.

    Raises:
        InvalidPlan: the plans in it do not belong together, or its epsilon exceeds its guarantee.
    """

    IDENTITY: ClassVar = {"version": VERSION, "kind": KIND}
    synthesizer: ClassVar[str] = KIND

    version: Literal[1] = field(default=VERSION, repr=False, compare=False)
    kind: Literal["selection"] = field(default=KIND, repr=False, compare=False)
    guarantee: PrivacyGuarantee
    """Guarantee of the selection and the winner's training together."""
    declared_size: Count
    part_size: Count
    """The declared size of every part: a public fraction of the declared size."""
    choice_epsilon: Annotated[float, Published(Positive)]
    """Epsilon of the choice among the candidates; pure."""
    candidates: Plans
    """Each candidate's plan on its part."""
    finals: Plans
    """Each candidate's plan on all units; the winner's is what runs."""
    epsilons: Epsilons
    """Epsilons of everything together."""

    def __post_init__(self) -> None:
        count = len(self.candidates)
        if not FEWEST_CANDIDATES <= count <= MOST_CANDIDATES or count != len(self.finals):
            raise InvalidPlan("the selection's numbers of candidates and of final plans differ")
        for plans, size in ((self.candidates, self.part_size), (self.finals, self.declared_size)):
            same = {(plan.guarantee, plan.adjacency, plan.privacy_unit) for plan in plans}
            if len(same) != 1 or any(plan.declared_size != size for plan in plans):
                raise InvalidPlan("the selection's plans are not for the same guarantee, unit and size")
        one, final = self.candidates[0], self.finals[0]
        if (one.adjacency, one.privacy_unit) != (final.adjacency, final.privacy_unit):
            raise InvalidPlan("the selection's plans are not for the same unit")
        if not one.guarantee.delta == final.guarantee.delta == self.guarantee.delta:
            raise InvalidPlan("the selection's plans are not for one delta")
        if self.part_size != part_size(self.declared_size, candidates=count):
            raise InvalidPlan("the selection's parts are not the public fraction of the declared size")
        if self.epsilons.reported > self.guarantee.epsilon:
            raise InvalidPlan("the selection's epsilon exceeds its guarantee")

    @property
    def choice(self) -> PermuteAndFlip:
        """The mechanism of the choice.

        Raises:
            InvalidMechanism: its epsilon is out of range.
        """
        return PermuteAndFlip(epsilon=self.choice_epsilon, candidates=len(self.candidates))

    @property
    def adjacency(self) -> Adjacency:
        """The difference between neighbouring datasets."""
        return self.finals[0].adjacency

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """The privacy unit."""
        return self.finals[0].privacy_unit

    @property
    def parts(self) -> int:
        """Number of parts: one per candidate, and one for the choice."""
        return len(self.candidates) + 1

    @derived
    def steps(self) -> CountOrNone:
        """Number of training steps by which progress is reported: those of the longest final plan."""
        return max(plan.steps for plan in self.finals)

    @property
    def selecting(self) -> Mechanism:
        """The mechanism of selecting alone."""
        return Parallel(parts=(*(plan.mechanism for plan in self.candidates), self.choice))

    @property
    def training(self) -> Mechanism:
        """The mechanism of training the winner, whichever it is."""
        return Chosen(parts=tuple(plan.mechanism for plan in self.finals))

    @derived
    def mechanism(
        self,
    ) -> Annotated[Mechanism, PlainSerializer(mechanisms.to_json), Published(SelectionMechanismForm)]:
        """The mechanism of the whole job."""
        return self.executed(None)

    def executed(self, step_count: int | None) -> Mechanism:
        """Return the mechanism executed by a job that has begun `step_count` steps of the winner's training; None means all.

        Selecting and the winner's measurement are always included: progress marks do not record how far
        selecting came.

        Raises:
            InvalidPlan: `step_count` is negative or above the plan's steps.
        """
        count = self.steps if step_count is None else step_count
        if not 0 <= count <= self.steps:
            raise InvalidPlan("more steps than the plan has, or fewer than none, cannot have been executed")
        begun = tuple(plan.executed(min(count, plan.steps)) for plan in self.finals)
        return Composed(parts=(self.selecting, Chosen(parts=begun)))


def part_size(declared_size: int, *, candidates: int) -> int:
    """Return the declared size of a part: an equal fraction of the declared size, rounded down."""
    return declared_size // (candidates + 1)
