"""Errors of API keys, sessions and tokens.

Unauthenticated
  * KeyMissing         401  neither an Authorization header of the form "Bearer ..." nor a session cookie
  * KeyRefused         401  unknown, malformed, expired or revoked; the answer does not say which
  * SessionRefused     401  unknown, ended or expired
  * TokenRefused       401  a bearer token that is not valid here; the answer does not say why
  * EnrolmentRefused   401  an enrolment token that is unknown, used, cancelled or expired; the answer does
  not say which
  * LinkRefused        401  a sign-in link that is unknown, used or expired; the answer does not say which
  * SignInExpired      401  a sign-in at the identity provider that this browser did not begin, or not lately
  * SignInRefused      401  the identity provider refused, or its answer is not valid here
Forbidden
  * RoleMissing        403  a valid key without one of the roles the endpoint asks for
  * ScopeMissing       403  a valid key whose scopes do not include this use
  * AccountWithoutRole 403  an account at the identity provider that has no role here
  * KeyNarrowed        403  a key with scopes where one without scopes is required
  * CsrfRefused        403  a session request that another site may have forged
  * KeyForAnother      403  a request for a key of another principal
  * KeyBeyondMaker     403  a request for a key with more rights, or a longer life, than the key that makes it
  * TokenMakesNoKeys   403  a request for a key, made with a bearer token
  * PersonNotEnrolled  403  the two-person rule counts people who enrolled themselves
  * RecoveryHold       403  the principal's access was recovered recently
NotFound
  * KeyNotFound        404  no such key, or the caller may not rotate or revoke it
  * PersonNotFound     404  no such person
  * EnrolmentNotFound  404  no such enrolment, or not the caller's
Conflict
  * EnrolmentEnded     409  an enrolment that was accepted, cancelled or has expired cannot be cancelled
  * KeyEnded           409  a key that is already revoked, expired or replaced cannot be rotated
InvalidInput
  * ExpiryRefused      422  the end of a key's life is in the past or too far away
TooManyRequests
  * RateExceeded       429  one key exceeded its request rate
  * LoginThrottled     429  too many failed logins from one address or for one key
Unavailable
  * IssuerUnavailable  503  the identity provider does not answer, and its keys are not cached
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
    default_detail = "The request carries no API key."
    default_remedy = "Send the header: Authorization: Bearer us_..."


class KeyRefused(Unauthenticated):
    """The key is malformed, unknown, expired or revoked; the answer is always the same, to leak nothing."""

    code = "key-refused"
    default_detail = "The API key is not valid."
    default_remedy = "Check the key, or ask an administrator for a new one."


class SessionRefused(Unauthenticated):
    """The session is unknown or has ended."""

    code = "session-refused"
    default_detail = "The session has ended."
    default_remedy = "Log in again with POST /v1/session."


class TokenRefused(Unauthenticated):
    """This service does not accept the bearer token; the answer does not say why."""

    code = "token-refused"
    default_detail = "The bearer token is not valid here."
    default_remedy = "Get a new token for this service from the organisation's identity provider."


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
    """The key's role may use this endpoint, but its scopes do not include it."""

    code = "scope-missing"

    def __init__(self, *, needed: str) -> None:
        super().__init__(
            f"The key does not have the scope that this endpoint needs: {needed}.",
            remedy="Use a key with this scope, or one without scopes.",
            needed_scope=needed,
        )


class CsrfRefused(Forbidden):
    """A browser's request that another site may have forged."""

    code = "csrf-refused"
    default_detail = "The request has no valid CSRF token."
    default_remedy = "Send it from the same origin, with the header X-CSRF-Token from GET /v1/session."


class EnrolmentRefused(Unauthenticated):
    """The enrolment token is malformed, unknown, used, cancelled or expired; the answer is the same for each."""

    code = "enrolment-refused"
    default_detail = "The enrolment token is not valid."
    default_remedy = "A token works once and for a limited time; ask an administrator for a new enrolment."


class LinkRefused(Unauthenticated):
    """The sign-in link is malformed, unknown, used or expired; the answer is the same for each."""

    code = "link-refused"
    default_detail = "The sign-in link is not valid."
    default_remedy = "A link works once and for ten minutes. Print a new one with: understudy sign-in"


class SignInExpired(Unauthenticated):
    """The answer of the identity provider belongs to no sign-in that this browser began within ten minutes."""

    code = "sign-in-expired"
    default_detail = (
        "This sign-in was completed already, took longer than ten minutes, or began in another browser."
    )
    default_remedy = "Begin again on this page."


class SignInRefused(Unauthenticated):
    """The identity provider did not sign the person in, or its answer does not verify; the answer does not say why."""

    code = "sign-in-refused"
    default_detail = "The identity provider did not confirm the sign-in."
    default_remedy = "Begin again on this page. If it happens again, ask the operator of this service."


class AccountWithoutRole(Forbidden):
    """The identity provider knows the person, but none of the account's roles is mapped to a role here."""

    code = "account-without-role"
    default_detail = "Your account is known to the identity provider, but has no role in this service."
    default_remedy = "Ask the operator to give the account a role that this service maps."


class KeyNarrowed(Forbidden):
    """The key has scopes, and what this endpoint creates would not be limited by them."""

    code = "key-narrowed"
    default_detail = "This endpoint does not accept keys with scopes."
    default_remedy = "Use a key without scopes."


class KeyForAnother(Forbidden):
    """The requested key would belong to another principal."""

    code = "key-for-another"
    default_detail = "A new key always belongs to the principal that makes it."
    default_remedy = (
        "Create a person with POST /v1/people and hand over the enrolment; the person then makes the key."
    )


class KeyBeyondMaker(Forbidden):
    """The requested key exceeds the roles, scopes or lifetime of the key that makes it."""

    code = "key-beyond-maker"

    def __init__(self, *, beyond: tuple[str, ...]) -> None:
        super().__init__(
            f"The new key would exceed the key that makes it: {', '.join(beyond)}.",
            remedy="Ask for roles, scopes and an expiry within those of the key in use. For somebody else,"
            " create a person with POST /v1/people.",
            beyond=list(beyond),
        )


class TokenMakesNoKeys(Forbidden):
    """A bearer token ends with the account at the identity provider; a key made with it would not."""

    code = "token-makes-no-keys"
    default_detail = "A bearer token cannot make an API key."
    default_remedy = (
        "Ask an administrator for an enrolment, and accept it with this token in the Authorization header."
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
    """An administrator recovered the principal recently; some access is held to give the person time to object."""

    code = "recovery-hold"

    def __init__(self, *, whose: str, until: datetime) -> None:
        super().__init__(
            f"An administrator recovered the {whose}; this is blocked until {until.isoformat()}.",
            remedy="Wait until then. If nobody asked for the recovery, cancel it with DELETE"
            " /v1/enrolments/{enrolment_id}.",
            whose=whose,
            until=until.isoformat(),
        )


class PersonNotFound(NotFound):
    """There is no such person."""

    code = "person-not-found"
    default_detail = "There is no person with this id."
    default_remedy = "List the people with GET /v1/people."


class EnrolmentNotFound(NotFound):
    """There is no such enrolment, or it is not the caller's."""

    code = "enrolment-not-found"
    default_detail = "There is no enrolment with this id."
    default_remedy = "List the enrolments with GET /v1/enrolments."


class EnrolmentEnded(Conflict):
    """The enrolment was cancelled, has expired, or was accepted and can no longer be undone."""

    code = "enrolment-ended"
    default_detail = "The enrolment can no longer be cancelled."
    default_remedy = "Revoke the key that it created with DELETE /v1/keys/{key_id}."


class KeyNotFound(NotFound):
    """There is no such API key, or the caller may not rotate or revoke it."""

    code = "key-not-found"
    default_detail = "There is no API key with this id."
    default_remedy = "List the keys with GET /v1/keys."


class KeyEnded(Conflict):
    """The key is already revoked, expired or replaced, so there is nothing to rotate."""

    code = "key-ended"
    default_detail = "The key has already ended or been replaced."
    default_remedy = "Make a new one with POST /v1/keys."


class ExpiryRefused(InvalidInput):
    """The key's expiry is in the past or exceeds the longest lifetime."""

    code = "expiry-refused"

    def __init__(self, *, longest_days: int) -> None:
        super().__init__(
            f"A key must expire in the future, at most {longest_days} days from now, or never.",
            remedy='Give a later moment, leave expires_at out for the default, or say "never".',
            longest_days=longest_days,
        )


class RateExceeded(TooManyRequests):
    """The key exceeded its request rate."""

    code = "rate-exceeded"

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(
            "This key has reached its request rate.",
            remedy="Wait as many seconds as Retry-After says. Poll less often, or follow events instead.",
            retry_after_seconds=retry_after_seconds,
        )


class LoginThrottled(TooManyRequests):
    """Too many logins failed from this address or for this key."""

    code = "login-throttled"

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(
            "Too many logins failed from this address or for this key.",
            remedy="Wait as many seconds as Retry-After says, then check the key.",
            retry_after_seconds=retry_after_seconds,
        )


class IssuerUnavailable(Unavailable):
    """The identity provider does not answer, so a bearer token cannot be checked."""

    code = "issuer-unavailable"
    default_detail = "The identity provider does not answer, so the token cannot be checked."
    default_remedy = "Try again in a moment, or use an API key."
