"""The turnstile of all appends: the budget's row, locked, with the entry at its head, and the append itself.

This is what every order does under the lock, so it is written for the fewest round trips: one statement locks and reads,
one inserts and moves the head. Both are composed once and run on the connection itself with plain columns, which costs
Python less than mapping objects; `make bench-reservations` measures the whole.
"""

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, insert, select, update
from sqlalchemy.orm import Session

from core.db.tables.budget import Budget
from core.db.tables.ledger_entry import LedgerEntry
from core.ledger.balance import Balance
from core.ledger.chain import Entry
from core.ledger.decisions import Decision, DecisionKind
from core.ledger.errors import PopulationNotFound
from core.ledger.reservation import NOTHING, EntryKind, Movement
from core.privacy.charge import Charge

_BUDGET: Final = [
    Budget.__table__.columns[name]
    for name in (
        "population_id",
        "epsilon_cap",
        "delta_cap",
        "rule",
        "frozen_at",
        "head_sequence",
        "head_hash",
    )
]
_ENTRY: Final = list(LedgerEntry.__table__.columns)
_EntryRow = namedtuple("_EntryRow", [column.name for column in _ENTRY])  # type: ignore[misc]  # noqa: PYI024 - the names are the table's

# The row is locked in the first part, so the second joins the head that is there once the lock is had. Its entry may be
# newer than this statement's view, when somebody appended while we waited: `_LAST` then looks again.
_locked = (
    select(*_BUDGET).where(Budget.population_id == bindparam("population_id")).with_for_update().cte("locked")
)
_known = exists().where(LedgerEntry.job_id == bindparam("job_id"))
_LOCK: Final = select(*_locked.columns, _known, *_ENTRY).select_from(
    _locked.outerjoin(
        LedgerEntry.__table__,
        and_(
            LedgerEntry.population_id == _locked.columns.population_id,
            LedgerEntry.sequence == _locked.columns.head_sequence,
        ),
    )
)
_LAST: Final = select(_known, *_ENTRY).where(
    LedgerEntry.population_id == bindparam("population_id"), LedgerEntry.sequence == bindparam("sequence")
)
_MOVE_HEAD = (
    update(Budget)
    .where(Budget.population_id == bindparam("new_population_id"))
    .values(head_sequence=bindparam("new_sequence"), head_hash=bindparam("new_hash"))
    .returning(Budget.head_sequence)
    .cte("moved")
)
_APPEND: Final = (
    insert(LedgerEntry.__table__)  # type: ignore[arg-type]  # a mapped class's table is a Table
    .values({column.name: bindparam(f"new_{column.name}", type_=column.type) for column in _ENTRY})
    .add_cte(_MOVE_HEAD)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedBudget:
    """A budget whose row nobody else can lock until the transaction ends.

    Args:
        population_id: whose.
        epsilon_cap: of everything together; None before a cap is set.
        delta_cap: likewise.
        rule: the admission rule.
        frozen_at: since when nothing is reserved or spent; None where it is.
        head_sequence: how many entries there are.
        head_hash: the hash of the last.
        last: the entry at the head; None where there is none, or where it is missing.
        job_is_known: whether any ledger has an entry of the job that was asked for.
    """

    population_id: UUID
    epsilon_cap: float | None
    delta_cap: float | None
    rule: str
    frozen_at: datetime | None
    head_sequence: int
    head_hash: bytes
    last: Entry | None
    job_is_known: bool


def lock(session: Session, population_id: UUID, *, job_id: UUID | None = None) -> LockedBudget:
    """Wait for the budget's row and keep it until the transaction ends; everything returned is as of now.

    Args:
        session: the open transaction.
        population_id: whose budget.
        job_id: the job to look for in the ledgers, if any.

    Raises:
        PopulationNotFound: there is none.
    """
    connection = session.connection()
    asked = {"population_id": population_id, "job_id": job_id}
    row = connection.execute(_LOCK, asked).one_or_none()
    if row is None:
        raise PopulationNotFound("No budget is kept for this population.")
    budget, (known, *last) = row[: len(_BUDGET)], row[len(_BUDGET) :]
    _, epsilon_cap, delta_cap, rule, frozen_at, head_sequence, head_hash = budget
    if last[0] is None and head_sequence > 0:
        again = connection.execute(_LAST, asked | {"sequence": head_sequence}).one_or_none()
        known, *last = again or (known, *last)
    return LockedBudget(
        population_id=population_id,
        epsilon_cap=epsilon_cap,
        delta_cap=delta_cap,
        rule=rule,
        frozen_at=frozen_at,
        head_sequence=head_sequence,
        head_hash=head_hash,
        last=None if last[0] is None else entry_of(_EntryRow(*last)),
        job_is_known=known,
    )


def append(session: Session, entry: Entry) -> None:
    """Write an entry and move the head to it; the caller holds the lock."""
    movement, decision = entry.movement, entry.decision
    charge = NOTHING if movement is None else movement.charge
    session.connection().execute(
        _APPEND,
        {
            "new_population_id": entry.population_id,
            "new_sequence": entry.sequence,
            "new_kind": entry.kind,
            "new_job_id": None if movement is None else movement.job_id,
            "new_grant_id": None if movement is None else movement.grant_id,
            "new_epsilon_micros": charge.epsilon_micros,
            "new_delta_femtos": charge.delta_femtos,
            "new_rdp_micros": list(charge.rdp_micros),
            "new_mechanism": entry.mechanism,
            "new_terms": None if decision is None else decision.terms,
            "new_fence": entry.fence,
            "new_at": entry.at,
            "new_balance": None if entry.balance is None else entry.balance.to_numbers(),
            "new_grant_balance": None if entry.grant_balance is None else entry.grant_balance.to_numbers(),
            "new_previous_hash": entry.previous_hash,
            "new_hash": entry.hash,
        },
    )


def entry_of(row: Any) -> Entry:  # noqa: ANN401 - a mapped row, or a tuple with the same names
    """The link that a row of the table holds."""
    movement = decision = None
    if row.job_id is not None:
        movement = movement_of(
            row.kind, row.job_id, row.epsilon_micros, row.delta_femtos, row.rdp_micros, row.grant_id
        )
    if row.terms is not None:
        decision = Decision(kind=DecisionKind(row.kind), terms=row.terms)
    return Entry(
        population_id=row.population_id,
        sequence=row.sequence,
        movement=movement,
        decision=decision,
        mechanism=row.mechanism,
        fence=row.fence,
        at=row.at,
        balance=None if row.balance is None else Balance.from_numbers(row.balance),
        grant_balance=None if row.grant_balance is None else Balance.from_numbers(row.grant_balance),
        previous_hash=row.previous_hash,
        hash=row.hash,
    )


def movement_of(
    kind: str,
    job_id: UUID | None,
    epsilon_micros: int,
    delta_femtos: int,
    rdp_micros: Sequence[int],
    grant_id: UUID | None,
) -> Movement:
    """The movement that the columns of a row tell."""
    assert job_id is not None, "a check constraint of the table"
    charge = Charge(epsilon_micros=epsilon_micros, delta_femtos=delta_femtos, rdp_micros=tuple(rdp_micros))
    return Movement(kind=EntryKind(kind), job_id=job_id, charge=charge, grant_id=grant_id)
