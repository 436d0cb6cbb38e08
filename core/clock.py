"""Time is injected, so that leases, expiry and certificates can be tested without waiting."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the present moment as an aware UTC datetime."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present moment as an aware UTC datetime."""
        return datetime.now(UTC)


@dataclass
class FixedClock:
    """A clock that stands still until it is told to advance."""

    at: datetime

    def now(self) -> datetime:
        """Return the moment the clock stands at."""
        return self.at

    def advance(self, *, seconds: float) -> None:
        """Move the clock forward."""
        self.at += timedelta(seconds=seconds)
