"""The record that a plan asks for, and the report of it: of one training, or of a selection among several."""

from typing import Any

from core.releases.generator_check import MEMBER, GeneratorCheck
from core.synthesis.plan import Plan
from core.synthesis.selection import SelectionPlan
from models.recording import Record
from workers.assignment import Assignment
from workers.certifying import execution_of
from workers.selection_certifying import execution_of_selection
from workers.selection_recording import SelectionRecord


def record_of(plan: Plan | SelectionPlan) -> Record | SelectionRecord:
    """An empty record of what this plan will release."""
    return SelectionRecord(plan) if isinstance(plan, SelectionPlan) else Record(plan)


def report_of(
    work: Assignment, record: Record | SelectionRecord, generator_check: GeneratorCheck
) -> dict[str, Any]:
    """Report what ran to its end; it stands in the staged bundle where the signed certificate will.

    Args:
        work: What was to be done.
        record: What was heard of it.
        generator_check: What a look at the generator found.

    Raises:
        ExecutionDiffers: the two are not the same.
    """
    if isinstance(record, SelectionRecord):
        executed = execution_of_selection(work, record)
    else:
        executed = execution_of(work, record)
    return executed | {MEMBER: generator_check.to_json()}
