"""What goes wrong with API keys, sessions and tokens.

Unauthenticated
  * KeyMissing         401  neither an Authorization header of the form "Bearer ..." nor a session's cookie
  * KeyRefused         401  unknown, malformed, expired or revoked; which of them is not said
  * SessionRefused     401  unknown, ended or expired
  * TokenRefused       401  a bearer token that is not valid here; why is not said
Forbidden
  * RoleMissing        403  a valid key without one of the roles the endpoint asks for
  * ScopeMissing       403  a valid key that is narrowed to other uses
  * CsrfRefused        403  a session's request that may have been made by another site
NotFound
  * KeyNotFound        404  no such key, or not one that the caller may rotate
Conflict
  * KeyEnded           409  a key that is revoked, expired or replaced already cannot be rotated
InvalidInput
  * ExpiryRefused      422  the end of a key's life is in the past or too far away
TooManyRequests
  * RateExceeded       429  more requests with one key than it may send
  * LoginThrottled     429  too many failed logins from one address or for one key
Unavailable
  * IssuerUnavailable  503  the provider of identities does not answer, and its keys are not known
"""

from core.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
)


class KeyMissing(Unauthenticated):
    """The request carries neither an API key nor a session."""

    code = "key-missing"

    def __init__(self) -> None:
        super().__init__(
            "The request carries no API key.",
            remedy="Send the header: Authorization: Bearer us_...",
        )


class KeyRefused(Unauthenticated):
    """The key is malformed, unknown, expired or revoked; the answer is the same so that nothing can be learnt."""

    code = "key-refused"

    def __init__(self) -> None:
        super().__init__(
            "The API key is not valid.",
            remedy="Check the key, or ask an administrator for a new one.",
        )


class SessionRefused(Unauthenticated):
    """The session is unknown, or it has ended."""

    code = "session-refused"

    def __init__(self) -> None:
        super().__init__("The session has ended.", remedy="Log in again with POST /v1/session.")


class TokenRefused(Unauthenticated):
    """The bearer token is not one that this service accepts; why is not said."""

    code = "token-refused"

    def __init__(self) -> None:
        super().__init__(
            "The bearer token is not valid here.",
            remedy="Get a new token for this service from the organisation's identity provider.",
        )


class RoleMissing(Forbidden):
    """The key is valid, but none of its roles may use this endpoint."""

    code = "role-missing"

    def __init__(self, *, allowed: tuple[str, ...]) -> None:
        super().__init__(
            f"This endpoint is for the roles: {', '.join(allowed)}.",
            remedy="Use a key that has one of these roles.",
            allowed_roles=list(allowed),
        )


class ScopeMissing(Forbidden):
    """The key has a role that may use this endpoint, but is narrowed to other uses."""

    code = "scope-missing"

    def __init__(self, *, needed: str) -> None:
        super().__init__(
            f"The key is narrowed to other uses; this endpoint needs the scope {needed}.",
            remedy="Use a key with this scope, or one that is not narrowed.",
            needed_scope=needed,
        )


class CsrfRefused(Forbidden):
    """A browser's request that another site may have caused."""

    code = "csrf-refused"

    def __init__(self) -> None:
        super().__init__(
            "The request does not prove that it comes from this service's own pages.",
            remedy="Send it from the same origin, with the header X-CSRF-Token from GET /v1/session.",
        )


class KeyNotFound(NotFound):
    """There is no such API key, or it is not one that the caller may rotate."""

    code = "key-not-found"

    def __init__(self) -> None:
        super().__init__("There is no API key with this id.", remedy="List the keys with GET /v1/keys.")


class KeyEnded(Conflict):
    """The key is revoked, expired or replaced already, so there is nothing to rotate."""

    code = "key-ended"

    def __init__(self) -> None:
        super().__init__(
            "The key has ended or was replaced already.", remedy="Make a new one with POST /v1/keys."
        )


class ExpiryRefused(InvalidInput):
    """The end of the key's life is in the past, or further away than a key may live."""

    code = "expiry-refused"

    def __init__(self, *, longest_days: int) -> None:
        super().__init__(
            f"A key ends at a moment in the future, at most {longest_days} days from now, or never.",
            remedy='Give a later moment, leave expires_at out for the default, or say "never".',
            longest_days=longest_days,
        )


class RateExceeded(TooManyRequests):
    """More requests came with this key than it may send."""

    code = "rate-exceeded"

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(
            "This key has sent as many requests as it may for now.",
            remedy="Wait for the seconds in Retry-After; poll less often, or follow events instead.",
            retry_after_seconds=retry_after_seconds,
        )


class LoginThrottled(TooManyRequests):
    """Too many logins failed from this address or for this key."""

    code = "login-throttled"

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(
            "Too many logins failed from this address or for this key.",
            remedy="Wait for the seconds in Retry-After, then check the key.",
            retry_after_seconds=retry_after_seconds,
        )


class IssuerUnavailable(Unavailable):
    """The identity provider does not answer, so a bearer token cannot be checked."""

    code = "issuer-unavailable"

    def __init__(self) -> None:
        super().__init__(
            "The identity provider does not answer, so the token cannot be checked.",
            remedy="Try again in a moment, or use an API key.",
        )
