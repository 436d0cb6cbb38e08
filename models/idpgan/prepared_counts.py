"""The anchor's noisy counts, prepared for the generator. Post-processing of a release, free of charge."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.plan.options import IdpganOptions
from core.plan.plan import Plan
from models.counting.question import Counter
from models.encoding import PrivateTable
from models.idpgan.moment_loss import SHARE_POWERS, MomentLoss
from models.idpgan.variety import noisy_variety
from models.synthesizer import NoisyVariety
from models.tables.anchor import MomentLayout
from models.tables.code_groups import Groups
from models.tables.estimation.combinations import combination_targets
from models.tables.estimation.refined import GroupedTargets, refined
from models.tables.estimation.targets import Counted, MomentTargets, moment_targets
from models.tables.measurement.second_round import code_order, layout_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anchor:
    """The part of the noisy counts that the generator uses.

    Args:
        layout: which counts of groups there are.
        targets: the counts, consistent and shrunk, of some columns over parts of the groups that were counted.
        distribution: shares of the target's classes, or None without a target.
        variety: how much the generator's draws must vary.
    """

    layout: MomentLayout
    targets: MomentTargets
    groups: tuple[Groups, ...]
    loss: MomentLoss
    distribution: npt.NDArray[np.float64] | None
    variety: NoisyVariety


def make_anchor(counted: Counted, table: PrivateTable | Counter, plan: Plan) -> Anchor:
    """Prepare the noisy counts for the generator and make them consistent."""
    assert plan.known is not None, "counts come from an anchor of tables"
    assert isinstance(plan.options, IdpganOptions), "graphical models have targets of their own"
    layout = layout_of(counted.groups, table, plan, pairs=counted.pairs)
    make = combination_targets if layout.combinations else moment_targets
    order, forbidden = code_order(table), table.forbidden()
    targets = make(counted, layout, plan.known, order=order, forbidden=forbidden)
    fine = refined(GroupedTargets(layout, targets, counted.groups), order, forbidden=forbidden)
    return Anchor(
        layout=fine.layout,
        targets=fine.targets,
        groups=fine.groups,
        loss=MomentLoss(fine.layout, fine.targets, share_power=SHARE_POWERS[plan.options.generator]),
        distribution=None if table.target_index is None else targets.columns[table.target_index],
        variety=noisy_variety(targets, layout),
    )
