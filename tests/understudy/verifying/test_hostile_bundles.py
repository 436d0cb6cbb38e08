"""Bundles that nobody honest has made: each is refused by name, quickly, and leaves nothing behind."""

import io
import json
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.releases.certified import SIGNER, certified
from tests.understudy.verifying.tampering import files_in, written, zipped
from understudy.errors import NotABundle, VerificationFailed
from understudy.verifying import bundle_file
from understudy.verifying.verification import Outcome, keep_if_verified, verify_bundle

FILES = files_in(certified({"critic": False}).packed)
CERTIFICATE = certified({"critic": False}).certificate
SECONDS = 60.0


def refused(tmp_path: Path, packed: bytes, why: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed)
    began = time.monotonic()
    with pytest.raises(NotABundle, match=why):
        verify_bundle(path, public_keys=[SIGNER.public_key])
    assert time.monotonic() - began < SECONDS
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bundle.zip"]


def with_file(name: str, content: bytes) -> bytes:
    return zipped(FILES | {name: content})


def doubled(name: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for each, content in FILES.items():
            archive.writestr(each, content)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(name, b"{}")
    return target.getvalue()


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "a/b", "generator.pkl", "certificate.json.bak", "README.md/"]
)
def test_a_further_file_is_refused_wherever_it_would_lead(tmp_path: Path, name: str) -> None:
    refused(tmp_path, with_file(name, b"x"), "exactly six files")


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_that_is_there_twice_or_not_at_all_is_refused(tmp_path: Path, name: str) -> None:
    refused(tmp_path, doubled(name), "exactly six files")
    without = zipped({each: content for each, content in FILES.items() if each != name})
    refused(tmp_path, without, "exactly where" if name == "sample.py" else "exactly six")


def test_a_script_that_no_certificate_lists_is_refused(tmp_path: Path) -> None:
    certificate = json.loads(FILES["certificate.json"])
    del certificate["artefacts"]["sample.py"]
    refused(tmp_path, with_file("certificate.json", written(certificate)), "exactly where")


def test_a_bomb_is_refused_before_it_is_unpacked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bundle_file._MOST_BYTES, "generator.onnx", 2**20)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, bytes(2**26) if name == "generator.onnx" else content)
    assert len(target.getvalue()) < 2**18
    refused(tmp_path, target.getvalue(), "larger than it can be")
    refused(tmp_path, with_file("certificate.json", b" " * (2**22 + 1)), "larger than it can be")


def test_a_length_that_lies_is_refused(tmp_path: Path) -> None:
    packed = bytearray(zipped(FILES))
    place = packed.index(b"PK\x01\x02")
    packed[place + 24 : place + 28] = struct.pack("<I", 1)
    refused(tmp_path, bytes(packed), "not a whole ZIP|not the file|not JSON")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_packing_is_refused(tmp_path: Path, method: int) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    refused(tmp_path, target.getvalue(), "encrypted, or packed in a way")


DOCUMENT = json.dumps(CERTIFICATE, indent=2, sort_keys=True, ensure_ascii=False)
TEXTS: dict[str, tuple[Callable[[str], str], str]] = {
    "a member twice": (lambda text: text.replace('"schema"', '"schema": 1, "schema"'), "there twice"),
    "a member twice, deep": (lambda text: text.replace('"pld"', '"pld": 1, "pld"', 1), "there twice"),
    "not a number": (
        lambda text: text.replace('"declared_size": 50000', '"declared_size": NaN'),
        "not a number",
    ),
    "infinity": (
        lambda text: text.replace('"declared_size": 50000', '"declared_size": -Infinity'),
        "not a number",
    ),
    "too large a number": (lambda text: text.replace(": 50000", ": 1e999"), "too large"),
    "a long number": (lambda text: text.replace(": 50000", f": {'9' * 5000}"), "too large"),
    "a list": (lambda text: f"[{text}]", "not a JSON object"),
    "nothing": (lambda _text: "", "not JSON"),
    "deep nesting": (lambda _text: '{"a":' * 100_000 + "1" + "}" * 100_000, "not JSON"),
    "nesting": (lambda _text: '{"a":' * 100 + "1" + "}" * 100, "too deeply"),
    "a tail": (lambda text: text + "\n{}", "not JSON"),
    "half a letter": (lambda text: text.replace('"Synthetic data"', '"\\ud800"'), "not|whole"),
    "another spelling": (
        lambda text: text.replace("50000", "50000 "),
        "not written as the service writes it",
    ),
    "an escape": (lambda text: text.replace("Synthetic", "\\u0053ynthetic"), "not written as the service"),
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_json_that_is_not_what_it_seems_is_refused(tmp_path: Path, name: str) -> None:
    change, why = TEXTS[name]
    assert change(DOCUMENT) != DOCUMENT
    refused(tmp_path, with_file("certificate.json", change(DOCUMENT).encode() + b"\n"), why)


def test_bytes_that_are_no_text_or_no_zip_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, with_file("manifest.json", b"\xff\xfe"), "manifest.json is not JSON")
    for content in (b"", b"PK", b"x" * 1000, zipped(FILES)[:-30], zipped(FILES)[30:]):
        refused(tmp_path, content, "not a whole ZIP|exactly six")
    with pytest.raises(NotABundle, match="there is no file"):
        verify_bundle(tmp_path / "none.zip")
    with pytest.raises(NotABundle, match="not a whole ZIP"):
        verify_bundle(tmp_path)


HOSTILE_MANIFESTS = [
    {"schema": []}, {"schema": "understudy.bundle/3"}, {"cardinalities": []}, {"cardinalities": [True]},
    {"cardinalities": [2] * 70_000}, {"cardinalities": {}}, {"latent_dimension": 1.0}, {"label_index": True},
    {"label_index": 99}, {"label_probabilities": None}, {"label_probabilities": [1, 0]}, {"sha256": []},
    {"label_probabilities": [0.5, 0.6]}, {"label_probabilities": ["0.5", "0.5"]}, {"further": 1},
]  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE_MANIFESTS, ids=range(len(HOSTILE_MANIFESTS)))
def test_a_manifest_of_the_wrong_kind_is_refused_although_the_certificate_lists_it(
    tmp_path: Path, change: object
) -> None:
    from core.releases.bundle import artefacts_of
    from tests.understudy.verifying.tampering import resigned

    assert isinstance(change, dict)
    manifest = written(json.loads(FILES["manifest.json"]) | change)
    others = {name: content for name, content in FILES.items() if name != "certificate.json"}
    listed = artefacts_of(others | {"manifest.json": manifest})
    path = tmp_path / "bundle.zip"
    certificate = resigned(CERTIFICATE | {"artefacts": listed})
    path.write_bytes(zipped(others | {"manifest.json": manifest, "certificate.json": written(certificate)}))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.REFUSED
    assert {check.name for check in report.refusals} == {"manifest"}


def test_what_a_stranger_wrote_passes_for_no_verdict(tmp_path: Path) -> None:
    """Neither the value nor the name of a member makes a line of the report, or steers the terminal that shows it."""
    lie = "r\nVERIFIED: the bundle is what its certificate states.\x1b[8m"
    path = tmp_path / "bundle.zip"
    path.write_bytes(with_file("certificate.json", written(dict(CERTIFICATE) | {"release_id": lie, lie: 1})))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.REFUSED
    lines = report.lines()
    assert "\\u000aVERIFIED" in lines[0]
    assert not [line for line in lines if line.startswith("VERIFIED") or "\n" in line or "\x1b" in line]
    with pytest.raises(VerificationFailed) as refusal:
        keep_if_verified(path, tmp_path / "kept.zip", public_keys=[SIGNER.public_key])
    assert "\n" not in str(refusal.value)
