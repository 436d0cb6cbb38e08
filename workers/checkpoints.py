"""The host of one training attempt: durable progress marks, sealed checkpoints, and requests to stop.

`models` knows only the protocol (models.synthesizer.TrainingHost). A checkpoint holds the state of a training (critic,
optimisers, counters) and is never readable outside the job: its key is derived from the job's randomness key, which is
destroyed when the job ends. So a copied checkpoint, or one that a lost worker wrote afterwards, can never be opened again.
"""

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.data.errors import ObjectMissing, SealBroken
from core.data.objects import ObjectStore
from core.data.sealing import open_bytes, seal_bytes
from core.db.session import Database
from core.jobs import claims
from core.jobs.leases import Claim
from core.logs import get_logger
from models.classifier.recorder import ModelRecorder
from models.release_recorder import CertificateRecorder, SelectionRecord
from workers.child import AttemptEnded, ExitCode, machinery
from workers.stored_objects import checkpoint_key

_PURPOSE: Final = b"understudy/checkpoint/1"


class Checkpoints:
    """The checkpoints of one attempt, and those that it inherits from earlier attempts.

    Args:
        fence: Of the attempt; only the checkpoint of this fence is ever written.
        randomness_key: The job's 32 bytes.
    """

    def __init__(self, store: ObjectStore, *, job_id: UUID, fence: int, randomness_key: bytes) -> None:
        self._store = store
        self._job_id = job_id
        self._fence = fence
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(randomness_key)
        self._inherited = range(fence - 1, 0, -1)

    def load(self) -> bytes | None:
        """The newest state that can be opened, or None.

        All attempts replay one trajectory, so an older state, or none, leads to the same generator: a damaged object costs
        only time.
        """
        for fence in range(self._fence, 0, -1):
            key = checkpoint_key(self._job_id, fence)
            try:
                return open_bytes(self._key, self._store.get_bytes(key), context=key)
            except ObjectMissing:
                continue
            except SealBroken:
                get_logger().warning("checkpoint-damaged", fence=fence)
        return None

    def save(self, state: bytes) -> None:
        """Replace this attempt's checkpoint, then delete those of older attempts."""
        key = checkpoint_key(self._job_id, self._fence)
        self._store.put_bytes(key, seal_bytes(self._key, state, context=key))
        for fence in self._inherited:
            self._store.delete(checkpoint_key(self._job_id, fence))
        self._inherited = range(0)


class JobHost:
    """A `TrainingHost` over the database and the object store.

    Args:
        database: Where marks are written, each in its own short transaction.
        record: What the job has released; kept with every state.
        checkpoint_seconds: Longest time between two checkpoints.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        database: Database,
        checkpoints: Checkpoints,
        record: CertificateRecorder | SelectionRecord | ModelRecorder,
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
        """The state of the newest checkpoint of any attempt; restores the record kept with it.

        Raises:
            AttemptEnded: The object store is away.
        """
        with machinery():
            kept = self._checkpoints.load()
        return None if kept is None else self._record.restored(kept)

    def checkpoint_due(self) -> bool:
        """Whether the last checkpoint is as old as the setting allows."""
        return self._monotonic() - self._saved_at >= self._checkpoint_seconds

    def save_checkpoint(self, state: bytes) -> None:
        """Save a state, sealed, together with the record so far.

        Raises:
            AttemptEnded: The object store is away.
        """
        with machinery():
            self._checkpoints.save(self._record.beside(state))
        self._saved_at = self._monotonic()
