"""The plan of a selection: candidates are trained on disjoint parts, one is chosen on a further part and trained on all units.

Each of the `m` candidates gets a part of the units, and the choice a part of its own; a keyed
pseudorandom coin assigns a unit's part. Adding or removing a unit changes one part, so selecting costs the maximum over the
parts (`Parallel`). Training the winner on all units is added; which candidate's plan that is depends on the
release (`Chosen`). Everything is fixed before a row is read (docs/mechanisms/selection.md).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from core.canonical import canonical_digest
from core.dp import mechanism as mechanisms
from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Chosen, Composed, Mechanism, Parallel, PermuteAndFlip
from core.plan.errors import InvalidPlan, InvalidSelection
from core.plan.plan import Plan
from core.plan.report_plan import KIND as REPORT
from core.plan.report_plan import ReportPlan
from core.plan.spec import SynthesisSpec

VERSION = 1
KIND = "selection"
FEWEST_CANDIDATES, MOST_CANDIDATES = 2, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSpec:
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
        texts = [json.dumps(spec.to_json(), sort_keys=True) for spec in self.candidates]
        for number, text in enumerate(texts):
            if (first := texts.index(text)) < number:
                raise InvalidSelection(
                    f"candidates {first} and {number} are the same", remedy="leave out one of them"
                )

    def to_json(self) -> dict[str, Any]:
        """Return the spec as a JSON object."""
        return {
            "candidates": [spec.to_json() for spec in self.candidates],
            "epsilon": self.epsilon,
            "choice_epsilon": self.choice_epsilon,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidSelection: a member is missing or of the wrong type, or as for the class. InvalidSpec: a
                candidate is not a valid spec.
        """
        try:
            return cls(
                candidates=tuple(SynthesisSpec.from_json(spec) for spec in document["candidates"]),
                epsilon=float(document["epsilon"]),
                choice_epsilon=float(document["choice_epsilon"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidSelection(
                "a selection needs candidates and the numbers epsilon and choice_epsilon"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionPlan:
    """What one selection will do; used in place of a `Plan`.

    Raises:
        InvalidPlan: the plans in it do not belong together, or its epsilon exceeds its guarantee.
    """

    synthesizer: ClassVar[str] = KIND

    guarantee: PrivacyGuarantee
    """Of the selection and the winner's training together."""
    declared_size: int
    part_size: int
    """The declared size of every part: a public fraction of the declared size."""
    choice: PermuteAndFlip
    candidates: tuple[Plan, ...]
    """Each candidate's plan on its part."""
    finals: tuple[Plan, ...]
    """Each candidate's plan on all units; the winner's is what runs."""
    epsilons: Epsilons
    """Of everything together."""

    def __post_init__(self) -> None:
        count = len(self.candidates)
        if not (
            FEWEST_CANDIDATES <= count <= MOST_CANDIDATES
            and count == len(self.finals) == self.choice.candidates
        ):
            raise InvalidPlan("the selection's numbers of candidates, of final plans and of choices differ")
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
    def adjacency(self) -> Adjacency:
        """What neighbouring datasets differ by."""
        return self.finals[0].adjacency

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """The privacy unit."""
        return self.finals[0].privacy_unit

    @property
    def parts(self) -> int:
        """Number of parts: one per candidate, and one for the choice."""
        return len(self.candidates) + 1

    @property
    def steps(self) -> int:
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

    @property
    def mechanism(self) -> Mechanism:
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

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object, with its mechanism for readers that do not know plans."""
        return {
            "version": VERSION,
            "kind": KIND,
            "guarantee": self.guarantee.to_json(),
            "declared_size": self.declared_size,
            "part_size": self.part_size,
            "steps": self.steps,
            "choice_epsilon": self.choice.epsilon,
            "candidates": [plan.to_json() for plan in self.candidates],
            "finals": [plan.to_json() for plan in self.finals],
            "epsilons": self.epsilons.to_json(),
            "mechanism": mechanisms.to_json(self.mechanism),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidPlan: the version is unknown, a member is missing or wrong, or mechanism or steps do not
                follow from the plan's numbers.
            InvalidGuarantee, InvalidMechanism: a number is out of range.
        """
        if (document.get("version"), document.get("kind")) != (VERSION, KIND):
            raise InvalidPlan(
                "the plan's version is unknown", remedy="use the software version that wrote it"
            )
        try:
            candidates = tuple(Plan.from_json(plan) for plan in document["candidates"])
            plan = cls(
                guarantee=PrivacyGuarantee.from_json(document["guarantee"]),
                declared_size=int(document["declared_size"]),
                part_size=int(document["part_size"]),
                choice=PermuteAndFlip(epsilon=float(document["choice_epsilon"]), candidates=len(candidates)),
                candidates=candidates,
                finals=tuple(Plan.from_json(plan) for plan in document["finals"]),
                epsilons=Epsilons.from_json(document["epsilons"]),
            )
            stated = mechanisms.from_json(document["mechanism"]), int(document["steps"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidPlan("a member of the plan is missing or of the wrong type") from None
        if stated != (plan.mechanism, plan.steps):
            raise InvalidPlan("the plan's mechanism does not follow from its numbers")
        return plan

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON, in hexadecimal."""
        return canonical_digest(self.to_json())


def part_size(declared_size: int, *, candidates: int) -> int:
    """Return the declared size of a part: an equal fraction of the declared size, rounded down."""
    return declared_size // (candidates + 1)


OrderedPlan = Plan | SelectionPlan | ReportPlan
"""The kinds of orders: one training, a selection among several, or a utility report about a release."""


def ordered_plan_from_json(document: Mapping[str, Any]) -> OrderedPlan:
    """Read a plan of any kind.

    Raises:
        InvalidPlan: as for the respective kind.
        InvalidGuarantee, InvalidMechanism: a number is out of range.
    """
    kinds: dict[object, type[OrderedPlan]] = {KIND: SelectionPlan, REPORT: ReportPlan}
    return kinds.get(_kind_of(document), Plan).from_json(document)


def _kind_of(document: Mapping[str, Any]) -> str | None:
    kind = document.get("kind")
    return kind if isinstance(kind, str) else None
