"""How often a delivery is tried, and how long is waited in between."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

MAX_ATTEMPTS: Final = 12
FIRST_WAIT: Final = timedelta(seconds=30)
LONGEST_WAIT: Final = timedelta(hours=6)
_BYTES: Final = 8

DELIVERED: Final = "delivered"
GONE: Final = "http-410"
"""The answer by which a receiver says that it never wants to be called again."""


def wait_after(attempts: int, *, entropy: Callable[[int], bytes]) -> timedelta:
    """How long to wait after a number of failures: doubled each time, and somewhere in the upper half of that.

    Twelve attempts take seven to fifteen hours. The share that is drawn keeps receivers that fell over together from being
    called together.

    Args:
        attempts: How often it has been tried, 1 or more.
        entropy: Random bytes.
    """
    whole: timedelta = min(FIRST_WAIT * 2 ** min(attempts - 1, 32), LONGEST_WAIT)
    share = int.from_bytes(entropy(_BYTES), "big") / 256**_BYTES
    return whole * (0.5 + share / 2)
