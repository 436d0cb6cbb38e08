"""The assignment of a training child and its helpers: the claim, read again from the row, and the keys of its objects."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from core.data.errors import ObjectMissing
from core.data.master_keys import MasterKeys
from core.data.sealing import open_bytes
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.jobs.claims import Claim, held_claim
from core.plan.domain.declared import Domain, domain_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One attempt's work.

    Attributes:
        claim: The claim; its plan runs to the letter.
        domain: The declared domain.
        rows_key: Object key of the sealed rows.
        data_key: Opens the rows; 32 bytes.
        randomness_key: Key of all the job's randomness; 32 bytes, the same for every attempt.
        ordered_at: The time of the order. The certificate is dated with it, because it is the same for every attempt and
            says nothing about how long anything took.
    """

    claim: Claim
    domain: Domain
    rows_key: str
    data_key: bytes = field(repr=False)
    randomness_key: bytes = field(repr=False)
    ordered_at: datetime


def read_assignment(database: Database, *, job_id: UUID, fence: int, master_keys: MasterKeys) -> Assignment:
    """Read the work of a claim that still holds the job.

    Args:
        database: Where the row is.
        job_id: The job.
        fence: The claim's fence.
        master_keys: Unwrap the dataset's data key.

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
        if dataset.rows_key is None or dataset.wrapped_data_key is None:
            raise ObjectMissing
        data_key = master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")
        return Assignment(
            claim=claim,
            domain=domain_from_json(dataset.domain),
            rows_key=dataset.rows_key,
            data_key=data_key,
            randomness_key=open_bytes(data_key, claim.sealed_randomness_key, context=f"job:{job_id}"),
            ordered_at=job.created_at,
        )
