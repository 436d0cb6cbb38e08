"""What a look at a generator found: in words, as JSON, on a certificate."""

from dataclasses import replace

import pytest

from core.artifacts.certificate import form_of, sign_certificate
from core.artifacts.certificate_form import CertificateForm
from core.artifacts.errors import InvalidCertificate
from core.artifacts.sampling.generator_check import MEMBER, GeneratorCheck
from tests.core.artifacts.certified import SIGNER, certified

SOUND = GeneratorCheck(draws=5000, distinct_records=4990)
COLLAPSED = GeneratorCheck(
    draws=5000,
    distinct_records=3,
    constant_columns=("ward", "age"),
    repeated_labels=("yes",),
    few_records=True,
)


@pytest.mark.parametrize("check", [SOUND, COLLAPSED])
def test_it_survives_json(check: GeneratorCheck):
    assert GeneratorCheck.from_json(check.to_json()) == check
    assert check.to_json()["degenerate"] is check.degenerate


def test_any_finding_makes_it_degenerate_and_none_does_not():
    assert not SOUND.degenerate
    findings = {"constant_columns": ("a",), "repeated_labels": ("b",), "few_records": True}
    assert all(replace(SOUND, **{name: found}).degenerate for name, found in findings.items())


def test_the_words_name_columns_and_labels():
    assert COLLAPSED.detail == (
        "The generator is degenerate. Its 5,000 draws hold 3 different records. Columns with nearly always the same value in its 5,000 "
        "draws, where the noisy counts have several values or cannot tell: 'ward', 'age'. Labels with nearly always the same record: 'yes'."
    )
    varied = replace(COLLAPSED, distinct_records=5000, few_records=False)
    assert "different records" not in varied.detail, "all draws differ: that is no evidence"
    many = replace(COLLAPSED, constant_columns=tuple("abcdefgh"))
    assert "'e' and 3 more" in many.detail


def test_a_certificate_states_it_and_needs_not():
    body = {name: value for name, value in certified().certificate.items() if name not in SEAL}
    assert GeneratorCheck.of_certificate(body) is None
    signed = sign_certificate(body | {MEMBER: COLLAPSED.to_json()}, SIGNER).to_json()
    assert GeneratorCheck.of_certificate(signed) == COLLAPSED


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        SOUND.to_json() | {"more": 1},
        SOUND.to_json() | {"draws": 0},
        SOUND.to_json() | {"degenerate": 0},
    ],
)
def test_another_form_is_refused(wrong: object):
    with pytest.raises(InvalidCertificate):
        form_of({**certified().certificate, MEMBER: wrong}, CertificateForm)


SEAL = ("context", "algorithm", "key_id", "signature")
