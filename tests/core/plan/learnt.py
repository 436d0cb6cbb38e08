"""Domains that are learnt, and their plans."""

from typing import Any

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec

AGE = {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 120, "bins": "learn"}
FARE = {
    "name": "fare",
    "kind": "numeric",
    "type": "real",
    "bounds": "learn",
    "bins": "learn",
    "null": "category",
}
SEEN = {"name": "seen", "kind": "date", "bounds": "learn"}
WARD = {"name": "ward", "kind": "categorical", "categories": "learn", "most": 10}
CODE = {"name": "code", "kind": "categorical", "categories": "learn"}
SICK = {"name": "sick", "kind": "boolean"}
LEARNT = (AGE, FARE, SEEN, WARD, CODE)


def domain_of(
    *columns: dict[str, Any], target: str | None = None, unit: str | None = None, records: int | None = None
) -> TableDomain:
    bound = {} if records is None else {"records": records}
    units = [] if unit is None else [{"name": unit, "kind": "unit", **bound}]
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "columns": [*units, *columns],
            "target": target,
            "privacy_unit": unit,
        }
    )


def plan_of(
    domain: TableDomain,
    options: dict[str, Any] | None = None,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    synthesizer: str = "idpgan",
) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer=synthesizer, options=options or {}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=delta),
        declared_size=10_000,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=domain.privacy_unit, records=domain.records_per_unit),
    )
