"""A dataset whose domain is learnt, at the service's edge: taken in as it comes, quoted, ordered and charged."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from core.artifacts.certificate_form import SCHEMA
from core.db.tables import Dataset
from core.dp.charge import UNBOUNDED_MICROS
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from service.planning.facts import DatasetFacts
from service.releases.precision import expected_error_of
from tests.service.test_upload import rows_in_store
from tests.service.world import World, require_problem

DOMAIN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "code", "kind": "categorical", "categories": "learn", "null": "category"},
        {"name": "dose", "kind": "numeric", "type": "real", "bounds": "learn", "bins": "learn"},
        {"name": "seen", "kind": "date", "bounds": "learn"},
        {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
    ],
}
ROWS = b"code,dose,seen,sick\n" + b"".join(
    b"C%d,%se%d,%d-01-02,yes\n" % (number, b"-1.5" if number % 2 else b"7", number % 25 - 12, 1000 + number)
    for number in range(300)
)


def body_of(dataset_id: str, **changes: object) -> dict[str, object]:
    return {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6} | changes


def test_rows_of_any_value_are_taken_in_and_nothing_is_learnt_from_them(world: World) -> None:
    dataset_id = world.declare(domain=DOMAIN)
    before = world.owner.get(f"/v1/datasets/{dataset_id}").json()["domain"]

    answer = world.upload(dataset_id, ROWS)

    assert answer.status_code == 201, answer.text
    assert (answer.json()["rows_accepted"], answer.json()["rows_refused"]) == (300, 0)
    assert rows_in_store(world, dataset_id) == 300
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["domain"] == before


def test_a_quote_tells_of_learning_and_an_order_is_charged_for_it(world: World) -> None:
    dataset_id = world.declare(domain=DOMAIN)
    world.set_budget(dataset_id)
    quote = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()

    learnt = [(release["column"], release["learns"]) for release in quote["learning"]["releases"]]
    assert learnt == [(0, "categories"), (1, "bounds"), (1, "bins"), (2, "bounds")]
    assert quote["learning"]["releases"][0]["threshold"] > 100
    assert quote["split"]["learning"]["share"] > 0.03
    assert quote["carried_by"] == "basic"
    assert set(quote["charge"]["rdp_micros"].values()) == {UNBOUNDED_MICROS}

    assert world.upload(dataset_id, ROWS).status_code == 201
    assert world.analyst.post("/v1/quotes", body_of(dataset_id)).json() == quote, "no row tells in a quote"
    ordered = world.order(dataset_id, options={})
    assert ordered.status_code == 202, ordered.text
    # All further orders are admitted by basic composition alone: 1.0 and 1.1 are above the cap of 2.
    assert world.analyst.post("/v1/quotes", body_of(dataset_id, epsilon=1.1)).json()["fits"] is False
    assert world.analyst.post("/v1/quotes", body_of(dataset_id, epsilon=0.9)).json()["fits"] is True


def ordered(world: World, dataset_id: str, *, checks_bounds: bool) -> tuple[DatasetFacts, Plan]:
    """The public facts of a dataset, and the plan of its default order at epsilon 1."""
    with world.database.read_only() as session:
        facts = DatasetFacts.of(session.get_one(Dataset, UUID(dataset_id)))
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=facts.declared_size,
        domain=facts.domain,
        adjacency=facts.adjacency,
        privacy_unit=facts.privacy_unit,
        checks_bounds=checks_bounds,
    )
    return facts, plan


def test_a_release_of_a_learnt_domain_has_the_expected_error_of_its_quote(world: World) -> None:
    dataset_id = world.declare(domain=DOMAIN)
    world.set_budget(dataset_id)
    quote = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()
    facts, plan = ordered(world, dataset_id, checks_bounds=False)
    learnt = {"schema": SCHEMA, "data_domain": {"sha256": "0" * 64}, "plan": plan.to_json()}
    assert expected_error_of(learnt, facts)["expected_error"] == quote["expected_error"]
    declared = replace(facts, domain=TableDomain.from_json(DOMAIN | {"columns": DOMAIN["columns"][3:]}))
    assert expected_error_of(learnt, declared)["expected_error_missing"] == "unknown-plan"


def test_an_order_of_bounds_alone_checks_them_and_is_charged_for_it(world: World) -> None:
    wide = DOMAIN | {
        "columns": [
            {"name": "gain", "kind": "numeric", "type": "integer", "lower": 0, "upper": 10_000_000},
            DOMAIN["columns"][3],
        ]
    }
    dataset_id = world.declare(domain=wide)
    world.set_budget(dataset_id)
    quote = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()
    assert [(one["column"], one["learns"]) for one in quote["learning"]["releases"]] == [(0, "crowded")]
    assert 0 < quote["split"]["learning"]["share"] < 0.03
    assert UNBOUNDED_MICROS not in quote["charge"]["rdp_micros"].values(), "a check needs no threshold"

    facts, plan = ordered(world, dataset_id, checks_bounds=True)
    released = {"schema": SCHEMA, "data_domain": {"sha256": "0" * 64}, "plan": plan.to_json()}
    assert expected_error_of(released, facts)["expected_error"] == quote["expected_error"]
    bins = wide | {"columns": [wide["columns"][0] | {"bins": 32}, wide["columns"][1]]}
    declared = replace(facts, domain=TableDomain.from_json(bins))
    assert expected_error_of(released, declared)["expected_error_missing"] == "unknown-plan"


def test_a_declaration_that_cannot_be_learnt_is_refused_with_its_place(world: World) -> None:
    column = {**DOMAIN["columns"][0], "other": False}
    body = {
        "name": "wards",
        "domain": {**DOMAIN, "columns": [column, *DOMAIN["columns"][1:]]},
        "declared_size": 300,
    }

    found = require_problem(world.owner.post("/v1/datasets", body), status=422, code="domain-invalid")

    assert (found["facts"]["problem"], found["facts"]["pointer"]) == (
        "learn-without-other",
        "/columns/0/other",
    )


def test_a_job_may_learn_how_many_records_of_a_unit_count(world: World) -> None:
    columns = [*DOMAIN["columns"][3:], {"name": "patient", "kind": "unit", "records": "learn"}]
    rows = b"sick,patient\n" + b"".join(b"yes,p%d\n" % (number % 60) for number in range(300))
    dataset_id = world.declare(domain=DOMAIN | {"columns": columns, "privacy_unit": "patient"})
    world.set_budget(dataset_id)
    assert world.upload(dataset_id, rows).status_code == 201
    quote = world.analyst.post("/v1/quotes", body_of(dataset_id)).json()
    assert [one["learns"] for one in quote["learning"]["releases"]] == ["records"]

    ordered = world.order(dataset_id, options={})

    assert ordered.status_code == 202, ordered.text
