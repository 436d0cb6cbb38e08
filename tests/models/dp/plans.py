"""Small real plans for tests of the private step."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec


@dataclass(frozen=True)
class Shape:
    cardinalities: tuple[int, ...] = (4, 4, 4)
    target_index: int | None = None


@cache
def small_plan(**options: Any) -> Plan:
    """A plan of 12 cells with these options; all else by the public rules."""
    chosen = {
        "anchor": False,
        "critic_width": 8,
        "critic_layers": 2,
        "steps": 20,
        "expected_batch_size": 16,
        "row_blocks": 3,
        "acts_interval": 3,
    }
    acts = {} if options.get("acts") else {"acts_interval": 25}
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=chosen | acts | options),
        guarantee=PrivacyGuarantee(epsilon=3.0, delta=1e-6),
        declared_size=2000,
        domain=Shape(),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
