"""The assignment of a training child and its helpers: the claim, read again from the row, and the keys of its objects."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from core.data.boards import Board
from core.data.errors import ObjectMissing
from core.data.master_keys import MasterKeys
from core.data.sealing import open_bytes
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.jobs.claims import held_claim
from core.jobs.leases import Claim
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.selection import owners_of


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
