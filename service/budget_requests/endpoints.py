"""Budget requests: filed by analysts, decided by the dataset's owner or an admin, never by the requester."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse
from sqlalchemy.orm import Session

from core.db.tables.budget_request import BudgetRequest
from core.dp.errors import InvalidGuarantee
from core.dp.guarantee import PrivacyGuarantee
from core.dp.typical_job import delta_of_request
from core.ledger import ledger_queries
from core.ledger.errors import BudgetNotSet, LedgerBroken, PopulationFrozen
from core.platform.access.enrolments import require_enrolled
from core.platform.access.errors import PersonNotEnrolled, RecoveryHold
from core.platform.access.roles import Principal, Role, Via
from core.platform.budget_requests import errors, requests
from core.platform.budget_requests.states import RequestState
from service import idempotency
from service.audit import record
from service.budget_requests import repository
from service.budget_requests.schemas import (
    Approval,
    BudgetRequestList,
    BudgetRequestOrder,
    BudgetRequestView,
    Denial,
)
from service.context import AppContext
from service.datasets import repository as datasets
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.idempotency import (
    REPLAYED_HEADER,
    Answer,
    IdempotencyHeader,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
)
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Before, PageSize

router = APIRouter(tags=["budget requests"], route_class=StrictRoute)

OK = 200

State = Annotated[RequestState | None, Query(description="Only requests in this state.")]


@router.post(
    "/datasets/{dataset_id}/budget-requests",
    status_code=201,
    summary="File a budget request",
    responses=problems(
        DatasetNotFound,
        BudgetNotSet,
        errors.NotAMember,
        errors.RequestAlreadyOpen,
        PersonNotEnrolled,
        InvalidGuarantee,
    ),
)
def file_budget_request(
    dataset_id: UUID,
    order: BudgetRequestOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> BudgetRequestView:
    """Request a sub-cap; the owner or an admin decides. At most one request may be open per analyst and dataset."""
    dataset = datasets.visible(session, dataset_id, principal)
    _require_person(session, context, principal, whose="caller")
    delta = order.delta or _default_delta(session, dataset.population_id, order.epsilon)
    request = requests.file(
        session,
        dataset_id=dataset_id,
        requested_by=principal.id,
        amounts=PrivacyGuarantee(epsilon=order.epsilon, delta=delta),
        purpose=order.purpose,
        open_days=context.settings.request_days,
        clock=context.clock,
    )
    record(session, principal, action="budget-request.file", object_id=request.id, clock=context.clock)
    return _view(session, request)


@router.get(
    "/datasets/{dataset_id}/budget-requests",
    summary="List a dataset's budget requests",
    responses=problems(DatasetNotFound),
)
def list_dataset_budget_requests(
    dataset_id: UUID,
    principal: CurrentPrincipal,
    session: OpenSession,
    state: State = None,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> BudgetRequestList:
    """The requests on one dataset, newest first: all for its owner, admins and auditors, only their own for analysts."""
    datasets.visible(session, dataset_id, principal)
    rows, next_before = repository.page(
        session, principal, dataset_id=dataset_id, state=state, limit=limit, before=before
    )
    return _list(session, rows, next_before)


@router.get("/budget-requests", summary="List budget requests")
def list_budget_requests(
    principal: CurrentPrincipal,
    session: OpenSession,
    state: State = None,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> BudgetRequestList:
    """The requests that the key may see, newest first: the caller's own, and those on datasets the caller owns or oversees."""
    rows, next_before = repository.page(
        session, principal, dataset_id=None, state=state, limit=limit, before=before
    )
    return _list(session, rows, next_before)


@router.get(
    "/budget-requests/{request_id}",
    summary="Read a budget request",
    responses=problems(errors.RequestNotFound),
)
def read_budget_request(
    request_id: UUID, principal: CurrentPrincipal, session: OpenSession
) -> BudgetRequestView:
    """The state of the request, the decision and its reason."""
    return _view(session, repository.visible(session, request_id, principal))


@router.post(
    "/budget-requests/{request_id}/approve",
    summary="Approve a budget request",
    response_model=BudgetRequestView,
    responses=problems(
        errors.RequestNotFound,
        errors.RequestDecided,
        errors.SecondPersonNeeded,
        PersonNotEnrolled,
        RecoveryHold,
        errors.GrantAboveRequest,
        errors.ExpiryOutOfRange,
        errors.RequesterNotMember,
        BudgetNotSet,
        PopulationFrozen,
        LedgerBroken,
        InvalidGuarantee,
        IdempotencyKeyMissing,
        IdempotencyKeyReused,
    ),
)
def approve_budget_request(
    request_id: UUID,
    order: Approval,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    idempotency_key: IdempotencyHeader = None,
) -> JSONResponse:
    """Create the requested grant, or a smaller one; request and grant change together.

    For the dataset's owner or an admin, but not for the requester. Both people must have enrolled themselves, and neither
    may have been recovered within `recovery_hold_hours`. Requires an `Idempotency-Key`: a repeat with the same key
    and body gets the first response again, with the header `Idempotency-Replayed: true`.
    """
    if idempotency_key is None:
        raise IdempotencyKeyMissing
    found = repository.governed(session, request_id, principal)
    decides_alone = found.requested_by == principal.id and is_only_person(context, principal)

    def work() -> Answer:
        now = context.clock.now()
        _require_person(session, context, principal, whose="approver")
        request, _ = requests.approve(
            session,
            request_id,
            by=principal.id,
            amounts=order.amounts(found),
            note=order.note,
            expires_at=order.expires_at or now + timedelta(days=context.settings.grant_days),
            two_person_rule=context.settings.two_person_rule and not decides_alone,
            clock=context.clock,
        )
        if decides_alone and context.settings.two_person_rule:
            record(
                session, principal, action="two-person-rule.waive", object_id=request_id, clock=context.clock
            )
        record(session, principal, action="budget-request.approve", object_id=request_id, clock=context.clock)
        return Answer(status=OK, body=_view(session, request).model_dump(mode="json"))

    answer, replayed = idempotency.once(
        session,
        principal_id=principal.id,
        key=idempotency_key,
        digest=idempotency.request_digest(
            endpoint=f"approve_budget_request/{request_id}", body=order.model_dump(mode="json")
        ),
        at=context.clock.now(),
        work=work,
    )
    return JSONResponse(
        answer.body, status_code=answer.status, headers={REPLAYED_HEADER: "true"} if replayed else None
    )


@router.post(
    "/budget-requests/{request_id}/deny",
    summary="Deny a budget request",
    responses=problems(errors.RequestNotFound, errors.RequestDecided),
)
def deny_budget_request(
    request_id: UUID,
    order: Denial,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> BudgetRequestView:
    """Deny the request with a reason. For the dataset's owner or an admin."""
    repository.governed(session, request_id, principal)
    request = requests.deny(session, request_id, by=principal.id, note=order.note, clock=context.clock)
    record(session, principal, action="budget-request.deny", object_id=request_id, clock=context.clock)
    return _view(session, request)


@router.post(
    "/budget-requests/{request_id}/withdraw",
    summary="Withdraw a budget request",
    responses=problems(errors.RequestNotFound, errors.RequestDecided),
)
def withdraw_budget_request(
    request_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> BudgetRequestView:
    """Withdraw the caller's own request before it is decided."""
    request = requests.withdraw(session, request_id, by=principal.id, clock=context.clock)
    record(session, principal, action="budget-request.withdraw", object_id=request_id, clock=context.clock)
    return _view(session, request)


def is_only_person(context: AppContext, principal: Principal) -> bool:
    """Whether the caller is the one person of the embedded stack, signed in with all its roles by a sign-in link.

    The data folder gives its user the keys of all roles, so the two-person rule cannot separate them there; others
    who were enrolled on the stack stay under it, and so does every other deployment.
    """
    # An account at an identity provider has no key: it may have all roles too, and is not the machine's user.
    is_provisioned = principal.has_key and principal.enrolment_id == principal.id
    all_roles = {Role.OWNER, Role.ANALYST, Role.ADMIN} <= principal.roles
    return context.settings.is_alone and principal.via is Via.SESSION and is_provisioned and all_roles


def _default_delta(session: Session, population_id: UUID, epsilon: float) -> float:
    """The delta of a request that names none.

    Raises:
        BudgetNotSet: no cap is set to derive one from.
    """
    cap = ledger_queries.cap_of(session, population_id)
    if cap is None:
        raise BudgetNotSet(
            "No delta is given, and no budget is set to derive one from.",
            remedy="Specify a delta, or ask an admin to set the dataset's budget.",
        )
    return delta_of_request(cap, epsilon)


def _require_person(session: Session, context: AppContext, principal: Principal, *, whose: str) -> None:
    """Enforce the two-person rule: only people who enrolled themselves, or who sign in through the identity provider, count."""
    if not context.settings.two_person_rule:
        return
    if not principal.has_key:
        context.access.enrolments.note_token(session, principal)
    require_enrolled(principal, whose=whose)


def _view(session: Session, request: BudgetRequest) -> BudgetRequestView:
    return _list(session, [request], None).items[0]


def _list(session: Session, rows: Sequence[BudgetRequest], next_before: UUID | None) -> BudgetRequestList:
    return BudgetRequestList.of(
        rows,
        populations=repository.populations_of(session, rows),
        grants=repository.grants_of(session, rows),
        next_before=next_before,
    )
