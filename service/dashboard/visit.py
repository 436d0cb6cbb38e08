"""Somebody before a page: who it is, and what of the API a page may do in their name.

Pages have no rights and no SQL of their own. Whatever one shows or changes is an operation of the API, called as a
function, behind the operation's own row of the table of who may do what; a change is one operation and so one
transaction, committed before the browser is sent on.
"""

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from core.access.errors import CsrfRefused, KeyMissing
from core.access.roles import Principal
from core.errors import Forbidden
from service.auth.cookie import SAFE_METHODS, presented_cookie, require_proof_of_origin
from service.auth.doorkeeper import Proof
from service.dashboard.forms import Form, read_form
from service.dependencies import parts_of, recognise, require_access
from service.parts import Parts

TOKEN_FIELD = "csrf_token"  # noqa: S105 - the name of a field

Result = TypeVar("Result")
Operation = Callable[..., Result]


class Visit:
    """One request of somebody who has signed in.

    Args:
        request: The request.
        principal: Who asks.
        csrf_token: What the forms of this session carry.
        form: What was sent; empty where nothing was.
    """

    def __init__(self, request: Request, principal: Principal, *, csrf_token: str, form: Form) -> None:
        self.request = request
        self.principal = principal
        self.csrf_token = csrf_token
        self.form = form

    @property
    def parts(self) -> Parts:
        """The parts of this process."""
        return parts_of(self.request)

    @property
    def held_until(self) -> datetime | None:
        """Until when what is sealed to the visitor stays shut after a recovery; None where nothing is held."""
        return self.principal.held_until if self.principal.is_held(self.parts.clock.now()) else None

    @property
    def is_fragment(self) -> bool:
        """Whether a part of a page is asked for, to be put into the one that is open."""
        return "hx-request" in self.request.headers

    def may(self, operation: Operation[Any]) -> bool:
        """Whether the visitor's key may use an operation at all; on which objects, the operation itself decides."""
        try:
            self.require(operation)
        except Forbidden:
            return False
        return True

    def require(self, operation: Operation[Any]) -> None:
        """Ask for the right to an operation whose parts a page reads in another way.

        Raises:
            RoleMissing: None of the visitor's roles may use it.
            ScopeMissing, KeyNarrowed: The key is narrowed to other uses.
            RecoveryHold: It is sealed to the visitor, who was recovered a short while ago.
        """
        require_access(self.principal, operation.__name__, at=self.parts.clock.now())

    def ask(self, operation: Operation[Result], /, **arguments: object) -> Result:
        """Do what the API does, in a transaction of its own where it needs one.

        Raises:
            UnderstudyError: As the operation; RoleMissing and ScopeMissing before it is called.
        """
        self.require(operation)
        names = inspect.signature(operation).parameters
        given: dict[str, object] = {
            "principal": self.principal,
            "_principal": self.principal,
            "parts": self.parts,
            "request": self.request,
        }
        with ExitStack() as transaction:
            if "session" in names:
                given["session"] = transaction.enter_context(self.parts.database.transaction())
            return operation(**{name: value for name, value in given.items() if name in names}, **arguments)


async def _visit(request: Request) -> Visit:
    """Recognise the visitor by the session's cookie, and whatever changes something by the token of our own forms.

    Raises:
        KeyMissing, SessionRefused: Nobody is signed in.
        RateExceeded: The key has sent too many requests.
        CsrfRefused: Another site may have caused a change.
    """
    parts = parts_of(request)
    cookie, principal = await _recognised(request)
    form = Form({})
    if request.method not in SAFE_METHODS:
        require_proof_of_origin(request, parts.settings)
        form = await read_form(request)
        if not parts.sessions.proves(form.text(TOKEN_FIELD) or "", cookie=cookie):
            raise CsrfRefused
    return Visit(request, principal, csrf_token=parts.sessions.csrf_token(cookie), form=form)


async def _streaming_visit(request: Request) -> Visit:
    """Recognise the visitor before a body that is read as it comes. The token in it is the page's to look at, first.

    Raises:
        KeyMissing, SessionRefused, RateExceeded, CsrfRefused: As for every visit.
    """
    parts = parts_of(request)
    cookie, principal = await _recognised(request)
    require_proof_of_origin(request, parts.settings)
    return Visit(request, principal, csrf_token=parts.sessions.csrf_token(cookie), form=Form({}))


async def _recognised(request: Request) -> tuple[str, Principal]:
    parts = parts_of(request)
    cookie = presented_cookie(request, parts.settings)
    if cookie is None:
        raise KeyMissing
    return cookie, await recognise(parts, Proof(cookie, is_cookie=True))


CurrentVisit = Annotated[Visit, Depends(_visit)]
StreamingVisit = Annotated[Visit, Depends(_streaming_visit)]
