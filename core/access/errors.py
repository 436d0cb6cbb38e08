"""What goes wrong with API keys, sessions and tokens.

Unauthenticated
  * KeyMissing         401  neither an Authorization header of the form "Bearer ..." nor a session's cookie
  * KeyRefused         401  unknown, malformed, expired or revoked; which of them is not said
  * SessionRefused     401  unknown, ended or expired
  * TokenRefused       401  a bearer token that is not valid here; why is not said
  * EnrolmentRefused   401  an enrolment token that is unknown, used, cancelled or expired; which is not said
Forbidden
  * RoleMissing        403  a valid key without one of the roles the endpoint asks for
  * ScopeMissing       403  a valid key that is narrowed to other uses
  * KeyNarrowed        403  a narrowed key where only one that is not narrowed will do
  * CsrfRefused        403  a session's request that may have been made by another site
  * KeyForAnother      403  a key was asked for that would speak for somebody else
  * KeyBeyondMaker     403  a key was asked for with more rights, or a longer life, than the one that makes it
  * TokenMakesNoKeys   403  a key was asked for with a bearer token
  * PersonNotEnrolled  403  the two-person rule counts people who enrolled themselves
  * RecoveryHold       403  the principal was recovered a short while ago
NotFound
  * KeyNotFound        404  no such key, or not one that the caller may rotate or revoke
  * PersonNotFound     404  no such person
  * EnrolmentNotFound  404  no such enrolment, or not one of the caller
Conflict
  * EnrolmentEnded     409  an enrolment that was accepted, cancelled or has expired cannot be cancelled
  * KeyEnded           409  a key that is revoked, expired or replaced already cannot be rotated
InvalidInput
  * ExpiryRefused      422  the end of a key's life is in the past or too far away
TooManyRequests
  * RateExceeded       429  more requests with one key than it may send
  * LoginThrottled     429  too many failed logins from one address or for one key
Unavailable
  * IssuerUnavailable  503  the provider of identities does not answer, and its keys are not known
"""

from datetime import datetime

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


class EnrolmentRefused(Unauthenticated):
    """The enrolment token is malformed, unknown, used, cancelled or expired; the answer is the same for each."""

    code = "enrolment-refused"

    def __init__(self) -> None:
        super().__init__(
            "The enrolment token is not valid.",
            remedy="A token works once and for a limited time; ask an administrator for a new enrolment.",
        )


class KeyNarrowed(Forbidden):
    """The key is narrowed to some uses, and what this endpoint makes would not be."""

    code = "key-narrowed"

    def __init__(self) -> None:
        super().__init__(
            "The key is narrowed by scopes; this endpoint needs one that is not.",
            remedy="Use a key without scopes.",
        )


class KeyForAnother(Forbidden):
    """The key that was asked for would speak for somebody else than its maker."""

    code = "key-for-another"

    def __init__(self) -> None:
        super().__init__(
            "A new key speaks for the principal that makes it, and for nobody else.",
            remedy="Create a person with POST /v1/people and hand over the enrolment; the person makes the key.",
        )


class KeyBeyondMaker(Forbidden):
    """The key that was asked for has roles, scopes or a life beyond those of the key that makes it."""

    code = "key-beyond-maker"

    def __init__(self, *, beyond: tuple[str, ...]) -> None:
        super().__init__(
            f"The new key would go beyond the key that makes it: {', '.join(beyond)}.",
            remedy="Ask for roles, scopes and an end within those of the key in use. For somebody else, create a"
            " person with POST /v1/people.",
            beyond=list(beyond),
        )


class TokenMakesNoKeys(Forbidden):
    """A bearer token ends with the account at the identity provider; a key made with it would not."""

    code = "token-makes-no-keys"

    def __init__(self) -> None:
        super().__init__(
            "A bearer token makes no API key.",
            remedy="Ask an administrator for an enrolment, and accept it with this token in the Authorization header.",
        )


class PersonNotEnrolled(Forbidden):
    """One of the two people has not accepted an enrolment, or uses a key that an administrator handed out."""

    code = "person-not-enrolled"

    def __init__(self, *, whose: str) -> None:
        super().__init__(
            f"The two-person rule counts people who enrolled themselves, and the {whose} has not, or not with this key.",
            remedy="An administrator makes an enrolment (POST /v1/people/{principal_id}/enrolments); the person accepts"
            " it and uses the new key.",
            whose=whose,
        )


class RecoveryHold(Forbidden):
    """An administrator recovered the principal a short while ago; some things stay shut until the person could object."""

    code = "recovery-hold"

    def __init__(self, *, whose: str, until: datetime) -> None:
        super().__init__(
            f"The {whose} was recovered by an administrator; this stays shut until {until.isoformat()}.",
            remedy="Wait until then. If the recovery was not asked for, cancel it with DELETE /v1/enrolments/{enrolment_id}.",
            whose=whose,
            until=until.isoformat(),
        )


class PersonNotFound(NotFound):
    """There is no such person."""

    code = "person-not-found"

    def __init__(self) -> None:
        super().__init__("There is no person with this id.", remedy="List the people with GET /v1/people.")


class EnrolmentNotFound(NotFound):
    """There is no such enrolment, or it is not the caller's."""

    code = "enrolment-not-found"

    def __init__(self) -> None:
        super().__init__(
            "There is no enrolment with this id.", remedy="List the enrolments with GET /v1/enrolments."
        )


class EnrolmentEnded(Conflict):
    """The enrolment was cancelled, has expired, or was accepted and can no longer be undone."""

    code = "enrolment-ended"

    def __init__(self) -> None:
        super().__init__(
            "The enrolment can no longer be cancelled.",
            remedy="Revoke the key that came of it with DELETE /v1/keys/{key_id}.",
        )


class KeyNotFound(NotFound):
    """There is no such API key, or it is not one that the caller may rotate or revoke."""

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
