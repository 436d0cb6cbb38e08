"""Caps, grants and freezes: decisions of people. Each is an entry of the chain, appended under the lock of the budget's row."""

from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.outbox import Kind, notify_population
from core.db.tables.budget import Budget
from core.db.tables.grant import Grant
from core.db.tables.ledger_entry import LedgerEntry
from core.dp.filters import Admission, AdmissionRule, Cap
from core.ledger import entries, ledger, repository
from core.ledger.admission import require_cap_above
from core.ledger.entries import DecisionKind, GrantState
from core.ledger.errors import BudgetNotSet, LedgerBroken, PopulationFrozen, ReasonRequired
from core.ledger.hash_chain import NO_HASH
from core.ledger.ledger import append_decision, current_balances
from core.ledger.repository import cap_on


def open_population(session: Session, *, rule: AdmissionRule, clock: Clock) -> UUID:
    """Open the ledger of a new population, without a cap. Its rule never changes. Returns the population's id."""
    budget = Budget(rule=rule.value, head_sequence=0, head_hash=NO_HASH, created_at=clock.now())
    session.add(budget)
    session.flush()
    return budget.population_id


def set_cap(
    session: Session,
    population_id: UUID,
    *,
    epsilon: float,
    delta: float,
    by: str,
    reason: str | None,
    clock: Clock,
) -> Admission:
    """Set or change the cap. Returns the state of the filters under it.

    The filters are proved for a cap, or a ceiling of caps, that does not depend on what was released. The reason is
    recorded so that people can judge that (docs/mechanisms/filters.md, a cap that changes).

    Args:
        epsilon: of everything ever released together.
        delta: likewise.
        by: id of the principal who decides.
        reason: why; required to raise an existing cap.

    Raises:
        PopulationNotFound: no such population.
        InvalidGuarantee: epsilon or delta is out of range.
        ReasonRequired: an existing cap is raised without a reason.
        CapBelowSpent: what is spent and reserved would not fit under it.
    """
    budget = ledger.lock(session, population_id)
    cap, present = Cap(epsilon=epsilon, delta=delta, rule=AdmissionRule(budget.rule)), cap_on(budget)
    admission = require_cap_above(cap, current_balances(session, budget).population.in_force)
    if cap == present:
        return admission
    raised = present is not None and (epsilon > present.epsilon or delta > present.delta)
    if raised and not (reason or "").strip():
        raise ReasonRequired
    _write(session, population_id, {"epsilon_cap": epsilon, "delta_cap": delta})
    append_decision(
        session, budget, entries.cap_set(epsilon=epsilon, delta=delta, by=by, reason=reason), clock=clock
    )
    return admission


def grant(
    session: Session,
    population_id: UUID,
    *,
    holder: UUID,
    epsilon: float,
    delta: float,
    expires_at: datetime,
    by: str,
    clock: Clock,
) -> Grant:
    """Give one holder a sub-cap until it expires. Grants may sum to more than the cap; the cap binds all of them.

    Raises:
        PopulationNotFound: no such population.
        BudgetNotSet: it has no cap yet.
        PopulationFrozen: the population is frozen.
        InvalidGuarantee: epsilon or delta is out of range.
    """
    budget = ledger.lock(session, population_id)
    if cap_on(budget) is None:
        raise BudgetNotSet(
            "No budget has been set for this dataset, so nothing can be granted.",
            remedy="Ask an admin to set one.",
        )
    if budget.frozen_at is not None:
        raise PopulationFrozen
    Cap(epsilon=epsilon, delta=delta, rule=AdmissionRule(budget.rule))
    row = Grant(
        id=uuid4(),
        population_id=population_id,
        holder_id=holder,
        epsilon=epsilon,
        delta=delta,
        expires_at=expires_at,
        state=GrantState.OPEN.value,
        created_at=clock.now(),
    )
    session.add(row)
    session.flush()
    decision = entries.granted(
        grant_id=row.id, holder=holder, epsilon=epsilon, delta=delta, expires_at=expires_at, by=by
    )
    append_decision(session, budget, decision, clock=clock)
    return row


def close_grant(session: Session, grant_id: UUID, *, outcome: GrantState, by: str, clock: Clock) -> bool:
    """Let no new reservation draw on a grant. Existing reservations stay; closing a closed grant changes nothing.

    Returns:
        Whether this call closed it.

    Raises:
        GrantNotFound: no such grant.
        LedgerBroken: the last entry does not verify; nothing was changed.
    """
    budget = ledger.lock(session, repository.grant_of(session, grant_id).population_id)
    row = repository.grant_of(session, grant_id)
    if row.state != GrantState.OPEN.value:
        return False
    append_decision(
        session, budget, entries.grant_closed(grant_id=grant_id, outcome=outcome, by=by), clock=clock
    )
    row.state, row.closed_at = outcome.value, clock.now()
    session.flush()
    return True


def freeze(session: Session, population_id: UUID, *, by: str, reason: str, clock: Clock) -> bool:
    """Stop new reservations and new spends. Running trainings go on; what was released stays released.

    A ledger whose last entry does not verify is frozen on the budget's row alone, since nothing can be appended to it.

    Returns:
        Whether this call froze it; False if it was frozen already.

    Raises:
        PopulationNotFound: no such population.
    """
    budget = ledger.lock(session, population_id)
    if budget.frozen_at is not None:
        return False
    _write(session, population_id, {"frozen_at": clock.now()})
    notify_population(session, Kind.DATASET_FROZEN, population_id, at=clock.now())
    if _frozen_in_chain(session, population_id):
        return True  # The row was cleared by hand; it agrees with the chain again.
    with suppress(LedgerBroken):
        append_decision(session, budget, entries.frozen(by=by, reason=reason), clock=clock)
    return True


def unfreeze(session: Session, population_id: UUID, *, by: str, reason: str, clock: Clock) -> bool:
    """Accept orders again.

    Returns:
        Whether this call unfroze it; False if it was not frozen.

    Raises:
        PopulationNotFound: no such population.
        LedgerBroken: the last entry does not verify; such a ledger stays frozen.
    """
    budget = ledger.lock(session, population_id)
    if budget.frozen_at is None:
        return False
    current_balances(session, budget)  # raises LedgerBroken
    _write(session, population_id, {"frozen_at": None})
    if _frozen_in_chain(session, population_id):
        append_decision(session, budget, entries.unfrozen(by=by, reason=reason), clock=clock)
    return True


def _frozen_in_chain(session: Session, population_id: UUID) -> bool:
    """Return whether the last decision on freezing in the chain was to freeze."""
    kind = session.scalar(
        select(LedgerEntry.kind)
        .where(
            LedgerEntry.population_id == population_id,
            LedgerEntry.kind.in_((DecisionKind.FROZEN.value, DecisionKind.UNFROZEN.value)),
        )
        .order_by(LedgerEntry.sequence.desc())
        .limit(1)
    )
    return kind == DecisionKind.FROZEN.value


def _write(session: Session, population_id: UUID, columns: dict[str, Any]) -> None:
    """Write columns of the budget's row, whose lock the caller holds."""
    session.execute(update(Budget).where(Budget.population_id == population_id).values(columns))
