"""Sealed checkpoints: the state of a training (critic, optimisers, counters), never readable outside the job.

The key is derived from the job's randomness key, which is destroyed when the job ends; so a checkpoint that
somebody kept, or that a lost worker wrote afterwards, can never be opened again.
"""

from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.logs import get_logger
from core.storage.errors import ObjectMissing, SealBroken
from core.storage.objects import ObjectStore
from core.storage.sealing import open_bytes, seal_bytes
from workers.places import checkpoint_key

_PURPOSE: Final = b"understudy/checkpoint/1"


class Checkpoints:
    """The checkpoints of one attempt of a job, and those it inherits from earlier ones.

    Args:
        store: Where they lie.
        job_id: The job.
        fence: The attempt's fence; only its own key is ever written.
        randomness_key: The job's 32 bytes.
    """

    def __init__(self, store: ObjectStore, *, job_id: UUID, fence: int, randomness_key: bytes) -> None:
        self._store = store
        self._job_id = job_id
        self._fence = fence
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(randomness_key)
        self._inherited = range(fence - 1, 0, -1)

    def load(self) -> bytes | None:
        """The newest state that opens, or None.

        All attempts replay one trajectory, so an older state, or none, leads to the same generator; a damaged
        object costs time only.
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
        """Replace this attempt's checkpoint; older attempts' are then needed no more and deleted."""
        key = checkpoint_key(self._job_id, self._fence)
        self._store.put_bytes(key, seal_bytes(self._key, state, context=key))
        for fence in self._inherited:
            self._store.delete(checkpoint_key(self._job_id, fence))
        self._inherited = range(0)
