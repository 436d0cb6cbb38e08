"""Changing a bundle the way somebody would who wants it to say something else."""

import copy
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.artifacts.certificate import SCHEMA
from core.artifacts.signing.contexts import CERTIFICATE
from tests.core.artifacts.certified import SIGNER, Certified
from understudy.verifying.bundle_file import Opened, open_bundle
from understudy.verifying.strict_json import read_object

Place = tuple[str | int, ...]
SEAL = ("context", "algorithm", "key_id", "signature")
assert SCHEMA == CERTIFICATE


def written(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def files_in(packed: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


class Bench:
    """A bundle file whose certificate can be exchanged, in the file or, a thousand times, behind its reading."""

    def __init__(self, made: Certified, folder: Path, *, quick: bool = False) -> None:
        self.quick = quick
        self.certificate = made.certificate
        self._files = files_in(made.packed)
        self._path = folder / "bundle.zip"
        self._opened = open_bundle(self.with_files({}))

    def saying(self, certificate: dict[str, Any]) -> Opened:
        """What reading the bundle with another certificate gives; a test holds this against the file."""
        return replace(
            self._opened, certificate=read_object(json.dumps(certificate).encode(), "certificate.json")
        )

    def with_certificate(self, certificate: dict[str, Any]) -> Path:
        return self.with_files({"certificate.json": written(certificate)})

    def with_files(self, changes: dict[str, bytes]) -> Path:
        self._path.write_bytes(zipped(self._files | changes))
        return self._path

    @property
    def names(self) -> list[str]:
        return sorted(self._files)

    def content(self, name: str) -> bytes:
        return self._files[name]


def resigned(certificate: dict[str, Any]) -> dict[str, Any]:
    """The certificate signed again by somebody who holds the service's key."""
    body = {name: value for name, value in certificate.items() if name not in SEAL}
    return SIGNER.sign(body, context=CERTIFICATE).to_json()


def leaves(node: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value of a document that holds no others, with its place."""
    if isinstance(node, dict):
        for name in sorted(node):
            yield from leaves(node[name], (*place, name))
    elif isinstance(node, list) and node:
        for index, entry in enumerate(node):
            yield from leaves(entry, (*place, index))
    else:
        yield place, node


def replaced(document: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    changed, parent = _copied(document, place)
    parent[place[-1]] = value
    return changed


def removed(document: dict[str, Any], place: Place) -> dict[str, Any]:
    changed, parent = _copied(document, place)
    del parent[place[-1]]
    return changed


def added(document: dict[str, Any], place: Place) -> dict[str, Any]:
    """The document with one more member, or entry, beside a leaf."""
    changed, parent = _copied(document, place)
    if isinstance(parent, list):
        parent.append(parent[-1])
    else:
        parent["further"] = 1
    return changed


def _copied(document: dict[str, Any], place: Place) -> tuple[dict[str, Any], Any]:
    """A document whose members on the way to a place are copies, the others those of the given one; and what holds the place."""
    changed: Any = copy.copy(document)
    parent = changed
    for name in place[:-1]:
        parent[name] = copy.copy(parent[name])
        parent = parent[name]
    return changed, parent


def other_values(value: Any) -> list[Any]:
    """Values of the same and of other kinds that somebody might put in its place."""
    kinds: list[Any] = [None, "x", 0.5, True, {}]
    if isinstance(value, bool):
        kinds.append(not value)
    elif isinstance(value, int):
        kinds += [-value, 10**400 if value else 1, str(value)]
    elif isinstance(value, float):
        kinds += [-value, str(value)]
    elif isinstance(value, str):
        kinds += [value + " ", value[:-1]]
    # A whole number may stand for a real one of its value, and -0 for 0: that says the same.
    return [kind for kind in kinds if kind != value or isinstance(kind, bool) != isinstance(value, bool)]


def other_of_a_kind(value: Any) -> list[Any]:
    """Values of the same kind, near and far: what a schema may let pass."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value * 2 + 3] if value < 2 else [value - 1, value + 1, value * 2]
    if isinstance(value, float):
        return [value * 0.9, value * 1.1, value * 2] if value else [0.1, 0.5]
    if isinstance(value, str):
        return [_other_text(value)]
    return [1.0, 1, "x"]


def _other_text(value: str) -> str:
    """Another text that keeps the letters' kinds, so that patterns of identifiers and digests still fit."""
    if value.startswith("2026-"):
        return value.replace("2026-", "2025-")
    swap = {"0": "1", "a": "b"} | {str(d): str(d - 1) for d in range(1, 10)} | dict.fromkeys("bcdef", "a")
    for index in range(len(value) - 1, -1, -1):
        if value[index] in swap:
            return value[:index] + swap[value[index]] + value[index + 1 :]
    return value + "a"
