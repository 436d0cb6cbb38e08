"""Retry schedule of deliveries."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

MAX_ATTEMPTS: Final = 12
FIRST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(hours=6)
_BYTES: Final = 8

DELIVERED: Final = "delivered"
GONE: Final = "http-410"
"""HTTP 410: the receiver never wants to be called again."""


def wait_after(attempts: int, *, entropy: Callable[[int], bytes]) -> timedelta:
    """The wait after a number of failures: exponential backoff with jitter in its upper half.

    Twelve attempts take seven to fifteen hours. The jitter keeps receivers that failed together from being
    called together.

    Args:
        attempts: Number of attempts so far, at least 1.
    """
    whole: timedelta = min(FIRST_WAIT * 2 ** min(attempts - 1, 32), LONGEST_WAIT)
    share = int.from_bytes(entropy(_BYTES), "big") / 256**_BYTES
    return whole * (0.5 + share / 2)
