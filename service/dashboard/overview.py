"""The home page, the budget board: every visible budget over time, and what waits, ends, runs or failed."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Response

from service.budget_requests.endpoints import approve_budget_request, file_budget_request
from service.budgets.endpoints import set_budget
from service.dashboard.rendering import page
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.endpoints import create_dataset, list_datasets, upload_rows
from service.datasets.repository import names_of
from service.diagnosis.endpoints import only_one, read_health_report
from service.jobs.endpoints import create_job
from service.overview.endpoints import read_overview
from service.overview.schemas import DatasetBudget
from service.principals.enrolment_endpoints import list_enrolments
from service.principals.people_endpoints import create_person
from service.principals.people_schemas import EnrolmentView
from service.wire import Before
from service.wording.labels import disambiguated, newest, principal_in

DATASETS: Final = 25

router = APIRouter(include_in_schema=False)


@router.get("/overview")
def overview_page(visit: CurrentVisit, before: Before = None) -> Response:
    """Show the budget board; datasets in pages, newest first, and on a page those with the least left first."""
    visit.require(list_datasets)
    board = visit.ask(read_overview, limit=DATASETS, before=before)
    is_first = before is None
    others = [grant for grant in board.expiring_grants or () if grant.holder_id != visit.principal.id]
    jobs = [*(board.live_jobs or ()), *(board.failed_jobs or ())]
    people = [request.requested_by for request in board.requests or ()]
    people += [grant.holder_id for grant in others] + [job.ordered_by for job in jobs]
    people += [actor for refusal in board.refusals or () if (actor := principal_in(refusal.actor))]
    named = {listed.id for listed in board.datasets or ()} | {job.dataset_id for job in jobs}
    named |= {request.dataset_id for request in board.requests or ()}
    named |= {one for grant in [*(board.own_grants or ()), *others] for one in newest(grant.dataset_ids)}
    return page(
        visit,
        "overview.html",
        board=board,
        datasets=sorted(board.datasets or (), key=_left),
        is_first=is_first,
        expiring=others,
        now=visit.context.clock.now(),
        recoveries=own_recoveries(visit) if is_first else [],
        names=dataset_names(visit, list(named)),
        siblings=_siblings(board.datasets or ()),
        composed=any(map(_is_composed, board.datasets or ())),
        people=visit.names_of(people),
        decides=visit.may(approve_budget_request),
        may_declare=visit.may(create_dataset),
        may_file=visit.may(file_budget_request),
        may_order=visit.may(create_job),
        may_set=visit.may(set_budget),
        may_upload=visit.may(upload_rows),
        may_create_people=visit.may(create_person),
        may_examine=visit.may(read_health_report),
    )


def _left(dataset: DatasetBudget) -> float:
    """The remaining share of a dataset's cap; those without a cap come last, deleted ones at the very end."""
    if dataset.state == "deleted":
        return math.inf
    budget = dataset.budget
    if budget is None or budget.cap is None or budget.remaining_epsilon is None:
        return 2.0
    return budget.remaining_epsilon / budget.cap["epsilon"]


def _is_composed(dataset: DatasetBudget) -> bool:
    """Whether more is left of a dataset's cap than the sums of its jobs' epsilons leave."""
    budget = dataset.budget
    if budget is None or budget.cap is None or budget.remaining_epsilon is None:
        return False
    in_force = Decimal(budget.spent["epsilon"]) + Decimal(budget.reserved["epsilon"])
    return Decimal(str(budget.remaining_epsilon)) > Decimal(str(budget.cap["epsilon"])) - in_force


def _siblings(listed: Sequence[DatasetBudget]) -> Mapping[UUID, Sequence[UUID]]:
    """The other datasets on the page that have the same population, and hence the same budget."""
    return {
        dataset.id: [
            other.id
            for other in reversed(listed)
            if other.population_id == dataset.population_id and other.id != dataset.id
        ]
        for dataset in listed
    }


@router.get("/overview/findings")
def findings_fragment(visit: CurrentVisit) -> Response:
    """Examine the deployment, which takes longer than a page may."""
    return page(visit, "findings.html", report=visit.ask(read_health_report, limit=only_one()))


def own_recoveries(visit: Visit) -> Sequence[EnrolmentView]:
    """Enrolments that let someone act in the visitor's name: waiting ones, and recoveries on hold."""
    if not visit.may(list_enrolments):
        return []
    now = visit.context.clock.now()
    return [
        item
        for item in visit.ask(list_enrolments).items
        if item.principal_id == visit.principal.id
        and (
            item.state == "waiting"
            or (item.state == "accepted" and item.held_until is not None and item.held_until > now)
        )
    ]


def dataset_names(visit: Visit, dataset_ids: Sequence[UUID]) -> Mapping[UUID, str]:
    """The names of those given datasets that the visitor may see, disambiguated where they are equal."""
    if not dataset_ids or not visit.may(list_datasets):
        return {}
    return disambiguated(visit.read(lambda session: names_of(session, dataset_ids, visit.principal)))
