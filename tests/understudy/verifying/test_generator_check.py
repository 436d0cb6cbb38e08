"""A look at the generator on a certificate: shown where it is stated, refused where it cannot be."""

from typing import Any

import pytest

from tests.core.artifacts.certified import SIGNER
from tests.understudy.verifying.tampering import Bench, resigned
from understudy.verifying.verification import Outcome, Report, verify_opened

SOUND = {
    "draws": 5000, "distinct_records": 4000, "constant_columns": [], "repeated_labels": [], "few_records": False,
    "degenerate": False,
}  # fmt: skip
COLLAPSED = SOUND | {
    "distinct_records": 2, "constant_columns": ["ward"], "repeated_labels": ["yes"], "degenerate": True,
}  # fmt: skip


def verified(bench: Bench, look: dict[str, Any]) -> Report:
    stated = resigned(bench.certificate | {"generator_check": look})
    return verify_opened(bench.saying(stated), public_keys=[SIGNER.public_key])


def test_it_is_shown(bench: Bench) -> None:
    for look, said in ((SOUND, "4000 different records"), (COLLAPSED, "DEGENERATE: 2 different records")):
        report = verified(bench, look)
        assert report.outcome is Outcome.VERIFIED, report.refusals
        (shown,) = (check for check in report.checks if check.name == "generator")
        assert said in shown.detail
        assert any(said in line for line in report.lines())


def test_a_certificate_from_before_there_was_a_look_is_verified(bench: Bench) -> None:
    report = verify_opened(bench.saying(bench.certificate), public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.VERIFIED
    assert "generator" not in {check.name for check in report.checks}


@pytest.mark.parametrize(
    "wrong",
    [
        {"degenerate": True},
        {"few_records": True},
        {"distinct_records": 5001},
        {"distinct_records": 0},
        {"constant_columns": ["nobody"], "degenerate": True},
        {"constant_columns": "ward"},
        {"degenerate": 0},
        {"more": 1},
    ],
)
def test_what_cannot_be_is_refused(bench: Bench, wrong: dict[str, Any]) -> None:
    assert verified(bench, SOUND | wrong).outcome is Outcome.REFUSED


def test_it_is_under_the_signature(bench: Bench) -> None:
    stated = resigned(bench.certificate | {"generator_check": COLLAPSED}) | {"generator_check": SOUND}
    report = verify_opened(bench.saying(stated), public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.REFUSED
