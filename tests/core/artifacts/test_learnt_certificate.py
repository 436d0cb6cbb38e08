"""Certificates of trainings that learn categories: which of a unit's names count, now and in certificates from before."""

import json
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from core.artifacts import statements as say
from core.artifacts.certificate import sign_certificate
from core.plan.learning import NAMES
from core.plan.plan import Plan
from docs.document_schemas import json_schema
from tests.core.artifacts.certified import SIGNER, certified, statement
from tests.core.plan.learnt import AGE, WARD, domain_of, plan_of

SENTENCES = {
    (None, None): say.LEARNT_PREPROCESSING,
    ("person", None): say.LEARNT_NAMES_PREPROCESSING,
    ("person", 3): say.LEARNT_NAMES_BOUNDED_PREPROCESSING,
}


def signed(plan: Plan, **more: object) -> dict[str, Any]:
    stated = statement(plan) | {"artefacts": certified({"critic": False}).certificate["artefacts"]} | more
    document: dict[str, Any] = json.loads(json.dumps(sign_certificate(stated, SIGNER).to_json()))
    return document


@pytest.mark.parametrize(("unit", "records"), SENTENCES)
def test_a_certificate_says_which_names_of_a_unit_count(unit: str | None, records: int | None):
    plan = plan_of(domain_of(WARD, AGE, unit=unit, records=records), {"critic": False})
    document = signed(plan)

    assert document["epsilon"] == plan.epsilons.to_json()
    jsonschema_rs.validator_for(json_schema("certificate")).validate(document)
    assert document["preprocessing"] == list(SENTENCES[unit, records])
    assert document["plan"]["learning"].get("names_per_unit") == (None if unit is None else NAMES)


@pytest.mark.parametrize(
    ("records", "said"), [(None, say.LEARNT_PREPROCESSING), (3, say.LEARNT_BOUNDED_PREPROCESSING)]
)
def test_a_certificate_from_before_is_verified_by_its_own_sentences(
    records: int | None, said: tuple[str, ...]
):
    plan = plan_of(domain_of(WARD, AGE, unit="person", records=records), {"critic": False})
    assert plan.learning is not None
    old = replace(plan, learning=replace(plan.learning, names_per_unit=None))
    document = signed(old)

    assert "names_per_unit" not in document["plan"]["learning"]
    assert document["preprocessing"] == list(said)
    assert document["epsilon"] == plan.epsilons.to_json()
    jsonschema_rs.validator_for(json_schema("certificate")).validate(document)
