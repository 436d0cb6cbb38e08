"""Decisions on a dataset: cap, freeze, members, requests. Each form calls one API operation.

A decision that could be submitted twice by accident carries an idempotency key.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Query, Response

from core.dp.typical_job import job_delta
from core.plan.learning import learns_categories
from core.platform.budget_requests.states import RequestState
from service.budget_requests.endpoints import (
    approve_budget_request,
    deny_budget_request,
    file_budget_request,
    is_only_person,
    list_budget_requests,
    read_budget_request,
    withdraw_budget_request,
)
from service.budget_requests.schemas import Approval, BudgetRequestOrder, BudgetRequestView, Denial
from service.budgets.endpoints import ask_what_if, freeze_dataset, read_budget, set_budget, unfreeze_dataset
from service.budgets.schemas import BudgetOrder, Reason, WhatIf
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import Form, order
from service.dashboard.overview import dataset_names
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit
from service.datasets.endpoints import read_dataset
from service.members.endpoints import add_member, remove_member
from service.wire import Before

REQUESTS: Final = 25

router = APIRouter(include_in_schema=False)


@router.post("/datasets/{dataset_id}/budget")
def change_cap(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Set or change the cap."""
    wanted = order(
        BudgetOrder,
        epsilon=visit.form.number("epsilon"),
        delta=visit.form.number("delta"),
        reason=visit.form.text("reason"),
    )
    visit.ask(set_budget, dataset_id=dataset_id, order=wanted)
    return sent_on(f"/datasets/{dataset_id}?done=budget-set")


@router.post("/datasets/{dataset_id}/freeze")
def freeze(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Block everything that spends budget."""
    visit.ask(freeze_dataset, dataset_id=dataset_id, order=_reason(visit.form))
    return sent_on(f"/datasets/{dataset_id}?done=frozen")


@router.post("/datasets/{dataset_id}/unfreeze")
def unfreeze(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Allow orders again."""
    visit.ask(unfreeze_dataset, dataset_id=dataset_id, order=_reason(visit.form))
    return sent_on(f"/datasets/{dataset_id}?done=unfrozen")


@router.post("/datasets/{dataset_id}/members")
def admit(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Make an analyst a member."""
    analyst = visit.form.identity("principal_id")
    if analyst is None:
        raise FormInvalid(
            "The principal id is missing.", remedy="The analyst finds it at the bottom of every page."
        )
    visit.ask(add_member, dataset_id=dataset_id, principal_id=analyst)
    return sent_on(f"/datasets/{dataset_id}/people?done=member-added")


@router.post("/datasets/{dataset_id}/members/{principal_id}/remove")
def dismiss(dataset_id: UUID, principal_id: UUID, visit: CurrentVisit) -> Response:
    """Remove an analyst from the members."""
    visit.ask(remove_member, dataset_id=dataset_id, principal_id=principal_id)
    return sent_on(f"/datasets/{dataset_id}/people?done=member-removed")


@router.post("/datasets/{dataset_id}/requests")
def ask_for_budget(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """File a budget request."""
    wanted = order(
        BudgetRequestOrder,
        epsilon=visit.form.number("epsilon"),
        delta=visit.form.number("delta"),
        purpose=visit.form.text("purpose"),
    )
    filed = visit.ask(file_budget_request, dataset_id=dataset_id, order=wanted)
    return sent_on(f"/requests/{filed.id}?done=filed")


@router.get("/requests")
def requests_page(
    visit: CurrentVisit,
    wanted: Annotated[str, Query(alias="state", max_length=40)] = "",
    before: Before = None,
) -> Response:
    """List the requests that the visitor may see, newest first; without a state, or with an unknown one, all."""
    state = RequestState(wanted) if wanted in set(RequestState) else None
    found = visit.ask(list_budget_requests, state=state, limit=REQUESTS, before=before)
    return page(
        visit,
        "requests.html",
        requests=found.items,
        decides=visit.may(approve_budget_request),
        names=dataset_names(visit, [item.dataset_id for item in found.items]),
        people=visit.names_of(involved(found.items)),
        next_before=found.next_before,
        is_first=before is None,
        state=None if state is None else state.value,
        states=[known.value for known in RequestState],
    )


def involved(requests: Iterable[BudgetRequestView]) -> Sequence[UUID | None]:
    """Who filed and who decided on each of the requests; None for nobody yet."""
    return [one for request in requests for one in (request.requested_by, request.decided_by)]


@router.get("/requests/{request_id}")
def request_page(request_id: UUID, visit: CurrentVisit) -> Response:
    """Show one request: requester, purpose, cost and decision."""
    asked = visit.ask(read_budget_request, request_id=request_id)
    outlook = None
    budget = visit.find(read_budget, dataset_id=asked.dataset_id)
    delta = job_delta(asked.delta)
    compares = (
        asked.state is RequestState.OPEN and budget is not None and budget.cap and visit.may(ask_what_if)
    )
    if compares and delta is not None:
        thought = WhatIf(epsilon=asked.epsilon, delta=delta, grant_id=None)
        outlook = visit.ask(ask_what_if, dataset_id=asked.dataset_id, order=thought)
    dataset = visit.ask(read_dataset, dataset_id=asked.dataset_id)
    is_mine = asked.requested_by == visit.principal.id
    is_alone = is_only_person(visit.context, visit.principal)
    return page(
        visit,
        "request.html",
        asked=asked,
        people=visit.names_of([asked.requested_by, asked.decided_by]),
        dataset=dataset,
        learns=learns_categories(dataset.domain),
        budget=budget,
        outlook=outlook,
        once=uuid4(),
        decides=visit.may(approve_budget_request) and (not is_mine or is_alone),
        waives=is_mine and is_alone,
        may_withdraw=visit.may(withdraw_budget_request) and is_mine,
    )


@router.post("/requests/{request_id}/decide")
def decide(request_id: UUID, visit: CurrentVisit) -> Response:
    """Approve a request fully or partly, or deny it with a reason."""
    form = visit.form
    if form.required("decision") == "deny":
        visit.ask(deny_budget_request, request_id=request_id, order=order(Denial, note=form.text("note")))
        return sent_on(f"/requests/{request_id}?done=denied")
    wanted = order(
        Approval, epsilon=form.number("epsilon"), delta=form.number("delta"), note=form.text("note")
    )
    visit.ask(
        approve_budget_request,
        request_id=request_id,
        order=wanted,
        idempotency_key=form.once(),
    )
    return sent_on(f"/requests/{request_id}?done=approved")


@router.post("/requests/{request_id}/withdraw")
def withdraw(request_id: UUID, visit: CurrentVisit) -> Response:
    """Withdraw the visitor's own request."""
    visit.ask(withdraw_budget_request, request_id=request_id)
    return sent_on(f"/requests/{request_id}?done=withdrawn")


def _reason(form: Form) -> Reason:
    return order(Reason, reason=form.text("reason"))
