"""Domains as a plan sees them, and plans in one line."""

from dataclasses import dataclass
from typing import Any

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec


@dataclass(frozen=True)
class Shape:
    cardinalities: tuple[int, ...] = (20,) * 12
    target_index: int | None = 11

    @property
    def ordered(self) -> tuple[bool, ...]:
        return (True,) * len(self.cardinalities)


def plan_of(
    options: dict[str, Any] | None = None,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    declared_size: int = 50_000,
    shape: Shape | None = None,
    unit: str | None = None,
    records: int | None = None,
) -> Plan:
    """A plan of anchor and critic unless options are given, so that both kinds of release are in it."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"critic": True} if options is None else options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=delta),
        declared_size=declared_size,
        domain=shape or Shape(),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=unit, records=records),
    )
