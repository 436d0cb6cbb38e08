"""Quotes of private models: what an order would train, its noise, and what public rules warn of before it is paid for."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.dp.charge import Charge
from core.dp.filters import Cap
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.private_models.cautions import ModelCaution, model_cautions
from core.plan.private_models.options import ModelOptions
from core.plan.private_models.plan import ModelPlan
from core.plan.quote import Quote, effect_of
from core.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedModel(Value):
    """The trained model and its noise."""

    target: str
    classes: int
    held_out_size: int
    noise_multiplier: float
    pca_noise_multiplier: float | None
    accuracy_noise_multiplier: float | None
    accuracy_error: float | None
    """Standard deviation of the noise on the accuracy, as a share; None if no accuracy is measured."""
    options: ModelOptions
    cautions: tuple[ModelCaution, ...]
    """Options that by public rules make a useless model likely; usually empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuote(Quote):
    """The quote of a private model."""

    model: QuotedModel
    steps: int
    sampling_rate: float
    expected_batch_size: int


def make_model_quote(
    plan: ModelPlan, cap: Cap | None, charges: Sequence[Charge], *, domain: TableDomain | ImageDomain
) -> ModelQuote:
    """Return the quote; `cap` and `charges` as in `effect_of`."""
    return ModelQuote(
        **effect_of(plan, cap, charges),
        model=QuotedModel(
            target=plan.target,
            classes=plan.classes,
            held_out_size=plan.held_out_size,
            noise_multiplier=plan.noise_multiplier,
            pca_noise_multiplier=plan.pca_noise_multiplier,
            accuracy_noise_multiplier=plan.accuracy_noise_multiplier,
            accuracy_error=accuracy_error(plan),
            options=plan.options,
            cautions=model_cautions(plan, of_images=isinstance(domain, ImageDomain)),
        ),
        steps=plan.steps,
        sampling_rate=plan.sampling_rate,
        expected_batch_size=plan.options.expected_batch_size,
    )


def accuracy_error(plan: ModelPlan) -> float | None:
    """The standard deviation of the noise on the accuracy, as a share; None if no accuracy is measured."""
    if plan.accuracy_noise_multiplier is None:
        return None
    return plan.accuracy_noise_multiplier / max(plan.held_out_size, 1)
