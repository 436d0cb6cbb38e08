"""The cookies of sessions and of sign-ins under way, and the checks that a browser's request comes from our own pages."""

from typing import Final, Literal, TypedDict
from urllib.parse import urlsplit

from fastapi import Request, Response

from core.platform.access.errors import CsrfRefused
from core.platform.settings import Settings

# Browsers accept a cookie with this prefix only if it is Secure and host-only.
COOKIE: Final = "__Host-understudy-session"
# The embedded stack serves plain HTTP on the loopback address.
LOOPBACK_COOKIE: Final = "understudy-session"
ATTEMPT_COOKIE: Final = "__Host-understudy-sign-in"
LOOPBACK_ATTEMPT_COOKIE: Final = "understudy-sign-in"
TOKEN_HEADER: Final = "X-CSRF-Token"  # noqa: S105 - a header name
# Browsers omit the default port from an origin; a proxy may add it to the host.
_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def presented_cookie(request: Request, settings: Settings) -> str | None:
    """The session cookie of a request."""
    return request.cookies.get(_name(settings)) or None


def set_cookie(response: Response, cookie: str, settings: Settings) -> None:
    """Set the session cookie: HttpOnly and SameSite=Strict."""
    response.set_cookie(
        _name(settings), cookie, max_age=int(settings.session_seconds), **_scope(settings, "strict")
    )


def clear_cookie(response: Response, settings: Settings) -> None:
    """Delete the session cookie."""
    response.delete_cookie(_name(settings), **_scope(settings, "strict"))


def presented_attempt(request: Request, settings: Settings) -> str | None:
    """The cookie of a sign-in at the identity provider that is under way."""
    return request.cookies.get(_attempt_name(settings)) or None


def set_attempt(response: Response, cookie: str, settings: Settings, *, seconds: int) -> None:
    """Set the cookie of a sign-in: SameSite=Lax, because the provider's redirect back is a navigation from another site."""
    response.set_cookie(_attempt_name(settings), cookie, max_age=seconds, **_scope(settings, "lax"))


def clear_attempt(response: Response, settings: Settings) -> None:
    """Delete the cookie of a sign-in, which is valid for one answer."""
    response.delete_cookie(_attempt_name(settings), **_scope(settings, "lax"))


def require_own_page(request: Request, settings: Settings) -> None:
    """Refuse a request that the browser marks as coming from another site.

    Raises:
        CsrfRefused: It comes from another site, or from an insecure page of this host.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in {None, "same-origin"}:
        raise CsrfRefused
    if origin is not None and not _is_own(origin, request, settings):
        raise CsrfRefused


def require_proof_of_origin(request: Request, settings: Settings) -> None:
    """Like ``require_own_page``, but the browser must state the origin of a change. All current browsers do.

    Raises:
        CsrfRefused: The origin is missing or is another site.
    """
    if "sec-fetch-site" not in request.headers and "origin" not in request.headers:
        raise CsrfRefused
    require_own_page(request, settings)


def _is_own(origin: str, request: Request, settings: Settings) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    schemes = {"http", "https"} if settings.is_alone else {"https"}
    host = request.headers.get("host", "").casefold().removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))
    return parts.scheme in schemes and parts.netloc.casefold() == host


def _name(settings: Settings) -> str:
    return LOOPBACK_COOKIE if settings.is_alone else COOKIE


def _attempt_name(settings: Settings) -> str:
    return LOOPBACK_ATTEMPT_COOKIE if settings.is_alone else ATTEMPT_COOKIE


class _Scope(TypedDict):
    path: str
    secure: bool
    httponly: bool
    samesite: Literal["strict", "lax"]


def _scope(settings: Settings, samesite: Literal["strict", "lax"]) -> _Scope:
    """Attributes that must match for a browser to replace or delete a cookie."""
    return {"path": "/", "secure": not settings.is_alone, "httponly": True, "samesite": samesite}
