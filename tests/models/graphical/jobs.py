"""Small jobs of graphical models."""

from typing import Any

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from tests.core.plan.shapes import Shape


def plan_for(table: PrivateTable, engine: str, *, epsilon: float = 2.0, **options: Any) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer=engine, options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=max(1, len(table.codes)),
        domain=Shape(cardinalities=table.cardinalities, target_index=table.target_index),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
