import copy
import json
from typing import Any

import jsonschema_rs
import pytest

from core.artifacts.certificate import form_of, sign_certificate
from core.artifacts.certificate_form import CertificateForm
from core.artifacts.errors import ExecutionDiffers, InvalidCertificate
from core.artifacts.execution import Executed, RecordedSteps, multiplier_runs, require_as_planned
from core.artifacts.signing.contexts import CERTIFICATE
from core.artifacts.signing.signed import SignedDocument, verify
from core.dp.gaussian import joint_noise_multiplier
from docs.document_schemas import json_schema
from tests.core.artifacts.certified import REFRESHING, SIGNER, certified, plan_for, statement

OPTIONS = [{}, {"critic": False}, {"anchor": False, "schedule": "exponential"}, REFRESHING]


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "no critic", "schedule", "refreshing"])
def test_a_certificate_survives_json_and_keeps_its_promise(options: dict[str, Any]):
    document = json.loads(json.dumps(certified(options).certificate, allow_nan=False))

    assert form_of(document, CertificateForm).plan == certified(options).plan
    assert document["epsilon"]["reported"] <= document["privacy_parameters"]["epsilon"]
    jsonschema_rs.validator_for(json_schema("certificate")).validate(document)


def test_a_certificate_is_signed_for_its_purpose():
    signed = SignedDocument.from_json(certified().certificate)

    assert verify(signed, context=CERTIFICATE, public_keys={SIGNER.key_id: SIGNER.public_key})


def test_a_certificate_names_the_promise():
    document = certified(unit="patient").certificate

    assert document["adjacency"] == "add-or-remove"
    assert document["privacy_unit"]["column"] == "patient"
    assert "all records that share one value" in document["privacy_unit"]["description"]
    assert document["issued_at"] == "2026-11-20T00:00:00+00:00"
    assert document["schema"] == "understudy.certificate/2"
    assert document["ledger"]["spent"] == document["ledger"]["head"] != document["ledger"]["reserved"]
    assert [row["name"] for row in document["mechanisms"]] == [
        "anchor-columns",
        "anchor-tables",
        "critic-steps",
    ]


def test_every_file_but_the_certificate_is_hashed():
    assert sorted(certified().certificate["artefacts"]) == [
        "README.md", "counts.bin", "domain.json", "generator.onnx", "generator.safetensors", "manifest.json",
        "sample.py",
    ]  # fmt: skip


def test_what_lacks_a_member_is_not_signed():
    with pytest.raises(InvalidCertificate):
        sign_certificate(statement(plan_for()), SIGNER)


@pytest.mark.parametrize("member", sorted(certified().certificate))
def test_a_member_that_is_missing_or_of_another_kind_is_refused(member: str):
    document = copy.deepcopy(certified().certificate)
    with pytest.raises(InvalidCertificate):
        form_of(document | {member: None}, CertificateForm)
    del document[member]
    with pytest.raises(InvalidCertificate):
        form_of(document, CertificateForm)


@pytest.mark.parametrize("change", [{"schema": "understudy.certificate/3"}, {"further": 1}])
def test_another_form_is_refused(change: dict[str, Any]):
    with pytest.raises(InvalidCertificate):
        form_of(certified().certificate | change, CertificateForm)


def written_out(runs: list[dict[str, Any]]) -> list[float]:
    return [
        multiplier
        for part in runs
        for _ in range(part["repeat"])
        for steps, multiplier in part["runs"]
        for _ in range(steps)
    ]


@pytest.mark.parametrize("interval", [1, 2, 7, 15, 16, 119, 120, 500])
def test_the_runs_written_out_are_the_multiplier_of_every_step(interval: int):
    plan = plan_for(REFRESHING | {"acts_interval": interval})
    assert plan.acts is not None
    expected = []
    for step in range(plan.steps):
        own = plan.noise_multiplier_at(step)
        acts = plan.acts
        joint = joint_noise_multiplier(
            own, histograms=acts.groups, histogram_noise_multiplier=acts.noise_multiplier
        )
        expected.append(joint if plan.is_refresh(step) else own)

    assert written_out(multiplier_runs(plan)) == expected
    assert len(multiplier_runs(plan)) <= 3 * len(plan.blocks)


def heard(*steps: int) -> list[list[int]]:
    noted = RecordedSteps()
    for step in steps:
        noted.add(step)
    return noted.progressions


def test_steps_are_noted_as_progressions():
    assert heard() == []
    assert heard(0) == [[0, 1, 1]]
    assert heard(*range(500)) == [[0, 1, 500]]
    assert heard(0, 25, 50, 75) == [[0, 25, 4]]
    assert heard(0, 1, 1) == [[0, 1, 2], [1, 1, 1]]
    assert heard(5, 4) == [[5, 1, 1], [4, 1, 1]]
    assert heard(0, 1, 3, 5) == [[0, 1, 2], [3, 2, 2]]


@pytest.mark.parametrize("interval", [1, 7, 500])
def test_what_is_heard_of_an_undisturbed_job_is_its_plan(interval: int):
    plan = plan_for(REFRESHING | {"acts_interval": interval})
    executed = Executed()
    executed.label_histogram.add(0)
    for step in range(plan.steps):
        executed.gradients.add(step)
        if plan.is_refresh(step):
            executed.histograms.add(step)
    require_as_planned(executed, plan)
    assert Executed.from_json(json.loads(json.dumps(executed.to_json()))) == executed

    executed.gradients.add(plan.steps)
    with pytest.raises(ExecutionDiffers):
        require_as_planned(executed, plan)


@pytest.mark.parametrize("kind", ["label_histogram", "gradients", "histograms"])
def test_a_release_that_is_missing_or_came_twice_is_found(kind: str):
    plan = plan_for(REFRESHING)
    planned = Executed.planned(plan).to_json()
    for wrong in ([], [[0, 1, 1], *planned[kind]]):
        with pytest.raises(ExecutionDiffers):
            require_as_planned(Executed.from_json(planned | {kind: wrong}), plan)
