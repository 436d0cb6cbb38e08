"""Certificates of selections: of their form, and in agreement with what ran."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from core.artifacts.certificate import form_of
from core.artifacts.errors import ExecutionDiffers, InvalidCertificate
from core.artifacts.selection_certificate import SelectionCertificateForm, sign_selection_certificate
from core.artifacts.selection_execution import SelectionExecuted
from docs.document_schemas import schema_text
from tests.core.artifacts.certified import SIGNER, certified
from tests.core.artifacts.certified_selection import WINNER, certified_selection, selection_plan

ROOT = Path(__file__).parents[3]


def test_it_states_the_price_of_everything():
    certificate, plan = certified_selection(), selection_plan()

    assert certificate["epsilon"] == plan.epsilons.to_json()
    assert certificate["privacy_parameters"] == plan.guarantee.to_json()
    assert certificate["privacy_parameters"]["epsilon"] > plan.finals[WINNER].guarantee.epsilon
    assert certificate["plan_digest"] == plan.digest()
    assert certificate["executed"]["winner"] == WINNER
    assert [one["steps"] for one in certificate["executed"]["candidates"]] == [40, 60]
    assert json.loads(json.dumps(certificate, allow_nan=False)) == certificate


def test_it_does_not_say_that_nothing_was_chosen_by_looking_at_records():
    said = json.dumps(
        [certified_selection()[name] for name in ("preprocessing", "composition", "justification")]
    )
    ordinary = json.dumps(certified().certificate["preprocessing"])
    assert "No option was tuned" in ordinary
    assert "No option was tuned" not in said
    assert "chosen by looking at records, by a mechanism that is charged" in said


def test_what_is_of_another_form_is_refused():
    for other in (certified().certificate, {}, certified_selection() | {"more": 1}):
        with pytest.raises(InvalidCertificate):
            form_of(other, SelectionCertificateForm)
    with pytest.raises(InvalidCertificate):
        sign_selection_certificate({"schema": "other"}, SIGNER)


def test_what_ran_is_held_against_the_plan():
    plan = selection_plan()
    SelectionExecuted.planned(plan, winner=0).require_as_planned(plan)
    one, two = SelectionExecuted.planned(plan, winner=0), SelectionExecuted.planned(plan, winner=1)
    wrong = [
        SelectionExecuted(winner=2, candidates=one.candidates, final=one.final),
        SelectionExecuted(winner=1, candidates=one.candidates, final=one.final),
        SelectionExecuted(winner=0, candidates=one.candidates[:1], final=one.final),
        SelectionExecuted(winner=1, candidates=two.candidates[::-1], final=two.final),
    ]
    for executed in wrong:
        with pytest.raises(ExecutionDiffers):
            executed.require_as_planned(plan)
    assert SelectionExecuted.from_json(json.loads(json.dumps(two.to_json()))) == two


def test_its_schema_is_published_and_leaves_nothing_open():
    text = schema_text("selection")
    schema = json.loads(text)
    jsonschema_rs.meta.validate(schema)
    assert jsonschema_rs.validator_for(schema).is_valid(certified_selection())
    for entry in (schema, *(entry for entry in schema["$defs"].values() if "properties" in entry)):
        assert entry["additionalProperties"] is False
