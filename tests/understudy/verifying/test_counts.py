"""The verifier's look at noisy counts: shape, noise and step follow from the certificate; nothing else passes."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.releases.bundle import artefacts_of
from core.releases.certificate import sign_certificate
from tests.core.releases.certified import SIGNER, certified
from tests.core.releases.certified_selection import packed, selection_statement
from tests.understudy.verifying.tampering import SEAL, files_in, written, zipped
from understudy.verifying.verification import Outcome, Report, verify_bundle

MADE = certified({"critic": False})
FILES = files_in(MADE.packed)
LINE, _newline, BODY = FILES["counts.bin"].partition(b"\n")
HEAD: dict[str, Any] = json.loads(LINE)


def spelled(head: dict[str, Any], body: bytes = BODY) -> bytes:
    return json.dumps(head, sort_keys=True, separators=(",", ":")).encode() + b"\n" + body


def signed_with(folder: Path, counts: bytes, *, plan_of: dict[str, Any] | None = None) -> Report:
    """What verifying says of the bundle with other counts, signed by somebody who holds the service's key."""
    made = MADE if plan_of is None else certified(plan_of)
    files = files_in(made.packed) | {"counts.bin": counts}
    stated = {name: value for name, value in made.certificate.items() if name not in SEAL}
    del files["certificate.json"]
    stated["artefacts"] = artefacts_of(files)
    signed = sign_certificate(stated, SIGNER).to_json()
    path = folder / "bundle.zip"
    path.write_bytes(zipped(files | {"certificate.json": written(signed)}))
    return verify_bundle(path, public_keys=[SIGNER.public_key])


def refusal(report: Report) -> str:
    assert report.outcome is Outcome.REFUSED
    (check,) = report.refusals
    assert check.name == "counts"
    return check.detail


def test_honest_counts_hold_by_class_and_not(tmp_path: Path) -> None:
    for size_matters in ({"critic": False}, {}):
        report = signed_with(
            tmp_path, files_in(certified(size_matters).packed)["counts.bin"], plan_of=size_matters
        )
        assert report.outcome is Outcome.VERIFIED
        assert "counts" in {check.name for check in report.checks}


def test_the_winner_of_a_selection_is_held_to_its_own_noise(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(selection_statement(winner=0)))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.VERIFIED
    assert "counts" in {check.name for check in report.checks}


def changed(change: dict[str, Any]) -> bytes:
    return spelled(HEAD | change)


def with_std(factor: float) -> list[dict[str, Any]]:
    first, *rest = HEAD["groups"]
    return [first | {"noise_std": first["noise_std"] * factor}, *rest]


def without_a_table() -> list[dict[str, Any]]:
    *rest, last = HEAD["groups"]
    return [*rest, last | {"tables": last["tables"][1:]}]


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (changed({"groups": with_std(0.5)}), "not that of the certified noise"),
        (changed({"groups": with_std(1.000001)}), "not that of the certified noise"),
        (changed({"groups": without_a_table()}), "every pair of columns once"),
        (changed({"groups": "none"}), "every pair of columns once"),
        (changed({"groups": [{"noise_std": 1, "tables": [[0]]}]}), "every pair of columns once"),
        (changed({"step": HEAD["step"] * 2}), "the step does not follow"),
        (changed({"cardinalities": [9, 9]}), "of other columns"),
        (changed({"schema": "understudy.counts/2"}), "does not begin with a line"),
        (changed({"more": 1}), "does not begin with a line"),
        (spelled(HEAD, BODY[:-4]), "not as many cells"),
        (spelled(HEAD, BODY + b"\0"), "not as many cells"),
        (json.dumps(HEAD).encode() + b"\n" + BODY, "not written as the service writes it"),
        (LINE.replace(b'"step":', b'"step":NaN,"x":') + b"\n" + BODY, "does not begin with a line"),
        (b"", "does not begin with a line"),
        (b"\xff" * 100, "does not begin with a line"),
    ],
)
def test_counts_of_another_shape_or_noise_are_refused(tmp_path: Path, counts: bytes, why: str) -> None:
    assert why in refusal(signed_with(tmp_path, counts))


def test_counts_of_a_plan_that_counted_nothing_are_refused(tmp_path: Path) -> None:
    plan = {"anchor": False, "steps": 20}
    assert "counted nothing" in refusal(signed_with(tmp_path, FILES["counts.bin"], plan_of=plan))


def test_other_cells_are_found_by_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(zipped(FILES | {"counts.bin": spelled(HEAD, bytes(4) + BODY[4:])}))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert [check.name for check in report.refusals] == ["files"]
