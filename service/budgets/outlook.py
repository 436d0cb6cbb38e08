"""The outlook for one more job: whether it fits under the cap and the analyst's grant, and what remains afterwards.

Nothing is locked or reserved, so another order may still come first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.db.tables.grant import Grant
from core.dp.charge import FEMTO, Charge
from core.dp.filters import Admission, AdmissionRule, Cap, admit, remaining_femtos
from core.dp.remaining import remaining_epsilon
from core.dp.typical_job import delta_under_grant, typical_charge
from core.errors import BudgetRefused, Conflict
from core.ledger import ledger_queries, repository
from core.ledger.admission import short_of
from core.ledger.errors import GrantRefused, PopulationFrozen
from core.ledger.ledger_queries import Summary
from core.ledger.reservation import Balance
from core.platform.access.roles import Principal, Role
from core.platform.budget_requests.errors import GrantAmbiguous, NoGrant
from service.grants.choosing import choose, grant_without_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A cap or a grant, with the proposed job.

    Args:
        in_force: The current charges against it.
        after: Its filters with the job added.
        thresholds: Whether generators of the dataset learn categories.
        within: The population's cap, of a grant; None for the cap itself.
    """

    cap: Cap
    in_force: Charge
    charge: Charge
    after: Admission
    thresholds: bool
    within: Cap | None = None

    def to_json(self) -> dict[str, Any]:
        """The API's representation."""
        counted = [self.in_force, self.charge] if self.after.admitted else [self.in_force]
        now = self._remaining([self.in_force])
        return {
            "epsilon": self.cap.epsilon,
            "delta": self.cap.delta,
            "fits": self.after.admitted,
            "carried_by": self.after.carried_by,
            "remaining_delta": remaining_femtos(self.cap, [self.in_force]) / FEMTO,
            "remaining_epsilon": now,
            "remaining_epsilon_after": self._remaining(counted),
            "short_of": [] if self.after.admitted else short_of(self.cap, self.in_force, self.charge, now),
        }

    def _remaining(self, charges: Sequence[Charge]) -> float:
        return remaining_epsilon(self.cap, charges, thresholds=self.thresholds, within=self.within)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The result for an order with a given charge.

    Args:
        refusal: The error code of the refusal; None if the order fits.
        cap: The population's cap with the job; None before a cap is set.
        grant: The chosen grant with the job; None if no grant is charged.
    """

    refusal: str | None
    cap: Bound | None
    grant: Bound | None
    grant_id: UUID | None

    def to_json(self) -> dict[str, Any]:
        """The API's representation. The searches for the remaining epsilon happen here, without a database connection."""
        return {
            "fits": self.refusal is None,
            "refusal": self.refusal,
            "cap": None if self.cap is None else self.cap.to_json(),
            "grant": None if self.grant is None else {"id": str(self.grant_id), **self.grant.to_json()},
        }


def outlook_of(
    session: Session,
    population_id: UUID,
    principal: Principal,
    charge: Charge,
    *,
    grant_id: UUID | None,
    thresholds: bool,
    at: datetime,
) -> Outlook:
    """Evaluate one more job with a given charge; for analysts also under the grant that its order would use.

    Args:
        thresholds: Whether generators of the dataset learn categories.

    Raises:
        GrantNotFound: The given grant is someone else's or belongs to another population.
    """
    grant, no_grant = None, None
    if grant_id is not None or principal.has(Role.ANALYST):
        try:
            grant = choose(
                session, population_id, holder=principal.id, grant_id=grant_id, charge=charge, at=at
            )
        except Conflict as refusal:
            no_grant = refusal.code
    found = ledger_queries.preview_admission(
        session, population_id, charge, grant_id=None if grant is None else grant.id
    )
    summary = ledger_queries.summary(session, population_id)
    cap = None
    if summary.cap is not None and found.after is not None:
        cap = Bound(
            cap=summary.cap,
            in_force=summary.balance.in_force,
            charge=charge,
            after=found.after,
            thresholds=thresholds,
        )
    return Outlook(
        # A refusal by the shared cap takes precedence over one by this analyst's grant.
        refusal=found.refusal or no_grant,
        cap=cap,
        grant=None
        if grant is None
        else _bound(session, grant, summary, charge, found.grant_after, thresholds=thresholds),
        grant_id=None if grant is None else grant.id,
    )


def look_at_sizes(
    session: Session,
    population_id: UUID,
    principal: Principal,
    epsilons: Sequence[float],
    *,
    thresholds: bool,
    at: datetime,
) -> Sequence[tuple[float, Outlook]]:
    """Evaluate one more generator of each size with the default delta, as `outlook_of` does, at the statements of one."""
    summary = ledger_queries.summary(session, population_id)
    if summary.cap is None:
        return []
    usable = ledger_queries.open_grants(session, population_id, holder=principal.id, at=at)
    drawn = ledger_queries.drawn_on(session, usable)
    return [
        (epsilon, _of_size(epsilon, summary, usable, drawn, thresholds=thresholds)) for epsilon in epsilons
    ]


def _of_size(
    epsilon: float,
    summary: Summary,
    usable: Sequence[Grant],
    drawn: Mapping[UUID, Balance],
    *,
    thresholds: bool,
) -> Outlook:
    assert summary.cap is not None, "sizes are compared under a cap"
    under_grants = {}
    for grant in usable:
        cap = Cap(epsilon=grant.epsilon, delta=grant.delta, rule=AdmissionRule(summary.rule))
        drawn_on_grant = drawn[grant.id].in_force
        fitted = delta_under_grant(summary.cap, cap, [drawn_on_grant], epsilon=epsilon, thresholds=thresholds)
        charge = typical_charge(epsilon, fitted, thresholds=thresholds)
        under_grants[grant.id] = Bound(
            cap=cap,
            in_force=drawn_on_grant,
            charge=charge,
            after=admit(cap, [drawn_on_grant, charge]),
            thresholds=thresholds,
            within=summary.cap,
        )
    fitting = [grant for grant in usable if under_grants[grant.id].after.admitted]
    chosen = grant_without_name(usable, fitting) if usable else None
    usual = typical_charge(epsilon, summary.cap.default_job_delta(), thresholds=thresholds)
    charge = usual if chosen is None else under_grants[chosen.id].charge
    in_force = summary.balance.in_force
    under_cap = Bound(
        cap=summary.cap,
        in_force=in_force,
        charge=charge,
        after=admit(summary.cap, [in_force, charge]),
        thresholds=thresholds,
    )
    refusal = None
    if summary.frozen_at is not None:
        refusal = PopulationFrozen.code
    elif not under_cap.after.admitted:
        refusal = BudgetRefused.code
    elif chosen is None:
        refusal = GrantAmbiguous.code if usable else NoGrant.code
    elif not fitting:
        refusal = GrantRefused.code
    return Outlook(
        refusal=refusal,
        cap=under_cap,
        grant=None if chosen is None else under_grants[chosen.id],
        grant_id=None if chosen is None else chosen.id,
    )


def _bound(
    session: Session,
    grant: Grant,
    summary: Summary,
    charge: Charge,
    after: Admission | None,
    *,
    thresholds: bool,
) -> Bound | None:
    if after is None:
        return None
    return Bound(
        cap=Cap(epsilon=grant.epsilon, delta=grant.delta, rule=AdmissionRule(summary.rule)),
        in_force=repository.grant_balance(session, grant.id).in_force,
        charge=charge,
        after=after,
        thresholds=thresholds,
        within=summary.cap,
    )
