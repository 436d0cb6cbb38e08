"""The public grids of a training's sums and noise, for the certificate."""

from typing import Any

from core.plan.images.anchor import ImageAnchorPlan
from core.plan.learning import GRID as LEARNING_GRID
from core.plan.plan import Plan
from models.dp.count_noise import GRID
from models.dp.noise import GRID_BITS, grid_bits
from models.images import sums


def noise_grid(plan: Plan) -> dict[str, Any]:
    """The public grids that sums and noise were rounded to.

    Returns:
        `learning`, where something is learnt, `anchor` and `label_counts`: spacing of the moments (of images: the coarsest) and of the counts, in records. `critic`: for every noise
        block, how many bits its grid lies below the noise's standard deviation; `histograms`: likewise, in bits. None where
        the plan has no such release.
    """
    critic = [
        {
            "first_step": block.first_step,
            "bits_below_noise": grid_bits(block.noise_multiplier, plan.max_sampled_batch),
        }
        for block in plan.blocks
    ]
    learning = {} if plan.learning is None else {"learning": LEARNING_GRID}
    return learning | {
        "anchor": _anchor_grid(plan),
        "label_counts": None if plan.label_histogram is None else 1,
        "critic": critic,
        "histograms": None if plan.acts is None else GRID_BITS,
    }


def _anchor_grid(plan: Plan) -> float | None:
    match plan.anchor:
        case None:
            return None
        case ImageAnchorPlan():
            return sums.GRID
        case _:
            return GRID
