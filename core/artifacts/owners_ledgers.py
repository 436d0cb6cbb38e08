"""The members of a certificate over the datasets of several owners: what each ledger was charged, and persons with several owners."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

from pydantic import Field

from core.artifacts.certificate_form import Form, Ledger
from core.artifacts.errors import InvalidCertificate
from core.dp.charge import Charge, charge_of
from core.ledger.hash_chain import Head
from core.plan.model_plan import ModelPlan
from core.plan.plan import Plan
from core.plan.selection import owners_of
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
        return {"reserved": link(self.reserved), "spent": link(self.spent), "head": link(self.spent)}


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


class FormOfOwners(Protocol):
    """A certificate over the datasets of several owners, read."""

    dataset_id: str
    population_id: str
    charge: Charge
    ledger: Ledger
    ledgers: list[OwnersLedger]
    presence: list[Presence]


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


def require_owners(form: FormOfOwners, plan: Plan | ModelPlan) -> None:
    """Check that every ledger of the plan was charged the whole plan.

    Raises:
        InvalidCertificate: an owner is missing, or its ledger was charged something else.
    """
    stated = [(one.dataset_id, one.population_id, one.declared_size) for one in form.ledgers]
    planned = [(one.dataset_id, one.population_id, one.declared_size) for one in owners_of(plan)]
    first = form.ledgers[0]
    leads = (first.dataset_id, first.population_id, first.ledger)
    if stated != planned or leads != (form.dataset_id, form.population_id, form.ledger):
        raise InvalidCertificate("the certificate's owners are not those of its plan")
    if [one.model_dump() for one in form.presence] != presence_of(plan):
        raise InvalidCertificate("the guarantee for a person with several owners is not what the plan gives")
    if any(one.charge != form.charge for one in form.ledgers):
        raise InvalidCertificate("a ledger was not charged what the plan costs")


def link(head: Head) -> dict[str, Any]:
    """Return one link of the ledger as a JSON object."""
    return {"sequence": head.sequence, "hash": head.hash.hex()}
