"""Plans: everything in a job that costs privacy, fixed before any row is read, and how to run it."""

import math
import operator
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Annotated, Literal, Protocol

from pydantic import Field, PlainSerializer, ValidationError

from core.dp import mechanism as mechanisms
from core.dp.accountant import Epsilons, epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, Mechanism
from core.plan import defaults
from core.plan.counting_rules import counts_combinations
from core.plan.domain.images import ImageDomain
from core.plan.errors import BoundNeedsAnchor, InvalidPlan, InvalidSpec, TooManyCodes
from core.plan.graphical import GraphicalOptions, MarginalsPlan, marginal_shape, marginals_plan
from core.plan.learning import LearningPlan, checks_of, learning_of, learns_records
from core.plan.mechanism_forms import ComposedForm
from core.plan.noise import PlanQuestion, calibrated_stages
from core.plan.options import IdpganOptions, IdpganRequest, explain
from core.plan.plan_document import ADJACENCY, VERSION, PlanDocument
from core.plan.reused_counts import ReusedCounts, ReusedTables, combined_anchor
from core.plan.spec import GRAPHICAL, SYNTHESIZERS, SynthesisSpec
from core.plan.stages import ActsPlan, Anchor, AnchorPlan, LabelPlan, NoiseBlock, PrivateStages
from core.values import Count, CountOrNone, OrAbsent, Published, Share, derived


class DomainShape(Protocol):
    """The facts of a declared domain that a plan needs."""

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each modelled column."""

    @property
    def target_index(self) -> int | None:
        """Index of the target among the modelled columns; None if there is no target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(PlanDocument):
    """Complete description of one job. Private stages: learning the domain, "measure" (anchor or label histogram), training steps.

    Raises:
        InvalidPlan: the blocks do not cover the steps, epsilon exceeds the guarantee, or options and releases
            do not belong to the synthesizer.
    """

    version: Literal[1] = field(default=VERSION, repr=False, compare=False)
    synthesizer: Annotated[str, Published(Literal[tuple(SYNTHESIZERS)])]
    guarantee: PrivacyGuarantee
    adjacency: Annotated[Adjacency, ADJACENCY]
    privacy_unit: PrivacyUnit
    declared_size: Count
    options: IdpganOptions | GraphicalOptions
    sampling_rate: Share
    expected_batch_size: Count
    steps: CountOrNone
    blocks: Annotated[tuple[NoiseBlock, ...], Field(max_length=64)]
    acts: ActsPlan | None
    anchor: Anchor | None
    label_histogram: LabelPlan | None
    epsilons: Epsilons
    max_sampled_batch: Count
    learning: OrAbsent[LearningPlan] = None
    """Learning of the domain, which comes first; None if all of it is declared."""
    reused: Annotated[
        tuple[ReusedCounts, ...], Field(min_length=1, max_length=64, exclude_if=operator.not_)
    ] = ()
    """Counts of earlier releases that are combined with the anchor's, at no cost."""

    def __post_init__(self) -> None:
        ends = 0
        for block in self.blocks:
            if block.first_step != ends or block.steps < 1:
                raise InvalidPlan("the noise blocks leave a gap or overlap")
            ends += block.steps
        if ends != self.steps:
            raise InvalidPlan("the noise blocks do not cover exactly the steps")
        graphical = self.synthesizer in GRAPHICAL
        if not (
            graphical == isinstance(self.options, GraphicalOptions) == isinstance(self.anchor, MarginalsPlan)
        ):
            raise InvalidPlan("the plan's options and releases do not belong to its synthesizer")
        if graphical and self.learning is not None:
            raise InvalidPlan("a graphical model's plan learns nothing of the domain")
        several_names = self.learning is not None and self.learning.names_per_unit is not None
        if several_names and self.privacy_unit.column is None:
            raise InvalidPlan("the plan counts several names of a unit that is one record")
        self._require_counted_once()
        if self.epsilons.reported > self.guarantee.epsilon:
            raise InvalidPlan("the plan's epsilon exceeds its guarantee")

    @property
    def only_counts(self) -> bool:
        """Whether a plan for a table needs counts only and never a record: it has an anchor and no critic.

        A plan that learns its domain reads records first, because the domain is not known before.
        """
        counted = isinstance(self.anchor, AnchorPlan) and self.label_histogram is None
        return self.learning is None and counted and not self.steps

    @property
    def checks_then_counts(self) -> bool:
        """Whether a plan for a table checks declared bounds, and then needs counts only."""
        checked = self.learning is not None and self.learning.only_checks
        return checked and replace(self, learning=None).only_counts

    def without_checks(self) -> "Plan":
        """Return the plan that counts with the share of its checks too, for bins that are known to be kept; unchanged without checks."""
        if not self.checks_then_counts:
            return self
        assert isinstance(self.anchor, AnchorPlan), "an anchor of tables"
        noise = gaussian_noise_multiplier(self.guarantee, share=self.idpgan_options.anchor_share)
        made = replace(self, learning=None, anchor=replace(self.anchor, noise_multiplier=noise))
        return replace(made, epsilons=epsilons(made.mechanism, delta=self.guarantee.delta))

    @property
    def learns_records(self) -> bool:
        """Whether the number of records of a unit that count is learnt."""
        return self.learning is not None and any(one.learns == "records" for one in self.learning.releases)

    def with_learnt_records(self, records: int | None) -> "Plan":
        """Return the plan with the learnt number of records of a unit that count; unchanged if it is not learnt."""
        if not self.learns_records:
            return self
        assert records is not None, "the number was learnt"
        assert isinstance(self.anchor, AnchorPlan), "a bound is learnt for counts of tables"
        unit = replace(self.privacy_unit, records=records)
        return replace(self, privacy_unit=unit, anchor=self.anchor.counting(records))

    def _require_counted_once(self) -> None:
        if not self.reused:
            return
        if (
            not isinstance(self.anchor, AnchorPlan)
            or self.learning is not None
            or not self.anchor.column_sensitivity
        ):
            raise InvalidPlan("the plan reuses counts of a release without measuring its own")
        releases = [release for one in self.reused for release in one.releases]
        if len(set(releases)) != len(releases):
            raise InvalidPlan("the plan reuses the counts of a release twice")
        if self.kept_groups is not None and self.anchor.screening_sensitivity:
            raise InvalidPlan("the plan reuses pairs of a release and screens pairs")

    @property
    def summed(self) -> AnchorPlan | None:
        """The table anchor with the noise of the counts that it gives: its own, unless noisy counts of several owners are added."""
        return self.anchor if isinstance(self.anchor, AnchorPlan) else None

    @property
    def known(self) -> AnchorPlan | None:
        """An anchor that alone would be as precise as all counts of the plan; None without a table anchor."""
        return None if self.summed is None else combined_anchor(self.summed, self.reused)

    @property
    def kept_groups(self) -> ReusedTables | None:
        """The earlier pairs whose groups of codes the plan keeps; None if it makes its own."""
        return next((one.tables for one in self.reused if one.tables is not None), None)

    @property
    def idpgan_options(self) -> IdpganOptions:
        """The options of a plan of "idpgan"."""
        assert isinstance(self.options, IdpganOptions), "a plan of idpgan"
        return self.options

    @derived
    def mechanism(self) -> Annotated[Mechanism, PlainSerializer(mechanisms.to_json), Published(ComposedForm)]:
        """The mechanism of the whole job: label histogram or anchor first, then the steps in order."""
        return self.executed(None)

    def executed(self, step_count: int | None) -> Mechanism:
        """Return the mechanism executed by a job that has begun `step_count` training steps; None means all of them.

        The anchor or label histogram is always included.

        Raises:
            InvalidPlan: `step_count` is negative or above the plan's steps.
        """
        count = self.steps if step_count is None else step_count
        if not 0 <= count <= self.steps:
            raise InvalidPlan("more steps than the plan has, or fewer than none, cannot have been executed")
        stages = PrivateStages(
            blocks=self.blocks,
            acts=self.acts,
            anchor=self.anchor,
            label_histogram=self.label_histogram,
            learning=self.learning,
        )
        return stages.mechanism(sampling_rate=self.sampling_rate, step_count=count)

    def noise_multiplier_at(self, step: int) -> float:
        """Return sigma_t of the clipped sum at `step` (0-based).

        Raises:
            InvalidPlan: the plan has no such step.
        """
        if not 0 <= step < self.steps:
            raise InvalidPlan("the plan has no such step")
        index = bisect_right(self.blocks, step, key=lambda block: block.first_step) - 1
        return self.blocks[index].noise_multiplier

    def is_refresh(self, step: int) -> bool:
        """Return whether the thresholds are refreshed at `step`."""
        return self.acts is not None and step % self.acts.interval == 0


def make_plan(
    *,
    spec: SynthesisSpec,
    guarantee: PrivacyGuarantee,
    declared_size: int,
    domain: DomainShape | ImageDomain,
    adjacency: Adjacency,
    privacy_unit: PrivacyUnit,
    copies: int = 1,
    checks_bounds: bool = False,
) -> Plan:
    """Return the plan of one job: options by public rules, and the least noise that satisfies `guarantee`.

    Args:
        copies: how many owners' noisy counts are added, each with such noise; the rules see the signal of the sums.
        checks_bounds: whether a training that only counts first checks declared bounds for crowded bins.

    Raises:
        InvalidSpec: the options exclude each other or do not suit the declared size.
        BoundNeedsAnchor: the domain bounds the records of a unit, and the options train a critic or measure
            no anchor.
        TargetOutOfReach: no noise brings these options under the guarantee.
    """
    request = spec.request()
    if not isinstance(request, IdpganRequest):
        if privacy_unit.records is not None:
            raise BoundNeedsAnchor
        return _graphical_plan(
            spec, guarantee, declared_size, domain, adjacency=adjacency, privacy_unit=privacy_unit
        )
    signal = guarantee.epsilon / math.sqrt(copies)
    facts, labelled = _public_facts(domain, declared_size=declared_size, epsilon=signal)
    facts = replace(facts, most_records=privacy_unit.most_records)
    # A placeholder, replaced below: the automatic histogram noise is known only after calibration.
    options = defaults.decide(request, facts, automatic_histogram_noise=1.0)
    bounded = privacy_unit.records is not None or learns_records(domain)
    if bounded and (options.critic or not options.anchor):
        raise BoundNeedsAnchor
    _require_few_codes(options, domain)
    question = PlanQuestion(
        guarantee=guarantee,
        options=options,
        automatic_histogram_noise=options.acts and request.acts_noise_multiplier is None,
        facts=facts,
        needs_labels=labelled and not options.anchor,
        learning=checks_of(domain, guarantee, declared_size)
        if checks_bounds and options.anchor and not options.critic and not learning_of(domain).releases
        else learning_of(domain),
    )
    stages = calibrated_stages(question)
    if stages.acts is not None:
        options = options.model_copy(update={"acts_noise_multiplier": stages.acts.noise_multiplier})
    mechanism = stages.mechanism(sampling_rate=question.sampling_rate, step_count=stages.steps)
    return Plan(
        synthesizer=spec.synthesizer,
        guarantee=guarantee,
        adjacency=adjacency,
        privacy_unit=privacy_unit,
        declared_size=declared_size,
        options=options,
        sampling_rate=question.sampling_rate,
        expected_batch_size=options.expected_batch_size,
        steps=stages.steps,
        blocks=stages.blocks,
        acts=stages.acts,
        anchor=stages.anchor,
        label_histogram=stages.label_histogram,
        epsilons=epsilons(mechanism, delta=guarantee.delta),
        max_sampled_batch=defaults.sampled_batch_cap(options.expected_batch_size),
        learning=stages.learning,
    )


def _graphical_plan(
    spec: SynthesisSpec,
    guarantee: PrivacyGuarantee,
    declared_size: int,
    domain: DomainShape | ImageDomain,
    *,
    adjacency: Adjacency,
    privacy_unit: PrivacyUnit,
) -> Plan:
    """Return the plan of "aim" or "mst": every unit takes part in every release, and there are no training steps."""
    request, engine = spec.request(), spec.synthesizer
    assert not isinstance(request, IdpganRequest), "a graphical model"
    if isinstance(domain, ImageDomain):
        raise InvalidSpec("this synthesizer makes tables only", remedy="choose idpgan for images")
    if learning_of(domain).releases:
        raise InvalidSpec(
            "the domain leaves bounds, bins or categories to be learnt, and graphical models take declared domains only",
            remedy="order idpgan, or declare a new version of the dataset that takes over what a release has learnt",
        )
    _public_facts(domain, declared_size=declared_size, epsilon=guarantee.epsilon)
    if (codes := sum(domain.cardinalities)) > defaults.MOST_LOGITS:
        raise TooManyCodes(
            codes=codes,
            most=defaults.MOST_LOGITS,
            part=f'The synthesizer "{engine}"',
            remedy="Order the synthesizer idpgan.",
        )
    shape = marginal_shape(
        "aim" if engine == "aim" else "mst", tuple(domain.cardinalities), domain.target_index
    )
    try:
        options = request.decide(shape)
    except ValidationError as error:
        raise explain(error) from None
    anchor = marginals_plan(guarantee, options, shape)
    return Plan(
        synthesizer=engine,
        guarantee=guarantee,
        adjacency=adjacency,
        privacy_unit=privacy_unit,
        declared_size=declared_size,
        options=options,
        sampling_rate=1.0,
        expected_batch_size=declared_size,
        steps=0,
        blocks=(),
        acts=None,
        anchor=anchor,
        label_histogram=None,
        epsilons=epsilons(Composed(parts=anchor.parts), delta=guarantee.delta),
        max_sampled_batch=declared_size,
    )


def _public_facts(
    domain: DomainShape | ImageDomain, *, declared_size: int, epsilon: float
) -> tuple[defaults.PublicFacts, bool]:
    """The inputs of the rules, and whether records have labels whose distribution a generator needs."""
    if isinstance(domain, ImageDomain):
        columns = domain.values + bool(domain.labels)
        facts = defaults.PublicFacts(
            declared_size=declared_size, columns=columns, cells=columns, epsilon=epsilon, image=domain
        )
        return facts, bool(domain.labels)
    sizes = domain.cardinalities
    facts = defaults.PublicFacts(
        declared_size=declared_size,
        columns=len(sizes),
        cells=sum(sizes),
        epsilon=epsilon,
        middle_codes=float(median(sizes or (1,))),
        has_target=domain.target_index is not None,
        few_combinations=counts_combinations(tuple(sizes)) and not learning_of(domain).releases,
    )
    return facts, domain.target_index is not None


def _require_few_codes(options: IdpganOptions, domain: DomainShape | ImageDomain) -> None:
    """Refuse networks for very wide tables, and targets with very many codes.

    Raises:
        TooManyCodes: memory would grow with the product of codes and rows, or with the square of codes.
    """
    if isinstance(domain, ImageDomain):
        return
    codes = sum(domain.cardinalities)
    if codes > defaults.MOST_LOGITS and (options.critic or options.generator == "network"):
        part = "A critic" if options.critic else 'The generator "network"'
        raise TooManyCodes(
            codes=codes, most=defaults.MOST_LOGITS, part=part,
            remedy='Set "critic" to false and "generator" to "mixture", and leave out options of networks and critics; or declare fewer codes.',
        )  # fmt: skip
    classes = 0 if domain.target_index is None else domain.cardinalities[domain.target_index]
    if classes > defaults.MOST_TARGET_CODES:
        raise TooManyCodes(
            codes=classes, most=defaults.MOST_TARGET_CODES, part="A target",
            remedy="Declare another target or none, or give the target fewer codes.",
        )  # fmt: skip
