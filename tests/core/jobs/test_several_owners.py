"""A job over the datasets of several owners: every ledger moves with the others, or none does."""

import multiprocessing
import os
import signal
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, text

from core.clock import FixedClock
from core.db.session import Database
from core.db.tables import Dataset, NotificationEvent
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import charge_of
from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.errors import BudgetRefused, Unavailable, UnderstudyError
from core.jobs import claims, endings, repository, turns
from core.jobs.errors import LeaseLost, PlanDoesNotFit
from core.jobs.orders import place_order
from core.jobs.states import Cause
from core.ledger import governance, ledger, ledger_queries
from core.ledger.entries import GrantState
from core.ledger.errors import GrantRefused, IllegalFold, PopulationFrozen
from core.ledger.ledger import append_movement, current_balances
from core.ledger.reservation import NOTHING, EntryKind, Movement
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.ordered_plan import ordered_plan_from_json, owners_of
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.several_owners.owners import DataOwner, ordered_owners
from core.platform import deletion
from tests.core.jobs.test_races import at_once
from tests.core.ledger.support import HOLDER, NOON
from tests.faults.processes import wait_until
from tests.memory_queue import MemoryQueue
from tests.models.classifier.small import TABLE
from tests.system.processes import look

SIZES = (1000, 400, 200)
PROCESSES = multiprocessing.get_context("fork")
R, S, V, T = EntryKind.RESERVED, EntryKind.SPENT, EntryKind.VOIDED, EntryKind.SETTLED


class Consortium:
    """Three owners, each with a population, a cap, a dataset of one domain, and a grant to one analyst."""

    def __init__(self, database: Database, *, caps: tuple[float, ...] = (4.0, 4.0, 4.0)):
        self.database, self.queue, self.clock = database, MemoryQueue(), FixedClock(NOON)
        self.datasets: list[Dataset] = []
        self.grants: list[UUID] = []
        for size, cap in zip(SIZES, caps, strict=True):
            with database.transaction() as session:
                population = governance.open_population(session, rule=AdmissionRule.BASIC, clock=self.clock)
                terms = {"epsilon": cap, "delta": 1e-4, "by": "admin", "clock": self.clock}
                governance.set_cap(session, population, reason=None, **terms)
                grant = governance.grant(
                    session, population, holder=HOLDER, expires_at=NOON + timedelta(days=9), **terms
                )
                dataset = Dataset(
                    id=uuid4(),
                    population_id=population,
                    owner_id=uuid4(),
                    name="part",
                    domain=TABLE.to_json(),
                    adjacency="add-or-remove",
                    privacy_unit=None,
                    declared_size=size,
                    state="ready",
                    rows_key="datasets/rows.sealed",
                    wrapped_data_key=b"wrapped",
                    created_at=self.clock.now(),
                )
                session.add(dataset)
                self.grants.append(grant.id)
            self.datasets.append(dataset)
        pairs = sorted(zip(self.datasets, self.grants, strict=True), key=lambda pair: pair[0].population_id)
        self.datasets, self.grants = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    @property
    def populations(self) -> list[UUID]:
        return [dataset.population_id for dataset in self.datasets]

    def plan(self, epsilon: float = 1.0) -> ModelPlan:
        owners = [owner(dataset) for dataset in self.datasets]
        return replace(plan_of(sum(SIZES), epsilon), owners=tuple(owners))

    def order(self, plan: ModelPlan | None = None) -> UUID:
        job_id, ordered = uuid4(), plan or self.plan()
        (first, grant), *further = zip(self.datasets, self.grants, strict=True)
        with self.database.transaction() as session:
            place_order(
                session,
                dataset=first,
                plan=ordered,
                ordered_by=HOLDER,
                job_id=job_id,
                grant_id=grant,
                sealed_randomness_key=b"sealed",
                queue=self.queue,
                clock=self.clock,
                further=further,
            )
        return job_id

    def claim(self, job_id: UUID):
        with self.database.transaction() as session:
            return claims.claim(session, job_id, clock=self.clock, lease_seconds=60, max_attempts=3)

    def freeze(self, place: int) -> None:
        with self.database.transaction() as session:
            governance.freeze(
                session, self.populations[place], by="owner", reason="withdrawn", clock=self.clock
            )

    def revoke(self, place: int) -> None:
        with self.database.transaction() as session:
            governance.close_grant(
                session, self.grants[place], outcome=GrantState.REVOKED, by="owner", clock=self.clock
            )

    def cancel(self, job_id: UUID) -> str:
        with self.database.transaction() as session:
            return endings.cancel(session, job_id, clock=self.clock).value

    def movements(self, job_id: UUID) -> list[list[EntryKind]]:
        """What each ledger says of a job; every chain must verify."""
        found = []
        with self.database.read_only() as session:
            for population in self.populations:
                assert ledger_queries.verify_chain(session, population).intact
                entries = ledger_queries.statement(session, population).movements
                found.append([one.movement.kind for one in entries if one.movement.job_id == job_id])
        return found

    def charges(self, job_id: UUID):
        with self.database.read_only() as session:
            reservations = ledger_queries.reservations_of(session, job_id)
        assert list(reservations) == self.populations
        return [one.in_force for one in reservations.values()]

    def job(self, job_id: UUID):
        with self.database.read_only() as session:
            job = repository.find(session, job_id)
            return job.state, job.failure_code


def plan_of(size: int, epsilon: float = 1.0) -> ModelPlan:
    return make_model_plan(
        model=ModelSpec(options={"steps": 20}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=size,
        domain=TABLE,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def owner(dataset: Dataset) -> DataOwner:
    return DataOwner(
        dataset_id=str(dataset.id),
        population_id=str(dataset.population_id),
        declared_size=dataset.declared_size,
    )


@pytest.fixture
def consortium(database: Database) -> Consortium:
    return Consortium(database)


def test_every_ledger_is_charged_the_whole_plan_and_settled_alike(consortium):
    plan = consortium.plan()
    job_id = consortium.order(plan)
    assert consortium.movements(job_id) == [[R]] * 3
    claim = consortium.claim(job_id)
    assert claim is not None
    assert claim.population_ids == tuple(consortium.populations)
    assert consortium.movements(job_id) == [[R, S]] * 3
    assert consortium.charges(job_id) == [charge_of(plan.mechanism, delta=1e-6)] * 3
    consortium.freeze(1)  # after the claim: everything stays charged, and the job goes on
    with consortium.database.transaction() as session:
        claims.advance(session, claim, stage="train", step=10, total=20)
    consortium.cancel(job_id)
    with consortium.database.transaction() as session:
        endings.stop(session, claim, clock=consortium.clock)
    assert consortium.movements(job_id) == [[R, S, T]] * 3
    assert consortium.charges(job_id) == [charge_of(plan.executed(10), delta=1e-6)] * 3


@pytest.mark.parametrize("place", range(3))
def test_an_owner_without_room_lets_nobody_reserve(database, place):
    caps = tuple(0.5 if each == place else 4.0 for each in range(3))
    consortium = Consortium(database, caps=caps)
    with pytest.raises((BudgetRefused, GrantRefused)):
        consortium.order()
    with database.read_only() as session:
        assert not any(ledger_queries.statement(session, each).movements for each in consortium.populations)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("withdraw", [Consortium.freeze, Consortium.revoke])
def test_an_owner_that_withdraws_before_the_claim_voids_all(consortium, withdraw, place):
    job_id = consortium.order()
    withdraw(consortium, place)
    with consortium.database.read_only() as session:
        assert turns.next_in_turn(session, now=consortium.clock.now()) == job_id
    assert consortium.claim(job_id) is None
    assert consortium.movements(job_id) == [[R, V]] * 3
    assert consortium.charges(job_id) == [NOTHING] * 3
    with consortium.database.read_only() as session:
        told = session.scalars(
            select(NotificationEvent.dataset_id).where(NotificationEvent.kind == "job.failed")
        )
        assert {dataset.id for dataset in consortium.datasets} <= set(told), "every owner is notified"
    assert consortium.job(job_id) == ("failed", "owner-withdrew")
    with pytest.raises(UnderstudyError):
        consortium.order()
    assert consortium.claim(job_id) is None


def test_a_spend_meets_a_frozen_ledger_and_spends_in_none(consortium):
    job_id = consortium.order()
    consortium.freeze(2)
    with consortium.database.transaction() as session, pytest.raises(UnderstudyError, match=r"froze"):
        ledger.spend(session, job_id, fence=1, clock=consortium.clock)
    assert consortium.movements(job_id) == [[R]] * 3, "committed, and yet nothing was spent"


@pytest.mark.parametrize("_round", range(4))
def test_a_claim_meets_owners_who_withdraw(consortium, _round):
    job_id = consortium.order()
    claim, *_ = at_once(
        lambda: consortium.claim(job_id),
        lambda: consortium.freeze(0),
        lambda: consortium.revoke(2),
        lambda: consortium.cancel(job_id),
    )
    expected = [[R, V]] * 3 if claim is None else [[R, S]] * 3
    assert consortium.movements(job_id) == expected


def test_orders_over_one_set_of_ledgers_take_their_locks_in_one_order(database):
    consortium = Consortium(database, caps=(3.5, 9.0, 9.0))
    backwards = Consortium.__new__(Consortium)
    backwards.__dict__ = consortium.__dict__ | {
        "datasets": list(consortium.datasets),
        "grants": list(consortium.grants),
    }
    plan = consortium.plan(1.0)
    outcomes = at_once(*[lambda: consortium.order(plan), lambda: backwards.order(plan)] * 6)
    placed = [one for one in outcomes if isinstance(one, UUID)]
    assert len(placed) == 3
    assert all(isinstance(one, BudgetRefused) for one in outcomes if not isinstance(one, UUID))
    assert all(consortium.movements(one) == [[R]] * 3 for one in placed)


def hold(database_url: str, populations, job_id: UUID, word: str, pipe) -> None:
    """In a process of its own: move in every ledger, and stop before the commit."""
    try:
        with Database(database_url).transaction() as session:
            if word == "reserve":
                ledger.reserve_all(
                    session,
                    [ledger.Payer(population_id=each, grant_id=None) for each in populations],
                    job_id=job_id,
                    charge=charge_of(plan_of(sum(SIZES)).mechanism, delta=1e-6),
                    mechanism_json={"version": 1},
                    clock=FixedClock(NOON),
                )
            elif word == "spend":
                ledger.spend(session, job_id, fence=1, clock=FixedClock(NOON))
            else:
                ledger.settle(session, job_id, charge=NOTHING, clock=FixedClock(NOON))
            session.execute(text("SET LOCAL idle_in_transaction_session_timeout = '300ms'"))
            pipe.send(word)
            os.kill(os.getpid(), signal.SIGSTOP)
    except Unavailable as refused:
        pipe.send(refused.code)


@pytest.mark.parametrize("end", ["killed", "frozen"])
@pytest.mark.parametrize("word", ["reserve", "spend", "settle"])
def test_a_process_stopped_in_the_middle_leaves_every_ledger_as_it_was(
    consortium, database, database_url, word, end
):
    job_id = uuid4() if word == "reserve" else consortium.order()
    if word == "settle":
        assert consortium.claim(job_id) is not None
    before = consortium.movements(job_id)
    pipe, pipe_there = PROCESSES.Pipe(duplex=False)
    holder = PROCESSES.Process(
        target=hold, args=(database_url, consortium.populations, job_id, word, pipe_there)
    )
    holder.start()
    assert pipe.poll(60)
    assert pipe.recv() == word
    assert wait_until(lambda: look(holder.pid).state == "T", seconds=60)
    if end == "killed":
        holder.kill()
        holder.join()
    assert consortium.movements(job_id) == before
    consortium.order()  # waits no longer for a frozen process than the server lets it hold the ledgers
    if end == "frozen":
        os.kill(holder.pid, signal.SIGCONT)
        holder.join()
        assert pipe.recv() == "database-busy", "its commit comes too late"
    assert consortium.movements(job_id) == before
    with database.read_only() as session:
        assert session.scalar(text("SHOW idle_in_transaction_session_timeout")) == "2min"


@pytest.mark.parametrize("meanwhile", ["taken over", "cancelled"])
def test_a_worker_that_thaws_after_its_lease_moves_no_ledger(consortium, meanwhile):
    plan = consortium.plan()
    job_id = consortium.order(plan)
    frozen = consortium.claim(job_id)
    with consortium.database.transaction() as session:
        claims.advance(session, frozen, stage="train", step=10, total=20)
    consortium.clock.advance(seconds=61)
    if meanwhile == "taken over":
        second = consortium.claim(job_id)
        assert (second.fence, second.steps_begun) == (frozen.fence + 1, 10)
        moves, mechanism = [R, S], plan.mechanism
    else:
        assert consortium.cancel(job_id) == "cancelled", "nobody waits for a worker without a lease"
        moves, mechanism = [R, S, T], plan.executed(10)
    by_clock = {"clock": consortium.clock}
    late = (
        lambda session: claims.heartbeat(session, frozen, lease_seconds=60, **by_clock),
        lambda session: claims.advance(session, frozen, stage="train", step=20, total=20),
        lambda session: endings.finish(
            session, frozen, release_id=uuid4(), bundle_key="late", certificate={}, **by_clock
        ),
        lambda session: endings.fail(
            session, frozen, code="member-vanished", cause=Cause.MACHINERY, queue=consortium.queue, max_attempts=0, **by_clock
        ),
        lambda session: endings.stop(session, frozen, **by_clock),
        lambda session: endings.hand_back(session, frozen, queue=consortium.queue, **by_clock),
    )  # fmt: skip
    for write in late:
        with pytest.raises(LeaseLost), consortium.database.transaction() as session:
            write(session)
    assert consortium.movements(job_id) == [moves] * 3
    assert consortium.charges(job_id) == [charge_of(mechanism, delta=1e-6)] * 3


def test_a_deleted_dataset_stops_the_job_of_all(consortium):
    job_id = consortium.order()
    with consortium.database.transaction() as session:
        row = session.get_one(Dataset, consortium.datasets[2].id)
        deletion.mark_deleted(session, row, by=uuid4(), clock=consortium.clock)
    assert consortium.claim(job_id) is None
    assert consortium.movements(job_id) == [[R, V]] * 3


def test_ledgers_that_disagree_are_found(consortium, database):
    job_id = consortium.order()
    with database.transaction() as session:
        reservation = ledger_queries.reservation_of(session, job_id)
        budget = ledger.lock(session, consortium.populations[0])
        balances = current_balances(session, budget, grant_id=reservation.grant_id)
        spent = Movement(kind=S, job_id=job_id, charge=reservation.reserved, grant_id=reservation.grant_id)
        append_movement(session, budget, balances, reservation, spent, fence=1, clock=consortium.clock)
    with database.read_only() as session, pytest.raises(IllegalFold):
        ledger_queries.reservation_of(session, job_id)
    with database.transaction() as session, pytest.raises(IllegalFold):
        ledger.spend(session, job_id, fence=2, clock=consortium.clock)


def test_a_plan_that_leaves_an_owner_out_never_runs(consortium):
    plan = consortium.plan()
    first, second, third = plan.owners
    # The same mechanism, but the rows of somebody whose ledger has reserved nothing.
    elsewhere = replace(third, population_id=str(UUID(int=2**128 - 1)))
    size = first.declared_size + second.declared_size
    for altered in (
        replace(plan, owners=(first, second, elsewhere)),
        replace(plan, owners=(first, second), declared_size=size),
    ):
        job_id = consortium.order(plan)
        with consortium.database.transaction() as session:
            job = repository.lock(session, job_id)
            job.plan, job.plan_digest = altered.to_json(), altered.digest()
        assert consortium.claim(job_id) is None
        assert consortium.job(job_id) == ("failed", "plan-altered")
        assert consortium.movements(job_id) == [[R, V]] * 3


def test_a_plan_is_for_these_owners_alone(consortium):
    plan = consortium.plan()
    assert ordered_plan_from_json(plan.to_json()) == plan
    assert owners_of(plan_of(100)) == ()
    assert "owners" not in plan_of(100).to_json()
    first, second, third = plan.owners
    for owners in ((first,), (second, first, third), (first, first, third), (first, second)):
        with pytest.raises(InvalidPlan):
            replace(plan, owners=owners)
    twice = replace(second, dataset_id=first.dataset_id)
    with pytest.raises(InvalidPlan):
        replace(plan, owners=(first, twice, third))
    sizes = [
        replace(one, declared_size=one.declared_size + by)
        for one, by in zip(plan.owners, (1, -1, 0), strict=True)
    ]
    for other in (replace(plan, owners=tuple(sizes)), replace(plan, owners=None)):
        with pytest.raises(PlanDoesNotFit):
            consortium.order(other)
    consortium.datasets[1].domain = {**consortium.datasets[1].domain, "target": "ward"}
    with pytest.raises(PlanDoesNotFit):
        consortium.order(plan)


def test_datasets_of_one_domain_and_of_different_populations_go_together(consortium):
    owners = [owner(each) for each in reversed(consortium.datasets)]
    assert ordered_owners(owners, [TABLE] * 3) == tuple(reversed(owners))
    other = TableDomain.from_json(TABLE.to_json() | {"target": "ward"})
    for named, domains in (
        (owners, [TABLE, TABLE, other]),
        ([owners[0], owners[0]], [TABLE] * 2),
        ([replace(owners[0], population_id=str(UUID(int=each))) for each in range(33)], [TABLE] * 33),
    ):
        with pytest.raises(InvalidSpec):
            ordered_owners(named, domains)


def test_a_frozen_dataset_of_one_owner_keeps_its_job_queued(consortium):
    # Ordinary jobs are untouched by the rule for several owners.
    plan = plan_of(consortium.datasets[0].declared_size)
    with consortium.database.transaction() as session:
        job = place_order(
            session,
            dataset=consortium.datasets[0],
            plan=plan,
            ordered_by=HOLDER,
            job_id=uuid4(),
            grant_id=consortium.grants[0],
            sealed_randomness_key=b"sealed",
            queue=consortium.queue,
            clock=consortium.clock,
        )
        job_id = job.id
    consortium.freeze(0)
    assert consortium.claim(job_id) is None
    assert consortium.job(job_id) == ("queued", None)
    with consortium.database.transaction() as session, pytest.raises(PopulationFrozen):
        ledger.spend(session, job_id, fence=1, clock=consortium.clock)
