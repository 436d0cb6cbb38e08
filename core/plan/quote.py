"""Quotes: what an order of any kind would cost, before anything runs and without opening the dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import FEMTO, MICRO, Charge, charge_of
from core.dp.filters import Admission, Cap, FilterUse, admit
from core.dp.group_privacy import epsilon_of_group
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Mechanism
from core.dp.remaining import remaining_epsilon
from core.plan.errors import InvalidPlan
from core.values import OrAbsent, Value

GROUPS: Final = (2, 5)
"""Sizes of the groups whose loss a quote states: units that one person could be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterState(Value):
    """A privacy filter with an order included, in plain units."""

    holds: bool
    capacity: float
    used: float
    capacity_delta: OrAbsent[float] = None
    used_delta: OrAbsent[float] = None

    @classmethod
    def of(cls, use: FilterUse) -> Self:
        """Convert the integers of a filter."""
        owns_delta = use.capacity_femtos is not None and use.used_femtos is not None
        return cls(
            holds=use.holds,
            capacity=max(use.capacity_micros, 0) / MICRO,
            used=use.used_micros / MICRO,
            capacity_delta=(use.capacity_femtos or 0) / FEMTO if owns_delta else None,
            used_delta=(use.used_femtos or 0) / FEMTO if owns_delta else None,
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
    """Filters by name; empty without a budget."""
    remaining_epsilon: float | None
    """None without a budget."""
    remaining_epsilon_after: float | None
    """Largest epsilon that is left after the job; unchanged if the charge does not fit."""
    plan_digest: str


class Quoted(Protocol):
    """Attributes of a plan that a quote reads; plans of every kind have them."""

    @property
    def synthesizer(self) -> str:
        """The synthesizer, or the kind of job."""
        ...

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee that the plan keeps."""
        ...

    @property
    def adjacency(self) -> Adjacency:
        """The difference between neighbouring datasets."""
        ...

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """The unit of which a neighbouring dataset has more or fewer records."""
        ...

    @property
    def declared_size(self) -> int:
        """Public number of privacy units."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """All private releases of the job."""
        ...

    @property
    def epsilons(self) -> Epsilons:
        """Epsilons of the mechanism, at the delta of the guarantee."""
        ...

    def digest(self) -> str:
        """Digest of the plan's document."""
        ...


def plan_charge(plan: Quoted) -> Charge:
    """Return what the whole plan costs, at the delta of its guarantee."""
    return charge_of(plan.mechanism, delta=plan.guarantee.delta)


def effect_of(
    plan: Quoted, cap: Cap | None, charges: Sequence[Charge], *, thresholds: bool = False
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


def _states(admission: Admission) -> dict[str, FilterState]:
    return {name: FilterState.of(use) for name, use in admission.filters.items()}
