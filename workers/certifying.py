"""What a training child reports for the certificate: the same for every attempt of a job, and the same bytes."""

from typing import Any

from core.releases.execution import SCHEMA
from core.synthesis.plan import Plan
from models.grids import noise_grid
from models.recording import Record
from workers.assignment import Assignment
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
        "software": software(plan.synthesizer),
    }
