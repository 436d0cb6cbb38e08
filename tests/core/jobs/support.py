"""A desk where jobs are ordered and worked on, one transaction per word."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from uuid import UUID, uuid4

from core.clock import FixedClock
from core.db.session import Database
from core.db.tables import Dataset, Job, Release
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import Charge, charge_of
from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import claims, endings, repository
from core.jobs.leases import JOBS, Claim, take_overdue
from core.jobs.orders import place_order
from core.jobs.states import Cause, JobState
from core.ledger import governance, ledger_queries
from core.ledger.ledger_queries import Statement
from core.ledger.reservation import EntryKind, Reservation
from core.plan.devices import DEVICES, Device, Wish
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from tests.memory_queue import MemoryQueue

LEASE = 60.0
ATTEMPTS = 3
SIZE = 1000
STEPS = 20


@dataclass(frozen=True)
class Shape:
    cardinalities: tuple[int, ...] = (2, 3)
    target_index: int | None = 1


@cache
def plan(epsilon: float = 1.0, *, declared_size: int = SIZE, anchor: bool = True) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"steps": STEPS, "anchor": anchor}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=declared_size,
        domain=Shape() if anchor else Shape(target_index=None),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def cost(of: Plan, steps: int | None = None) -> Charge:
    return charge_of(of.executed(steps), delta=of.guarantee.delta)


class Desk:
    def __init__(
        self, *, database: Database, queue: MemoryQueue, clock: FixedClock, epsilon_cap: float = 5.0
    ):
        self.database, self.queue, self.clock = database, queue, clock
        with database.transaction() as session:
            self.population = governance.open_population(session, rule=AdmissionRule.FILTERS, clock=clock)
            governance.set_cap(
                session,
                self.population,
                epsilon=epsilon_cap,
                delta=1e-4,
                by="admin",
                reason=None,
                clock=clock,
            )
            self.dataset = Dataset(
                id=uuid4(),
                population_id=self.population,
                owner_id=uuid4(),
                name="admissions",
                domain={},
                adjacency="add-or-remove",
                privacy_unit=None,
                declared_size=SIZE,
                state="ready",
                rows_key="datasets/rows.sealed",
                wrapped_data_key=b"wrapped",
                created_at=clock.now(),
            )
            session.add(self.dataset)

    def order(
        self,
        which: Plan | None = None,
        *,
        by: UUID | None = None,
        device: Device | None = None,
        wish: Wish | None = None,
    ) -> UUID:
        job_id = uuid4()
        with self.database.transaction() as session:
            place_order(
                session,
                dataset=self.dataset,
                plan=which or plan(),
                ordered_by=by or uuid4(),
                job_id=job_id,
                grant_id=None,
                sealed_randomness_key=b"sealed",
                queue=self.queue,
                clock=self.clock,
                device=device,
                device_wish=wish,
            )
        return job_id

    def claim(
        self, job_id: UUID, *, lease_owner: str | None = None, devices: Collection[str] = DEVICES
    ) -> Claim | None:
        with self.database.transaction() as session:
            return claims.claim(
                session,
                job_id,
                clock=self.clock,
                lease_seconds=LEASE,
                max_attempts=ATTEMPTS,
                lease_owner=lease_owner,
                devices=devices,
            )

    def claimed(self, job_id: UUID, *, lease_owner: str | None = None) -> Claim:
        claim = self.claim(job_id, lease_owner=lease_owner)
        assert claim is not None
        return claim

    def heartbeat(self, claim: Claim) -> bool:
        with self.database.transaction() as session:
            return claims.heartbeat(session, claim, clock=self.clock, lease_seconds=LEASE)

    def advance(self, claim: Claim, stage: str, step: int = 0, total: int = STEPS) -> bool:
        with self.database.transaction() as session:
            return claims.advance(session, claim, stage=stage, step=step, total=total)

    def finish(self, claim: Claim) -> Release:
        with self.database.transaction() as session:
            return endings.finish(
                session,
                claim,
                release_id=uuid4(),
                bundle_key="releases/bundle.zip",
                certificate={"schema": "understudy.certificate/1"},
                clock=self.clock,
            )

    def fail(
        self,
        claim: Claim,
        *,
        code: str = "infrastructure-failed",
        cause: Cause = Cause.MACHINERY,
        max_attempts: int = ATTEMPTS,
    ) -> JobState:
        with self.database.transaction() as session:
            return endings.fail(
                session,
                claim,
                code=code,
                cause=cause,
                clock=self.clock,
                queue=self.queue,
                max_attempts=max_attempts,
            )

    def hand_back(self, claim: Claim) -> JobState:
        with self.database.transaction() as session:
            return endings.hand_back(session, claim, clock=self.clock, queue=self.queue)

    def stop(self, claim: Claim) -> Charge:
        with self.database.transaction() as session:
            return endings.stop(session, claim, clock=self.clock)

    def cancel(self, job_id: UUID) -> JobState:
        with self.database.transaction() as session:
            return endings.cancel(session, job_id, clock=self.clock)

    def overdue(self, *, dead: str | None = None) -> list[UUID]:
        with self.database.transaction() as session:
            return take_overdue(
                session, JOBS, now=self.clock.now(), resend_seconds=LEASE, is_dead=lambda owner: owner == dead
            )

    def job(self, job_id: UUID) -> Job:
        with self.database.read_only() as session:
            job = repository.find(session, job_id)
            session.expunge(job)
            return job

    def reservation(self, job_id: UUID) -> Reservation:
        with self.database.read_only() as session:
            return ledger_queries.reservation_of(session, job_id)

    def statement(self) -> Statement:
        with self.database.read_only() as session:
            return ledger_queries.statement(session, self.population)

    def spends(self, job_id: UUID) -> int:
        movements = [entry.movement for entry in self.statement().movements]
        return sum(each.job_id == job_id and each.kind is EntryKind.SPENT for each in movements)

    def lease_runs_out(self) -> None:
        self.clock.advance(seconds=LEASE + 1)
