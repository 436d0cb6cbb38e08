"""Bundles that nobody honest has made: each is refused by name, quickly, and leaves nothing behind."""

import io
import json
import re
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import SIGNER, certified
from tests.core.artifacts.certified_selection import packed as selection_packed
from tests.core.artifacts.certified_selection import selection_statement
from tests.understudy.verifying.tampering import files_in, written, zipped
from understudy.errors import NotABundle, VerificationFailed
from understudy.verifying import bundle_file
from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.bundle_zip import check_layout, pieces, read_directory
from understudy.verifying.verification import Outcome, keep_if_verified, verify_bundle

FILES = files_in(certified({"critic": False}).packed)
CERTIFICATE = certified({"critic": False}).certificate
SECONDS = 60.0


def refusal(tmp_path: Path, packed: bytes) -> str:
    """Why a bundle is refused, at once and with nothing written."""
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed)
    began = time.monotonic()
    with pytest.raises(NotABundle) as caught:
        verify_bundle(path, public_keys=[SIGNER.public_key])
    assert time.monotonic() - began < SECONDS
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bundle.zip"]
    return str(caught.value)


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
    assert "exactly six files" in refusal(tmp_path, with_file(name, b"x"))


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_that_is_there_twice_or_not_at_all_is_refused(tmp_path: Path, name: str) -> None:
    assert "exactly six files" in refusal(tmp_path, doubled(name))
    without = zipped({each: content for each, content in FILES.items() if each != name})
    assert ("exactly where" if name in {"sample.py", "counts.bin"} else "exactly six") in refusal(
        tmp_path, without
    )


def test_a_script_that_no_certificate_lists_is_refused(tmp_path: Path) -> None:
    certificate = json.loads(FILES["certificate.json"])
    del certificate["artefacts"]["sample.py"]
    assert "exactly where" in refusal(tmp_path, with_file("certificate.json", written(certificate)))


def test_a_bomb_is_refused_before_it_is_unpacked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # private: a lower limit, so that the bomb is small
    monkeypatch.setitem(bundle_file._MOST_BYTES, "generator.onnx", 2**20)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, bytes(2**26) if name == "generator.onnx" else content)
    assert len(target.getvalue()) < 2**18
    assert "larger than it can be" in refusal(tmp_path, target.getvalue())
    assert "larger than it can be" in refusal(tmp_path, with_file("certificate.json", b" " * (2**22 + 1)))


def test_a_length_that_lies_is_refused(tmp_path: Path) -> None:
    packed = bytearray(zipped(FILES))
    place = packed.index(b"PK\x01\x02")
    packed[place + 24 : place + 28] = struct.pack("<I", 1)
    assert re.search("not a whole ZIP|not the file|not JSON", refusal(tmp_path, bytes(packed)))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_packing_is_refused(tmp_path: Path, method: int) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    assert "encrypted, or packed in a way" in refusal(tmp_path, target.getvalue())


GOOD = certified({"critic": False}).packed
OTHER = zipped(FILES | {"sample.py": b"import os"})
LOCAL, END = struct.Struct("<4sHHHHHIIIHH"), struct.Struct("<4sHHHHIIH")


def local_entry(name: str, content: bytes) -> bytes:
    """A stored file with its local header alone."""
    numbers = zlib.crc32(content), len(content), len(content), len(name), 0
    return LOCAL.pack(b"PK\3\4", 20, 0, 0, 0, 33, *numbers) + name.encode() + content


def spliced(packed: bytes, place: int, more: bytes) -> bytes:
    """The archive with more bytes in it, and its directory where it then is; offsets of entries stay."""
    made = bytearray(packed[:place] + more + packed[place:])
    at = len(made) - END.size + 16
    (start,) = struct.unpack_from("<I", made, at)
    struct.pack_into("<I", made, at, start + len(more))
    return bytes(made)


def directory_of(packed: bytes) -> int:
    return int(END.unpack(packed[-END.size :])[6])


def with_entry(**changes: Any) -> bytes:
    """The bundle with another header of README.md."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for field, value in changes.items() if name == "README.md" else ():
                setattr(entry, field, value)
            archive.writestr(entry, content)
    return target.getvalue()


def changed_at(packed: bytes, place: int, byte: int) -> bytes:
    made = bytearray(packed)
    made[place] ^= byte
    return bytes(made)


def commented(packed: bytes) -> bytes:
    return packed[:-2] + struct.pack("<H", 4) + b"hello"[:4]


def unicode_path(name: bytes) -> bytes:
    return struct.pack("<HHBI", 0x7075, 5 + len(name), 1, zlib.crc32(b"README.md")) + name


def with_slack() -> bytes:
    """The first entry's packed bytes go on behind the end of its deflate stream, where some readers look for a header."""
    made, more = bytearray(zipped(FILES)), local_entry("sample.py", b"import os")
    first = LOCAL.unpack_from(made)
    size, name_length = first[7], first[9]
    start = directory_of(bytes(made))
    struct.pack_into("<I", made, 18, size + len(more))
    struct.pack_into("<I", made, start + 20, size + len(more))
    at = start
    while made[at : at + 4] == b"PK\1\2":
        lengths = struct.unpack_from("<HHH", made, at + 28)
        (offset,) = struct.unpack_from("<I", made, at + 42)
        struct.pack_into("<I", made, at + 42, offset + len(more) if offset else 0)
        at += 46 + sum(lengths)
    return spliced(bytes(made), LOCAL.size + name_length + size, more)


def streamed() -> bytes:
    """As a writer leaves it that cannot go back: sizes behind the content."""

    class OneWay(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    target = OneWay()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    return target.getvalue()


FIRST_NAME = LOCAL.size
CONTAINERS: dict[str, Callable[[], tuple[bytes, str]]] = {
    "a second archive in front": lambda: (OTHER + GOOD, "not a whole ZIP"),
    "an entry that the directory lacks": lambda: (
        spliced(GOOD, directory_of(GOOD), local_entry("sample.py", b"import os")),
        "bytes that belong to no file",
    ),
    "an entry that the directory lacks, in front": lambda: (
        local_entry("sample.py", b"import os") + GOOD,
        "not a whole ZIP",
    ),
    "a name in an extra field": lambda: (
        with_entry(extra=unicode_path(b"../../evil.md")),
        "extra field",
    ),
    "a symbolic link": lambda: (with_entry(external_attr=0o120777 << 16), "not a regular file"),
    "a folder by its mode": lambda: (with_entry(external_attr=0o040755 << 16), "not a regular file"),
    "a folder by its attribute": lambda: (
        with_entry(external_attr=0o644 << 16 | 0x10),
        "not a regular file",
    ),
    "bytes in front": lambda: (b"#!/bin/sh\nid\nexit\n" + GOOD, "not a whole ZIP"),
    "bytes behind": lambda: (GOOD + bytes(400), "not a whole ZIP"),
    "a comment": lambda: (commented(GOOD), "not a whole ZIP"),
    "a comment on a file": lambda: (with_entry(comment=b"hello"), "extra field or a comment"),
    "another name in the local header": lambda: (changed_at(GOOD, FIRST_NAME, 1), "local header"),
    "another method in the local header": lambda: (changed_at(GOOD, 8, 8), "local header"),
    "another length in the local header": lambda: (changed_at(GOOD, 22, 1), "local header"),
    "bytes behind a deflate stream": lambda: (with_slack(), "not the file"),
    "sizes behind the contents": lambda: (streamed(), "packed in a way"),
    "files elsewhere than in the directory's order": lambda: (
        changed_at(GOOD, directory_of(GOOD) + 42, 1),
        "bytes that belong to no file",
    ),
}


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_a_zip_that_other_readers_open_differently_is_refused(tmp_path: Path, name: str) -> None:
    """Each differs from a genuine bundle in its container alone: all that the certificate lists is as it lists it."""
    packed, why = CONTAINERS[name]()
    assert why in refusal(tmp_path, packed)


@pytest.mark.parametrize(
    "made",
    [lambda: GOOD, lambda: zipped(FILES), lambda: selection_packed(selection_statement())],
    ids=["table", "packed anew", "selection"],
)
def test_a_genuine_container_is_read(tmp_path: Path, made: Callable[[], bytes]) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(made())
    assert verify_bundle(path, public_keys=[SIGNER.public_key]).outcome is Outcome.VERIFIED


def test_a_container_of_images_is_read() -> None:
    stream = io.BytesIO(pack(image_stand_in.bundle(), readme="read me"))
    entries, start = read_directory(stream)
    check_layout(stream, entries, start)
    with zipfile.ZipFile(stream) as archive:
        read = {entry.name: b"".join(pieces(stream, entry)) for entry in entries}
        assert read == {name: archive.read(name) for name in archive.namelist()}


def test_no_byte_of_a_container_changes_unnoticed(tmp_path: Path) -> None:
    """But for who packed a file and its permissions, which no reader takes for content."""
    path, passed = tmp_path / "bundle.zip", set()
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        local = [
            (entry.header_offset + index, f"local {index}")
            for entry in archive.infolist()
            for index in range(LOCAL.size + len(entry.filename))
        ]
        names = [entry.filename for entry in archive.infolist()]
    place, central = directory_of(GOOD), []
    for name in names:
        central += [(place + index, f"central {index}") for index in range(46 + len(name))]
        place += 46 + len(name)
    for at, field in (*local, *central, *((index, "end") for index in range(place, len(GOOD)))):
        path.write_bytes(changed_at(GOOD, at, 0x41))
        try:
            open_bundle(path)
        except NotABundle:
            continue
        passed.add(field)
    assert passed <= {f"central {index}" for index in (4, 36, 37, 38, 39, 40, 41)}, passed


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
    assert re.search(why, refusal(tmp_path, with_file("certificate.json", change(DOCUMENT).encode() + b"\n")))


def test_bytes_that_are_no_text_or_no_zip_are_refused(tmp_path: Path) -> None:
    assert "manifest.json is not JSON" in refusal(tmp_path, with_file("manifest.json", b"\xff\xfe"))
    for content in (b"", b"PK", b"x" * 1000, zipped(FILES)[:-30], zipped(FILES)[30:]):
        assert re.search("not a whole ZIP|exactly six", refusal(tmp_path, content))
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
    from core.artifacts.bundle import artefacts_of
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
    with pytest.raises(VerificationFailed) as caught:
        keep_if_verified(path, tmp_path / "kept.zip", public_keys=[SIGNER.public_key])
    assert "\n" not in str(caught.value)
