"""`understudy verify`: keys in every form, exit statuses, reports."""

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from typer.testing import CliRunner

from core.artifacts.certificate import sign_certificate
from tests.core.artifacts.certified import SIGNER, certified
from tests.understudy.verifying.tampering import files_in, written, zipped
from understudy.cli import app
from understudy.errors import InputUnusable, NotABundle
from understudy.verifying.local_form import SEAL
from understudy.verifying.signatures import fingerprint, keys_of_file

MADE = certified({"critic": False})
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.zip"
    path.write_bytes(MADE.packed)
    return path


def run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", *map(str, words)], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_a_trusted_key_verifies_and_any_other_leaves_it_open(bundle: Path) -> None:
    assert run(bundle, "--key", SIGNER.public_key.hex())[0] == 0
    for words in ((), ("--key", OTHER.public_bytes_raw().hex())):
        status, told = run(bundle, *words)
        assert status == 4
        assert f"made by key {SIGNER.key_id}" in told
        assert "never from whoever handed you the bundle" in told


def test_keys_come_from_files_of_three_kinds(bundle: Path, tmp_path: Path) -> None:
    public = SIGNER.private_key.public_key()
    answer = {
        "items": [{"key_id": "x", "public_key": key.public_bytes_raw().hex()} for key in (OTHER, public)]
    }
    contents = {
        "answer.json": json.dumps(answer),
        "key.pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
        "keys.txt": f"{OTHER.public_bytes_raw().hex()}\n\n{SIGNER.public_key.hex()}\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        assert run(bundle, "--keys", tmp_path / name)[0] == 0, name


@pytest.mark.parametrize(
    "content",
    ["", "zz", "{}", '{"items": [1]}', '{"items": [{}]}', "ab" * 31, "-----BEGIN PUBLIC KEY-----\nx"],
)
def test_what_is_no_key_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    if content:
        with pytest.raises((InputUnusable, NotABundle)):
            keys_of_file(file)
    else:
        assert keys_of_file(file) == []
    with pytest.raises(InputUnusable):
        keys_of_file(tmp_path / "none")


def test_a_key_cannot_pass_under_the_id_of_another() -> None:
    assert fingerprint(SIGNER.public_key) == SIGNER.key_id == MADE.certificate["key_id"]


def test_a_refusal_has_a_reason_for_people_and_for_programs(bundle: Path) -> None:
    files = files_in(MADE.packed)
    bundle.write_bytes(zipped(files | {"README.md": b"Trust me."}))
    status, told = run(bundle, "--key", SIGNER.public_key.hex())
    assert status == 3
    assert "README.md is not the file that the certificate lists" in told
    status, text = run(bundle, "--key", SIGNER.public_key.hex(), "--json")
    report = json.loads(text)
    assert (status, report["outcome"], report["exit_status"]) == (3, "refused", 3)
    assert [check["name"] for check in report["checks"] if check["holds"] is False] == ["files"]


def test_another_spelling_of_the_signature_is_no_signature(bundle: Path) -> None:
    signature = MADE.certificate["signature"]
    raw = base64.b64decode(signature)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = signature[:-3] + letters[letters.index(signature[-3]) ^ 1] + "=="
    assert base64.b64decode(other) == raw
    text = files_in(MADE.packed)["certificate.json"].replace(signature.encode(), other.encode())
    bundle.write_bytes(zipped(files_in(MADE.packed) | {"certificate.json": text}))
    assert run(bundle, "--key", SIGNER.public_key.hex())[0] == 3


def test_permission_to_be_unsigned_does_not_excuse_a_signed_form(bundle: Path) -> None:
    assert run(bundle, "--allow-unsigned")[0] == 4


@pytest.mark.parametrize("lacking", [["counts.bin"], ["counts.bin", "sample.py"]])
def test_a_bundle_of_an_earlier_release_without_counts_or_script_still_verifies(
    bundle: Path, lacking: list[str]
) -> None:
    files = files_in(MADE.packed)
    stated = {name: value for name, value in MADE.certificate.items() if name not in SEAL}
    for name in lacking:
        del files[name]
    stated["artefacts"] = {name: file for name, file in stated["artefacts"].items() if name in files}
    signed = sign_certificate(stated, SIGNER).to_json()
    bundle.write_bytes(zipped(files | {"certificate.json": written(signed)}))
    assert run(bundle, "--key", SIGNER.public_key.hex())[0] == 0
