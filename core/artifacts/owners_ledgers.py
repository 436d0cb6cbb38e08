"""The members of a certificate over the datasets of several owners: what each ledger was charged, and persons with several owners."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field

from core.artifacts.certificate_form import Form, Ledger
from core.dp.charge import Charge, charge_of
from core.ledger.hash_chain import Head
from core.plan.ordered_plan import owners_of
from core.plan.plan import Plan
from core.plan.private_models.plan import ModelPlan
from core.values import Count, Identifier, Positive

_LARGEST_EXPONENT: Final = 700.0
Probability = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The ledger entries that state a job's charge.

    Attributes:
        spent: The link that spent it, the chain's head when the first row was opened.
    """

    reserved: Head
    spent: Head

    def to_json(self) -> dict[str, Any]:
        """Return the member `ledger` of a certificate."""
        return {"reserved": _link(self.reserved), "spent": _link(self.spent), "head": _link(self.spent)}


class OwnersLedger(Form):
    """The charge of one owner's ledger, and the entries that state it."""

    dataset_id: Identifier
    population_id: Identifier
    declared_size: Count
    charge: Charge
    ledger: Ledger


class Presence(Form):
    """The guarantee for a person who is one unit of each of so many owners; `delta` is null where it would be one or more."""

    owners: Count
    epsilon: Positive
    delta: Probability | None


def ledgers_of(plan: Plan | ModelPlan, places: Sequence[Place]) -> dict[str, Any]:
    """Return the charge of each owner's ledger, given its places in the plan's order, and the guarantee for a person with several owners; no member without owners."""
    owners = owners_of(plan)
    if not owners:
        return {}
    charge = charge_of(plan.mechanism, delta=plan.guarantee.delta).to_json()
    ledgers = [
        {**owner.to_json(), "charge": charge, "ledger": place.to_json()}
        for owner, place in zip(owners, places, strict=True)
    ]
    return {"ledgers": ledgers, "presence": presence_of(plan)}


def presence_of(plan: Plan | ModelPlan) -> list[dict[str, Any]]:
    """Return the guarantee for a person who is one unit of each of j owners: for j units, by group privacy.

    An (epsilon, delta) guarantee for one unit gives (j epsilon, delta (1 + e^epsilon + ... + e^((j-1) epsilon))) for j, by induction over
    the units (Vadhan 2017, lemma 2.2, states the coarser j e^(j epsilon) delta). A delta of one or more bounds nothing and is null.
    """
    epsilon, total, found = plan.epsilons.reported, 0.0, []
    for owners in range(1, len(owners_of(plan)) + 1):
        # Beyond the range of a float the delta is far above one.
        total += plan.guarantee.delta * math.exp(min((owners - 1) * epsilon, _LARGEST_EXPONENT))
        found.append({"owners": owners, "epsilon": owners * epsilon, "delta": total if total < 1 else None})
    return found


def _link(head: Head) -> dict[str, Any]:
    return {"sequence": head.sequence, "hash": head.hash.hex()}
