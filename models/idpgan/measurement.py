"""The stage "measure": everything that is released before training, made ready for use."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.synthesis.plan import Plan
from core.synthesis.stages import AnchorPlan
from models.anchor import MomentLayout, Moments, moment_layout, noisy_moments
from models.encoding import PrivateTable
from models.idpgan.labels import noisy_label_law
from models.idpgan.moment_loss import MomentLoss
from models.idpgan.noise_split import split_noise
from models.idpgan.shrinkage import shrink
from models.idpgan.targets import MomentTargets, moment_targets, positive_law
from models.idpgan.variety import noisy_variety
from models.randomness import KeyedStreams
from models.synthesizer import NoisyVariety


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """Noisy releases; all of it may leave.

    Args:
        moments: of the anchor, or None without one.
        law: noisy shares of the target's classes where there is a target but no anchor.
    """

    moments: Moments | None
    law: npt.NDArray[np.float64] | None

    @property
    def anchored(self) -> bool:
        """Whether there are moments to pre-train on."""
        return self.moments is not None

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint."""
        made: dict[str, Tensor] = {}
        if self.moments is not None:
            made |= {
                "pairs": torch.from_numpy(self.moments.pairs),
                "ones": torch.from_numpy(self.moments.ones),
                "classes": torch.from_numpy(self.moments.classes),
            }
        if self.law is not None:
            made["law"] = torch.from_numpy(self.law)
        return made

    @classmethod
    def restore(cls, tensors: dict[str, Tensor]) -> "Measurement":
        """Read what `tensors` gave."""
        moments = None
        if "pairs" in tensors:
            moments = Moments(
                pairs=tensors["pairs"].numpy(),
                ones=tensors["ones"].numpy(),
                classes=tensors["classes"].numpy(),
            )
        return cls(moments=moments, law=tensors["law"].numpy() if "law" in tensors else None)


def measure(table: PrivateTable, plan: Plan, streams: KeyedStreams) -> Measurement:
    """Release what the plan says: the anchor's moments, or the label histogram."""
    moments = law = None
    if isinstance(plan.anchor, AnchorPlan):
        moments = noisy_moments(table, layout_of(table, plan), plan.anchor, streams)
    if plan.label_histogram is not None:
        law = noisy_label_law(table, plan.label_histogram, streams)
    return Measurement(moments=moments, law=law)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """What the generator takes from the noisy moments.

    Args:
        layout: which counts there are.
        targets: the noisy moments, made consistent.
        loss: the distance to them.
        training_loss: the distance to training counts, for the steps that early stopping ends.
        validation_loss: the distance to validation counts.
        law: shares of the target's classes, or None without a target.
        shares: (cells without the target,) one-way shares, where the generator starts.
        variety: how much of it must vary.
    """

    layout: MomentLayout
    targets: MomentTargets
    loss: MomentLoss
    training_loss: MomentLoss
    validation_loss: MomentLoss
    law: npt.NDArray[np.float64] | None
    shares: npt.NDArray[np.float64]
    variety: NoisyVariety

    def shrunk_loss(self, made: npt.NDArray[np.float64]) -> MomentLoss:
        """Return the distance to the moments, shrunk towards two-way shares (slices, cells, cells) of the generator."""
        return MomentLoss(self.layout, shrink(self.targets, made, self.layout))


def make_anchor(moments: Moments, table: PrivateTable, plan: Plan, streams: KeyedStreams) -> Anchor:
    """Make the noisy moments consistent and ready for the generator; only public facts of the table are read."""
    assert isinstance(plan.anchor, AnchorPlan), "moments come from an anchor of tables"
    layout = layout_of(table, plan)
    targets = moment_targets(moments, layout, plan.anchor)
    shares = targets.ones.sum(axis=0)
    law = targets.law if layout.by_class else None
    if not layout.by_class and table.target_index is not None:
        block = layout.blocks[table.target_index]
        law = positive_law(shares[block])
        shares = np.delete(shares, np.arange(block.start, block.stop))
    training_loss, validation_loss = (
        MomentLoss(layout, moment_targets(part.moments, layout, part.anchor))
        for part in split_noise(moments, layout, plan.anchor, streams)
    )
    return Anchor(
        layout=layout,
        targets=targets,
        loss=MomentLoss(layout, targets),
        training_loss=training_loss,
        validation_loss=validation_loss,
        law=law,
        shares=shares,
        variety=noisy_variety(targets, layout),
    )


def layout_of(table: PrivateTable, plan: Plan) -> MomentLayout:
    """Which counts the anchor of a plan holds; only public facts of the table are read."""
    assert isinstance(plan.anchor, AnchorPlan), "only an anchor of tables has a layout"
    return moment_layout(
        table.cardinalities,
        table.target_index,
        declared_size=plan.declared_size,
        noise_std=plan.anchor.noise_std,
    )
