"""An injectable clock, to test leases, expiry and certificates without waiting."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The source of the current time."""

    def now(self) -> datetime:
        """Return the present moment as an aware UTC datetime."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present moment as an aware UTC datetime."""
        return datetime.now(UTC)


@dataclass
class FixedClock:
    """A clock that only moves when advanced."""

    at: datetime

    def now(self) -> datetime:
        """Return the time of the clock."""
        return self.at

    def advance(self, *, seconds: float) -> None:
        """Move the clock forward."""
        self.at += timedelta(seconds=seconds)
