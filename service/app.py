"""The application factory: middleware outside, domain routers inside, all dependencies injected."""

import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from anyio import Semaphore
from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import Tracer
from sqlalchemy.pool import QueuePool
from starlette.routing import BaseRoute

from core.clock import Clock, SystemClock
from core.data.intake.spool import remove_leftovers
from core.data.objects import ObjectStore, open_store
from core.db.errors import DatabaseBusy, DatabaseUnavailable
from core.db.session import Database
from core.errors import InternalError, InvalidInput, TooLarge
from core.jobs.queue import CeleryQueue, Queue
from core.plan.installed import takes_graphical_models
from core.platform.access.directory import KeyDirectory
from core.platform.access.enrolments import Enrolments
from core.platform.access.errors import (
    CsrfRefused,
    IssuerUnavailable,
    KeyMissing,
    KeyRefused,
    RateExceeded,
    RoleMissing,
    ScopeMissing,
    SessionRefused,
    TokenRefused,
)
from core.platform.access.keys import Entropy, pepper_from
from core.platform.access.sessions import BrowserSessions
from core.platform.access.sign_in_links import SignInLinks
from core.platform.access.throttle import LoginThrottle
from core.platform.settings import Settings
from core.platform.witness.ledger_witness import LedgerWitness
from core.tracing import tracer_for
from service import health
from service.auditing import dataset_trail
from service.auditing import endpoints as auditing
from service.auth.authenticator import Authenticator
from service.auth.issuer import Issuer
from service.auth.provider_sign_in import Client, ProviderSignIn
from service.auth.tokens import Tokens
from service.budget_requests import endpoints as budget_requests
from service.budgets import endpoints as budgets
from service.caches import OpenedCache
from service.context import Access, AppContext, Limits, Sampling
from service.dashboard.error_pages import shown_last
from service.dashboard.pages import GROUPS as PAGES
from service.dashboard.pages import install_pages
from service.datasets import deleting
from service.datasets import endpoints as datasets
from service.diagnosis import endpoints as diagnosis
from service.dossier import endpoints as dossier
from service.edge.audit_trail import AuditTrail
from service.edge.body_limit import MAX_DOMAIN_BYTES, MAX_JSON_BYTES, BodyLimit
from service.edge.concurrency import ConcurrencyLimit
from service.edge.head import HeadAsGet
from service.edge.last_resort import LastResort
from service.edge.proxies import TrustedProxies
from service.edge.rate_limit import RateLimits, redis_of
from service.edge.request_counters import Recorder
from service.edge.request_records import RequestId, RequestRecords
from service.edge.security_headers import SecurityHeaders
from service.edge.streaming import Streams
from service.edge.termination import on_termination
from service.edge.watching import JobWatch
from service.federations import endpoints as federations
from service.figures import endpoints as figures
from service.grants import endpoints as grants
from service.jobs import endpoints as jobs
from service.jobs import failure_note
from service.jobs.snapshots import snapshots
from service.known_counts import endpoints as known_counts
from service.members import endpoints as members
from service.metrics import endpoints as metrics
from service.notifications import endpoints as notifications
from service.openapi import document_of
from service.overview import endpoints as overview
from service.owner_reports import endpoints as owner_reports
from service.planning.planner import Planner
from service.principals import endpoints as principals
from service.principals import enrolment_endpoints as enrolments
from service.principals import key_endpoints as keys
from service.principals import people_endpoints as people
from service.principals import session_endpoints as browser_sessions
from service.problem import install_problems, problems
from service.quotes import endpoints as quotes
from service.releases import endpoints as releases
from service.uploads import endpoints as uploads
from service.utility_reports import endpoints as utility_reports
from service.witness import endpoints as witness

UPLOADS_AT_ONCE, UPLOADS_OF_ONE = 4, 2
INTAKES_AT_ONCE, INTAKES_OF_ONE = 2, 1
STATES_AT_ONCE, STATES_OF_ONE = 16, 2
PLANS_AT_ONCE = 2
PLANS_KEPT = 256
PLANNING_PATIENCE_SECONDS = 20.0
SAMPLERS_KEPT = 8
COUNTS_KEPT = 4
PIECES_AT_ONCE = 2

# FastAPI's own telemetry would export bodies of refused requests and exception texts whenever OpenTelemetry is
# configured, even through an environment variable.
_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_ROWS_PATH = re.compile(r"(/v1)?/datasets/[^/]+/rows")
_STATE_PATH = re.compile(r"/v1/federations/[^/]+/rounds/[^/]+")
_PART_PATH = re.compile(r"/v1/uploads/[^/]+/parts/[^/]+")
_EVERYWHERE = (
    KeyMissing,
    KeyRefused,
    SessionRefused,
    TokenRefused,
    RoleMissing,
    ScopeMissing,
    CsrfRefused,
    RateExceeded,
    IssuerUnavailable,
    InvalidInput,
    TooLarge,
    DatabaseBusy,
    DatabaseUnavailable,
    InternalError,
)
_TITLE: Final = "understudy"
_DESCRIPTION = (
    "Publishes synthetic data in place of private data, never the data itself. Every error is `application/problem+json` with a "
    "stable `code`; times are rounded up to the minute; only reports to the owner depend on rows without differential privacy."
)


def create_app(
    settings: Settings,
    *,
    database: Database | None = None,
    queue: Queue | None = None,
    store: ObjectStore | None = None,
    clock: Clock | None = None,
    entropy: Entropy = os.urandom,
    tracer: Tracer | None = None,
    pepper: bytes | None = None,
) -> FastAPI:
    """Build the API.

    Args:
        database: Built from the settings by default, as queue, store and tracer are.
        pepper: Pepper of the API key digests; by default the one derived from a master key that was never rotated.
    """
    pepper = pepper or pepper_from(settings.master_key_bytes)
    context = _make_context(settings, database, queue, store, clock or SystemClock(), entropy, pepper)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        remove_leftovers(settings.scratch_folder)
        with on_termination(context.job_watch.close):
            yield
        await context.job_watch.finish()
        context.access.rates.close()
        context.database.close()

    app = FastAPI(
        routes=_routes(),
        title=_TITLE,
        version=_software_version(),
        description=_DESCRIPTION,
        openapi_url="/v1/openapi.json",
        # The interactive docs pages load scripts from other sites, which the content security policy forbids.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
        lifespan=lifespan,
    )
    app.state.context = context
    app.state.readiness = health.ReadinessProbe(context)
    app.state.deployment = metrics.cached_deployment(context)
    install_problems(app)
    install_pages(app)
    app.openapi = _document  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    # The middleware added last is the outermost.
    app.add_middleware(HeadAsGet)
    app.add_middleware(
        BodyLimit,
        max_bytes=MAX_JSON_BYTES,
        exempt=(_ROWS_PATH, _PART_PATH, _STATE_PATH),
        larger={"/v1/datasets": MAX_DOMAIN_BYTES},
    )
    app.add_middleware(LastResort, shown=shown_last)
    app.add_middleware(AuditTrail, database=context.database, clock=context.clock)
    app.add_middleware(
        RequestRecords,
        answered=context.recorder.answered,
        tracer=tracer or tracer_for(role="api", endpoint=settings.otlp_endpoint),
    )
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestId)
    app.add_middleware(TrustedProxies, networks=settings.trusted_proxies)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """The routes of every application of this process, dashboard included.

    FastAPI prepares a route for each router that it is included in, at the first request; that takes milliseconds each.
    """
    router = APIRouter()
    everywhere = problems(*_EVERYWHERE)
    for domain in (
        jobs,  # first: routes are matched in order, and jobs are polled often
        keys,
        principals,
        people,
        enrolments,
        browser_sessions,
        datasets,
        uploads,
        members,
        budgets,
        budget_requests,
        federations,
        grants,
        quotes,
        releases,
        figures,
        known_counts,
        utility_reports,
        deleting,
        failure_note,
        owner_reports,
        witness,
        auditing,
        dataset_trail,
        notifications,
        dossier,
        diagnosis,
        overview,
    ):
        # Included without an intermediate router: each nested router adds matching work to every request.
        router.include_router(domain.router, prefix="/v1", responses=everywhere)
    router.include_router(health.router)
    router.include_router(metrics.router)
    for group in PAGES:
        router.include_router(group.router)
    return router.routes


def _document() -> dict[str, Any]:
    """The OpenAPI document, a new one at each call: libraries write into it."""
    document: dict[str, Any] = json.loads(_document_text())
    return document


@cache
def _document_text() -> str:
    return json.dumps(
        document_of(_routes(), title=_TITLE, version=_software_version(), description=_DESCRIPTION)
    )


def _make_context(
    settings: Settings,
    database: Database | None,
    queue: Queue | None,
    store: ObjectStore | None,
    clock: Clock,
    entropy: Entropy,
    pepper: bytes,
) -> AppContext:
    database = database or Database(settings.database_url)
    store = store or open_store(settings.storage_url)
    keys = KeyDirectory(pepper=pepper, clock=clock, entropy=entropy)
    issuer = _issuer(settings, clock)
    sessions = BrowserSessions(
        pepper=pepper,
        clock=clock,
        entropy=entropy,
        longest=timedelta(seconds=settings.session_seconds),
        idle=timedelta(seconds=settings.session_idle_seconds),
    )
    return AppContext(
        settings=settings,
        clock=clock,
        started_at=clock.now(),
        entropy=entropy,
        database=database,
        queue=queue or CeleryQueue(settings.broker_url),
        store=store,
        witness=LedgerWitness.of(settings, database=database, store=store, clock=clock),
        planner=Planner(
            capacity=PLANS_KEPT,
            at_once=PLANS_AT_ONCE,
            patience_seconds=PLANNING_PATIENCE_SECONDS,
            graphical_models=takes_graphical_models(settings.graphical_models),
        ),
        job_watch=JobWatch(
            partial(snapshots, database, clock=clock),
            subscriptions=settings.event_streams,
            subscriptions_per_principal=settings.event_streams_per_principal,
        ),
        recorder=Recorder(),
        access=Access(
            keys=keys,
            enrolments=Enrolments(
                keys=keys,
                pepper=pepper,
                clock=clock,
                entropy=entropy,
                lifetime=timedelta(hours=settings.enrolment_hours),
                hold=timedelta(hours=settings.recovery_hold_hours),
            ),
            sessions=sessions,
            links=SignInLinks(pepper=pepper, clock=clock),
            provider=_provider(settings, issuer, pepper=pepper, clock=clock, entropy=entropy),
            throttle=LoginThrottle(pepper=pepper, clock=clock),
            authenticator=Authenticator(
                database,
                keys=keys,
                sessions=sessions,
                tokens=_bearer_tokens(settings, issuer, clock),
                clock=clock,
            ),
            rates=RateLimits(per_minute=settings.requests_per_minute, redis=redis_of(settings.broker_url)),
        ),
        sampling=Sampling(
            samplers=OpenedCache(SAMPLERS_KEPT),
            counts=OpenedCache(COUNTS_KEPT),
            streams=Streams(workers=PIECES_AT_ONCE, streams=settings.sampling_streams),
        ),
        limits=Limits(
            uploads=ConcurrencyLimit(UPLOADS_AT_ONCE, what="uploads", share=UPLOADS_OF_ONE),
            intakes=ConcurrencyLimit(INTAKES_AT_ONCE, what="intakes of uploads", share=INTAKES_OF_ONE),
            states=ConcurrencyLimit(STATES_AT_ONCE, what="states of federations", share=STATES_OF_ONE),
            transactions=Semaphore(_connections_kept(database)),
        ),
    )


def _issuer(settings: Settings, clock: Clock) -> Issuer | None:
    """The identity provider, if one is configured."""
    if settings.oidc_issuer is None:
        return None
    return Issuer(settings.oidc_issuer, clock=clock, plain_allowed=settings.is_alone)


def _bearer_tokens(settings: Settings, issuer: Issuer | None, clock: Clock) -> Tokens | None:
    """The verifier of bearer tokens, if an identity provider is configured."""
    if issuer is None or settings.oidc_audience is None:
        return None
    return _tokens(settings, issuer, clock, audience=settings.oidc_audience)


def _tokens(settings: Settings, issuer: Issuer, clock: Clock, *, audience: str) -> Tokens:
    return Tokens(
        issuer,
        audience=audience,
        roles_claim=settings.oidc_roles_claim,
        role_map=settings.oidc_role_map,
        clock=clock,
    )


def _provider(
    settings: Settings, issuer: Issuer | None, *, pepper: bytes, clock: Clock, entropy: Entropy
) -> ProviderSignIn | None:
    """Sign-in of browsers at the identity provider, if this service is registered there as a client."""
    if issuer is None or settings.oidc_client_id is None or settings.oidc_redirect_url is None:
        return None
    secret = settings.oidc_client_secret
    return ProviderSignIn(
        issuer,
        client=Client(
            id=settings.oidc_client_id,
            secret=None if secret is None else secret.get_secret_value(),
            redirect_url=settings.oidc_redirect_url,
            scopes=settings.oidc_scopes,
        ),
        tokens=_tokens(settings, issuer, clock, audience=settings.oidc_client_id),
        pepper=pepper,
        clock=clock,
        entropy=entropy,
    )


def _connections_kept(database: Database) -> int:
    """The number of connections that the pool keeps open; it opens more under load."""
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)
    return pool.size()


@cache
def _software_version() -> str:
    try:
        return version("understudy")
    except PackageNotFoundError:
        return "0"
