"""Wire types of the overview."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.audit_event import AuditEvent
from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.grant import Grant
from core.dp.charge import MICRO
from core.dp.filters import admit
from core.dp.remaining import remaining_epsilon
from core.dp.typical_job import job_delta, typical_charge
from core.ledger.admission import decimal_text
from core.ledger.ledger_queries import GrantBalance, Summary
from core.ledger.repository import CoursePoint
from service.budgets.schemas import BudgetView
from service.grants.schemas import GrantView, StandingGrant
from service.jobs.schemas import JobView
from service.wire import coarse


class CourseView(BaseModel):
    """The sums of a budget at one time. Amounts are exact decimals, as text."""

    at: datetime
    spent: str = Field(description="Sum of epsilon of started jobs.")
    reserved: str = Field(description="Sum of epsilon of queued jobs.")

    @classmethod
    def of(cls, point: CoursePoint) -> Self:
        """Convert a point."""
        return cls(
            at=coarse(point.at),
            spent=decimal_text(point.spent_micros, MICRO),
            reserved=decimal_text(point.reserved_micros, MICRO),
        )


class DatasetBudget(BaseModel):
    """A dataset with the budget of its population."""

    id: UUID
    population_id: UUID
    name: str
    privacy_unit: str | None = Field(description="The unit column; null if each record is a unit.")
    declared_size: int
    state: str = Field(description="declared, ready once the rows are stored, or deleted.")
    created_at: datetime
    budget: BudgetView | None = Field(description="Null if the key may not read budgets.")
    course: list[CourseView] = Field(
        description="The sums over time, oldest first: at most 48 entries, evenly spaced in the ledger."
    )

    @classmethod
    def of(cls, row: Dataset, *, budget: BudgetView | None, course: Sequence[CoursePoint]) -> Self:
        """Convert a row, with the budget of its population."""
        return cls(
            id=row.id,
            population_id=row.population_id,
            name=row.name,
            privacy_unit=row.privacy_unit,
            declared_size=row.declared_size,
            state=row.state,
            created_at=row.created_at,
            budget=budget,
            course=[CourseView.of(point) for point in course],
        )


class WaitingRequest(BaseModel):
    """An open budget request, and the budget that it would leave."""

    id: UUID
    dataset_id: UUID
    dataset_name: str
    requested_by: UUID
    epsilon: float
    delta: float
    purpose: str
    created_at: datetime
    expires_at: datetime = Field(description="After this time nobody can decide on it any more.")
    fits: bool = Field(
        description="Whether the cap admits one job with all of its epsilon and half of its delta, which is what a job may use of a grant; false before a cap is set."
    )
    remaining_epsilon: float | None = Field(
        description="The largest epsilon of one more job under the cap now; null before a cap is set."
    )
    remaining_epsilon_after: float | None = Field(
        description="The same after that one job; null if it does not fit."
    )

    @classmethod
    def of(cls, row: BudgetRequest, *, dataset_name: str, budget: Summary, thresholds: bool) -> Self:
        """Convert a row; the request is modelled as one generator of the dataset, as in the preview of a job.

        `thresholds` says whether that generator learns categories.
        """
        now = after = None
        if budget.cap is not None:
            in_force = budget.balance.in_force
            now = remaining_epsilon(budget.cap, [in_force], thresholds=thresholds)
            # The cap binds jobs, not grants: a job with the whole delta of its grant would be refused by the grant itself.
            delta = job_delta(row.delta)
            charge = None if delta is None else typical_charge(row.epsilon, delta, thresholds=thresholds)
            if charge is not None and admit(budget.cap, [in_force, charge]).admitted:
                after = remaining_epsilon(budget.cap, [in_force, charge], thresholds=thresholds)
        return cls(
            id=row.id,
            dataset_id=row.dataset_id,
            dataset_name=dataset_name,
            requested_by=row.requested_by,
            epsilon=row.epsilon,
            delta=row.delta,
            purpose=row.purpose,
            created_at=row.created_at,
            expires_at=row.expires_at,
            fits=after is not None,
            remaining_epsilon=now,
            remaining_epsilon_after=after,
        )


class UsableGrant(StandingGrant):
    """An open grant, and what one more job may spend under it and the cap."""

    orderable_epsilon: float = Field(
        description="The largest epsilon of one more job under both the grant and the cap; 0 while the dataset is frozen or has no rows."
    )
    orderable_dataset_id: UUID | None = Field(
        description="The newest of `dataset_ids` that has rows; null if none has."
    )

    @classmethod
    def of_balance(
        cls,
        row: Grant,
        *,
        drawn: GrantBalance,
        budget: Summary,
        dataset_ids: list[UUID],
        ready: Sequence[UUID],
        thresholds: bool,
        at: datetime,
    ) -> Self:
        """Convert a row, with its usage and the budget of its population; `ready` are those of its datasets that have rows.

        `thresholds` says whether generators of one of the datasets learn categories.
        """
        grant = StandingGrant.with_balance(
            GrantView.of(row, at=at), drawn, dataset_ids, thresholds=thresholds
        )
        is_closed = budget.cap is None or budget.frozen_at is not None or not ready
        left = 0.0
        if budget.cap is not None and not is_closed:
            left = remaining_epsilon(budget.cap, [budget.balance.in_force], thresholds=thresholds)
        return cls(
            **grant.model_dump(),
            orderable_epsilon=min(left, grant.remaining_epsilon or 0.0),
            orderable_dataset_id=ready[-1] if ready else None,
        )


class Refusal(BaseModel):
    """A refused attempt, from the audit log."""

    sequence: int = Field(description="Number of the event in the audit log.")
    at: datetime
    actor: str = Field(description="A principal, the name of a process, or `anonymous`; without the key.")
    action: str = Field(description="Name of the refused operation.")
    object: str = Field(description="Id of the object, or `-`.")
    outcome: str = Field(description="Code of the refusal.")

    @classmethod
    def of(cls, event: AuditEvent) -> Self:
        """Convert an event."""
        return cls(
            sequence=event.sequence,
            at=event.at,
            actor=event.actor.partition("/")[0],
            action=event.action,
            object=event.object,
            outcome=event.outcome,
        )


class Overview(BaseModel):
    """The state of everything that the key may see. A part is null if the key may not list it."""

    datasets: list[DatasetBudget] | None = Field(description="Datasets with their budgets, newest first.")
    next_before: UUID | None = Field(
        description="Pass as `before` to get the next page of datasets; null on the last page."
    )
    requests: list[WaitingRequest] | None = Field(
        description="Open budget requests, oldest first, at most 10."
    )
    own_grants: list[UsableGrant] | None = Field(
        description="The caller's own open grants, in order of expiry, at most 50."
    )
    expiring_grants: list[UsableGrant] | None = Field(
        description="Open grants on datasets that the caller oversees, of those that expire within 14 days, at most 10."
    )
    live_jobs: list[JobView] | None = Field(description="Queued and running jobs, newest first, at most 10.")
    failed_jobs: list[JobView] | None = Field(
        description="Jobs that failed within the last 14 days, newest first, at most 10."
    )
    refusals: list[Refusal] | None = Field(
        description="Refused attempts of the last 14 days, newest first, at most 10."
    )
