"""The real ledger under random interleavings: many connections, every operation of the ledger, judged by the pure fold."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy.orm import Session

from core.clock import Clock, FixedClock
from core.db.session import Database
from core.dp.charge import total
from core.dp.filters import AdmissionRule, admit
from core.errors import UnderstudyError
from core.ledger import governance, ledger, ledger_queries
from core.ledger.entries import GrantState, LedgerState
from core.ledger.reservation import NOTHING, EntryKind
from tests.cases import daily
from tests.core.ledger.support import ADMIN, MECHANISM, NOON, charge, new_population

CLIENTS = 12
WORDS = 25
KNOWN_REFUSALS = {
    "budget-refused", "grant-refused", "grant-closed", "dataset-frozen", "ledger-illegal-entries", "cap-below-spent",
    "already-reserved",
}  # fmt: skip


class Crowd:
    """Clients that do random words to a few shared jobs and grants of one population."""

    def __init__(self, database: Database, population: UUID, clock: Clock) -> None:
        self.database, self.population, self.clock = database, population, clock
        self.jobs: list[UUID] = []
        self.grants: list[UUID] = []

    def word(self, dice: random.Random) -> None:
        """One transaction; now and then the client goes away before its commit."""
        with self.database.transaction() as session:
            if dice.random() < 0.7:
                self.move(session, dice)
            else:
                self.decide(session, dice)
            if dice.random() < 0.1:
                raise Abandoned("The client went away.")

    def move(self, session: Session, dice: random.Random) -> None:
        job = dice.choice(self.jobs) if self.jobs else uuid4()
        match dice.choice(["reserve", "reserve", "spend", "spend", "settle", "void"]):
            case "reserve":
                job = dice.choice([uuid4(), uuid4(), job])
                ledger.reserve(
                    session,
                    population_id=self.population,
                    job_id=job,
                    charge=charge(dice.choice([0.05, 0.1, 0.3])),
                    mechanism_json=MECHANISM,
                    grant_id=dice.choice([None, *self.grants]),
                    clock=self.clock,
                )
                self.jobs.append(job)
            case "spend":
                ledger.spend(session, job, fence=dice.randrange(1, 5), clock=self.clock)
            case "settle":
                ledger.settle(session, job, charge=dice.choice([NOTHING, charge(0.02)]), clock=self.clock)
            case "void":
                ledger.void(session, job, clock=self.clock)

    def decide(self, session: Session, dice: random.Random) -> None:
        act = {"session": session, "by": ADMIN, "clock": self.clock}
        match dice.choice(["grant", "grant", "close", "freeze", "unfreeze", "unfreeze", "cap"]):
            case "grant":
                row = governance.grant(
                    population_id=self.population,
                    holder=UUID(int=77),
                    epsilon=dice.choice([0.2, 0.6]),
                    delta=1e-5,
                    expires_at=NOON + timedelta(days=dice.choice([-1, 30])),
                    **act,
                )
                self.grants.append(row.id)
            case "close" if self.grants:
                governance.close_grant(grant_id=dice.choice(self.grants), outcome=GrantState.REVOKED, **act)
            case "freeze":
                governance.freeze(population_id=self.population, reason="r", **act)
            case "unfreeze":
                governance.unfreeze(population_id=self.population, reason="r", **act)
            case "cap":
                epsilon = dice.choice([1.0, 1.5, 2.0])
                governance.set_cap(
                    population_id=self.population, epsilon=epsilon, delta=1e-5, reason="r", **act
                )


class Abandoned(UnderstudyError):
    """The client went away before its commit."""

    code = "abandoned"


@pytest.mark.parametrize("seed", daily(range(4), some=range(2)))
@pytest.mark.parametrize("rule", list(AdmissionRule))
def test_every_interleaving_is_lawful(database, seed, rule):
    crowd = Crowd(database, new_population(database, epsilon=1.5, rule=rule), FixedClock(NOON))
    gate = threading.Barrier(CLIENTS)

    def client(number: int) -> set[str]:
        dice, met = random.Random(f"{seed}-{number}"), set()
        gate.wait()
        for _ in range(WORDS):
            try:
                crowd.word(dice)
            except UnderstudyError as refusal:
                met.add(refusal.code)
        return met

    with ThreadPoolExecutor(CLIENTS) as pool:
        met = set().union(*pool.map(client, range(CLIENTS)))
    # Words about jobs whose reservation was abandoned find nothing, and so do grants.
    assert met <= KNOWN_REFUSALS | {"abandoned", "reservation-not-found", "grant-not-found"}
    with database.read_only() as session:
        assert ledger_queries.verify_chain(session, crowd.population).intact
        shown = ledger_queries.statement(session, crowd.population)
        assert ledger_queries.summary(session, crowd.population) == shown.summary
    state = LedgerState(rule=rule)
    for entry in shown.entries:
        state.apply(entry)
        assert state.cap is None or admit(state.cap, [state.balance.in_force]).admitted
    assert state.balance.in_force == total(shown.in_force)
    fences = [entry.fence for entry in shown.movements if entry.kind == EntryKind.SPENT]
    assert None not in fences
