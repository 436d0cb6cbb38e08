"""An office where budget is asked for and granted, one transaction per word."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

from core.clock import FixedClock
from core.db.session import Database
from core.db.tables import BudgetRequest, Dataset, Grant, Person
from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.ledger import governance, ledger, ledger_queries
from core.platform.budget_requests import members, requests
from tests.core.ledger.support import MECHANISM, charge

OPEN_DAYS = 30


class Office:
    """One population with one dataset.

    Args:
        database: where it is kept.
        clock: what time it is there.
    """

    def __init__(self, database: Database, clock: FixedClock) -> None:
        self.database, self.clock = database, clock
        self.owner, self.analyst, self.admin = uuid4(), uuid4(), uuid4()
        with database.transaction() as session:
            self.population = governance.open_population(session, rule=AdmissionRule.BASIC, clock=clock)
        self.set_cap(2.0)
        self.dataset = self.declare()
        self.admit(self.analyst)
        for principal in (self.owner, self.admin):
            self.enrol(principal)

    def enrol(self, principal: UUID) -> None:
        """Have somebody enrolled, as whoever counts for the two-person rule."""
        with self.database.transaction() as session:
            if session.get(Person, principal) is None:
                now = self.clock.now()
                session.add(
                    Person(
                        principal_id=principal,
                        roles=[],
                        created_by=principal,
                        created_at=now,
                        enrolled_at=now,
                    )
                )

    def declare(self) -> UUID:
        dataset_id = uuid4()
        with self.database.transaction() as session:
            session.add(
                Dataset(
                    id=dataset_id,
                    population_id=self.population,
                    owner_id=self.owner,
                    name="admissions",
                    domain={},
                    adjacency="add-or-remove",
                    privacy_unit=None,
                    declared_size=1000,
                    state="declared",
                    created_at=self.clock.now(),
                )
            )
        return dataset_id

    def set_cap(self, epsilon: float) -> None:
        with self.database.transaction() as session:
            governance.set_cap(
                session,
                self.population,
                epsilon=epsilon,
                delta=1e-5,
                by="admin",
                reason="a test",
                clock=self.clock,
            )

    def admit(self, principal: UUID, dataset: UUID | None = None) -> bool:
        self.enrol(principal)
        with self.database.transaction() as session:
            return members.add(session, dataset or self.dataset, principal, by=self.owner, clock=self.clock)

    def dismiss(self, principal: UUID) -> bool:
        with self.database.transaction() as session:
            return members.remove(session, self.dataset, principal)

    def members(self) -> list[UUID]:
        with self.database.read_only() as session:
            return [member.principal_id for member in members.of(session, self.dataset)]

    def file(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        analyst: UUID | None = None,
        dataset: UUID | None = None,
    ) -> UUID:
        with self.database.transaction() as session:
            request = requests.file(
                session,
                dataset_id=dataset or self.dataset,
                requested_by=analyst or self.analyst,
                amounts=PrivacyGuarantee(epsilon=epsilon, delta=delta),
                purpose="to learn",
                open_days=OPEN_DAYS,
                clock=self.clock,
            )
            return request.id

    def approve(
        self,
        request_id: UUID,
        *,
        by: UUID | None = None,
        amounts: PrivacyGuarantee | None = None,
        expires_at: datetime | None = None,
        two_person_rule: bool = True,
    ) -> Grant:
        with self.database.transaction() as session:
            _, grant = requests.approve(
                session,
                request_id,
                by=by or self.admin,
                amounts=amounts,
                note=None,
                expires_at=expires_at or self.clock.now() + timedelta(days=90),
                two_person_rule=two_person_rule,
                clock=self.clock,
            )
            return grant

    def deny(self, request_id: UUID) -> None:
        with self.database.transaction() as session:
            requests.deny(session, request_id, by=self.admin, note="not now", clock=self.clock)

    def withdraw(self, request_id: UUID, by: UUID | None = None) -> None:
        with self.database.transaction() as session:
            requests.withdraw(session, request_id, by=by or self.analyst, clock=self.clock)

    def expire(self) -> tuple[int, int]:
        """How many requests and how many grants ended."""
        with self.database.transaction() as session:
            over = requests.expire_requests(session, clock=self.clock)
        with self.database.transaction() as session:
            return over, requests.expire_grants(session, clock=self.clock)

    def draw(self, grant_id: UUID, epsilon: float) -> None:
        with self.database.transaction() as session:
            ledger.reserve(
                session,
                population_id=self.population,
                job_id=uuid4(),
                charge=charge(epsilon),
                mechanism_json=MECHANISM,
                grant_id=grant_id,
                clock=self.clock,
            )

    def request(self, request_id: UUID) -> BudgetRequest:
        with self.database.read_only() as session:
            request = session.get_one(BudgetRequest, request_id)
            session.expunge(request)
            return request

    def grants(self) -> list[Grant]:
        with self.database.read_only() as session:
            grants = list(ledger_queries.grants_of(session, self.population))
            session.expunge_all()
            return grants

    def kinds(self) -> list[str]:
        """The kinds of the chain's entries, which must verify."""
        with self.database.read_only() as session:
            assert ledger_queries.verify_chain(session, self.population).intact
            return [entry.kind for entry in ledger_queries.statement(session, self.population).entries]
