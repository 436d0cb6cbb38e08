"""GET /metrics for Prometheus. Requires a separate token, or the embedded stack's loopback address.

The token is separate because a monitoring system should not have an API key: metrics concern the deployment, API keys
concern datasets.
"""

import hmac
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from core.errors import NotFound
from core.platform.access.errors import KeyMissing, KeyRefused
from core.platform.settings import Settings
from service.caches import TtlCache
from service.context import AppContext
from service.dependencies import InjectedContext
from service.metrics.deployment import Deployment, Labels
from service.problem import problems

CACHE_SECONDS: Final = 2.0

router = APIRouter(tags=["health"])
_bearer = HTTPBearer(
    auto_error=False, scheme_name="Metrics token", description="`Authorization: Bearer` and the metrics token"
)


class MetricsOff(NotFound):
    """The operator has set no metrics token."""

    code = "metrics-off"
    title = "Metrics are disabled"


def cached_deployment(context: AppContext) -> TtlCache[bytes]:
    """The metrics that need queries, computed at most every two seconds for any number of scrapers."""
    labels = Labels(context.settings.master_key_bytes)
    registry = Deployment(context.database, labels=labels, clock=context.clock).registry()
    return TtlCache(lambda: bytes(generate_latest(registry)), seconds=CACHE_SECONDS)


def require_token(
    context: InjectedContext, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Authenticate a scraper.

    Raises:
        MetricsOff: No token is configured, and this is not the embedded stack.
        KeyMissing: No token was sent.
        KeyRefused: The token is wrong.
    """
    settings: Settings = context.settings
    if settings.metrics_token is None:
        if settings.mode == "embedded":
            return
        raise MetricsOff("Metrics are disabled.", remedy="The operator can set UNDERSTUDY_METRICS_TOKEN.")
    if credentials is None:
        raise KeyMissing
    expected = settings.metrics_token.get_secret_value().encode()
    if not hmac.compare_digest(credentials.credentials.encode(), expected):
        raise KeyRefused


@router.get(
    "/metrics",
    summary="Read metrics for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics as text."},
        **problems(KeyMissing, KeyRefused, MetricsOff),
    },
    dependencies=[Depends(require_token)],
)
def read_metrics(request: Request, context: InjectedContext) -> Response:
    """Requests, ledger refusals, jobs, budgets by opaque label, workers, upkeep; nothing derived from rows."""
    deployment: TtlCache[bytes] = request.app.state.deployment
    content = generate_latest(context.recorder.registry()) + deployment()
    return Response(content, media_type=CONTENT_TYPE_LATEST)
