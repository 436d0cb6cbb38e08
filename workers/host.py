"""The host of one training attempt: durable progress marks, sealed checkpoints, and the ways it is told to stop.

`models` knows only the protocol (models.synthesizer.TrainingHost); what is behind it is here.
"""

import time
from collections.abc import Callable

from core.db.session import Database
from core.jobs import claims
from core.jobs.claims import Claim
from models.recording import Record
from workers.attempt import AttemptEnded, machinery
from workers.checkpoints import Checkpoints
from workers.outcomes import ExitCode
from workers.selection_recording import SelectionRecord


class JobHost:
    """A `TrainingHost` over the database and the object store.

    Args:
        claim: The attempt.
        database: Where marks are written, each in its own short transaction.
        checkpoints: Where states are kept.
        record: What the job has released; kept beside every state.
        checkpoint_seconds: Longest time between two checkpoints.
        monotonic: Tells elapsed seconds.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        database: Database,
        checkpoints: Checkpoints,
        record: Record | SelectionRecord,
        checkpoint_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._claim = claim
        self._database = database
        self._checkpoints = checkpoints
        self._record = record
        self._checkpoint_seconds = checkpoint_seconds
        self._monotonic = monotonic
        self._saved_at = monotonic()

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Commit the mark before the steps it covers begin.

        Raises:
            AttemptEnded: A person cancelled, the lease is lost, or the database is away.
        """
        with machinery(), self._database.transaction() as session:
            cancelled = claims.advance(session, self._claim, stage=stage, step=step, total=total)
        if cancelled:
            raise AttemptEnded(ExitCode.CANCELLED)

    def load_checkpoint(self) -> bytes | None:
        """The newest checkpoint of any attempt.

        Raises:
            AttemptEnded: The object store is away.
        """
        with machinery():
            kept = self._checkpoints.load()
        return None if kept is None else self._record.restored(kept)

    def checkpoint_due(self) -> bool:
        """Whether the last one is as old as the setting allows."""
        return self._monotonic() - self._saved_at >= self._checkpoint_seconds

    def save_checkpoint(self, state: bytes) -> None:
        """Keep a state, sealed.

        Raises:
            AttemptEnded: The object store is away.
        """
        with machinery():
            self._checkpoints.save(self._record.beside(state))
        self._saved_at = self._monotonic()
