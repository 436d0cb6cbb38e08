"""Keeps the trail of each request (`service.current_request`), and logs refused attempts.

An action is logged in the transaction that performs it (``service.audit``). A refused attempt has no such transaction,
so it is logged here in a separate one, before the refusal is sent: changes answered 401, 403 or 404, sign-ins that the
identity provider's redirect brings, and every refusal of budget. Other refused reads are not audited: they reveal nothing, and the operator's log has them.

Anyone without a valid key can cause refusals at will. Each process logs them at a bounded rate; the number left out is
logged with the next one.
"""

import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.clock import Clock
from core.db.session import Database
from core.errors import BudgetRefused, UnderstudyError
from core.ledger import audit_log
from core.logs import get_logger
from service.audit import actor_of
from service.current_request import Trail, current_request_id, request_trail

ANONYMOUS: Final = "anonymous"
NO_OBJECT: Final = "-"
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
_SIGN_IN_BY_REDIRECT: Final = "provider_answer"
ANONYMOUS_BURST: Final = 100
ANONYMOUS_PER_SECOND: Final = 1.0


class AnonymousPace:
    """Rate limit for logging refusals of anonymous callers: a burst, then a fixed rate per second."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._left = float(ANONYMOUS_BURST)
        self._at = monotonic()
        self._skipped = 0

    def admit(self) -> int | None:
        """The number of refusals left out since the last admitted one, or None if this one is left out too."""
        now = self._monotonic()
        self._left = min(ANONYMOUS_BURST, self._left + (now - self._at) * ANONYMOUS_PER_SECOND)
        self._at = now
        if self._left < 1:
            self._skipped += 1
            return None
        self._left -= 1
        skipped, self._skipped = self._skipped, 0
        return skipped


class AuditTrail:
    """Keep the trail of each request, and log refused requests."""

    def __init__(self, app: ASGIApp, *, database: Database, clock: Clock) -> None:
        self._app = app
        self._database = database
        self._clock = clock
        self._pace = AnonymousPace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, and log a refusal before it is sent."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        trail = Trail(client_address=client[0] if client else None)

        async def send_once_logged(message: Message) -> None:
            if message["type"] == "http.response.start" and trail.refusal is not None:
                await self._log_refusal(scope, trail, trail.refusal)
                trail.refusal = None
            await send(message)

        with request_trail(trail):
            await self._app(scope, receive, send_once_logged)

    async def _log_refusal(self, scope: Scope, trail: Trail, refusal: UnderstudyError) -> None:
        route = getattr(scope.get("route"), "name", None)
        changes = scope["method"] not in _SAFE or route == _SIGN_IN_BY_REDIRECT
        attempt = changes and refusal.status in _REFUSALS
        if route is None or not (attempt or isinstance(refusal, BudgetRefused)):
            return
        skipped = 0
        if trail.principal is None:
            admitted = self._pace.admit()
            if admitted is None:
                return
            skipped = admitted
        await run_in_threadpool(self._write, trail, route, _object_of(scope, trail), refusal.code, skipped)

    def _write(self, trail: Trail, action: str, thing: str, code: str, skipped: int) -> None:
        actor = ANONYMOUS if trail.principal is None else actor_of(trail.principal)
        try:
            with self._database.transaction() as session:
                if skipped:
                    audit_log.append(
                        session, actor=ANONYMOUS, action="refusals.left-out", object=str(skipped),
                        outcome="not-logged", at=self._clock.now(),
                    )  # fmt: skip
                audit_log.append(
                    session, actor=actor, action=action, object=thing, outcome=code, at=self._clock.now(),
                    client_address=trail.client_address, request_id=current_request_id(),
                )  # fmt: skip
        except UnderstudyError as error:
            # Nothing was changed, so only the log entry is lost; the refusal itself must not turn into an error.
            get_logger().error("refusal-not-logged", code=error.code)


def _object_of(scope: Scope, trail: Trail) -> str:
    """The last id in the path, or the object set by the endpoint. Only ids: a caller can put anything into a path."""
    if trail.object_id is not None:
        return str(trail.object_id)
    for text in reversed(list(scope.get("path_params", {}).values())):
        try:
            return str(UUID(str(text)))
        except ValueError:
            continue
    return NO_OBJECT
