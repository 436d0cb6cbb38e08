"""GET /metrics, for Prometheus. Not public: it wants a token of its own, or the embedded stack's loopback address.

A token of its own, because whoever watches needs no API key and must not have one: metrics are about the deployment,
API keys about datasets.
"""

import hmac
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from core.access.errors import KeyMissing, KeyRefused
from core.errors import NotFound
from core.settings import Settings
from service.context import AppContext
from service.dependencies import InjectedContext
from service.metrics.deployment import Deployment, Labels
from service.problem import problems
from service.ttl_cache import TtlCache

CACHE_SECONDS: Final = 2.0

router = APIRouter(tags=["health"])
_bearer = HTTPBearer(
    auto_error=False, scheme_name="Metrics token", description="`Authorization: Bearer` and the metrics token"
)


class MetricsOff(NotFound):
    """The operator has set no metrics token."""

    code = "metrics-off"
    title = "Metrics are switched off"


def cached_deployment(context: AppContext) -> TtlCache[bytes]:
    """The part that costs queries, made at most every other second however many scrape."""
    labels = Labels(context.settings.master_key_bytes)
    registry = Deployment(context.database, labels=labels, clock=context.clock).registry()
    return TtlCache(lambda: bytes(generate_latest(registry)), seconds=CACHE_SECONDS)


def require_token(
    context: InjectedContext, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Let a scraper in.

    Raises:
        MetricsOff: No token is set, and this is not the embedded stack.
        KeyMissing: No token was sent.
        KeyRefused: It is another one.
    """
    settings: Settings = context.settings
    if settings.metrics_token is None:
        if settings.mode == "embedded":
            return
        raise MetricsOff("Metrics are switched off.", remedy="The operator sets UNDERSTUDY_METRICS_TOKEN.")
    if credentials is None:
        raise KeyMissing
    expected = settings.metrics_token.get_secret_value().encode()
    if not hmac.compare_digest(credentials.credentials.encode(), expected):
        raise KeyRefused


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics as text."},
        **problems(KeyMissing, KeyRefused, MetricsOff),
    },
    dependencies=[Depends(require_token)],
)
def read_metrics(request: Request, context: InjectedContext) -> Response:
    """Requests, refusals of the ledger, jobs, budgets by opaque name, workers, upkeep; nothing derived from rows."""
    deployment: TtlCache[bytes] = request.app.state.deployment
    content = generate_latest(context.recorder.registry()) + deployment()
    return Response(content, media_type=CONTENT_TYPE_LATEST)
