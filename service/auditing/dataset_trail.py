"""The audit trail of one dataset: events on it and on its dependent objects, and none of other datasets.

Existing rows determine which objects belong to the dataset. A deleted owner report and an upload that ended long ago
have no row: their events stay in the audit log but not in the trail.
"""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy import CompoundSelect, String, cast, func, literal, select, union_all

from core.db.tables.audit_event import AuditEvent
from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.grant import Grant
from core.db.tables.job import Job
from core.db.tables.job_member import JobMember
from core.db.tables.owner_report import OwnerReport
from core.db.tables.release import Release
from core.db.tables.upload import Upload
from core.db.tables.utility_report import UtilityReport
from core.platform.access.roles import Role
from service.auditing.endpoints import BeforeSequence
from service.auditing.schemas import TrailEvent, TrailPage
from service.datasets import repository as datasets
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, PageSize

_OF_DATASET: Final = (
    ("job", Job),
    ("release", Release),
    ("request", BudgetRequest),
    ("upload", Upload),
    ("charged-report", UtilityReport),
)
_SEALED: Final = ("sealed-report", OwnerReport)
"""Only for the owner: to anyone else an owner report does not exist."""

Things = CompoundSelect[tuple[str, str]]

router = APIRouter(prefix="/datasets", tags=["audit"], route_class=StrictRoute)


@router.get(
    "/{dataset_id}/audit", summary="Read the audit trail of a dataset", responses=problems(DatasetNotFound)
)
def list_dataset_audit_events(
    dataset_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    limit: PageSize = DEFAULT_PAGE,
    before: BeforeSequence = None,
) -> TrailPage:
    """Events on the dataset, its budget, members, requests, grants, uploads, jobs, releases and reports, newest first.

    Visible to the dataset's owner, admins and auditors; events on owner reports only to the owner. Attempts refused for want of
    rights or budget are included. Client addresses and keys are only in the full audit log.
    """
    with context.database.read_only() as session:
        dataset = datasets.overseen(session, dataset_id, principal)
        is_owner = principal.has(Role.OWNER) and dataset.owner_id == principal.id
        hanging = (*_OF_DATASET, _SEALED) if is_owner else _OF_DATASET
        trail = _trail(dataset, _things(dataset, hanging)).subquery()
        count = session.scalar(select(func.count()).select_from(trail)) or 0
        newest = count if before is None else min(count, before - 1)
        query = (
            select(AuditEvent, trail.c.about)
            .join(trail, trail.c.sequence == AuditEvent.sequence)
            .order_by(AuditEvent.sequence.desc())
            .offset(count - newest)
            .limit(limit)
        )
        items = [
            TrailEvent.of(event, about, number=newest - place)
            for place, (event, about) in enumerate(session.execute(query))
        ]
    return TrailPage(items=items, next_before=items[-1].number if items and items[-1].number > 1 else None)


def _trail(dataset: Dataset, hanging: Things) -> CompoundSelect[tuple[int, str]]:
    """Audit log sequences with the type of each object. No response shows the sequences: they count everybody's actions."""
    things = hanging.subquery()
    of_things = select(AuditEvent.sequence, things.c.about).join(things, things.c.id == AuditEvent.object)
    # Members can be removed, so their events name the dataset before the principal.
    of_members = select(AuditEvent.sequence, literal("member")).where(
        AuditEvent.object.startswith(f"{dataset.id}/", autoescape=True)
    )
    return union_all(of_things, of_members)


def _things(dataset: Dataset, tables: Iterable[tuple[str, Any]]) -> Things:
    """Ids of the dataset's dependent objects, as spelled in the audit log, with their types."""
    own = [
        select(literal(str(one)).label("id"), literal("dataset").label("about"))
        # Budget events use the id of the population.
        for one in (dataset.id, dataset.population_id)
    ]
    hanging = [
        select(cast(table.id, String), literal(about)).where(table.dataset_id == dataset.id)
        for about, table in tables
    ]
    grants = select(cast(Grant.id, String), literal("grant")).where(
        Grant.population_id == dataset.population_id
    )
    # Jobs of several owners name one of the datasets in their own row.
    shared = select(JobMember.job_id).where(JobMember.dataset_id == dataset.id)
    jobs = select(cast(JobMember.job_id, String), literal("job")).where(JobMember.dataset_id == dataset.id)
    releases = select(cast(Release.id, String), literal("release")).where(Release.job_id.in_(shared))
    return union_all(*own, *hanging, grants, jobs, releases)
