"""Errors of notifications.

InvalidInput
  * TargetRefused         422  not an acceptable destination
  * CodeRefused           422  not the code sent to the address
Forbidden
  * KeyNeeded             403  the rights of a bearer token cannot be checked again later
NotFound
  * EndpointNotFound      404  no such endpoint, or another principal's
Conflict
  * EndpointNotReady      409  it is paused, unconfirmed, or of a kind without this operation
  * MailNotSet            409  the operator has configured no mail server
TooManyRequests
  * TestedJustNow         429  one test a minute
"""

from core.errors import Conflict, Forbidden, InvalidInput, NotFound, TooManyRequests


class TargetRefused(InvalidInput):
    """The address is not an acceptable destination. The error does not repeat it."""

    code = "notification-target-refused"


class CodeRefused(InvalidInput):
    """The code is not the one sent to the address."""

    code = "confirmation-refused"

    def __init__(self, *, tries_left: int) -> None:
        super().__init__(
            "This is not the code that was sent to the address.",
            remedy="Copy it from the newest message."
            if tries_left
            else "Remove the endpoint and register the address again: there are no tries left.",
            tries_left=tries_left,
        )


class KeyNeeded(Forbidden):
    """Endpoints belong to a key, whose rights are checked again at every delivery."""

    code = "key-needed"
    default_detail = (
        "Notifications need an API key: the rights of a bearer token cannot be checked again later."
    )
    default_remedy = "Register the endpoint with an API key, or in a browser session opened with one."


class EndpointNotFound(NotFound):
    """There is no such endpoint, or it belongs to another principal."""

    code = "notification-endpoint-not-found"
    default_detail = "There is no such endpoint."
    default_remedy = "List yours with GET /v1/notifications/endpoints."


class EndpointNotReady(Conflict):
    """The endpoint's state or kind does not allow this."""

    code = "notification-endpoint-not-ready"


class MailNotSet(Conflict):
    """The operator has configured no mail server."""

    code = "mail-not-set"
    default_detail = "This service sends no e-mail."
    default_remedy = "Register a webhook, or ask the operator to set UNDERSTUDY_SMTP_HOST."


class TestedJustNow(TooManyRequests):
    """An endpoint can be tested once a minute."""

    code = "tested-just-now"
    __test__ = False

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(
            "This endpoint was tested less than a minute ago.",
            retry_after_seconds=retry_after_seconds,
        )
