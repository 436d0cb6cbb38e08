"""The ledgers of several owners in a certificate over their datasets, and its statement for a person with several owners."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from understudy.verifying import accounting, renyi
from understudy.verifying.bounds import Part
from understudy.verifying.planned import same

Json = Mapping[str, Any]
_OWNER: Final = ("dataset_id", "population_id", "declared_size")
_EXPONENT: Final = 700.0


def problems(certificate: Json, parts: tuple[Part, ...]) -> Iterator[str]:
    """Report ledgers that differ from the plan's owners, or that were not charged the cost of the training.

    Each charge is recomputed here; positions in the ledgers are only compared with each other.
    """
    plan, ledgers = certificate["plan"], certificate["ledgers"]
    named = plan.get("owners", [])
    populations = [owner["population_id"] for owner in named]
    if len(named) < 2 or populations != sorted(set(populations)):  # noqa: PLR2004 - one owner has an ordinary certificate
        yield "plan/owners are not of different populations, in order"
    if sum(owner["declared_size"] for owner in named) != plan["declared_size"]:
        yield "plan/owners: their declared sizes do not add up to the plan's"
    if [{name: one[name] for name in _OWNER} for one in ledgers] != named:
        yield "ledgers are not those of the plan's owners"
        return
    if any(certificate[name] != ledgers[0][name] for name in ("dataset_id", "population_id", "ledger")):
        yield "ledgers/0 is not the certificate's own"
    if not same(certificate["presence"], _presence(certificate, len(named))):
        yield "presence is not what the group rule gives"
    for place, one in enumerate(ledgers):
        charged = accounting.charge_problems(
            {**certificate, "charge": one["charge"]}, partial(renyi.divergence, parts)
        )
        yield from (f"ledgers/{place}/{problem}" for problem in charged)


def joint_problems(certificate: Json, parts: tuple[Part, ...]) -> Iterator[str]:
    """Report a generator over several owners' datasets that uses more than their counts, and its `problems`."""
    plan = certificate["plan"]
    if plan["steps"] or plan["anchor"] is None or "learning" in plan or "reused" in plan:
        yield "plan: more than the counts of all owners"
    yield from problems(certificate, parts)


def _presence(certificate: Json, count: int) -> list[dict[str, object]]:
    """The bound for j units, one with each of j owners: j epsilon, and delta times the sum of the powers of e^epsilon."""
    epsilon, delta = certificate["epsilon"]["reported"], certificate["privacy_parameters"]["delta"]
    found: list[dict[str, object]] = []
    for units in range(1, count + 1):
        powers = math.fsum(math.exp(min(power * epsilon, _EXPONENT)) for power in range(units))
        found.append(
            {
                "owners": units,
                "epsilon": units * epsilon,
                "delta": delta * powers if delta * powers < 1 else None,
            }
        )
    return found
