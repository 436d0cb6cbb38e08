"""The heartbeat of a claim: renews the lease, and shows the world the newest mark once an edge has passed."""

import time
from collections.abc import Callable

from core.clock import Clock
from core.db.session import Database
from core.errors import Unavailable
from core.jobs import claims
from core.jobs.claims import Claim
from core.jobs.coarse import Edges
from core.jobs.errors import LeaseLost
from workers.outcomes import Outcome


class Pulse:
    """The heartbeat of one claim: renews the lease, and says when the child must stop.

    Args:
        claim: The claim.
        database: Where the lease is.
        clock: Stamps the lease.
        lease_seconds: How long it holds.
        edges: When marks may become visible.
        monotonic: Tells elapsed seconds.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        database: Database,
        clock: Clock,
        lease_seconds: float,
        edges: Edges,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._claim = claim
        self._database = database
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._edges = edges
        self._edges_used = 0
        self._monotonic = monotonic
        self._renewed_at = monotonic()

    def __call__(self) -> Outcome | None:
        """Renew the lease once. A database that is away is waited for until the lease has run out."""
        asked_at = self._monotonic()
        edges_passed = self._edges.passed(self._clock.now())
        try:
            with self._database.transaction() as session:
                cancelled = claims.heartbeat(
                    session,
                    self._claim,
                    clock=self._clock,
                    lease_seconds=self._lease_seconds,
                    show_marks=edges_passed > self._edges_used,
                )
        except LeaseLost:
            return Outcome.LEASE_LOST
        except Unavailable:
            silent = self._monotonic() - self._renewed_at
            return Outcome.LEASE_LOST if silent >= self._lease_seconds else None
        self._renewed_at = asked_at
        self._edges_used = edges_passed
        return Outcome.CANCELLED if cancelled else None
