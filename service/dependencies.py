"""What endpoints ask for in their signatures.

``OpenSession`` is the request's transaction. Its dependency has ``scope="function"``: FastAPI then ends it, and so
commits, before the answer is sent. With the default scope a failing commit would still be answered with 201.

Between its steps (dependencies, endpoint, writing the answer as JSON) a request moves from thread to thread. One that
holds a connection while it waits for a thread, and all threads waiting for a connection, would wait for ever. So only
as many requests as the pool keeps connections open hold a transaction across threads; they queue on the event loop,
which costs no thread. Authentication and other short reads open and end their transaction within one thread, and
always find one of the connections that the pool opens beyond those.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session

from core.access.errors import KeyMissing, RoleMissing
from core.access.roles import Principal
from service.auth.table import ROLES_OF
from service.parts import Parts

_bearer = HTTPBearer(auto_error=False, scheme_name="API key", description="`Authorization: Bearer us_...`")


def get_parts(request: Request) -> Parts:
    """The parts of this process."""
    parts: Parts = request.app.state.parts
    return parts


InjectedParts = Annotated[Parts, Depends(get_parts)]


async def hold_place(parts: InjectedParts) -> AsyncIterator[None]:
    """One of the places for requests with a transaction, given back after the commit."""
    async with parts.transactions:
        yield


def get_session(
    parts: InjectedParts, _place: Annotated[None, Depends(hold_place, scope="function")]
) -> Iterator[Session]:
    """The transaction of this request; commits when the endpoint returns, rolls back when it raises."""
    with parts.database.transaction() as session:
        yield session


OpenSession = Annotated[Session, Depends(get_session, scope="function")]


def authorise(
    request: Request,
    parts: InjectedParts,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Principal:
    """Recognise the key and look the endpoint up in the table of roles.

    Raises:
        KeyMissing: No key was sent.
        KeyRefused: The key is not valid.
        RoleMissing: None of its roles may use this endpoint.
    """
    if credentials is None:
        raise KeyMissing
    with parts.database.read_only() as session:
        principal = parts.keys.recognise(session, credentials.credentials)
    allowed = ROLES_OF[request.scope["route"].name]
    if not principal.has(*allowed):
        raise RoleMissing(allowed=tuple(sorted(allowed)))
    return principal


CurrentPrincipal = Annotated[Principal, Depends(authorise)]
