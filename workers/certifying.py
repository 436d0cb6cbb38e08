"""What a training child reports for the certificate: the same for every attempt of a job, and the same bytes."""

from typing import Any

from core.releases.execution import SCHEMA
from core.synthesis.image_anchor import ImageAnchorPlan
from core.synthesis.plan import Plan
from models.anchor import GRID
from models.dp.noise import GRID_BITS, grid_bits
from models.images import sums
from workers.assignment import Assignment
from workers.recording import Record
from workers.software import software


def execution_of(work: Assignment, record: Record) -> dict[str, Any]:
    """Report what ran to its end; it stands in the staged bundle where the signed certificate will.

    Args:
        work: What was to be done. The date is the order's (see `Assignment.ordered_at`).
        record: What was heard of it.

    Raises:
        ExecutionDiffers: the two are not the same.
    """
    plan = work.claim.plan
    assert isinstance(plan, Plan), "a selection is reported by workers.selection_certifying"
    return {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "executed": record.executed().to_json(),
        "noise_grid": noise_grid(plan),
        "software": software(),
    }


def noise_grid(plan: Plan) -> dict[str, Any]:
    """The public grids that sums and noise were rounded to.

    Returns:
        `anchor` and `label_counts`: spacing of the moments (of images: the coarsest) and of the counts, in records. `critic`: for every noise
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
    return {
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
