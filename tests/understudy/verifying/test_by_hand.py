"""The program in docs/certificate.md verifies with openssl and Python's standard library alone."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.core.artifacts.certified import SIGNER, certified
from tests.understudy.verifying.tampering import files_in, zipped

PAGE = Path(__file__).parents[3] / "docs" / "certificate.md"
KEYS = {"items": [{"key_id": SIGNER.key_id, "public_key": SIGNER.public_key.hex()}]}


def by_hand(folder: Path, packed: bytes) -> subprocess.CompletedProcess[str]:
    (program,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "bundle.zip").write_bytes(packed)
    (folder / "keys.json").write_text(json.dumps(KEYS))
    return subprocess.run(["bash", "-ec", program], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the page is for people who have openssl")
def test_the_page_is_right(tmp_path: Path) -> None:
    packed = certified({"critic": False}).packed
    done = by_hand(tmp_path, packed)
    assert done.returncode == 0, done.stderr
    assert "Signature Verified Successfully" in done.stdout

    text = files_in(packed)["certificate.json"].replace(b'"declared_size": 50000', b'"declared_size": 50001')
    assert by_hand(tmp_path, zipped(files_in(packed) | {"certificate.json": text})).returncode != 0
    assert by_hand(tmp_path, zipped(files_in(packed) | {"README.md": b"Trust me."})).returncode != 0


def test_every_member_is_explained() -> None:
    page = PAGE.read_text()
    missing = [name for name in certified().certificate if f"`{name}`" not in page]
    assert not missing
