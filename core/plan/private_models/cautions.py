"""Cautions before a private model of a table is paid for: options that, by public rules, make a useless model likely. Data-free.

What the rules know is in docs/private-models.md: few units at a small epsilon carry little signal, for which the updates of a linear
layer have a rule of their own, and principal components of one-hot cells can lose what single columns say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from core.plan.private_models.options import ModelOptions, ModelRequest
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import MOST_TABLE_RATE, ModelFacts, decide, steps_by_rule, table_signal
from core.values import Value

_OF_THE_RULE: Final = (
    "network", "features", "steps", "expected_batch_size", "clipping_norm", "optimizer", "learning_rate", "final_share", "averaged_steps",
)  # fmt: skip
"""Options that belong together where units are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCaution(Value):
    """One caution, for people."""

    code: Literal["few-units", "few-components"]
    detail: str


def model_cautions(plan: ModelPlan, *, of_images: bool) -> tuple[ModelCaution, ...]:
    """Return the cautions of a plan; none for images, of which no rule knows."""
    return () if of_images else tuple(_cautions(plan))


def _cautions(plan: ModelPlan) -> Iterator[ModelCaution]:
    options, units = plan.options, plan.declared_size - plan.held_out_size
    epsilon = plan.guarantee.epsilon
    if options.features == "pca" and options.components < plan.inputs:
        yield ModelCaution(
            code="few-components",
            detail=(
                f"{options.components} principal components of the {plan.inputs} one-hot cells of this table can lose much of what its columns say, "
                "and cost budget. Leave out components and features: plain features keep all cells."
            ),
        )
    if table_signal(units, epsilon) > MOST_TABLE_RATE * steps_by_rule(epsilon) or options.averaging_rounds:
        return
    rule = _rule(plan)
    if any(getattr(options, name) != getattr(rule, name) for name in _OF_THE_RULE):
        yield ModelCaution(
            code="few-units",
            detail=(
                f"{units:,} units at epsilon {epsilon:g} show little under noise. By rule a {rule.network} network then takes {rule.steps} steps of "
                f"{rule.optimizer} at {rule.learning_rate:g}; this order has {options.network} on {options.features} features, {options.steps} steps of "
                f"{options.optimizer} at {options.learning_rate:g}. The noise of its steps can outweigh what the units show, and the model then answers "
                "one class to every row. Leave out network, features, optimizer, steps and the other options of steps, or order with a larger epsilon."
            ),
        )


def _rule(plan: ModelPlan) -> ModelOptions:
    """The options of an order that names none."""
    facts = ModelFacts(
        target=plan.target,
        classes=plan.classes,
        inputs=plan.inputs,
        of_images=False,
        declared_size=plan.declared_size,
        epsilon=plan.guarantee.epsilon,
    )
    return decide(ModelRequest(accuracy_share=plan.options.accuracy_share), facts)
