"""A claim: one worker's hold on one job, as a value."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from core.plan.selection import OrderedPlan, owners_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One worker's hold on one job.

    Attributes:
        dataset_id: the dataset whose rows it reads.
        population_id: the population whose ledger pays for it.
        fence: rises with every claim; only the highest may write.
        attempts: claims since the job last made progress, this one included; claims that were handed back do not count.
        plan: what to run, to the letter.
        plan_digest: SHA-256 of the plan, in hexadecimal.
        sealed_randomness_key: the key of all the job's randomness, sealed; the same for every attempt.
        steps_begun: the highest durable mark of earlier attempts.
        cancel_requested: whether a person asked to cancel.
        lease_expires_at: the end of the lease without a heartbeat.
        request_id: the request that ordered the job, for logs; None if unknown.
        trace_context: the trace that the order belongs to; None if it was not traced.
        device: the kind of device to train on; None for whatever the worker has.
        stage: of the last durable mark of earlier attempts; None before the first.
        step: of that mark.
    """

    job_id: UUID
    dataset_id: UUID
    population_id: UUID
    ordered_by: UUID
    fence: int
    attempts: int
    plan: OrderedPlan
    plan_digest: str
    sealed_randomness_key: bytes
    steps_begun: int
    cancel_requested: bool
    claimed_at: datetime
    lease_expires_at: datetime
    request_id: str | None = None
    trace_context: str | None = None
    device: str | None = None
    stage: str | None = None
    step: int = 0

    @property
    def population_ids(self) -> tuple[UUID, ...]:
        """The populations whose ledgers pay for it, each the whole plan."""
        owners = owners_of(self.plan)
        return tuple(UUID(owner.population_id) for owner in owners) or (self.population_id,)
