"""Sign-in with an account at the identity provider: the way there, and the way back."""

from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request, Response

from core.errors import UnderstudyError
from core.platform.access.directory import Known
from core.platform.access.errors import (
    AccountWithoutRole,
    IssuerUnavailable,
    LoginThrottled,
    SignInExpired,
    SignInRefused,
)
from core.platform.settings import CALLBACK_PATH
from service.auth.cookie import clear_attempt, presented_attempt, set_attempt, set_cookie
from service.auth.provider_sign_in import LIFETIME_SECONDS, Answer, ProviderSignIn
from service.context import AppContext
from service.dashboard.rendering import open_page, sent_on
from service.dashboard.sign_in_pages import HOME, Next, own_path, sign_in_page
from service.dependencies import InjectedContext
from service.principals.session_endpoints import begin_attempt, open_session

LEAVE: Final = "/sign-in/account"

router = APIRouter(include_in_schema=False)

Parameter = Annotated[str | None, Query()]


@router.get(LEAVE)
def leave_for_provider(request: Request, context: InjectedContext, next: Next = HOME) -> Response:  # noqa: A002 - the query parameter's name
    """Send the browser to the identity provider."""
    try:
        address, cookie = _provider(context).begin(own_path(next))
    except IssuerUnavailable as refusal:
        return _refused(request, context, refusal, back_to=own_path(next))
    answer = sent_on(address)
    set_attempt(answer, cookie, context.settings, seconds=LIFETIME_SECONDS)
    return answer


@router.get(CALLBACK_PATH)
def provider_answer(
    request: Request,
    context: InjectedContext,
    state: Parameter = None,
    code: Parameter = None,
    iss: Parameter = None,
    error: Parameter = None,
) -> Response:
    """Open a session for the account that the provider confirms. Failures are counted as those of other logins."""
    provider = _provider(context)
    asked = presented_attempt(request, context.settings)
    try:
        cookie, back_to = _session_of(
            provider, asked, Answer(state=state, code=code, issuer=iss, error=error), request, context
        )
    except (
        SignInExpired,
        SignInRefused,
        AccountWithoutRole,
        IssuerUnavailable,
        LoginThrottled,
    ) as refusal:
        return _refused(request, context, refusal, back_to=own_path(provider.back_to(asked) or HOME))
    # Not a redirect: browsers keep a SameSite=Strict cookie back as long as another site began the navigation.
    answer = open_page(request, "once_more.html", back_to=own_path(back_to))
    set_cookie(answer, cookie, context.settings)
    clear_attempt(answer, context.settings)
    return answer


def _session_of(
    provider: ProviderSignIn, asked: str | None, given: Answer, request: Request, context: AppContext
) -> tuple[str, str]:
    subjects = begin_attempt(request, context, None)
    # No transaction is open while the provider is asked.
    try:
        principal, back_to = provider.complete(asked, given)
    except IssuerUnavailable:
        with context.database.transaction() as session:
            context.access.throttle.succeed(session, subjects)
        raise
    with context.database.transaction() as session:
        context.access.throttle.succeed(session, subjects)
        known = Known(principal=principal, expires_at=None)
        return open_session(session, context, known, action="session.open-by-account"), back_to


def _refused(request: Request, context: AppContext, refusal: UnderstudyError, *, back_to: str) -> Response:
    shown = sign_in_page(request, back_to=back_to, problem=refusal)
    clear_attempt(shown, context.settings)
    return shown


def _provider(context: AppContext) -> ProviderSignIn:
    if context.access.provider is None:
        raise HTTPException(404)
    return context.access.provider
