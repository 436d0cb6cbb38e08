"""What goes wrong with API keys.

Unauthenticated
  * KeyMissing      401  no Authorization header, or not of the form "Bearer us_..."
  * KeyRefused      401  unknown, malformed or revoked; which of them is not said
Forbidden
  * RoleMissing     403  a valid key without one of the roles the endpoint asks for
NotFound
  * KeyNotFound     404  no such key to revoke
"""

from core.errors import Forbidden, NotFound, Unauthenticated


class KeyMissing(Unauthenticated):
    """The request carries no API key."""

    code = "key-missing"

    def __init__(self) -> None:
        super().__init__(
            "The request carries no API key.",
            remedy="Send the header: Authorization: Bearer us_...",
        )


class KeyRefused(Unauthenticated):
    """The key is malformed, unknown or revoked; the answer is the same so that nothing can be learnt from it."""

    code = "key-refused"

    def __init__(self) -> None:
        super().__init__(
            "The API key is not valid.",
            remedy="Check the key, or ask an administrator for a new one.",
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


class KeyNotFound(NotFound):
    """There is no such API key."""

    code = "key-not-found"

    def __init__(self) -> None:
        super().__init__("There is no API key with this id.", remedy="List the keys with GET /v1/keys.")
