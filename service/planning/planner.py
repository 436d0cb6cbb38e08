"""Makes plans: pure arithmetic on public facts, cached, with bounded concurrency.

A plan never sees the dataset, only its declared facts. Calibrating one takes a substantial part of a second of CPU time,
so the concurrency limit keeps many quotes from starving all other requests.
"""

from collections.abc import Sequence
from typing import Any

from core.canonical import canonical_digest
from core.dp.charge import Charge
from core.dp.filters import Cap
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.errors import BudgetNotSet
from core.plan.errors import SynthesizerNotInstalled
from core.plan.ordered_plan import OrderedPlan
from core.plan.plan import make_plan
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.private_models.quote import make_model_quote
from core.plan.quote import Quote
from core.plan.selections.plan import SelectionPlan, SelectionSpec
from core.plan.selections.planning import make_selection_plan, make_selection_quote
from core.plan.several_owners.joint_plan import joint_plan
from core.plan.several_owners.member_plan import make_member_plan
from core.plan.spec import GRAPHICAL, SynthesisSpec
from core.plan.training_quote import make_quote
from core.plan.utility_reports.plan import ReportPlan
from core.plan.utility_reports.planning import ReportSpec, make_report_plan, make_report_quote
from service.caches import LruCache
from service.edge.concurrency import ConcurrencyLimit
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder

Spec = SynthesisSpec | SelectionSpec | ReportSpec | ModelSpec


class Planner:
    """Turns orders into plans.

    Args:
        patience_seconds: Longest wait for a slot.
        graphical_models: Whether the workers can fit graphical models.
    """

    def __init__(
        self, *, capacity: int, at_once: int, patience_seconds: float, graphical_models: bool = False
    ) -> None:
        self._graphical_models = graphical_models
        self._limit = ConcurrencyLimit(at_once, what="quotes and orders", patience_seconds=patience_seconds)
        self._known = LruCache[str, OrderedPlan](capacity)

    def plan(
        self,
        order: GeneratorOrder,
        facts: DatasetFacts,
        default_delta: float | None,
        *,
        report: ReportSpec | None = None,
    ) -> OrderedPlan:
        """The plan of an order, from the facts of its dataset.

        Args:
            default_delta: The delta if the order names none; None if no cap is set to derive one from.
            report: The report to make, for an order of a report (`service.quotes.utility`).

        Raises:
            BudgetNotSet: The order has no delta, and there is no cap to derive one from.
            InvalidSpec: The options are invalid.
            SynthesizerNotInstalled: The workers lack what the synthesizer needs.
            TooManyFreeSteps: More steps without budget cost are requested than allowed.
            InvalidSelection: The candidates are invalid.
            InvalidReport: The report is impossible.
            InvalidGuarantee: The guarantee is out of range.
            TargetOutOfReach: No amount of noise meets the guarantee with these options.
            ServiceBusy: Too many plans are being made.
        """
        guarantee = PrivacyGuarantee(epsilon=order.epsilon, delta=_delta(order, default_delta))
        spec = report or _spec(order)
        self._require_installed(spec)
        address = _address(spec, guarantee, facts)
        plan = self._known.find(address)
        if plan is None:
            with self._limit.hold():
                plan = _planned(spec, guarantee, facts)
            self._known.keep(address, plan)
        return plan

    def quote(
        self, plan: OrderedPlan, facts: DatasetFacts, cap: Cap | None, charges: Sequence[Charge]
    ) -> Quote:
        """The plan's effect, cost, remaining budget under the cap, and expected error of counts.

        Args:
            cap: The cap of its population; None if none is set.
            charges: Everything spent and reserved so far.

        Raises:
            ServiceBusy: Too many plans are being made.
        """
        with self._limit.hold():
            if isinstance(plan, SelectionPlan):
                return make_selection_quote(plan, cap, charges)
            if isinstance(plan, ReportPlan):
                return make_report_quote(plan, cap, charges, thresholds=facts.has_thresholds)
            if isinstance(plan, ModelPlan):
                return make_model_quote(plan, cap, charges, domain=facts.domain)
            return make_quote(plan, cap, charges, domain=facts.domain)

    def _require_installed(self, spec: Spec) -> None:
        wanted = spec.candidates if isinstance(spec, SelectionSpec) else (spec,)
        for one in wanted:
            if isinstance(one, SynthesisSpec) and one.synthesizer in GRAPHICAL and not self._graphical_models:
                raise SynthesizerNotInstalled(synthesizer=one.synthesizer)


def _delta(order: GeneratorOrder, default: float | None) -> float:
    if order.delta is not None:
        return order.delta
    if default is None:
        raise BudgetNotSet(
            "The order has no delta, and no budget is set to derive one from.",
            remedy="Specify a delta, or ask an admin to set the dataset's budget.",
        )
    return default


def _spec(order: GeneratorOrder) -> SynthesisSpec | SelectionSpec | ModelSpec:
    if order.model is not None:
        return ModelSpec(options=order.model.chosen())
    if order.selection is not None:
        selection = order.selection.spec()
        for candidate in selection.candidates:
            candidate.require_few_free_steps()
        return selection
    spec = SynthesisSpec(synthesizer=order.synthesizer, options=order.options)
    spec.require_few_free_steps()
    return spec


def _planned(spec: Spec, guarantee: PrivacyGuarantee, facts: DatasetFacts) -> OrderedPlan:
    public: dict[str, Any] = {
        "guarantee": guarantee,
        "declared_size": facts.declared_size,
        "domain": facts.domain,
        "adjacency": facts.adjacency,
        "privacy_unit": facts.privacy_unit,
    }
    if isinstance(spec, SelectionSpec):
        return make_selection_plan(selection=spec, **public)
    if isinstance(spec, ReportSpec):
        return make_report_plan(report=spec, **public)
    if isinstance(spec, ModelSpec):
        return make_model_plan(model=spec, owners=facts.owners or None, federation=facts.federation, **public)
    if facts.federation is not None:
        return make_member_plan(spec=spec, federation=facts.federation, **public)
    plan = make_plan(spec=spec, checks_bounds=not facts.owners, **public)
    return joint_plan(plan, facts.owners) if facts.owners else plan


def _address(spec: Spec, guarantee: PrivacyGuarantee, facts: DatasetFacts) -> str:
    """Cache key: the digest of everything that a plan depends on."""
    parts = [
        spec.to_json(),
        guarantee.to_json(),
        facts.declared_size,
        facts.domain.digest(),
        facts.adjacency.value,
        facts.privacy_unit.to_json(),
        [owner.to_json() for owner in facts.owners],
        None if facts.federation is None else facts.federation.to_json(),
    ]
    return canonical_digest(parts)
