"""FastAPI dependencies that endpoints declare in their signatures.

``OpenSession`` is the request's transaction. Its dependency has ``scope="function"``: FastAPI then closes it, and so
commits, before the response is sent. With the default scope, a failing commit would still be answered with 201.

A request moves between threads from step to step (dependencies, endpoint, JSON serialisation). If requests held
connections while waiting for threads, and all threads waited for connections, they would deadlock. So the number of
requests that hold a transaction across threads is limited to the connections that the pool keeps open; the others queue
on the event loop, which costs no thread. Authentication and other short reads begin and end their transaction within
one thread, and always find one of the additional connections that the pool opens.
"""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from core.platform.access.errors import (
    CsrfRefused,
    KeyMissing,
    KeyNarrowed,
    RecoveryHold,
    RoleMissing,
    ScopeMissing,
)
from core.platform.access.roles import Principal
from service.auth.authenticator import Proof
from service.auth.cookie import (
    COOKIE,
    SAFE_METHODS,
    TOKEN_HEADER,
    presented_cookie,
    require_proof_of_origin,
)
from service.auth.table import TABLE
from service.context import AppContext
from service.current_request import current_trail

_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="API key",
    description="`Authorization: Bearer us_...`, or a bearer token of the identity provider if one is configured.",
)
_session = APIKeyCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="Session",
    description="The cookie of `POST /v1/session`; changes also need the header `X-CSRF-Token`.",
)


def context_of(request: Request) -> AppContext:
    """This process's application context."""
    context: AppContext = request.app.state.context
    return context


async def get_context(request: Request) -> AppContext:
    """The same as a dependency; asynchronous, because a plain function would make a round trip through a thread."""
    return context_of(request)


InjectedContext = Annotated[AppContext, Depends(get_context)]


async def hold_place(context: InjectedContext) -> AsyncIterator[None]:
    """Hold one of the slots for requests with a transaction; release it after the commit."""
    async with context.limits.transactions:
        yield


def get_session(
    context: InjectedContext, _place: Annotated[None, Depends(hold_place, scope="function")]
) -> Iterator[Session]:
    """The transaction of this request; commits when the endpoint returns, rolls back when it raises."""
    with context.database.transaction() as session:
        yield session


OpenSession = Annotated[Session, Depends(get_session, scope="function")]


Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
Cookie = Annotated[str | None, Depends(_session)]


async def present(request: Request, credentials: Credentials, _cookie: Cookie) -> Proof:
    """The caller's credentials, unverified. An `Authorization` header wins over the session cookie.

    Raises:
        KeyMissing: Neither a key nor a session was sent.
    """
    if credentials is not None:
        return Proof(credentials.credentials)
    cookie = presented_cookie(request, context_of(request).settings)
    if cookie is None:
        raise KeyMissing
    return Proof(cookie, is_cookie=True)


PresentedProof = Annotated[Proof, Depends(present)]


async def authorise(request: Request, credentials: Credentials, _cookie: Cookie) -> Principal:
    """Authenticate the caller, count the request against the rate limit, and check the table of rights: once for each request.

    Runs on the event loop, because it rarely has to wait; if it must, it does so in a thread. It calls its helpers
    directly: resolving each as a dependency would take the framework longer than the work itself.

    Raises:
        KeyMissing: Neither a key nor a session was sent.
        KeyRefused: The key is not valid.
        SessionRefused: The session has ended.
        TokenRefused: The token is not valid here.
        IssuerUnavailable: A token cannot be checked.
        RateExceeded: The key has sent too many requests.
        CsrfRefused: A request with a session may come from another site.
        RoleMissing: None of the principal's roles may use this endpoint.
        ScopeMissing, KeyNarrowed: The key is restricted to other uses.
        RecoveryHold: The data is sealed to the principal, who was recovered recently.
    """
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:  # asked before the body was read
        return known
    context = context_of(request)
    proof = await present(request, credentials, _cookie)
    principal = await recognise(context, proof)
    if proof.is_cookie and request.method not in SAFE_METHODS:
        require_proof_of_origin(request, context.settings)
        if not context.access.sessions.proves(request.headers.get(TOKEN_HEADER, ""), cookie=proof.text):
            raise CsrfRefused
    require_access(principal, request.scope["route"].name, at=context.clock.now())
    request.state.principal = principal
    return principal


async def recognise(context: AppContext, proof: Proof) -> Principal:
    """Authenticate the caller, count the request against the rate limit, and record the principal for the audit log.

    Raises:
        KeyRefused, SessionRefused, TokenRefused: The proof is not valid.
        IssuerUnavailable: A token cannot be checked.
        RateExceeded: The key has sent too many requests.
    """
    principal = context.access.authenticator.recall(proof)
    if principal is None or not context.access.rates.spend(principal.key_id):
        principal = await run_in_threadpool(_recognise_and_count, context, proof)
    current_trail().principal = principal
    return principal


def require_access(principal: Principal, endpoint: str, *, at: datetime) -> None:
    """Check an endpoint against the table of rights.

    Raises:
        RoleMissing: None of the principal's roles may use it.
        ScopeMissing, KeyNarrowed: The key is restricted to other uses.
        RecoveryHold: The data is sealed to the principal, who was recovered recently.
    """
    access = TABLE[endpoint]
    if not principal.has(*access.roles):
        raise RoleMissing(allowed=tuple(sorted(access.roles)))
    if access.scope is not None and not principal.within(access.scope):
        raise ScopeMissing(needed=access.scope)
    if access.whole and principal.scopes:
        raise KeyNarrowed
    if access.sealed and principal.held_until is not None and principal.is_held(at):
        raise RecoveryHold(whose="caller", until=principal.held_until)


def _recognise_and_count(context: AppContext, proof: Proof) -> Principal:
    principal = context.access.authenticator.recognise(proof)
    context.access.rates.count(principal.key_id)
    return principal


CurrentPrincipal = Annotated[Principal, Depends(authorise)]
