"""Certificates of the first form, as older versions wrote them: still read, still held to what they state."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from core.releases.certificate import verify_certificate
from core.releases.errors import InvalidCertificate
from core.releases.first_certificate import _digest

KEPT = Path(__file__).parents[2] / "fuzz" / "corpus" / "certificate" / "seed-first-form"


def certificate() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(KEPT.read_bytes())
    return document


def resealed(change: dict[str, Any]) -> dict[str, Any]:
    """An altered certificate whose outer digest was computed again, as a forger would."""
    document = copy.deepcopy(certificate()) | change
    del document["digest"]
    return document | {"digest": _digest(document)}


def test_its_epsilon_is_recomputed():
    document = certificate()

    recomputed = verify_certificate(document)

    assert document["schema"] == "understudy.certificate/1"
    assert recomputed.reported == pytest.approx(document["epsilon"]["reported"], rel=1e-3)
    assert recomputed.reported <= document["guarantee"]["epsilon"]
    verify_certificate(resealed({}))


@pytest.mark.parametrize(
    "member", ["guarantee", "epsilon", "mechanism", "plan", "privacy_unit", "issued_at", "noise_grid"]
)
def test_an_altered_one_is_refused(member: str):
    with pytest.raises(InvalidCertificate):
        verify_certificate(certificate() | {member: None})


@pytest.mark.parametrize(
    "change",
    [
        {"guarantee": {"epsilon": 0.5, "delta": 1e-6}},
        {"guarantee": {"epsilon": 1.0, "delta": 1e-5}},
        {"guarantee": {}},
        {"epsilon": {"pld": 0.5, "rdp": 0.6}},
        {"mechanism": {"version": 1, "kind": "gaussian", "noise_multiplier": 50.0}},
        {"mechanism": {"version": 9, "kind": "gaussian", "noise_multiplier": 50.0}},
        {"plan_digest": "0" * 64},
        {"plan": {}},
    ],
    ids=["epsilon", "delta", "none", "stated", "mechanism", "version", "digest", "plan"],
)
def test_a_forged_one_is_refused_although_its_digest_fits(change: dict[str, Any]):
    with pytest.raises(InvalidCertificate):
        verify_certificate(resealed(change))


def test_one_without_its_mechanism_is_refused():
    document = certificate()
    del document["mechanism"], document["digest"]

    with pytest.raises(InvalidCertificate):
        verify_certificate(document | {"digest": _digest(document)})
