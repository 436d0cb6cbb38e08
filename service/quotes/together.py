"""An order over the datasets of several owners: its plan, and its outlook in every ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from core.dp.charge import Charge
from core.dp.filters import Cap
from core.ledger import ledger_queries
from core.plan.ordered_plan import OrderedPlan, owners_of
from core.plan.several_owners.owners import DataOwner, ordered_owners
from core.platform.access.roles import Principal
from service.budgets.outlook import outlook_of
from service.datasets import repository
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.planning.planner import Planner
from service.quotes.order_delta import default_delta_of_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """The public facts of all datasets of an order, the order's own first.

    Args:
        facts: Of each dataset.
        caps: Of the population of each; None where none is set.
        default_deltas: Of the order in each ledger, if it names no delta; None where no cap is set.
    """

    facts: tuple[DatasetFacts, ...]
    caps: tuple[Cap | None, ...]
    default_deltas: tuple[float | None, ...]

    @classmethod
    def of(cls, session: Session, order: GeneratorOrder, principal: Principal, *, at: datetime) -> "Together":
        """Read the facts.

        Raises:
            DatasetNotFound: No such dataset, or not visible to this principal.
        """
        wanted = [order.dataset_id, *(one.dataset_id for one in order.further_datasets)]
        facts = tuple(DatasetFacts.of(repository.visible(session, each, principal)) for each in wanted)
        return cls(
            facts=facts,
            caps=tuple(ledger_queries.cap_of(session, one.population_id) for one in facts),
            default_deltas=tuple(
                default_delta_of_order(session, order, one, principal, at=at) for one in facts
            ),
        )

    def plan(self, planner: Planner, order: GeneratorOrder) -> OrderedPlan:
        """The plan over all rows together: the sum of the declared sizes, and the smallest default delta.

        Raises:
            InvalidSpec: The domains differ, or two datasets are of one population.
            UnderstudyError: As ``Planner.plan``.
        """
        owners = ordered_owners(
            [
                DataOwner(
                    dataset_id=str(one.id),
                    population_id=str(one.population_id),
                    declared_size=one.declared_size,
                )
                for one in self.facts
            ],
            [one.domain for one in self.facts],
        )
        known = [delta for delta in self.default_deltas if delta is not None]
        smallest = min(known) if len(known) == len(self.default_deltas) else None
        size = sum(one.declared_size for one in self.facts)
        return planner.plan(order, replace(self.facts[0], declared_size=size, owners=owners), smallest)


def ledgers_outlook(
    session: Session,
    together: Together,
    principal: Principal,
    order: GeneratorOrder,
    charge: Charge,
    *,
    at: datetime,
) -> dict[str, Any]:
    """The members `fits`, `refusal`, `cap`, `grant` and `ledgers` of a quote: the order fits only if it fits in every ledger.

    Raises:
        GrantNotFound: A given grant is someone else's or belongs to another population.
    """
    ledgers = []
    for facts in together.facts:
        found = outlook_of(
            session,
            facts.population_id,
            principal,
            charge,
            grant_id=order.named_grants[facts.id],
            thresholds=facts.has_thresholds,
            at=at,
        ).to_json()
        named = {"dataset_id": str(facts.id), "population_id": str(facts.population_id)}
        ledgers.append(named | {name: found[name] for name in ("fits", "refusal", "cap", "grant")})
    refusals = [one["refusal"] for one in ledgers if one["refusal"] is not None]
    own = {name: ledgers[0][name] for name in ("cap", "grant")}
    return {"fits": not refusals, "refusal": next(iter(refusals), None), **own, "ledgers": ledgers}


def in_plans_order(plan: OrderedPlan, dataset_id: UUID) -> Sequence[UUID]:
    """The datasets of a plan, the first of which the job's row names; `dataset_id` alone if it is on one."""
    return [UUID(owner.dataset_id) for owner in owners_of(plan)] or [dataset_id]
