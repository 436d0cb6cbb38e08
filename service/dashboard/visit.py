"""A dashboard request: the signed-in principal and the API operations that a page calls in its name.

Pages have no rights, sessions or SQL of their own. They read and change data through API operations, called as
functions and subject to the operations' rows in the table of rights. A change is one operation and hence one
transaction, committed before the browser is redirected.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Depends, Request
from sqlalchemy.orm import Session

from core.errors import Forbidden, NotFound
from core.platform.access.errors import CsrfRefused, KeyMissing
from core.platform.access.names import names_of
from core.platform.access.roles import Principal
from service.auth.authenticator import Proof
from service.auth.cookie import SAFE_METHODS, presented_cookie, require_proof_of_origin
from service.context import AppContext
from service.dashboard.forms import Form, read_form
from service.dependencies import context_of, recognise, require_access
from service.principals.endpoints import list_principal_names

TOKEN_FIELD = "csrf_token"  # noqa: S105 - the name of a field

Result = TypeVar("Result")
Operation = Callable[..., Result]


class Visit:
    """One request of a signed-in visitor.

    Args:
        csrf_token: The token in the forms of this session.
        form: The submitted form; empty for safe methods.
    """

    def __init__(self, request: Request, principal: Principal, *, csrf_token: str, form: Form) -> None:
        self.request = request
        self.principal = principal
        self.csrf_token = csrf_token
        self.form = form

    @property
    def context(self) -> AppContext:
        """This process's application context."""
        return context_of(self.request)

    @property
    def held_until(self) -> datetime | None:
        """End of the hold on the visitor's sealed files after a recovery; None without a hold."""
        return self.principal.held_until if self.principal.is_held(self.context.clock.now()) else None

    @property
    def is_fragment(self) -> bool:
        """Whether htmx requests a fragment of the open page."""
        return "hx-request" in self.request.headers

    def may(self, operation: Operation[Any]) -> bool:
        """Whether the visitor's key may use an operation at all. The operation itself checks rights on objects."""
        try:
            self.require(operation)
        except Forbidden:
            return False
        return True

    def require(self, operation: Operation[Any]) -> None:
        """Require the right to an operation whose data a page reads in another way.

        Raises:
            RoleMissing: None of the visitor's roles may use it.
            ScopeMissing, KeyNarrowed: The key is restricted to other uses.
            RecoveryHold: The data is sealed to the visitor, who was recovered recently.
        """
        require_access(self.principal, operation.__name__, at=self.context.clock.now())

    def read(self, query: Callable[[Session], Result]) -> Result:
        """Run a repository's query in a read-only transaction; call `require` first.

        ORM objects expire at its end, so the query must return plain values.
        """
        with self.context.database.read_only() as session:
            return query(session)

    def names_of(self, principal_ids: Iterable[UUID | None]) -> Mapping[UUID, str]:
        """The names of those principals that have one; empty for a visitor who may not see names."""
        wanted = {principal_id for principal_id in principal_ids if principal_id is not None}
        if not wanted or not self.may(list_principal_names):
            return {}
        return self.read(lambda session: names_of(session, wanted))

    def ask(self, operation: Operation[Result], /, **arguments: object) -> Result:
        """Call an API operation, in its own transaction if it needs one.

        Raises:
            UnderstudyError: As the operation; RoleMissing and ScopeMissing before it is called.
        """
        self.require(operation)
        names = inspect.signature(operation).parameters
        given: dict[str, object] = {
            "principal": self.principal,
            "_principal": self.principal,
            "context": self.context,
            "request": self.request,
        }
        with ExitStack() as transaction:
            if "session" in names:
                given["session"] = transaction.enter_context(self.context.database.transaction())
            return operation(**{name: value for name, value in given.items() if name in names}, **arguments)

    def find(self, operation: Operation[Result], /, **arguments: object) -> Result | None:
        """As `ask`; None where the visitor may not use the operation, or there is no such object for the visitor."""
        if not self.may(operation):
            return None
        try:
            return self.ask(operation, **arguments)
        except NotFound:
            return None


async def _visit(request: Request) -> Visit:
    """Authenticate the visitor by session cookie and, for unsafe methods, check the form's CSRF token.

    Raises:
        KeyMissing, SessionRefused: No valid session.
        RateExceeded: The key has sent too many requests.
        CsrfRefused: The request may come from another site.
    """
    context = context_of(request)
    cookie, visit = await begin_visit(request)
    if request.method not in SAFE_METHODS:
        require_proof_of_origin(request, context.settings)
        visit.form = await read_form(request)
        if not context.access.sessions.proves(visit.form.text(TOKEN_FIELD) or "", cookie=cookie):
            raise CsrfRefused
    return visit


async def _streaming_visit(request: Request) -> Visit:
    """Authenticate the visitor of a request whose body is streamed. The page must check the CSRF token before anything else.

    Raises:
        KeyMissing, SessionRefused, RateExceeded, CsrfRefused: As for `_visit`.
    """
    _, visit = await begin_visit(request)
    require_proof_of_origin(request, context_of(request).settings)
    return visit


async def begin_visit(request: Request) -> tuple[str, Visit]:
    """Authenticate the visitor by session cookie. Returns the cookie, and the visit with an empty form.

    Error pages of this request have its menu.

    Raises:
        KeyMissing, SessionRefused: No valid session.
        RateExceeded: The key has sent too many requests.
    """
    context = context_of(request)
    cookie = presented_cookie(request, context.settings)
    if cookie is None:
        raise KeyMissing
    principal = await recognise(context, Proof(cookie, is_cookie=True))
    visit = Visit(request, principal, csrf_token=context.access.sessions.csrf_token(cookie), form=Form({}))
    request.state.visit = visit
    return cookie, visit


def visit_begun(request: Request) -> Visit | None:
    """The visit that `begin_visit` began for this request, if it did."""
    return getattr(request.state, "visit", None)


CurrentVisit = Annotated[Visit, Depends(_visit)]
StreamingVisit = Annotated[Visit, Depends(_streaming_visit)]
