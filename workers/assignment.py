"""What a training child is given, and what it keeps: its assignment, its checkpoints, and the host of its training.

The command line of a child names a claim alone. The assignment is read again from the claim's row: the plan, and the keys
of the rows and of the job's randomness.

`models` knows only the protocol of the host (models.synthesizer.TrainingHost): durable progress marks, sealed checkpoints,
and requests to stop. A checkpoint holds the state of a training (critic, optimisers, counters) and is never readable
outside the job: its key is derived from the job's randomness key, which is destroyed when the job ends. So a copied
checkpoint, or one that a lost worker wrote afterwards, can never be opened again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.data.boards import Board
from core.data.errors import ObjectMissing, SealBroken
from core.data.master_keys import MasterKeys
from core.data.objects import ObjectStore
from core.data.sealing import open_bytes, seal_bytes
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.jobs import claims
from core.jobs.claims import held_claim
from core.jobs.leases import Claim
from core.jobs.states import OPENING
from core.logs import get_logger
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.ordered_plan import owners_of
from core.platform.stored_objects import checkpoint_key
from models.classifier.recorder import ModelRecorder
from models.dp.errors import CheckpointLost
from models.release_recorder import CertificateRecorder, SelectionRecord
from workers.child import AttemptEnded, ExitCode, machinery

_PURPOSE: Final = b"understudy/checkpoint/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRows:
    """The stored rows of one dataset, and the key of 32 bytes that opens them."""

    object_key: str
    data_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One attempt's work.

    Attributes:
        claim: The claim, whose plan is executed exactly.
        rows: The sealed rows of the dataset, or those of every owner in the plan's order.
        data_key: Of the dataset that the job's row names; 32 bytes. It seals the randomness key.
        randomness_key: Key of all the job's randomness; 32 bytes, the same for every attempt.
        ordered_at: The time of the order. The certificate is dated with it, because it is the same for every attempt and
            says nothing about how long anything took.
        board: The board of the plan's federation; None without one.
    """

    claim: Claim
    domain: Domain
    rows: tuple[SealedRows, ...]
    data_key: bytes = field(repr=False)
    randomness_key: bytes = field(repr=False)
    ordered_at: datetime
    board: Board | None = None

    @property
    def only_rows(self) -> tuple[str, bytes]:
        """Object key and data key of the rows of a job on one dataset."""
        (rows,) = self.rows
        return rows.object_key, rows.data_key


def read_assignment(database: Database, *, job_id: UUID, fence: int, master_keys: MasterKeys) -> Assignment:
    """Read the work of a claim that still holds the job.

    Raises:
        LeaseLost: Another worker took over, or the job has ended.
        ObjectMissing: The dataset has no rows.
        SealBroken: A key does not open; the master key may be another one.
        DatabaseUnavailable: The database is away.
    """
    with database.read_only() as session:
        claim = held_claim(session, job_id, fence=fence)
        job = session.get_one(Job, job_id)
        dataset = session.get_one(Dataset, claim.dataset_id)
        dataset_ids = [UUID(owner.dataset_id) for owner in owners_of(claim.plan)] or [claim.dataset_id]
        rows = tuple(
            _sealed_rows(session.get_one(Dataset, each), dataset, master_keys) for each in dataset_ids
        )
        data_key = rows[dataset_ids.index(claim.dataset_id)].data_key
        sealed = job.sealed_federation
        return Assignment(
            claim=claim,
            domain=domain_from_json(dataset.domain),
            rows=rows,
            data_key=data_key,
            randomness_key=open_bytes(data_key, claim.sealed_randomness_key, context=f"job:{job_id}"),
            ordered_at=job.created_at,
            board=None if sealed is None else Board.open(sealed, data_key, job_id),
        )


def _sealed_rows(dataset: Dataset, first: Dataset, master_keys: MasterKeys) -> SealedRows:
    """The rows of one owner's dataset; `first` is the one whose domain all must have declared.

    Raises:
        ObjectMissing: The dataset has no rows, or declares another domain.
    """
    if dataset.rows_key is None or dataset.wrapped_data_key is None or dataset.domain != first.domain:
        raise ObjectMissing
    data_key = master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")
    return SealedRows(object_key=dataset.rows_key, data_key=data_key)


def mark_opening(work: Assignment, *, database: Database, store: ObjectStore) -> None:
    """Commit the mark that rows are opened, unless an earlier attempt left one. Stored rows are required first.

    How long it takes to open rows depends on them. Without the mark, a cancel at a chosen time would show for nothing whether
    they were open by then.

    Raises:
        AttemptEnded: a person cancelled, the lease is lost, rows are missing, or database or object store are away.
    """
    if work.claim.stage is not None:
        return
    with machinery():
        if not all(store.exists(one.object_key) for one in work.rows):
            raise ObjectMissing
        with database.transaction() as session:
            if claims.advance(session, work.claim, stage=OPENING, step=0, total=1):
                # Rolls the mark back: no row was opened, so nothing is charged.
                raise AttemptEnded(ExitCode.CANCELLED)


class Checkpoints:
    """The checkpoints of one attempt, and those that it inherits from earlier attempts.

    Args:
        fence: Of the attempt; only the checkpoint of this fence is ever written.
        randomness_key: The job's 32 bytes.
        federated: Whether other services' answers are in the states, so that no older one may stand in for the newest.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        job_id: UUID,
        fence: int,
        randomness_key: bytes,
        federated: bool = False,
    ) -> None:
        self._store = store
        self.federated = federated
        self._job_id = job_id
        self._fence = fence
        self._key = HKDF(SHA256(), 32, None, _PURPOSE).derive(randomness_key)
        self._inherited = range(fence - 1, 0, -1)

    def load(self) -> bytes | None:
        """The newest state that can be opened, or None.

        All attempts replay one trajectory, so an older state, or none, leads to the same generator: a damaged object costs
        only time. In a federation an older state may hold other answers of a board than those on which a round was begun.

        Raises:
            CheckpointLost: the newest one of a federation is damaged.
        """
        for fence in range(self._fence, 0, -1):
            key = checkpoint_key(self._job_id, fence)
            try:
                return open_bytes(self._key, self._store.get_bytes(key), context=key)
            except ObjectMissing:
                continue
            except SealBroken:
                get_logger().warning("checkpoint-damaged", fence=fence)
                if self.federated:
                    raise CheckpointLost from None
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
            CheckpointLost: That of a federation is damaged.
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
            AttemptEnded: The object store is away; or, in a federation, the lease is lost or the database is away.
        """
        with machinery():
            if self._checkpoints.federated:
                # A board may have answered otherwise to the attempt that took over, whose state must not find another one beside it.
                with self._database.read_only() as session:
                    held_claim(session, self._claim.job_id, fence=self._claim.fence)
            self._checkpoints.save(self._record.beside(state))
        self._saved_at = self._monotonic()
