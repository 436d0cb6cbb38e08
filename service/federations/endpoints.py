"""Federations: created by an analyst; their members exchange noisy states with tokens of their own.

The board holds no row, knows no member's key, and computes nothing on states. A member trusts it with nothing: what is handed in has
the noise that the member's ledger was charged for, and what is handed out is checked by the member.
"""

import hashlib
from typing import Annotated, Any, Final
from uuid import UUID, uuid4, uuid5

from fastapi import APIRouter, Depends, Path, Request, Response
from sqlalchemy.orm import Session

from core.data.errors import UploadTooLarge
from core.db.tables.federation import Federation
from core.db.tables.federation_member import FederationMember
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.errors import InvalidGuarantee, TargetOutOfReach
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.table import TableDomain
from core.plan.errors import (
    BoundNeedsAnchor,
    InvalidPlan,
    InvalidSpec,
    TooManyCodes,
    TooManyFreeSteps,
)
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import largest_state
from core.plan.several_owners import federation as plans
from core.plan.several_owners.member_plan import MemberPlan, largest_counts
from core.platform.access.errors import RateExceeded
from core.platform.access.keys import KeyText, make_federation_token, parse_federation_token
from core.platform.quotas import checks
from core.platform.quotas.errors import QuotaExceeded
from service.audit import record
from service.dependencies import Credentials, CurrentPrincipal, InjectedContext, OpenSession
from service.edge.body_stream import BodyStream, UploadInterrupted
from service.edge.concurrency import ServiceBusy, ShareUsedUp
from service.federations import repository
from service.federations.errors import (
    CertificateOfAnother,
    FederationNotFound,
    FederationOver,
    FederationTokenRefused,
    RoundNotOpen,
    StateDiffers,
    StateNotFound,
)
from service.federations.schemas import (
    FederationList,
    FederationOrder,
    FederationSummary,
    FederationView,
    Membership,
    NewFederation,
    RoundView,
    is_of_member,
)
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Before, Document, PageSize

router = APIRouter(prefix="/federations", tags=["federations"], route_class=StrictRoute)

MOST_STATE_BYTES: Final = 32 * 2**20
"""Largest state of one member that a board takes."""
MOST_ROUNDS: Final = 200_000

_BINARY: Final[dict[str, Any]] = {
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
}
_STATE_BODY: Final = {
    "requestBody": {"required": True, "description": "The state, as safetensors.", "content": _BINARY}
}
_STATE_ANSWER: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The state, as safetensors.", "content": _BINARY}
}
RoundNumber = Annotated[int, Path(ge=0, lt=MOST_ROUNDS, description="Number of the round, from 0.")]
MemberName = Annotated[str, Path(pattern=plans.MEMBER_NAME)]


@router.post(
    "",
    status_code=201,
    summary="Create a federation",
    responses=problems(
        DomainInvalid,
        InvalidSpec,
        InvalidPlan,
        BoundNeedsAnchor,
        TooManyCodes,
        TooManyFreeSteps,
        InvalidGuarantee,
        TargetOutOfReach,
        QuotaExceeded,
        ServiceBusy,
    ),
)
def create_federation(
    order: FederationOrder, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewFederation:
    """Fix the public plan of a model or a generator that owners train in services of their own: weights are averaged, noisy counts added.

    This service becomes the board: it hands noisy states from one member to the others. Nothing is charged here; every member orders
    its own training with `understudy member`, and its own ledger pays. Only this response contains the members' tokens.
    """
    federation_id = uuid4()
    domain = domain_from_json(order.domain)
    plan = _planned(order, federation_id, context)
    rounds, state_bytes = _exchanged(plan, domain)
    if state_bytes > MOST_STATE_BYTES:
        raise InvalidSpec(
            f"a state would have more than {MOST_STATE_BYTES} bytes",
            remedy="choose a smaller network, or declare fewer columns or codes",
        )
    row = Federation(
        id=federation_id,
        name=order.name,
        created_by=principal.id,
        created_at=context.clock.now(),
        plan=plan.to_json(),
        domain_sha256=domain.digest(),
        rounds=rounds,
        state_bytes=state_bytes,
        round_seconds=order.round_seconds,
        round=0,
        state=repository.OPEN,
    )
    tokens: dict[str, str] = {}
    members = []
    for place, one in enumerate(order.members):
        token = make_federation_token(context.entropy)
        tokens[one.name] = token.text
        members.append(
            FederationMember(
                federation_id=federation_id,
                place=place,
                name=one.name,
                token_digest=context.access.keys.digest(token),
            )
        )
    # The first statement: planning is slow, and holds neither a connection nor the lock.
    checks.require_federation(session, principal.id, limit=repository.MOST_OPEN)
    session.add(row)
    session.flush()
    session.add_all(members)
    session.flush()
    record(session, principal, action="federation.create", object_id=federation_id, clock=context.clock)
    return NewFederation(**FederationView.of(row, members, here=()).model_dump(), tokens=tokens)


@router.get("", summary="List federations")
def list_federations(
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> FederationList:
    """The federations that the caller created, newest first: how far each is, and whom it waits for."""
    rows, next_before = repository.page(session, principal, limit=limit, before=before)
    repository.fail_the_late(session, rows, at=context.clock.now())
    here = repository.here_now(session, rows)
    items = [FederationSummary.of(row, here[row.id]) for row in rows]
    return FederationList(items=items, next_before=next_before)


@router.get("/{federation_id}", summary="Read a federation", responses=problems(FederationNotFound))
def read_federation(
    federation_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> FederationView:
    """How far the federation is, and the certificates that its members have handed in. For the analyst who created it."""
    row = repository.created_by(session, federation_id, principal, lock=True)
    repository.fail_if_late(session, row, at=context.clock.now())
    return _shown(session, row)


@router.delete("/{federation_id}", summary="End a federation", responses=problems(FederationNotFound))
def end_federation(
    federation_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> FederationView:
    """Take no further state, and delete those that are kept. The members' trainings end, charged for what has begun.

    Plan, digests and certificates stay. Ending a federation that is over only deletes its states; the training of a member that has not read
    the last ones yet ends too.
    """
    row = repository.created_by(session, federation_id, principal, lock=True)
    if row.state == repository.OPEN:
        row.state, row.ended_at = "ended", context.clock.now()
    repository.forget_states(session, federation_id)
    record(session, principal, action="federation.end", object_id=federation_id, clock=context.clock)
    return _shown(session, row)


def presented_token(credentials: Credentials) -> KeyText:
    """The token of a member.

    Raises:
        FederationTokenRefused: There is none, or it is not one.
    """
    token = None if credentials is None else parse_federation_token(credentials.credentials)
    if token is None:
        raise FederationTokenRefused
    return token


Token = Annotated[KeyText, Depends(presented_token)]


@router.get(
    "/{federation_id}/membership",
    summary="Read what a member has to order",
    responses=problems(FederationTokenRefused),
)
def read_membership(federation_id: UUID, token: Token, context: InjectedContext) -> Membership:
    """The public plan as the bearer of this member's token has to order it in its own service. Needs no API key."""
    with context.database.transaction() as session:
        member = repository.member_with(session, federation_id, context.access.keys.digest(token))
        row = repository.locked(session, federation_id)
        repository.fail_if_late(session, row, at=context.clock.now())
        return Membership.of(row, member)


@router.put(
    "/{federation_id}/rounds/{number}",
    status_code=204,
    summary="Hand in a state",
    openapi_extra=_STATE_BODY,
    responses=problems(
        FederationTokenRefused,
        FederationOver,
        RoundNotOpen,
        StateDiffers,
        UploadTooLarge,
        UploadInterrupted,
        ServiceBusy,
        ShareUsedUp,
        RateExceeded,
    ),
)
def put_state(
    federation_id: UUID, number: RoundNumber, request: Request, token: Token, context: InjectedContext
) -> None:
    """Hand in the member's noisy state of the open round as the raw body. It is written once: the same bytes again change nothing."""
    digest = context.access.keys.digest(token)
    with context.database.read_only() as session:
        place = repository.member_with(session, federation_id, digest).place
        largest = session.get_one(Federation, federation_id).state_bytes
    # A member that freezes while it sends holds a thread: no more than its share of them.
    with context.limits.states.hold(uuid5(federation_id, str(place))):
        content = b"".join(BodyStream(request, max_bytes=largest))
    now = context.clock.now()
    with context.database.transaction() as session:
        row = repository.locked(session, federation_id)
        repository.fail_if_late(session, row, at=now)
        over = _over(row)
        if over is None:
            sha256 = hashlib.sha256(content).digest()
            repository.hand_in(session, row, number, place, content=content, sha256=sha256, at=now)
    # Raised after the commit: that the federation has failed stays written.
    if over is not None:
        raise over


@router.get(
    "/{federation_id}/rounds/{number}",
    summary="List the states of a round",
    responses=problems(FederationTokenRefused, FederationOver),
)
def read_round(federation_id: UUID, number: RoundNumber, token: Token, context: InjectedContext) -> RoundView:
    """Which members have handed in their state of a round."""
    now = context.clock.now()
    with context.database.read_only() as session:
        repository.member_with(session, federation_id, context.access.keys.digest(token))
        row = session.get_one(Federation, federation_id)
        late, over = repository.is_late(row, at=now), _over(row)
        names = [one.name for one in repository.members_of(session, federation_id)]
        here = {one.place for one in repository.handed_in(session, federation_id, number)}
    if late:
        with context.database.transaction() as session:
            row = repository.locked(session, federation_id)
            repository.fail_if_late(session, row, at=now)
            over = _over(row)
    if over is not None:
        raise over
    found = [name for place, name in enumerate(names) if place in here]
    return RoundView(round=number, members=found, complete=len(found) == len(names))


@router.get(
    "/{federation_id}/rounds/{number}/{member}",
    summary="Download a state",
    response_class=Response,
    responses=_STATE_ANSWER | problems(FederationTokenRefused, FederationOver, StateNotFound),
)
def read_state(
    federation_id: UUID, number: RoundNumber, member: MemberName, token: Token, context: InjectedContext
) -> Response:
    """The noisy state that a member handed in. It is kept until the next round is complete."""
    with context.database.read_only() as session:
        repository.member_with(session, federation_id, context.access.keys.digest(token))
        if (over := _over(session.get_one(Federation, federation_id))) is not None:
            raise over
        places = {one.name: one.place for one in repository.members_of(session, federation_id)}
        if member not in places:
            raise StateNotFound
        content = repository.content_of(session, federation_id, number, places[member])
    return Response(content, media_type="application/octet-stream")


@router.put(
    "/{federation_id}/certificate",
    status_code=204,
    summary="Hand in a certificate",
    responses=problems(FederationTokenRefused, CertificateOfAnother, StateDiffers),
)
def put_certificate(
    federation_id: UUID, certificate: Document, token: Token, context: InjectedContext
) -> None:
    """Hand in the certificate of the member's training, once, so that the analyst finds all of them in one place."""
    with context.database.transaction() as session:
        member = repository.member_with(session, federation_id, context.access.keys.digest(token))
        row = repository.locked(session, federation_id)
        session.refresh(member)
        if not is_of_member(certificate, row, member):
            raise CertificateOfAnother
        repository.keep_certificate(member, certificate)


def _shown(session: Session, row: Federation) -> FederationView:
    here = repository.here_now(session, [row])
    return FederationView.of(row, repository.members_of(session, row.id), here[row.id])


def _over(row: Federation) -> FederationOver | None:
    """Why the federation takes and hands out nothing; None if it does."""
    if row.state in {"failed", "ended"}:
        return FederationOver(state=row.state, vanished=row.vanished)
    return None


def _exchanged(plan: MemberPlan | ModelPlan, domain: Domain) -> tuple[int, int]:
    """The rounds of a plan, and the bytes of the largest state of one member."""
    if isinstance(plan, MemberPlan):
        assert isinstance(domain, TableDomain), "only tables are counted"
        return plan.rounds, largest_counts(domain)
    assert plan.options.averaging_rounds is not None, "a plan of a federation averages"
    return plan.options.averaging_rounds, largest_state(plan, domain)


def _planned(order: FederationOrder, federation_id: UUID, context: InjectedContext) -> MemberPlan | ModelPlan:
    """The plan of the first member, made as an order over the datasets of all owners would be."""
    members = tuple(
        plans.FederationMember(name=one.name, declared_size=one.declared_size) for one in order.members
    )
    federation = plans.Federation(federation_id=str(federation_id), member=members[0].name, members=members)
    domain = domain_from_json(order.domain)
    facts = DatasetFacts(
        id=federation_id,
        population_id=federation_id,
        domain=domain,
        declared_size=federation.declared_size,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=domain.privacy_unit, records=domain.records_per_unit),
        ready=False,
        federation=federation,
    )
    terms = {
        "dataset_id": federation_id,
        "epsilon": order.epsilon,
        "delta": order.delta,
        "model": order.model,
        "options": {} if order.generator is None else order.generator.options,
    }
    wanted = GeneratorOrder.model_validate(terms)
    plan = context.planner.plan(wanted, facts, None)
    assert isinstance(plan, MemberPlan | ModelPlan), "the facts are of a federation"
    return plan
