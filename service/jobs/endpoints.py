"""Jobs: ordered by analysts and admitted by the ledger; visible to everyone who can see the dataset."""

import re
from collections.abc import Collection
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials

from core.db.tables.job import Job
from core.errors import BudgetRefused
from core.jobs import endings
from core.jobs.errors import DatasetDeleted, DatasetNotReady, JobEnded, JobNotFound
from core.ledger.errors import GrantClosed, GrantRefused, LedgerBroken, PopulationFrozen
from core.platform.access.errors import RateExceeded
from core.platform.access.roles import Role
from core.platform.budget_requests.errors import GrantAmbiguous, NoGrant
from core.platform.health.signs import served_devices
from core.platform.quotas.errors import QuotaExceeded
from service.audit import record
from service.dependencies import (
    CurrentPrincipal,
    InjectedContext,
    OpenSession,
    PresentedProof,
    authorise,
    context_of,
    require_access,
)
from service.edge.concurrency import ServiceBusy, ShareUsedUp
from service.idempotency import (
    REPLAYED_HEADER,
    IdempotencyHeader,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
)
from service.jobs import repository
from service.jobs.errors import JobOfAnother
from service.jobs.event_stream import EventStream
from service.jobs.ordering import ACCEPTED, Ordering
from service.jobs.schemas import JobList, JobView
from service.jobs.snapshots import snapshot
from service.planning.orders import GeneratorOrder
from service.problem import problems
from service.quotes.endpoints import PLANNING_ERRORS
from service.releases.repository import Published, published_by
from service.strict_route import Handler, StrictRoute
from service.wire import DEFAULT_PAGE, Before, PageSize

MAX_STREAM_SECONDS: Final = 3600
NO_CONTENT: Final = HTTPStatus.NO_CONTENT.value

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEARER: Final = "Bearer "

LastEventId = Annotated[str | None, Header(max_length=64, description="The id of the last event received.")]
LongestSeconds = Annotated[
    int,
    Query(
        ge=0, le=MAX_STREAM_SECONDS, description="Maximum duration of the stream; the client can reconnect."
    ),
]
Joint = Annotated[
    bool,
    Query(
        description="Whether to list only jobs of several owners: over several datasets of this service, or in a federation."
    ),
]

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=StrictRoute)


@router.post(
    "",
    status_code=ACCEPTED,
    summary="Order a generator or a utility report",
    response_model=JobView,
    responses=problems(
        *PLANNING_ERRORS,
        BudgetRefused,
        GrantRefused,
        GrantClosed,
        NoGrant,
        GrantAmbiguous,
        PopulationFrozen,
        LedgerBroken,
        QuotaExceeded,
        DatasetNotReady,
        DatasetDeleted,
        IdempotencyKeyMissing,
        IdempotencyKeyReused,
    ),
)
def create_job(
    order: GeneratorOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    idempotency_key: IdempotencyHeader = None,
) -> JSONResponse:
    """Atomically reserve the plan's charge and queue the job, or refuse.

    The charge counts against both the shared cap and a grant of the caller.

    Requires an `Idempotency-Key`: a repeat with the same key and body gets the first response again, with the header
    `Idempotency-Replayed: true`.
    """
    if idempotency_key is None:
        raise IdempotencyKeyMissing
    ordering = Ordering(context, principal, order, key=idempotency_key)
    answer, replayed = ordering.earlier_answer(), True
    if answer is None:
        plan = ordering.plan()
        answer, replayed = ordering.place(session, plan)
    headers = {"Location": f"/v1/jobs/{answer.body['id']}"}
    if replayed:
        headers[REPLAYED_HEADER] = "true"
    return JSONResponse(answer.body, status_code=answer.status, headers=headers)


@router.get("", summary="List jobs")
def list_jobs(
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
    dataset_id: UUID | None = None,
    joint: Joint = False,
    limit: PageSize = DEFAULT_PAGE,
    before: Before = None,
) -> JobList:
    """The jobs on datasets that the key may see, newest first; optionally on one dataset only, or of several owners only."""
    rows, next_before = repository.page(
        session, principal, dataset_id=dataset_id, joint=joint, limit=limit, before=before
    )
    published, now = published_by(session, [row.id for row in rows]), context.clock.now()
    served = served_devices(session, at=now)
    items = [_shown(row, published, served, now=now) for row in rows]
    return JobList(items=items, next_before=next_before)


def read_job(job_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> Response:
    """State, stage, steps, percentage, a rough estimate of the remaining time, and the planned epsilon."""
    return Response(
        snapshot(context.database, job_id, principal, clock=context.clock).text, media_type="application/json"
    )


class PolledRoute(StrictRoute):
    """A fast path for polling: the same checks and response without FastAPI's dependency resolution.

    Resolving dependencies takes FastAPI longer than authenticating the caller and reading the row. A plain poll - a
    canonical id, no query, one key - is served directly; everything else takes the ordinary route, which also documents
    the operation. ``tests/service/test_polled_route.py`` compares the two.
    """

    def get_route_handler(self) -> Handler:
        """Serve plain polls directly."""
        ordinary = super().get_route_handler()

        async def handle(request: Request) -> Response:
            job_id: str = request.path_params["job_id"]
            presented = request.headers.getlist("authorization")
            is_plain = (
                len(presented) == 1
                and presented[0].startswith(_BEARER)
                and not request.scope["query_string"]
                and _UUID.fullmatch(job_id) is not None
            )
            if not is_plain:
                return await ordinary(request)
            key = presented[0].removeprefix(_BEARER).strip()
            credentials = HTTPAuthorizationCredentials(scheme="Bearer", credentials=key)
            principal = await authorise(request, credentials, None)
            context = context_of(request)
            seen = await run_in_threadpool(
                snapshot, context.database, UUID(job_id), principal, clock=context.clock
            )
            return Response(seen.text, media_type="application/json")

        return handle


router.add_api_route(
    "/{job_id}",
    read_job,
    methods=["GET"],
    summary="Read a job",
    response_model=JobView,
    responses=problems(JobNotFound),
    route_class_override=PolledRoute,
)


@router.get(
    "/{job_id}/events",
    status_code=200,
    summary="Watch a job",
    response_class=EventStream,
    responses={
        200: {"description": "`status` events until the job ends."},
        204: {
            "description": "The job has ended, and `Last-Event-ID` is its last state: no more events will follow."
        },
        **problems(JobNotFound, ServiceBusy, ShareUsedUp, RateExceeded),
    },
)
async def watch_job(
    job_id: UUID,
    principal: CurrentPrincipal,
    proof: PresentedProof,
    context: InjectedContext,
    last_event_id: LastEventId = None,
    longest_seconds: LongestSeconds = MAX_STREAM_SECONDS,
) -> Response:
    """The job's state as server-sent events: once at the start, then after every change, until the job ends.

    The `data` of each `status` event is the response of `GET /v1/jobs/{job_id}`. States may be skipped, except for the
    last one. A client that sends the last id it has seen as `Last-Event-ID`, as browsers do automatically, does not get
    the same state again. Revoking the key ends the stream within half a minute.

    Asynchronous, because a plain function would occupy a thread for as long as the job runs. Database access uses a
    thread only briefly.
    """
    watch, look = context.job_watch, partial(snapshot, context.database, job_id, clock=context.clock)
    first = await run_in_threadpool(look, principal)
    if first.is_last and first.id == last_event_id:
        return Response(status_code=NO_CONTENT)
    watch.require_room(principal.id)

    def require_still_admitted() -> None:
        still = context.access.authenticator.confirm(proof)
        require_access(still, watch_job.__name__, at=context.clock.now())
        look(still)

    return EventStream(
        watch,
        job_id,
        first=first,
        known_id=last_event_id,
        admitted=require_still_admitted,
        longest_seconds=longest_seconds,
        opened_by=principal.id,
    )


@router.post(
    "/{job_id}/cancel", summary="Cancel a job", responses=problems(JobNotFound, JobOfAnother, JobEnded)
)
def cancel_job(
    job_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> JobView:
    """Cancel a queued job and release its reservation, or ask a running one to stop and charge it for the work it started."""
    job = repository.visible(session, job_id, principal)
    if job.ordered_by != principal.id and not principal.has(Role.ADMIN):
        raise JobOfAnother
    endings.cancel(session, job_id, clock=context.clock)
    record(session, principal, action="job.cancel", object_id=job_id, clock=context.clock)
    session.refresh(job)
    now = context.clock.now()
    return _shown(job, published_by(session, [job_id]), served_devices(session, at=now), now=now)


def _shown(job: Job, published: Published, served: Collection[str], *, now: datetime) -> JobView:
    release_id, check = published.get(job.id, (None, None))
    return JobView.of(job, release_id=release_id, check=check, worker_lives=job.device in served, now=now)
