"""Open an untrusted bundle: exactly the known files, each once, of bounded size; nothing is written to disk."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from understudy.errors import NotABundle
from understudy.verifying.bundle_zip import Entry, check_layout, pieces, read_directory
from understudy.verifying.strict_json import read_object

CERTIFICATE, MANIFEST, DOMAIN, SCRIPT = "certificate.json", "manifest.json", "domain.json", "sample.py"
COUNTS = "counts.bin"
_OPTIONAL = {SCRIPT, COUNTS}
"""Bundles of earlier releases have no script; bundles of images, and of plans without an anchor, have no counts."""
_MOST_BYTES: Mapping[str, int] = {
    "README.md": 2**20,
    CERTIFICATE: 2**22,
    DOMAIN: 2**26,
    MANIFEST: 2**22,
    "generator.onnx": 2**30,
    "generator.safetensors": 2**30,
    SCRIPT: 2**24,
    COUNTS: 2**26,
}


_MODEL = "model.onnx"
_MOST_BYTES_OF_MODEL: Mapping[str, int] = {
    "README.md": 2**20,
    CERTIFICATE: 2**22,
    DOMAIN: 2**26,
    MANIFEST: 2**22,
    _MODEL: 2**30,
    "weights.safetensors": 2**30,
    "predict.py": 2**26,
}
"""The files of a private model; all are required."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a bundle: its length and SHA-256."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The contents of a bundle.

    Attributes:
        files: every file by name, the certificate included.
        counts: the first line of the counts, which describes them; None without counts.
    """

    files: Mapping[str, File]
    certificate: dict[str, Any]
    manifest: dict[str, Any]
    domain: dict[str, Any]
    counts: bytes | None = None


def open_bundle(path: Path) -> Opened:
    """Read a bundle file, the service's ZIP.

    Raises:
        NotABundle: the file is no bundle, or is damaged.
    """
    try:
        with path.open("rb") as stream:
            return _opened(stream)
    except FileNotFoundError:
        raise NotABundle(f"there is no file {path}") from None
    except OSError as error:
        message = f"{path} is not a whole ZIP: it cannot be read ({type(error).__name__})"
        raise NotABundle(message) from None


def _opened(stream: BinaryIO) -> Opened:
    entries, start = read_directory(stream)
    names = [entry.name for entry in entries]
    most = _MOST_BYTES_OF_MODEL if _MODEL in names else _MOST_BYTES
    optional = _OPTIONAL & set(most)
    if sorted([*names, *(optional - set(names))]) != sorted(most):
        extra = sorted(set(names) - set(most))
        what = f"it also holds {extra[0]!r}" if extra else "one is missing or there twice"
        held = "seven files" if _MODEL in names else f"six files, and optionally {SCRIPT} and {COUNTS}"
        message = f"a bundle holds exactly {held}; {what}"
        raise NotABundle(message)
    check_layout(stream, entries, start)
    files: dict[str, File] = {}
    contents: dict[str, bytes] = {}
    for entry in entries:
        files[entry.name], contents[entry.name] = _read(stream, entry, most=most[entry.name])
    documents = {name: read_object(contents[name], name) for name in (CERTIFICATE, MANIFEST, DOMAIN)}
    for name, document in documents.items():
        if contents[name] != _written(document):
            message = f"{name} is not written as the service writes it"
            raise NotABundle(message)
    listed = documents[CERTIFICATE].get("artefacts")
    for name in sorted(optional):
        if (name in files) != (isinstance(listed, dict) and name in listed):
            message = f"{name} is there exactly where its certificate lists it"
            raise NotABundle(message)
    return Opened(
        files=files,
        certificate=documents[CERTIFICATE],
        manifest=documents[MANIFEST],
        domain=documents[DOMAIN],
        counts=contents.get(COUNTS),
    )


def _read(stream: BinaryIO, entry: Entry, *, most: int) -> tuple[File, bytes]:
    """Hash one file piece by piece, and keep its JSON: the whole content, or the first line of counts."""
    digest, length, kept = hashlib.sha256(), 0, bytearray()
    for piece in pieces(stream, entry):
        length += len(piece)
        if length > most:
            message = f"{entry.name} is larger than it can be"
            raise NotABundle(message)
        digest.update(piece)
        if entry.name.endswith(".json") or (entry.name == COUNTS and b"\n" not in kept):
            kept += piece
    content = kept.partition(b"\n")[0] if entry.name == COUNTS else kept
    return File(sha256=digest.hexdigest(), bytes=length), bytes(content)


def _written(document: Mapping[str, Any]) -> bytes:
    """The canonical text of a JSON file in a bundle: extra blanks or another spelling of a number count as a change."""
    return (
        json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")
        + b"\n"
    )
