"""Collects everything that a data protection officer needs to know about a dataset. Public facts and decisions only."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.tables.audit_event import AuditEvent
from core.db.tables.budget_request import BudgetRequest
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.jobs.repository import reads_one_of
from core.ledger import ledger_queries
from core.plan.learning import learns_categories
from core.platform.access import repository as access
from core.platform.budget_requests import members
from core.platform.witness.verification import LedgerCheck
from service.budget_requests import repository as requests
from service.budget_requests.schemas import BudgetRequestView
from service.budgets.schemas import BudgetView
from service.datasets import repository as datasets
from service.datasets.schemas import DatasetView
from service.dossier.promise import FROM_WHOM, NOT_PROMISED, protected
from service.grants.schemas import GrantView
from service.members.schemas import MemberList
from service.releases.repository import made_from_one_of
from service.wire import coarse
from service.witness.schemas import LedgerVerification
from service.wording import certificate_text

SCHEMA: Final = "understudy.dossier/1"
ACTION: Final = "dossier.export"


def collect(
    session: Session, row: Dataset, *, found: LedgerCheck, head: Mapping[str, Any], at: datetime, by: UUID
) -> dict[str, Any]:
    """The unsigned document.

    Args:
        session: A snapshot transaction.
        row: The dataset; the caller must be allowed to see all of this.
        head: The signed head of its ledger.
        by: The exporting principal.
    """
    statement = ledger_queries.statement(session, row.population_id)
    thresholds = learns_categories(row.domain)
    budget = BudgetView.of(statement.summary, thresholds=thresholds).model_dump(mode="json")
    dataset = DatasetView.of(row, rule=datasets.rules_of(session, [row])[row.population_id])
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "at": _spelt(at),
        "dataset": dataset.model_dump(mode="json") | {"owner_id": str(row.owner_id)},
        "promise": {
            "protected": list(protected(row.privacy_unit, budget["cap"])),
            "from_whom": list(FROM_WHOM),
            "not_promised": list(NOT_PROMISED),
        },
        "members": MemberList.of(members.of(session, row.id)).model_dump(mode="json")["items"],
        "budget": budget,
        "grants": [
            GrantView.of(grant).model_dump(mode="json")
            for grant in sorted(
                ledger_queries.grants_of(session, row.population_id), key=lambda one: (one.created_at, one.id)
            )
        ],
        "requests": _requests(session, row),
        "jobs": _jobs(session, row),
        "releases": _releases(session, row),
        "ledger": {
            "verification": LedgerVerification.of(
                row.population_id, found, frozen=statement.summary.frozen_at is not None
            ).model_dump(mode="json"),
            "head": dict(head),
            "statement": statement.to_json(),
        },
        "exports": _exports(session, row.id),
        "exported_by": str(by),
    }
    return document | {"people": _people(session, document)}


def _people(session: Session, document: Mapping[str, Any]) -> dict[str, str]:
    """Names of the document's principals, by id, where an admin has set one."""
    named = {document["exported_by"], document["dataset"]["owner_id"]}
    for part, members_of_it in (
        ("members", ("principal_id", "added_by")),
        ("grants", ("holder_id",)),
        ("requests", ("requested_by", "decided_by")),
        ("jobs", ("ordered_by",)),
    ):
        named |= {one[name] for one in document[part] for name in members_of_it if one[name] is not None}
    named |= {export["actor"].partition("/")[0] for export in document["exports"]}
    found = access.names_of(session, [UUID(one) for one in named])
    return {str(identity): name for identity, name in sorted(found.items())}


def _requests(session: Session, row: Dataset) -> list[dict[str, Any]]:
    query = select(BudgetRequest).where(BudgetRequest.dataset_id == row.id)
    rows = session.scalars(query.order_by(BudgetRequest.created_at, BudgetRequest.id)).all()
    grants = requests.grants_of(session, rows)
    return [
        BudgetRequestView.of(
            one,
            population_id=row.population_id,
            grant=None if one.grant_id is None else grants[one.grant_id],
        ).model_dump(mode="json")
        for one in rows
    ]


def _jobs(session: Session, row: Dataset) -> list[dict[str, Any]]:
    """The jobs as shown to everyone who can see the dataset: states, and times rounded to the minute."""
    query = select(Job).where(reads_one_of([row.id])).order_by(Job.created_at, Job.id)
    return [
        {
            "id": str(job.id),
            "ordered_by": str(job.ordered_by),
            "state": "running" if job.state == "queued" and job.started_at is not None else job.state,
            "created_at": _spelt(coarse(job.created_at)),
            "finished_at": None if job.finished_at is None else _spelt(coarse(job.finished_at)),
        }
        for job in session.scalars(query)
    ]


def _releases(session: Session, row: Dataset) -> list[dict[str, Any]]:
    query = select(Release).where(made_from_one_of([row.id])).order_by(Release.created_at, Release.id)
    return [
        {
            "id": str(release.id),
            "job_id": str(release.job_id),
            "created_at": _spelt(coarse(release.created_at)),
            "in_words": list(certificate_text.in_words(release.certificate)),
            "not_covered": list(certificate_text.not_covered(release.certificate)),
            "certificate": release.certificate,
        }
        for release in session.scalars(query)
    ]


def _exports(session: Session, dataset_id: UUID) -> list[dict[str, str]]:
    """All exports of this document with actor and time; the current one comes last."""
    query = select(AuditEvent).where(AuditEvent.action == ACTION, AuditEvent.object == str(dataset_id))
    return [
        {"at": _spelt(event.at), "actor": event.actor}
        for event in session.scalars(query.order_by(AuditEvent.sequence))
    ]


def _spelt(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
