"""The plan of a private model: a classifier of a table's target or of image labels, trained by DP-SGD.

The releases, in this order, each with noise of its own (docs/private-models.md):

    components  the upper triangle of the sum of x x^T over records of length at most one: one Gaussian of sensitivity 1
    steps       the clipped sums of gradients of Poisson samples
    accuracy    the number of wrong answers on held-out units: one Gaussian of sensitivity 1

With `averaging_rounds` (federated averaging) every owner makes all of the steps on its own rows, with noise of its own. A unit moves the
sums of its own owner alone, so what one ledger is charged is the same: the steps of one owner. In a federation the plan of each owner's
service is the same but for the name of the member (`core.plan.several_owners.federation`).

Everything is fixed before a row is read.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final, Literal

from pydantic import PlainSerializer

from core.dp import mechanism as mechanisms
from core.dp.accountant import Epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, Gaussian, Mechanism, PoissonSampled, Repeated
from core.plan.errors import InvalidPlan
from core.plan.mechanism_forms import ComposedForm
from core.plan.plan_document import ADJACENCY, VERSION, PlanDocument
from core.plan.private_models.options import ModelOptions
from core.plan.several_owners.federation import Federation
from core.plan.several_owners.owners import DataOwner, require_together
from core.plan.utility_reports.plan import UnitColumn
from core.values import Count, CountOrNone, Name, OrAbsent, Positive, Published, Share, derived

KIND: Final = "model"
HELD_OUT: Final = 10
"""One unit in so many is held out if the accuracy is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPlan(PlanDocument):
    """Plan of one training of a classifier; used in place of a `Plan`.

    Raises:
        InvalidPlan: the numbers do not belong together, or epsilon exceeds the guarantee.
    """

    IDENTITY: ClassVar = {"version": VERSION, "kind": KIND}
    synthesizer: ClassVar[str] = KIND

    version: Literal[1] = field(default=VERSION, repr=False, compare=False)
    kind: Literal["model"] = field(default=KIND, repr=False, compare=False)
    guarantee: PrivacyGuarantee
    adjacency: Annotated[Adjacency, ADJACENCY]
    privacy_unit: Annotated[PrivacyUnit, Published(UnitColumn)]
    declared_size: Count
    target: Name
    """The column that is predicted, or `label` of images."""
    inputs: Count
    """Numbers of a record that features are made of: one-hot cells of a table, or pixels and channels."""
    classes: Count
    options: ModelOptions
    max_sampled_batch: Count
    noise_multiplier: Annotated[float, Published(Positive)]
    """Noise multiplier of the clipped sum of every step."""
    pca_noise_multiplier: Positive | None
    accuracy_noise_multiplier: Positive | None
    epsilons: Epsilons
    owners: OrAbsent[tuple[DataOwner, ...]] = None
    """The datasets of several owners, by population; None if the job is on one dataset."""
    federation: OrAbsent[Federation] = None
    """The owners that train in services of their own; `declared_size` is the sum of theirs. None if all rows lie in this service."""

    def __post_init__(self) -> None:
        options = self.options
        if self.federation is not None:
            self._require_federated(self.federation)
        elif self.owners is not None:
            require_together(self.owners, self.declared_size)
        elif options.averaging_rounds is not None:
            raise InvalidPlan("weights are averaged over several owners, and the plan has one")
        if not (1 <= options.expected_batch_size <= self.training_size and self.classes > 1):
            raise InvalidPlan("the model's batch is above its number of units, or there is one class")
        if (self.pca_noise_multiplier is None) != (options.pca_share == 0) or (
            self.accuracy_noise_multiplier is None
        ) != (options.accuracy_share == 0):
            raise InvalidPlan("the model's releases are not those of its options")
        if options.accuracy_share and not self.held_out_size:
            raise InvalidPlan("the model holds out no unit to measure its accuracy on")
        if self.epsilons.reported > self.guarantee.epsilon:
            raise InvalidPlan("the model's epsilon exceeds its guarantee")

    def _require_federated(self, federation: Federation) -> None:
        if self.owners is not None or self.options.averaging_rounds is None:
            raise InvalidPlan(
                "a plan of a federation averages weights, and is on one dataset of this service"
            )
        if federation.declared_size != self.declared_size:
            raise InvalidPlan("the plan's declared size is not the sum of its federation's members'")

    @property
    def local_size(self) -> int:
        """The declared number of units whose rows lie in this service."""
        return self.declared_size if self.federation is None else self.federation.own_size

    @property
    def copies(self) -> int:
        """Owners in this service whose rows move a copy of the weights; 1 where nothing is averaged here."""
        return 1 if self.options.averaging_rounds is None else len(self.owners or (None,))

    @derived
    def held_out_size(self) -> CountOrNone:
        """The declared number of held-out units; 0 if no accuracy is measured."""
        return self.declared_size // HELD_OUT if self.options.accuracy_share else 0

    @property
    def training_size(self) -> int:
        """The declared number of units that are trained on."""
        return self.declared_size - self.held_out_size

    @derived
    def steps(self) -> Count:
        """Noisy updates."""
        return self.options.steps

    @property
    def noisy_sums(self) -> int:
        """Released sums of gradients: one a step, or one a step of each owner whose weights are averaged."""
        return self.steps * self.copies

    @derived
    def sampling_rate(self) -> Share:
        """The chance of each unit to take part in a step."""
        return self.options.expected_batch_size / self.training_size

    @derived
    def mechanism(
        self,
    ) -> Annotated[Mechanism, PlainSerializer(mechanisms.to_json), Published(ComposedForm)]:
        """The mechanism of the whole job."""
        return self.executed(None)

    def executed(self, step_count: int | None) -> Mechanism:
        """Return the mechanism executed by a job that has begun `step_count` steps; None means all of them.

        Components and accuracy are always included.

        Raises:
            InvalidPlan: `step_count` is negative or above the plan's steps.
        """
        count = self.steps if step_count is None else step_count
        if not 0 <= count <= self.steps:
            raise InvalidPlan("more steps than the plan has, or fewer than none, cannot have been executed")
        parts: list[Mechanism] = []
        if self.pca_noise_multiplier is not None:
            parts.append(Gaussian(noise_multiplier=self.pca_noise_multiplier))
        if count:
            step = PoissonSampled(
                sampling_rate=self.sampling_rate, mechanism=Gaussian(noise_multiplier=self.noise_multiplier)
            )
            parts.append(Repeated(mechanism=step, count=count))
        if self.accuracy_noise_multiplier is not None:
            parts.append(Gaussian(noise_multiplier=self.accuracy_noise_multiplier))
        return Composed(parts=tuple(parts))

    def rate_at(self, step: int) -> float:
        """Return the share of the learning rate at `step` (0-based)."""
        return 1.0 - (1.0 - self.options.final_share) * step / self.steps
