"""What goes wrong with notifications.

InvalidInput
  * TargetRefused         422  not an address that may be notified
  * CodeRefused           422  not the code that was sent to the address
Forbidden
  * KeyNeeded             403  a bearer token of another provider cannot be asked again later for its rights
NotFound
  * EndpointNotFound      404  no such endpoint, or somebody else's
Conflict
  * EndpointNotReady      409  it is paused, not confirmed, or has nothing of that kind
  * MailNotSet            409  the operator has set no mail server
TooManyRequests
  * TestedJustNow         429  one test a minute
"""

from core.errors import Conflict, Forbidden, InvalidInput, NotFound, TooManyRequests


class TargetRefused(InvalidInput):
    """The address is not one that may be notified; it is not repeated."""

    code = "notification-target-refused"


class CodeRefused(InvalidInput):
    """The code is not the one that was sent to the address."""

    code = "confirmation-refused"

    def __init__(self, *, tries_left: int) -> None:
        super().__init__(
            "That is not the code which was sent to the address.",
            remedy="Copy it from the newest message."
            if tries_left
            else "Remove the endpoint and register the address again: there are no tries left.",
            tries_left=tries_left,
        )


class KeyNeeded(Forbidden):
    """Notifications speak for a key: its rights are looked up again whenever something is delivered."""

    code = "key-needed"

    def __init__(self) -> None:
        super().__init__(
            "Notifications are registered with an API key: the rights behind a bearer token cannot be looked up later.",
            remedy="Register the endpoint with an API key, or in a browser's session.",
        )


class EndpointNotFound(NotFound):
    """There is no such endpoint, or it is somebody else's."""

    code = "notification-endpoint-not-found"

    def __init__(self) -> None:
        super().__init__(
            "There is no such endpoint.", remedy="List yours with GET /v1/notifications/endpoints."
        )


class EndpointNotReady(Conflict):
    """The endpoint is not in a state, or not of a kind, that allows this."""

    code = "notification-endpoint-not-ready"


class MailNotSet(Conflict):
    """The operator has set no mail server."""

    code = "mail-not-set"

    def __init__(self) -> None:
        super().__init__(
            "This service sends no e-mail.",
            remedy="Register a webhook, or ask the operator to set UNDERSTUDY_SMTP_HOST.",
        )


class TestedJustNow(TooManyRequests):
    """One test a minute for one endpoint."""

    code = "tested-just-now"
    __test__ = False

    def __init__(self, *, retry_after_seconds: int) -> None:
        super().__init__(
            "A test of this endpoint was asked for less than a minute ago.",
            retry_after_seconds=retry_after_seconds,
        )
