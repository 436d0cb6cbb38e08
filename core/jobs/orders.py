"""Placing an order: reserve budget, insert the job, and notify the workers once both are committed."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.outbox import Kind, notify_population
from core.db.session import on_commit
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.dp import mechanism as mechanisms
from core.dp.charge import charge_of
from core.jobs import repository
from core.jobs.errors import DatasetDeleted, DatasetNotReady, PlanDoesNotFit
from core.jobs.queue import Queue
from core.jobs.states import JobState
from core.jobs.turns import announce
from core.ledger import ledger
from core.logs import current_request_id
from core.plan.devices import Device, Wish
from core.plan.domain.columns.common_keys import LEARN
from core.plan.ordered_plan import OrderedPlan, local_size_of, owners_of
from core.plan.plan import Plan
from core.plan.utility_reports.plan import ReportPlan
from core.tracing import current_trace_context

LOW_SHARE: Final = 0.2
"""A budget counts as low if less than this share of its privacy filter is free."""


def place_order(
    session: Session,
    *,
    dataset: Dataset,
    plan: OrderedPlan,
    ordered_by: UUID,
    job_id: UUID,
    grant_id: UUID | None,
    sealed_randomness_key: bytes,
    queue: Queue,
    clock: Clock,
    further: Sequence[tuple[Dataset, UUID | None]] = (),
    device: Device | None = None,
    device_wish: Wish | None = None,
    sealed_federation: bytes | None = None,
) -> Job:
    """Order a job: its plan is reserved and the job queued, together or not at all.

    Args:
        session: the open transaction; the message is sent after it commits.
        dataset: the dataset whose rows are read; must be ready.
        plan: runs to the letter; it is never made again.
        job_id: a fresh id, chosen by the caller because the sealed key is bound to it.
        grant_id: the grant that the order draws on besides the cap; None if one person keeps the whole budget.
        sealed_randomness_key: the job's fresh 256-bit key, sealed.
        further: the datasets of a plan over several owners beside the first, each with the grant on it.
        device: the kind of device whose workers take the job; None for any.
        device_wish: what the order asked for.
        sealed_federation: the board of the plan's federation and the token for it, sealed; None without a federation.

    Raises:
        DatasetNotReady: no rows yet.
        DatasetDeleted: the rows were destroyed.
        PlanDoesNotFit: the plan was made for other public facts than the dataset's.
        BudgetNotSet, BudgetRefused, AlreadyReserved, PopulationFrozen: the ledger refuses.
        GrantNotFound, GrantClosed, GrantRefused: the grant cannot pay for it.
    """
    datasets = [dataset, *(each for each, _ in further)]
    for each in datasets:
        _require_readable(each)
    _require_made_for(plan, datasets)
    # Before any lock: composing a long plan takes a moment.
    charge = charge_of(plan.mechanism, delta=plan.guarantee.delta)
    now = clock.now()
    job = Job(
        id=job_id,
        dataset_id=dataset.id,
        ordered_by=ordered_by,
        state=JobState.QUEUED.value,
        plan=plan.to_json(),
        plan_digest=plan.digest(),
        total_steps=plan.steps,
        sealed_randomness_key=sealed_randomness_key,
        created_at=now,
        sent_at=now,
        request_id=current_request_id(),
        trace_context=current_trace_context(),
        device=device,
        device_wish=device_wish,
        sealed_federation=sealed_federation,
    )
    admissions = ledger.reserve_all(
        session,
        [
            ledger.Payer(population_id=each.population_id, grant_id=grant)
            for each, grant in ((dataset, grant_id), *further)
        ],
        job_id=job_id,
        charge=charge,
        mechanism_json=mechanisms.to_json(plan.mechanism),
        clock=clock,
    )
    repository.add(session, job)
    repository.add_members(session, job_id, [each.id for each, _ in further])
    for population_id, admission in admissions.items():
        carrier = admission.carried_by
        if carrier is not None and admission.filters[carrier].free_share < LOW_SHARE:
            notify_population(session, Kind.BUDGET_LOW, population_id, at=now)
    on_commit(session, partial(announce, queue, job_id, job.plan, device))
    return job


def _require_readable(dataset: Dataset) -> None:
    if dataset.state == "deleted":
        raise DatasetDeleted
    if dataset.state != "ready":
        raise DatasetNotReady("The dataset has no rows yet.", remedy="Upload its rows first.")


def _require_made_for(plan: OrderedPlan, datasets: Sequence[Dataset]) -> None:
    """Check that a plan was made for the public facts of these datasets.

    Raises:
        PlanDoesNotFit: it was made for others.
    """
    unit, first = plan.privacy_unit, datasets[0]
    records = LEARN if isinstance(plan, Plan) and plan.learns_records else unit.records
    planned = local_size_of(plan)
    made_for = (planned, plan.adjacency.value, unit.column, records)
    size = sum(dataset.declared_size for dataset in datasets)
    owners = tuple((owner.dataset_id, owner.population_id, owner.declared_size) for owner in owners_of(plan))
    named = tuple((str(each.id), str(each.population_id), each.declared_size) for each in datasets)
    fits = owners == (named if len(datasets) > 1 else ())
    for dataset in datasets:
        declared = None if isinstance(plan, ReportPlan) else _records(dataset.domain)
        fits &= made_for == (size, dataset.adjacency, dataset.privacy_unit, declared)
        fits &= dataset.domain == first.domain
    if not fits:
        raise PlanDoesNotFit(
            "The plan was made for another declared size, adjacency or privacy unit than the dataset's.",
            remedy="Ask for a new quote.",
        )


def _records(domain: Mapping[str, Any]) -> object:
    """The records of a unit that count by a stored domain document: a number, `LEARN`, or None if all do."""
    units = [column for column in domain.get("columns", ()) if column["kind"] == "unit"]
    return units[0].get("records") if units else None
