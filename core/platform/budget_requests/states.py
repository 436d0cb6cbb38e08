"""The states of a budget request."""

from enum import StrEnum


class RequestState(StrEnum):
    """Open until somebody decides or its time runs out; every other state is final."""

    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
