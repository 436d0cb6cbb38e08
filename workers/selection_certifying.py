"""What a training child reports of a selection for the certificate: every training, and who won."""

from typing import Any

from core.releases.execution import SCHEMA
from models.grids import noise_grid
from workers.assignment import Assignment
from workers.selection_recording import SelectionRecord
from workers.software import software


def execution_of_selection(work: Assignment, record: SelectionRecord) -> dict[str, Any]:
    """Report what ran to its end, like `workers.certifying.execution_of`, of every training.

    Args:
        work: What was to be done.
        record: What was heard of it.

    Raises:
        ExecutionDiffers: the two are not the same.
    """
    executed, plan = record.executed(), record.plan
    return {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "executed": executed.to_json(),
        "noise_grid": {
            "candidates": [noise_grid(one) for one in plan.candidates],
            "final": noise_grid(plan.finals[executed.winner]),
        },
        "software": software(*(one.synthesizer for one in plan.candidates)),
    }
