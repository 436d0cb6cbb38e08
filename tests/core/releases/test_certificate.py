import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from core.releases.certificate import make_certificate, verify_certificate
from core.releases.errors import InvalidCertificate
from tests.core.synthesis.shapes import plan_of


def certificate(options: dict[str, Any] | None = None) -> dict[str, Any]:
    return make_certificate(
        plan=plan_of(options, unit="patient"),
        dataset_id="d",
        population_id="p",
        job_id="j",
        release_id="r",
        issued_at=datetime(2026, 11, 20, tzinfo=UTC),
        software_version="1.2.3",
        noise_grid={"spacing": 2.0**-30},
    )


@pytest.mark.parametrize("options", [{}, {"critic": False}, {"anchor": False, "schedule": "exponential"}])
def test_a_certificate_survives_json_and_its_epsilon_is_recomputed(options: dict[str, Any]):
    document = json.loads(json.dumps(certificate(options), allow_nan=False))

    recomputed = verify_certificate(document)

    assert recomputed.to_json() == document["epsilon"]
    assert recomputed.reported <= document["guarantee"]["epsilon"]


def test_a_certificate_names_the_promise():
    document = certificate()

    assert document["adjacency"] == "add-or-remove"
    assert document["privacy_unit"] == {"column": "patient"}
    assert document["issued_at"] == "2026-11-20T00:00:00+00:00"
    assert document["noise_grid"] == {"spacing": 2.0**-30}
    assert document["schema"] == "understudy.certificate/1"


def test_a_certificate_without_a_grid_says_so():
    plan = plan_of()
    made = make_certificate(
        plan=plan, dataset_id=1, population_id=2, job_id=3, release_id=4, issued_at=datetime(2026, 1, 1, tzinfo=UTC),
        software_version="1", noise_grid=None,
    )  # fmt: skip

    assert made["noise_grid"] is None
    assert made["dataset_id"] == "1"


def resealed(change: dict[str, Any]) -> dict[str, Any]:
    """An altered certificate whose outer digest was computed again, as a forger would."""
    from core.releases.certificate import _digest

    document = copy.deepcopy(certificate()) | change
    del document["digest"]
    return document | {"digest": _digest(document)}


@pytest.mark.parametrize(
    "member", ["guarantee", "epsilon", "mechanism", "plan", "privacy_unit", "issued_at", "noise_grid"]
)
def test_an_altered_certificate_is_refused(member: str):
    with pytest.raises(InvalidCertificate):
        verify_certificate(certificate() | {member: None})


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "understudy.certificate/2"},
        {"guarantee": {"epsilon": 0.5, "delta": 1e-6}},
        {"guarantee": {"epsilon": 1.0, "delta": 1e-5}},
        {"guarantee": {}},
        {"epsilon": {"pld": 0.5, "rdp": 0.6}},
        {"mechanism": {"version": 1, "kind": "gaussian", "noise_multiplier": 50.0}},
        {"mechanism": {"version": 9, "kind": "gaussian", "noise_multiplier": 50.0}},
        {"plan_digest": "0" * 64},
        {"plan": {}},
    ],
)
def test_a_forged_certificate_is_refused_although_its_digest_fits(change: dict[str, Any]):
    with pytest.raises(InvalidCertificate):
        verify_certificate(resealed(change))


def test_a_certificate_without_its_mechanism_is_refused():
    from core.releases.certificate import _digest

    document = certificate()
    del document["mechanism"], document["digest"]

    with pytest.raises(InvalidCertificate):
        verify_certificate(document | {"digest": _digest(document)})


def test_the_resealing_itself_is_sound():
    verify_certificate(resealed({}))
