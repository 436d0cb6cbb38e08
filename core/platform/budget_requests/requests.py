"""Budget requests: filed by an analyst, decided by another person, turned into a grant in the same transaction.

A decision locks the request's row before the budget's, as every order locks its job's, so there is no deadlock. The
ledger's chain records the grant; the request records who asked, why, and who decided.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.outbox import notify_request
from core.db.tables.budget_request import BudgetRequest
from core.db.tables.grant import Grant
from core.dp.guarantee import PrivacyGuarantee
from core.jobs.repository import population_of
from core.ledger import audit_log, governance
from core.ledger.entries import GrantState
from core.ledger.errors import LedgerBroken
from core.platform.access.enrolments import require_counted
from core.platform.budget_requests import members, repository
from core.platform.budget_requests.errors import (
    ExpiryOutOfRange,
    GrantAboveRequest,
    NotAMember,
    RequestAlreadyOpen,
    RequestDecided,
    RequesterNotMember,
    RequestNotFound,
    SecondPersonNeeded,
)
from core.platform.budget_requests.states import RequestState

UPKEEP: Final = "upkeep"
LONGEST_GRANT: Final = timedelta(days=3653)


def file(
    session: Session,
    *,
    dataset_id: UUID,
    requested_by: UUID,
    amounts: PrivacyGuarantee,
    purpose: str,
    open_days: float,
    clock: Clock,
) -> BudgetRequest:
    """File a request.

    Args:
        dataset_id: whose budget; known to exist.
        requested_by: the requester, who would hold the grant.
        amounts: epsilon and delta of the requested sub-cap.
        purpose: why, for the approver.
        open_days: the number of days without a decision after which the request expires.

    Raises:
        NotAMember: the requester is not a member of the dataset.
        RequestAlreadyOpen: an earlier request waits for its decision.
    """
    if not members.lock(session, dataset_id, requested_by):
        raise NotAMember
    now = clock.now()
    earlier = repository.open_request(session, dataset_id, requested_by)
    if earlier is not None:
        if earlier.expires_at > now:
            raise RequestAlreadyOpen(earlier.id)
        _decide(session, earlier, RequestState.EXPIRED, by=None, at=now)
    request = BudgetRequest(
        dataset_id=dataset_id,
        requested_by=requested_by,
        epsilon=amounts.epsilon,
        delta=amounts.delta,
        purpose=purpose,
        state=RequestState.OPEN.value,
        created_at=now,
        expires_at=now + timedelta(days=open_days),
    )
    repository.add_request(session, request)
    notify_request(session, request, at=now)
    return request


def approve(
    session: Session,
    request_id: UUID,
    *,
    by: UUID,
    amounts: PrivacyGuarantee | None,
    note: str | None,
    expires_at: datetime,
    two_person_rule: bool,
    clock: Clock,
) -> tuple[BudgetRequest, Grant]:
    """Grant what was requested, or less.

    Args:
        session: the open transaction; request and grant change together or not at all.
        request_id: the request. The caller checks whether `by` may decide on it.
        amounts: what is granted; None for everything requested.
        expires_at: when the grant ends.
        two_person_rule: whether requester and approver must be two people who enrolled themselves.

    Raises:
        RequestNotFound, RequestDecided: there is no such open request.
        SecondPersonNeeded: `by` filed the request, and would hold the grant.
        PersonNotEnrolled, RecoveryHold: one of the two does not count for the two-person rule.
        GrantAboveRequest, ExpiryOutOfRange: the approval goes beyond what is allowed.
        RequesterNotMember: the requester is no longer a member of the dataset.
        BudgetNotSet, PopulationFrozen: the ledger refuses.
    """
    request = _open(session, request_id, clock=clock)
    if two_person_rule:
        _require_two_people(session, request, by=by, at=clock.now())
    amounts = amounts or PrivacyGuarantee(epsilon=request.epsilon, delta=request.delta)
    if amounts.epsilon > request.epsilon or amounts.delta > request.delta:
        raise GrantAboveRequest(epsilon=request.epsilon, delta=request.delta)
    now = clock.now()
    if not now < expires_at <= now + LONGEST_GRANT:
        raise ExpiryOutOfRange(latest=now + LONGEST_GRANT)
    if not members.includes(session, request.dataset_id, request.requested_by):
        raise RequesterNotMember
    grant = governance.grant(
        session,
        population_of(session, request.dataset_id),
        holder=request.requested_by,
        epsilon=amounts.epsilon,
        delta=amounts.delta,
        expires_at=expires_at.astimezone(UTC),
        by=str(by),
        clock=clock,
    )
    request.grant_id = grant.id
    request.note = note
    _decide(session, request, RequestState.APPROVED, by=by, at=now)
    return request, grant


def deny(session: Session, request_id: UUID, *, by: UUID, note: str, clock: Clock) -> BudgetRequest:
    """Deny a request, with the reason in `note`.

    Raises:
        RequestNotFound, RequestDecided: there is no such open request.
    """
    request = _open(session, request_id, clock=clock)
    request.note = note
    _decide(session, request, RequestState.DENIED, by=by, at=clock.now())
    return request


def withdraw(session: Session, request_id: UUID, *, by: UUID, clock: Clock) -> BudgetRequest:
    """Withdraw one's own request.

    Raises:
        RequestNotFound, RequestDecided: there is no such open request of `by`.
    """
    request = _open(session, request_id, clock=clock, of=by)
    _decide(session, request, RequestState.WITHDRAWN, by=by, at=clock.now())
    return request


def expire_requests(session: Session, *, clock: Clock) -> int:
    """Expire one batch of overdue open requests; idempotent. Returns how many."""
    now = clock.now()
    over = repository.expire_requests(session, at=now)
    for request in over:
        _note(session, "budget-request.expire", request.id, clock=clock)
        notify_request(session, request, at=now)
    return len(over)


def expire_grants(session: Session, *, clock: Clock) -> int:
    """Close one batch of expired grants; idempotent. Returns how many.

    Orders are refused from the moment of expiry on, whether or not this has run; the entry only records it. A grant on
    a ledger that does not verify stays open, and does not keep other grants from being closed.
    """
    closed = 0
    for grant_id in repository.grants_over(session, at=clock.now()):
        with suppress(LedgerBroken):
            if governance.close_grant(session, grant_id, outcome=GrantState.EXPIRED, by=UPKEEP, clock=clock):
                _note(session, "grant.expire", grant_id, clock=clock)
                closed += 1
    return closed


def _open(session: Session, request_id: UUID, *, clock: Clock, of: UUID | None = None) -> BudgetRequest:
    request = repository.lock_request(session, request_id)
    if request is None or of not in {None, request.requested_by}:
        raise RequestNotFound
    if request.state != RequestState.OPEN:
        raise RequestDecided(state=request.state)
    if request.expires_at <= clock.now():
        raise RequestDecided(state=RequestState.EXPIRED.value)
    return request


def _decide(
    session: Session, request: BudgetRequest, state: RequestState, *, by: UUID | None, at: datetime
) -> None:
    request.state = state.value
    request.decided_by = by
    request.decided_at = at
    session.flush()
    notify_request(session, request, at=at)


def _require_two_people(session: Session, request: BudgetRequest, *, by: UUID, at: datetime) -> None:
    if by == request.requested_by:
        raise SecondPersonNeeded
    # A request from before the enrolment may have been filed with a key that an administrator handed out.
    require_counted(session, request.requested_by, since=request.created_at, at=at, whose="requester")
    require_counted(session, by, since=at, at=at, whose="approver")


def _note(session: Session, action: str, object_id: UUID, *, clock: Clock) -> None:
    audit_log.append(
        session, actor=UPKEEP, action=action, object=str(object_id), outcome="done", at=clock.now()
    )
