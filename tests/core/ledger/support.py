"""Charges and ledgers of tests."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import strategies as st

from core.clock import Clock, FixedClock
from core.db.session import Database
from core.dp.charge import MICRO, ORDERS, Charge
from core.dp.filters import Admission, AdmissionRule
from core.ledger import governance, ledger
from core.ledger.reservation import EntryKind, Movement

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CLOCK = FixedClock(NOON)
MECHANISM = {"version": 1, "kind": "gaussian", "noise_multiplier": 1e22}
EVERY_FILTER = AdmissionRule.FILTERS
ADMIN = "an-admin"
HOLDER = UUID(int=77)
EXPENSIVE_RDP = (10**12,) * len(ORDERS)


def charge(
    epsilon: float = 1.0, *, delta_femtos: int = 10**6, rdp: tuple[int, ...] = EXPENSIVE_RDP
) -> Charge:
    """A charge that only the basic filter could admit, unless `rdp` says otherwise."""
    return Charge(epsilon_micros=round(epsilon * MICRO), delta_femtos=delta_femtos, rdp_micros=rdp)


def movement(kind: EntryKind, job_id: UUID, amount: Charge) -> Movement:
    return Movement(kind=kind, job_id=job_id, charge=amount)


def charges(
    limit: int = 10**9, *, least: int = 0, deltas: st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[Charge]:
    """Charges of amounts from `least` to `limit`; the deltas, in femtos, too unless `deltas` are given."""
    amounts = st.integers(least, limit)
    return st.builds(
        Charge,
        epsilon_micros=amounts,
        delta_femtos=amounts if deltas is None else deltas,
        rdp_micros=st.tuples(*(amounts for _ in ORDERS)),
    )


def new_population(
    database: Database,
    *,
    epsilon: float | None = 1.0,
    delta: float = 1e-5,
    rule: AdmissionRule = AdmissionRule.FILTERS,
) -> UUID:
    """A population with a cap, or without one."""
    with database.transaction() as session:
        population_id = governance.open_population(session, rule=rule, clock=CLOCK)
        if epsilon is not None:
            governance.set_cap(
                session, population_id, epsilon=epsilon, delta=delta, by=ADMIN, reason=None, clock=CLOCK
            )
    return population_id


def set_cap(
    database: Database,
    population_id: UUID,
    *,
    epsilon: float,
    delta: float = 1e-5,
    reason: str | None = "needed",
) -> Admission:
    """Change the cap in a transaction of its own."""
    with database.transaction() as session:
        return governance.set_cap(
            session, population_id, epsilon=epsilon, delta=delta, by=ADMIN, reason=reason, clock=CLOCK
        )


def make_grant(
    database: Database,
    population_id: UUID,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    holder: UUID = HOLDER,
    days: float = 30,
) -> UUID:
    """Grant in a transaction of its own. Returns the grant's id."""
    with database.transaction() as session:
        return governance.grant(
            session,
            population_id,
            holder=holder,
            epsilon=epsilon,
            delta=delta,
            expires_at=NOON + timedelta(days=days),
            by=ADMIN,
            clock=CLOCK,
        ).id


def reserve(
    database: Database,
    population_id: UUID,
    amount: Charge,
    *,
    job_id: UUID | None = None,
    grant_id: UUID | None = None,
    clock: Clock = CLOCK,
) -> UUID:
    """Reserve in a transaction of its own. Returns the job's id."""
    job_id = job_id or uuid4()
    with database.transaction() as session:
        ledger.reserve(
            session,
            population_id=population_id,
            job_id=job_id,
            charge=amount,
            mechanism_json=MECHANISM,
            grant_id=grant_id,
            clock=clock,
        )
    return job_id
