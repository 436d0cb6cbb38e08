"""Plans of every kind, made from made-up public facts."""

from typing import Any, Final
from uuid import UUID

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.reuse_rules import EarlierCounts, with_reuse
from core.plan.selections.plan import SelectionPlan, SelectionSpec
from core.plan.selections.planning import make_selection_plan
from core.plan.several_owners.federation import Federation
from core.plan.several_owners.owners import DataOwner
from core.plan.spec import SynthesisSpec
from core.plan.utility_reports.plan import ReportPlan
from core.plan.utility_reports.planning import ReportSpec, make_report_plan

DOMAIN: Final[dict[str, Any]] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["A", 'B, or "C"', "Ü"]},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "edges": [0, 50, 99]},
        {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
        {"name": "seen", "kind": "date", "lower": "2020-01-01", "upper": "2020-01-10", "resolution": "day"},
    ],
}
LEARNT: Final[dict[str, Any]] = {
    "schema": "understudy.domain/1",
    "target": None,
    "privacy_unit": "patient",
    "columns": [
        {"name": "patient", "kind": "unit", "records": "learn"},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 120, "bins": "learn"},
        {
            "name": "fare",
            "kind": "numeric",
            "type": "real",
            "bounds": "learn",
            "bins": "learn",
            "null": "category",
        },
        {"name": "code", "kind": "categorical", "categories": "learn", "most": 10},
        {"name": "note", "kind": "ignored"},
    ],
}
DIGITS: Final[dict[str, Any]] = {
    "schema": "understudy.images/1",
    "height": 28,
    "width": 28,
    "channels": 1,
    "labels": ["zero", "Eins, ü"],
    "privacy_unit": None,
}
DELTA: Final = 1e-6
RELEASE: Final = UUID("00000000-0000-4000-8000-000000000001")
_FACTS: Final[dict[str, Any]] = {"adjacency": Adjacency.ADD_OR_REMOVE}
RECORD: Final = PrivacyUnit(column=None)


def spec(options: dict[str, Any] | None = None, synthesizer: str = "idpgan") -> SynthesisSpec:
    """What an order asks for."""
    return SynthesisSpec(synthesizer=synthesizer, options=options or {})


def table_plan(
    options: dict[str, Any] | None = None,
    *,
    synthesizer: str = "idpgan",
    epsilon: float = 1.0,
    document: dict[str, Any] | None = None,
) -> Plan:
    """A plan on a table of 50,000 records."""
    domain = TableDomain.from_json(document or DOMAIN)
    return make_plan(
        spec=spec(options, synthesizer),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=50_000,
        domain=domain,
        privacy_unit=PrivacyUnit(column=domain.privacy_unit, records=domain.records_per_unit),
        **_FACTS,
    )


def image_plan(options: dict[str, Any] | None = None) -> Plan:
    """A plan on 60,000 images."""
    return make_plan(
        spec=spec(options),
        guarantee=PrivacyGuarantee(epsilon=4.0, delta=1e-5),
        declared_size=60_000,
        domain=ImageDomain.from_json(DIGITS),
        privacy_unit=RECORD,
        **_FACTS,
    )


def reuse_plan() -> Plan:
    """A plan that takes over the counts of an earlier release."""
    earlier = EarlierCounts(
        release_id=str(RELEASE), plan=table_plan({"critic": False}), counts_sha256="a" * 64
    )
    return with_reuse(table_plan({"critic": False}), [earlier], TableDomain.from_json(DOMAIN))


def selection_plan() -> SelectionPlan:
    """A plan that chooses between two trainings."""
    critic_alone = {"steps": 60, "anchor": False, "acts": True, "acts_interval": 7}
    return make_selection_plan(
        selection=SelectionSpec(
            candidates=(spec({"steps": 40}), spec(critic_alone)), epsilon=0.8, choice_epsilon=0.3
        ),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=DELTA),
        declared_size=40_000,
        domain=TableDomain.from_json(DOMAIN),
        privacy_unit=RECORD,
        **_FACTS,
    )


def utility_plan() -> ReportPlan:
    """A plan of a utility report about a release."""
    return make_report_plan(
        report=ReportSpec(release_id=RELEASE, manifest_sha256="ab" * 32, target=None, columns=None),
        guarantee=PrivacyGuarantee(epsilon=0.25, delta=DELTA),
        declared_size=50_000,
        domain=TableDomain.from_json(DOMAIN),
        privacy_unit=RECORD,
        **_FACTS,
    )


def model_plan(
    options: dict[str, Any] | None = None,
    *,
    owners: tuple[DataOwner, ...] | None = None,
    federation: Federation | None = None,
) -> ModelPlan:
    """A plan of a private model of a table's target."""
    return make_model_plan(
        model=ModelSpec(options=options or {}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=DELTA),
        declared_size=50_000,
        domain=TableDomain.from_json(DOMAIN),
        privacy_unit=RECORD,
        owners=owners,
        federation=federation,
        **_FACTS,
    )
