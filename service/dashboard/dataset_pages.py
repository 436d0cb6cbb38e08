"""Pages of one dataset: budget, requests and grants, ledger, declared facts, audit trail, deletion."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Response

from core.dp.charge import MICRO
from core.ledger import ledger_queries, repository
from core.ledger.entries import GrantState
from core.ledger.ledger_queries import entry_json
from core.plan.learning import learns_categories
from core.platform.budget_requests.states import RequestState
from service.auditing.dataset_trail import list_dataset_audit_events
from service.auditing.endpoints import BeforeSequence, list_audit_events
from service.budget_requests.endpoints import (
    approve_budget_request,
    file_budget_request,
    list_dataset_budget_requests,
)
from service.budgets.endpoints import (
    ask_what_if,
    freeze_dataset,
    read_budget,
    read_ledger,
    set_budget,
    unfreeze_dataset,
)
from service.budgets.outlook import look_at_sizes
from service.budgets.schemas import WhatIf
from service.dashboard.decisions import involved
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import order
from service.dashboard.long_lists import From, part_of
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.deleting import delete_dataset
from service.datasets.endpoints import accept_rows, read_dataset, read_intake_report, upload_rows
from service.datasets.schemas import DatasetView
from service.dossier.endpoints import export_dossier
from service.grants.endpoints import list_grants, revoke_grant
from service.jobs.endpoints import create_job, list_jobs
from service.known_counts.endpoints import read_known_counts
from service.members.endpoints import add_member, list_members
from service.wire import Before, coarse
from service.witness.endpoints import read_ledger_head, verify_ledger
from service.wording.amounts import short
from service.wording.labels import principal_in

NEWEST_JOBS: Final = 20
REQUESTS: Final = 20
ENTRIES: Final = 50
EVENTS: Final = 50
TYPICAL: Final = (0.1, 0.5, 1.0, 2.0, 4.0)

BeforeEntry = Annotated[int | None, Query(ge=1, lt=2**31)]

router = APIRouter(prefix="/datasets/{dataset_id}", include_in_schema=False)


@router.get("")
def dataset_page(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the budget, spending over time, the outlook for one more job, and open decisions."""
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    budget = visit.ask(read_budget, dataset_id=dataset_id)
    waiting = (
        visit.ask(
            list_dataset_budget_requests, dataset_id=dataset_id, state=RequestState.OPEN, limit=REQUESTS
        ).items
        if visit.may(list_dataset_budget_requests)
        else []
    )
    is_declared = dataset.state == "declared"
    report = visit.find(read_intake_report, dataset_id=dataset_id) if is_declared else None
    visit.require(read_ledger)
    steps = visit.read(lambda session: repository.newest_steps(session, dataset.population_id))
    jobs = visit.ask(list_jobs, dataset_id=dataset_id, limit=NEWEST_JOBS) if visit.may(list_jobs) else None
    return page(
        visit,
        "dataset.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        budget=budget,
        waiting=waiting,
        rows_missing=is_declared,
        rows_wait=report is not None and report["waiting"],
        people=visit.names_of([request.requested_by for request in waiting]),
        curve=json.dumps(_curve(steps)) if steps else None,
        steps=steps[-NEWEST_JOBS:][::-1],
        is_cut=len(steps) == repository.NEWEST_STEPS,
        most_steps=repository.NEWEST_STEPS,
        micro=MICRO,
        jobs=[] if jobs is None else jobs.items,
        has_more_jobs=jobs is not None and jobs.next_before is not None,
        may_set=visit.may(set_budget),
        may_freeze=visit.may(freeze_dataset),
        may_unfreeze=visit.may(unfreeze_dataset),
        may_ask=visit.may(ask_what_if) and dataset.deleted_at is None and budget.frozen_at is None,
        may_file=visit.may(file_budget_request) and dataset.deleted_at is None and budget.frozen_at is None,
        may_order=visit.may(create_job) and dataset.deleted_at is None and budget.frozen_at is None,
        may_upload=visit.may(upload_rows) and is_declared,
        typical=_typical_orders(visit, dataset) if budget.cap else [],
    )


def _typical_orders(visit: Visit, dataset: DatasetView) -> Sequence[tuple[float, dict[str, Any]]]:
    """Orders of usual sizes and whether the analyst's grant and the cap admit them; empty for other visitors."""
    if not (visit.may(create_job) and visit.may(ask_what_if)) or dataset.state != "ready":
        return []
    now = visit.context.clock.now()
    found = visit.read(
        lambda session: look_at_sizes(
            session,
            dataset.population_id,
            visit.principal,
            TYPICAL,
            thresholds=learns_categories(dataset.domain),
            at=now,
        )
    )
    return [(epsilon, outlook.to_json()) for epsilon, outlook in found]


@router.post("/what-if")
def what_if(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the outlook for one more job: a fragment for htmx, a full page without JavaScript."""
    asked = order(WhatIf, epsilon=visit.form.number("epsilon"))
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    outlook = visit.ask(ask_what_if, dataset_id=dataset_id, order=asked)
    template = "what_if.html" if visit.is_fragment else "what_if_page.html"
    return page(visit, template, dataset=dataset, tabs=tabs(visit, dataset), outlook=outlook)


@router.get("/people")
def people_page(
    dataset_id: UUID,
    visit: CurrentVisit,
    before: Before = None,
    members_start: From = 0,
    grants_start: From = 0,
) -> Response:
    """Show members, grants and all requests."""
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    requests = visit.ask(list_dataset_budget_requests, dataset_id=dataset_id, limit=REQUESTS, before=before)
    # Visitors may see a dataset and not its members.
    known = visit.find(list_members, dataset_id=dataset_id)
    members = None if known is None else part_of(known.items, members_start)
    granted = visit.ask(list_grants, dataset_id=dataset_id).items
    grants = part_of(sorted(granted, key=lambda grant: grant.state != GrantState.OPEN), grants_start)
    shown = [] if members is None else [member.principal_id for member in members.items]
    shown += [grant.holder_id for grant in grants.items]
    return page(
        visit,
        "people.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        members=members,
        is_member=visit.principal.id in {member.principal_id for member in (known.items if known else ())},
        grants=grants,
        people=visit.names_of([*shown, *involved(requests.items)]),
        requests=requests.items,
        decides=visit.may(approve_budget_request),
        next_before=requests.next_before,
        is_first=before is None,
        may_add=members is not None and visit.may(add_member),
        may_revoke=members is not None and visit.may(revoke_grant),
        may_file=visit.may(file_budget_request),
        cap=visit.ask(read_budget, dataset_id=dataset_id).cap if visit.may(file_budget_request) else None,
        known_counts=visit.find(read_known_counts, dataset_id=dataset_id),
    )


@router.get("/ledger")
def ledger_page(dataset_id: UUID, visit: CurrentVisit, before: BeforeEntry = None) -> Response:
    """Show the ledger, newest entries first."""
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    visit.require(read_ledger)
    entries, next_before = visit.read(
        lambda session: ledger_queries.page(session, dataset.population_id, limit=ENTRIES, before=before)
    )
    decided = [entry.decision.terms for entry in entries if entry.decision is not None]
    return page(
        visit,
        "ledger.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        budget=visit.ask(read_budget, dataset_id=dataset_id),
        entries=[entry_json(entry) for entry in entries],
        people=visit.names_of(
            principal_in(terms[role]) for terms in decided for role in ("by", "holder_id") if role in terms
        ),
        next_before=next_before,
        is_first=before is None,
        head=visit.ask(read_ledger_head, dataset_id=dataset_id),
        may_export=visit.may(export_dossier),
    )


@router.get("/ledger/verification")
def ledger_verification(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Verify the whole chain, which takes as long as the ledger: a fragment for htmx, a full page without JavaScript."""
    return page(
        visit,
        "verification.html" if visit.is_fragment else "verification_page.html",
        title="Ledger integrity",
        noun="entry",
        plural="entries",
        back=f"/datasets/{dataset_id}/ledger",
        verified=visit.ask(verify_ledger, dataset_id=dataset_id),
    )


@router.get("/facts")
def facts_page(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the declared columns and, to the owner, the intake report."""
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    return page(
        visit,
        "facts.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        budget=visit.find(read_budget, dataset_id=dataset_id),
        # None for anyone but the owner, and before rows are uploaded.
        report=visit.find(read_intake_report, dataset_id=dataset_id),
        may_accept=visit.may(accept_rows),
        may_delete=dataset.deleted_at is None and visit.may(delete_dataset),
    )


@router.get("/trail")
def trail_page(dataset_id: UUID, visit: CurrentVisit, before: BeforeSequence = None) -> Response:
    """List events on the dataset and its dependent objects, newest first."""
    found = visit.ask(list_dataset_audit_events, dataset_id=dataset_id, limit=EVENTS, before=before)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    members = [UUID(event.object) for event in found.items if event.about == "member"]
    return page(
        visit,
        "trail.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        events=found.items,
        people=visit.names_of([*members, *(principal_in(event.actor) for event in found.items)]),
        next_before=found.next_before,
        is_first=before is None,
        may_see_all=visit.may(list_audit_events),
    )


@router.get("/delete")
def deletion_page(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the consequences and the form that asks for the name."""
    visit.require(delete_dataset)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    return page(visit, "delete.html", dataset=dataset, tabs=tabs(visit, dataset))


@router.post("/delete")
def delete(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Destroy the key of the rows if the name was typed exactly.

    Raises:
        FormInvalid: The typed name differs; nothing was deleted.
    """
    visit.require(delete_dataset)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    if visit.form.required("typed_name") != dataset.name.strip():
        raise FormInvalid(
            "The typed name does not match the dataset's name. Nothing was deleted.",
            remedy="Go back and type the name exactly as shown, or leave the page.",
        )
    visit.ask(delete_dataset, dataset_id=dataset_id)
    return sent_on(f"/datasets/{dataset_id}/facts?done=deleted")


def tabs(visit: Visit, dataset: DatasetView) -> Sequence[tuple[str, str]]:
    """The pages of a dataset that the visitor may open."""
    base = f"/datasets/{dataset.id}"
    offered = (
        (base, "Budget", read_budget),
        (f"{base}/people", "Requests and grants", list_dataset_budget_requests),
        (f"{base}/ledger", "Ledger", read_ledger),
        (f"{base}/facts", "Declared facts", read_dataset),
        (f"{base}/trail", "Audit trail", list_dataset_audit_events),
    )
    return [(path, title) for path, title, operation in offered if visit.may(operation)]


def _curve(steps: Sequence[repository.Step]) -> dict[str, Any]:
    """The steps as arrays: time in seconds (whole minutes), epsilon spent and in force after each step, short job ids."""
    known = [
        (step, step.spent_micros, step.reserved_micros)
        for step in steps
        if step.spent_micros is not None and step.reserved_micros is not None
    ]
    return {
        "at": [_minute(step.at) for step, *_ in known],
        "spent": [spent / MICRO for _, spent, _ in known],
        "reserved": [(spent + reserved) / MICRO for _, spent, reserved in known],
        # A longer ledger is cut to its newest steps; the curve then starts at the amount spent before them.
        "whole": len(steps) < repository.NEWEST_STEPS,
        "jobs": " ".join(short(step.job_id) for step, *_ in known),
    }


def _minute(at: datetime) -> int:
    return int(coarse(at).timestamp())
