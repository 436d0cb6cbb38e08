"""The split of a training's budget: the shares of label histogram, anchor, critic and learning.

A share is a part's Renyi divergence at one order over that of the whole mechanism. Divergences of independent releases add up, so
the shares do too.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from core.dp.accountant import rdp_at
from core.dp.mechanism import Composed, DiscreteGaussian, Gaussian, Leaf, Threshold, leaves
from core.plan.errors import InvalidPlan
from core.plan.options import IdpganOptions
from core.plan.plan import Plan
from core.values import OrAbsent, Value

SPLIT_ORDER: Final = 8
"""The Renyi order at which the parts' shares are stated: close to the order that determines epsilon at usual
targets."""

Asked = Literal["real", "labels", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Value):
    """A part of a training: its share of the Renyi divergence at `SPLIT_ORDER`, and its noise if it has some."""

    share: float
    noise_multiplier: float | None
    asks: OrAbsent[Asked] = None
    """The critic's task, "none" without a critic; quotes of earlier versions lack it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Value):
    """The parts of a training; shares add up to 1.

    With an anchor the label counts are one of its blocks, without noise or charge of their own.
    """

    UNREADABLE = InvalidPlan, "a member of the split is missing, unknown or of the wrong type"

    order: int = SPLIT_ORDER
    label_histogram: Part
    anchor: Part
    critic: Part
    learning: OrAbsent[Part] = None

    @property
    def text(self) -> str:
        """The shares in percent, with the critic's task; anchor and critic always, other parts if they have a share."""
        others = {"learning": self.learning, "label histogram": self.label_histogram}
        parts = [
            *(f"{name} {percent(part.share)}" for name, part in others.items() if part and part.share),
            f"anchor {percent(self.anchor.share)}",
            f"critic {percent(self.critic.share)} (asks {self.critic.asks})",
        ]
        return ", ".join(parts)


def percent(share: float) -> str:
    """Format a share with three digits."""
    return f"{float(f'{100 * share:.3g}'):g} %"


def split_of(plan: Plan) -> Split:
    """Return the split of a plan's budget."""
    # Thresholds use delta but none of the divergence.
    noised = {
        leaf: count for leaf, count in leaves(plan.mechanism).items() if not isinstance(leaf, Threshold)
    }
    whole = math.fsum(count * _divergence(leaf) for leaf, count in noised.items())
    counted = leaves(Composed(parts=() if plan.anchor is None else tuple(plan.anchor.parts)))
    anchor = math.fsum(count * _divergence(leaf) / whole for leaf, count in counted.items())
    labels, learning = plan.label_histogram, plan.learning
    labelled = (
        0.0
        if labels is None
        else _divergence(DiscreteGaussian(noise_multiplier=labels.noise_multiplier)) / whole
    )
    learnt = 0.0
    if learning is not None:
        each = _divergence(Gaussian(noise_multiplier=learning.noise_multiplier))
        learnt = len(learning.releases) * each / whole
    return Split(
        label_histogram=Part(
            share=labelled, noise_multiplier=None if labels is None else labels.noise_multiplier
        ),
        anchor=Part(
            share=anchor, noise_multiplier=None if plan.anchor is None else plan.anchor.noise_multiplier
        ),
        critic=Part(
            share=1 - anchor - labelled - learnt if plan.blocks else 0.0,
            noise_multiplier=plan.blocks[0].noise_multiplier if plan.blocks else None,
            asks=_asked(plan),
        ),
        learning=None if learning is None else Part(share=learnt, noise_multiplier=learning.noise_multiplier),
    )


def _asked(plan: Plan) -> Asked:
    trains = isinstance(plan.options, IdpganOptions) and plan.options.critic
    return plan.idpgan_options.critic_asks if trains else "none"


def _divergence(leaf: Leaf) -> float:
    return rdp_at(leaf, (SPLIT_ORDER,))[0]
