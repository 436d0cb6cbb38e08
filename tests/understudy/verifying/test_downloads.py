"""A bundle that is verified as it is downloaded: kept only if it holds."""

import asyncio
import sys
from pathlib import Path

import httpx
import pytest

from tests.core.artifacts.certified import SIGNER, certified
from tests.understudy.scripted import Script, client_of
from tests.understudy.verifying.tampering import files_in, zipped
from understudy import AsyncClient, Repetitions
from understudy.errors import NotABundle, NotInstalled, VerificationFailed

PACKED = certified({"critic": False}).packed
TAMPERED = zipped(files_in(PACKED) | {"README.md": b"Trust me."})


def test_what_holds_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "bundle.zip"
    with client_of(Script(httpx.Response(200, content=PACKED))) as client:
        client.download_bundle("r", target, public_keys=[SIGNER.public_key])
    assert target.read_bytes() == PACKED
    assert [entry.name for entry in tmp_path.iterdir()] == ["bundle.zip"]


@pytest.mark.parametrize(
    ("content", "keys", "error"),
    [
        (TAMPERED, [SIGNER.public_key], VerificationFailed),
        (PACKED, [], VerificationFailed),
        (PACKED, [bytes(32)], VerificationFailed),
        (b"no bundle", [SIGNER.public_key], NotABundle),
    ],
    ids=["tampered", "no key", "another key", "no bundle"],
)
def test_what_does_not_hold_leaves_what_was_there(
    tmp_path: Path, content: bytes, keys: list[bytes], error: type[Exception]
) -> None:
    target = tmp_path / "bundle.zip"
    target.write_text("older")
    with client_of(Script(httpx.Response(200, content=content))) as client, pytest.raises(error):
        client.download_bundle("r", target, public_keys=keys)
    assert target.read_text() == "older"
    assert [entry.name for entry in tmp_path.iterdir()] == ["bundle.zip"]


def test_the_asynchronous_client_does_the_same(tmp_path: Path) -> None:
    async def download(content: bytes, target: Path) -> None:
        async def answer(_request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=content)

        transport = httpx.MockTransport(answer)
        async with AsyncClient("http://t", key="k", repetitions=Repetitions(), transport=transport) as client:
            await client.download_bundle("r", target, public_keys=[SIGNER.public_key])

    asyncio.run(download(PACKED, tmp_path / "good.zip"))
    with pytest.raises(VerificationFailed, match=r"README\.md"):
        asyncio.run(download(TAMPERED, tmp_path / "bad.zip"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["good.zip"]


@pytest.mark.parametrize("missing", ["understudy.verifying.verification", "cryptography"])
def test_what_is_missing_is_named_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    script = Script()
    with client_of(script) as client, pytest.raises(NotInstalled, match="the extra `audit`"):
        client.download_bundle("r", tmp_path / "bundle.zip", public_keys=[SIGNER.public_key])
    assert script.requests == []
