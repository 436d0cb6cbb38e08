"""Planning private models: public rules for their options, the least noise that satisfies the guarantee. Data-free.

The rules' constants were chosen on held-out parts of training images (docs/private-models.md) and of public tables (docs/rules-study.md), never on
the rows of a job.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Self

from pydantic import ValidationError

from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.calibration import gaussian_noise_multiplier, round_up, sampled_gaussian_guess, smallest_scale
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed, Gaussian, Mechanism, PoissonSampled, Repeated
from core.plan.defaults import row_of, sampled_batch_cap
from core.plan.domain.images import LABEL, ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import BoundNeedsAnchor, InvalidSpec
from core.plan.learning import LearningRelease, learning_of
from core.plan.options import explain
from core.plan.private_models.options import ModelOptions, ModelRequest
from core.plan.private_models.plan import HELD_OUT, ModelPlan
from core.plan.several_owners.federation import Federation
from core.plan.several_owners.owners import DataOwner
from core.values import Value

BATCH_PART: Final = 10
"""A batch is one unit in so many, within the limits."""
SMALLEST_BATCH, LARGEST_BATCH = 256, 6_000
"""Limits of the expected batch; the least is also limited by the units there are."""
MOST_BATCH: Final = 10_000
"""Largest batch that an order may ask for: the margin for the rounding of sums grows with its square."""
STEPS_BY_EPSILON: Final = ((0.5, 100), (1.5, 200), (4.0, 400), (float("inf"), 800))
"""Noisy steps, by the smallest listed epsilon not below the target."""
CLIPPING_NORM: Final = 0.1
"""Small: most gradients are clipped, so that their directions count."""
LINEAR_RATE: Final = 200.0
"""Learning rate of a linear layer on features of length one, with momentum; in units of 1 / (10 C)."""
ADAM_RATE: Final = 0.01
"""Learning rate of networks with hidden layers."""
FINAL_SHARE: Final = 1.0
AVERAGED_PART: Final = 0.1
"""Share of the last steps whose weights are averaged."""
OF_UPDATES: Final = frozenset(
    {
        "steps",
        "expected_batch_size",
        "clipping_norm",
        "optimizer",
        "learning_rate",
        "averaging_rounds",
    }
)
"""Options of the noisy updates. If an order names none of them, the updates of a linear layer on a table of little signal have rules of their own (docs/rules-study.md)."""
TABLE_BATCH: Final = 2_000
"""Units of a table up to which every step takes all of them."""
TABLE_NORM: Final = 1.0
"""Few gradients are clipped, so that a class of few units has its weight."""
SIGNAL_OF_STEP: Final = 32.0
"""Units times epsilon for each step at a learning rate of one. Where there is less signal, weights move less far, which keeps out noise."""
_MOST_NAMED: Final = 3
FEWEST_STEPS: Final = 8
MOST_TABLE_RATE: Final = 3.0
"""Largest learning rate; where there is signal for a larger one, images' rules hold. Descent with momentum .9 diverges from 3.8 on."""
COMPONENTS, HIDDEN, PCA_SHARE = 60, 1000, 0.1
"""Components, hidden units and share of the PCA of an mlp on principal components: the published dimensions (Abadi and others 2016)."""
TABLE_HIDDEN: Final = 64
SCATTERING_PLANES, SCATTERING_REDUCTION = 81, 4
"""Planes of a channel's scattering coefficients, and how many times smaller they are (`models.classifier.scattering`)."""
NUMBERS_OF_WEIGHT, BYTES_OF_NUMBER, NAMES_OF_STATE = 4, 8, 4096
MOST_TRIANGLE: Final = 4096
"""Largest number of features whose second moments are released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(Value):
    """The requested options of a private model; those that are None are left out.

    Raises:
        InvalidSpec: an option is unknown or out of range.
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.request().chosen())

    def request(self) -> ModelRequest:
        """Return the typed options.

        Raises:
            InvalidSpec: as for the class.
        """
        try:
            return ModelRequest.model_validate(dict(self.options))
        except ValidationError as error:
            raise explain(error) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """The public facts that the rules use."""

    target: str
    classes: int
    inputs: int
    """Cells of all columns but the target, or numbers of an image."""
    of_images: bool
    declared_size: int
    epsilon: float

    @classmethod
    def of(cls, domain: TableDomain | ImageDomain, *, declared_size: int, epsilon: float) -> Self:
        """Read the facts of a declared domain.

        Raises:
            InvalidSpec: it declares nothing to predict, or leaves something to be learnt.
            BoundNeedsAnchor: it leaves the records of a unit that count to be learnt.
        """
        if isinstance(domain, ImageDomain):
            if len(domain.labels) < 2:  # noqa: PLR2004 - one class needs no classifier
                raise InvalidSpec(
                    "a classifier needs labels, and the domain declares fewer than two",
                    remedy="declare the labels of the images",
                )
            return cls(
                target=LABEL,
                classes=len(domain.labels),
                inputs=domain.values,
                of_images=True,
                declared_size=declared_size,
                epsilon=epsilon,
            )
        if domain.target is None or domain.target_index is None or len(domain.cardinalities) < 2:  # noqa: PLR2004 - and a column to predict it from
            raise InvalidSpec(
                "a classifier needs a target and a column to predict it from", remedy="declare a target"
            )
        if len(domain.derived_from(domain.target_index)) > 1:
            raise InvalidSpec(
                f"patterns of '{domain.target}' or distances from it are modelled: they leak the target, and no record has them without it",
                remedy="declare the target without patterns and no column by its distance from it, or another target",
            )
        if learnt := learning_of(domain).releases:
            if all(one.learns == "records" for one in learnt):
                raise BoundNeedsAnchor
            raise InvalidSpec(
                f"the domain leaves {_named(domain, learnt)} to be learnt, and a classifier needs declared ones",
                remedy="declare them, or leave their columns out: the domain of a release (domain.json in its bundle, in Python `fitted_.domain`) has what its training learnt, and"
                ' a new version of the dataset may take it over; leave "records" out of the unit\'s column',
            )
        classes = domain.cardinalities[domain.target_index]
        if classes < 2:  # noqa: PLR2004 - one class needs no classifier
            raise InvalidSpec("the target has a single code", remedy="declare its categories")
        return cls(
            target=domain.target,
            classes=classes,
            inputs=sum(domain.cardinalities) - classes,
            of_images=False,
            declared_size=declared_size,
            epsilon=epsilon,
        )


def _named(domain: TableDomain, learnt: Sequence[LearningRelease]) -> str:
    """Names of the learnt parts, for a sentence."""
    of_columns = [
        f"{one.learns} of '{domain.modelled[one.column].name}'" for one in learnt if one.column is not None
    ]
    more = [f"{len(of_columns) - _MOST_NAMED} more"] if len(of_columns) > _MOST_NAMED else []
    records = ["the records of a unit that count"] if len(learnt) > len(of_columns) else []
    return " and ".join([", ".join(of_columns[:_MOST_NAMED]), *more, *records])


def steps_by_rule(epsilon: float) -> int:
    """Return the noisy steps of a training with enough signal."""
    return row_of(STEPS_BY_EPSILON, epsilon)


def table_signal(units: int, epsilon: float) -> float:
    """Return the product of steps and learning rate that units of a table can bear: more moves the weights by noise alone."""
    return units * epsilon / SIGNAL_OF_STEP


def decide(request: ModelRequest, facts: ModelFacts) -> ModelOptions:
    """Return every option: the requested ones, the rules' for the rest.

    Raises:
        InvalidSpec: options exclude each other or do not suit the domain.
    """
    chosen = request.chosen()
    module = chosen.get("module")
    network = chosen.get("network", "linear" if module is None else "module")
    default = {"linear": "scattering", "mlp": "pca"}.get(network, "plain") if facts.of_images else "plain"
    features = chosen.get("features", "pca" if "components" in chosen else default)
    hidden = {"mlp": HIDDEN if features == "pca" else TABLE_HIDDEN}.get(network, 0)
    norm = chosen.get("clipping_norm", CLIPPING_NORM)
    optimizer = chosen.get("optimizer", "momentum" if network == "linear" else "adam")
    steps = chosen.get("steps", steps_by_rule(facts.epsilon))
    units = facts.declared_size
    if chosen.get("accuracy_share"):
        units -= facts.declared_size // HELD_OUT
    batch = min(max(units // BATCH_PART, SMALLEST_BATCH), LARGEST_BATCH, units)
    rate = ADAM_RATE if optimizer == "adam" else LINEAR_RATE * CLIPPING_NORM / norm
    of_tables = network == "linear" and features == "plain" and not facts.of_images
    signal = table_signal(units, facts.epsilon)
    if of_tables and not OF_UPDATES & chosen.keys() and signal <= MOST_TABLE_RATE * steps:
        batch, norm = min(max(batch, TABLE_BATCH), units), TABLE_NORM
        steps = min(max(round(signal), FEWEST_STEPS), steps)
        rate = float(f"{signal / steps:.3g}")
    rules: dict[str, Any] = {
        "network": network,
        "features": features,
        "components": min(COMPONENTS, facts.inputs) if features == "pca" else 0,
        "hidden": hidden,
        "engine": "closed_form" if module is None and network != "module" else "opacus",
        "module": module,
        "steps": steps,
        "expected_batch_size": batch,
        "clipping_norm": norm,
        "optimizer": optimizer,
        "learning_rate": rate,
        "final_share": FINAL_SHARE,
        "averaged_steps": max(1, round(AVERAGED_PART * steps)),
        "pca_share": PCA_SHARE if features == "pca" else 0.0,
        "accuracy_share": 0.0,
    }
    try:
        options = ModelOptions.model_validate(rules | chosen)
    except ValidationError as error:
        raise explain(error) from None
    _require_suitable(options, facts, units)
    return options


def _require_suitable(options: ModelOptions, facts: ModelFacts, units: int) -> None:
    if not facts.of_images and (options.features == "scattering" or options.network == "cnn"):
        raise InvalidSpec(
            "scattering features and convolutions are of images", remedy="choose another network or features"
        )
    if options.network == "cnn" and options.engine == "opacus":
        raise InvalidSpec("our convolutions have a closed form alone", remedy="leave out the option engine")
    if options.expected_batch_size > min(MOST_BATCH, units):
        raise InvalidSpec(
            f"expected_batch_size is above {min(MOST_BATCH, units)}", remedy="choose a smaller batch"
        )
    if options.accuracy_share and facts.declared_size < HELD_OUT:
        raise InvalidSpec("there are too few units to hold some out", remedy="leave out accuracy_share")
    if options.features == "pca" and not options.components <= facts.inputs <= MOST_TRIANGLE:
        raise InvalidSpec(
            f"principal components are taken of {options.components} to {MOST_TRIANGLE} numbers of a record",
            remedy="choose other features",
        )


def make_model_plan(
    *,
    model: ModelSpec,
    guarantee: PrivacyGuarantee,
    declared_size: int,
    domain: TableDomain | ImageDomain,
    adjacency: Adjacency,
    privacy_unit: PrivacyUnit,
    owners: tuple[DataOwner, ...] | None = None,
    federation: Federation | None = None,
) -> ModelPlan:
    """Return the plan of a classifier, with the least noise on the steps that satisfies `guarantee`.

    Args:
        declared_size: of all datasets together.
        owners: of the datasets, in order; None if there is one dataset.
        federation: the owners of a federation, seen by one of them; `declared_size` is of all together.

    Raises:
        InvalidSpec: there is nothing to predict, or the options do not suit the domain or the number of owners.
        BoundNeedsAnchor: the domain bounds the records of a unit.
        TargetOutOfReach: no noise on the steps satisfies it.
    """
    if privacy_unit.records is not None:
        raise BoundNeedsAnchor
    facts = ModelFacts.of(domain, declared_size=declared_size, epsilon=guarantee.epsilon)
    options = decide(model.request(), facts)
    if federation is not None:
        _require_federable(options)
    elif options.averaging_rounds is not None and owners is None:
        raise InvalidSpec(
            "the option averaging_rounds averages the weights of several owners, and the order is on one dataset",
            remedy="name further datasets, or leave out averaging_rounds",
        )
    held_out = declared_size // HELD_OUT if options.accuracy_share else 0
    noise = _calibrated(
        guarantee,
        options.expected_batch_size / (declared_size - held_out),
        options.steps,
        options.pca_share,
        options.accuracy_share,
    )
    return ModelPlan(
        guarantee=guarantee,
        adjacency=adjacency,
        privacy_unit=privacy_unit,
        declared_size=declared_size,
        target=facts.target,
        inputs=facts.inputs,
        classes=facts.classes,
        options=options,
        max_sampled_batch=sampled_batch_cap(options.expected_batch_size),
        noise_multiplier=noise.steps,
        pca_noise_multiplier=noise.components,
        accuracy_noise_multiplier=noise.accuracy,
        epsilons=epsilons(noise.mechanism, delta=guarantee.delta),
        owners=owners,
        federation=federation,
    )


def largest_state(plan: ModelPlan, domain: TableDomain | ImageDomain) -> int:
    """Return a bound on the bytes of one owner's state in a federation: four numbers of eight bytes for every weight, and names.

    The state holds weights, their running average and one or two moments of the optimizer (`models.classifier.averaging`).
    """
    width = plan.inputs
    if plan.options.features == "scattering":
        assert isinstance(domain, ImageDomain), "scattering features are of images"
        sides = -(-domain.height // SCATTERING_REDUCTION) * -(-domain.width // SCATTERING_REDUCTION)
        width = domain.channels * SCATTERING_PLANES * sides
    widths = [width, *([plan.options.hidden] if plan.options.hidden else []), plan.classes]
    weights = sum((below + 1) * above for below, above in itertools.pairwise(widths))
    return NUMBERS_OF_WEIGHT * BYTES_OF_NUMBER * weights + NAMES_OF_STATE


def _require_federable(options: ModelOptions) -> None:
    """Check that the members of a federation can begin with the same weights and exchange them.

    Raises:
        InvalidSpec: they cannot.
    """
    if options.averaging_rounds is None:
        raise InvalidSpec(
            "a federation averages weights, and the option averaging_rounds is missing",
            remedy="set averaging_rounds, which divides steps",
        )
    if options.network not in {"linear", "mlp"} or options.engine != "closed_form":
        raise InvalidSpec(
            "a federation trains a linear layer or an mlp by their closed forms",
            remedy="choose the network linear or mlp",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    steps: float
    components: float | None
    accuracy: float | None
    mechanism: Mechanism


@lru_cache(maxsize=512)
def _calibrated(
    guarantee: PrivacyGuarantee, rate: float, steps: int, pca_share: float, accuracy_share: float
) -> _Noise:
    """The noise of components and accuracy by their shares, and the least noise of the steps."""
    components = gaussian_noise_multiplier(guarantee, share=pca_share) if pca_share else None
    accuracy = gaussian_noise_multiplier(guarantee, share=accuracy_share) if accuracy_share else None

    def build(scale: float) -> Mechanism:
        step = PoissonSampled(sampling_rate=rate, mechanism=Gaussian(noise_multiplier=scale))
        once = [Gaussian(noise_multiplier=one) for one in (components, accuracy) if one is not None]
        parts: list[Mechanism] = [Repeated(mechanism=step, count=steps), *once]
        return Composed(parts=tuple(parts))

    left = 1.0 - pca_share - accuracy_share
    guess = sampled_gaussian_guess(
        sampling_rate=rate,
        squares=lambda scale: steps * math.expm1(min(scale**-2, 700.0)),
        mu=gaussian.largest_mu(guarantee) * math.sqrt(left),
    )
    scale = smallest_scale(build, guarantee=guarantee, guess=guess, slope=left)
    return _Noise(
        steps=round_up(scale), components=components, accuracy=accuracy, mechanism=build(round_up(scale))
    )
