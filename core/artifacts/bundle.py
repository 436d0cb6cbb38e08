"""The generator bundle: one ZIP with all files of a release, none of them private.

    generator.safetensors   the weights
    generator.onnx          the same network for any ONNX runtime: (latent, label) -> logits, or -> images
    manifest.json           how to sample: latent dimension, label distribution, codes per column or the images' shape, digests
                            of the other files
    domain.json             the declared domain: what codes and labels mean
    certificate.json        what was spent and by which mechanism, signed; holds the digests of all other files
    README.md               how to sample without this service, with a program that a test runs
    sample.py               draws whole records with numpy and onnxruntime alone
    counts.bin              noisy counts with standard errors (core.artifacts.counts), where the plan measured them

There is no pickle, no time and no machine fact: the same generator gives the same bytes, so a resumed job can be
compared with an uninterrupted one. A bundle may come from an untrusted source, so sizes are bounded and digests
checked before anything is parsed.
"""

import hashlib
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import DIGESTS, MODEL_SCHEMA, Manifest, manifest_from_json

WEIGHTS, NETWORK, MANIFEST = "generator.safetensors", "generator.onnx", "manifest.json"
DOMAIN, CERTIFICATE, README, SCRIPT = "domain.json", "certificate.json", "README.md", "sample.py"
COUNTS = "counts.bin"
_DIGESTED = (WEIGHTS, NETWORK, DOMAIN)
_READ = (WEIGHTS, NETWORK, DOMAIN, CERTIFICATE, MANIFEST)
_MAX_FILE_BYTES = 2**30
# All errors that the reader raises for damaged, encrypted or exotic archives (a property test flips every byte).
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, KeyError, OSError, EOFError, RuntimeError, ValueError),
    *(OverflowError, IndexError, struct.error),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """An opened bundle.

    Attributes:
        network: The ONNX model, serialised.
        weights: The safetensors file.
        counts: Noisy counts (`core.artifacts.counts`), or None.
    """

    manifest: Manifest
    network: bytes
    weights: bytes
    domain: dict[str, Any]
    certificate: dict[str, Any]
    counts: bytes | None = None


def artefacts_of(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return the certificate's entries for files: SHA-256 and length, by name."""
    return {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in sorted(files.items())
    }


def unpack(source: bytes | Path | BinaryIO) -> Bundle:
    """Open a bundle and check it.

    Raises:
        BundleInvalid: Not a ZIP, a file missing, too large, not JSON, or not the bytes its manifest lists.
    """
    files = read_files(source, _READ, optional=(COUNTS,))
    counts = files.get(COUNTS)
    manifest = json_object(files[MANIFEST], MANIFEST)
    described = manifest_from_json(manifest)
    digests = manifest.get(DIGESTS)
    for name in _DIGESTED:
        if not isinstance(digests, dict) or digests.get(name) != hashlib.sha256(files[name]).hexdigest():
            raise BundleInvalid(f"{name} in the bundle is not the file its manifest lists.")
    certificate = json_object(files[CERTIFICATE], CERTIFICATE)
    _require_listed(counts, certificate)
    return Bundle(
        manifest=described,
        network=files[NETWORK],
        weights=files[WEIGHTS],
        domain=json_object(files[DOMAIN], DOMAIN),
        certificate=certificate,
        counts=counts,
    )


def unpack_counts(source: bytes | BinaryIO) -> tuple[dict[str, Any], bytes | None, bool]:
    """Read the members needed to answer from counts, without the network.

    Returns:
        The domain; the counts, or None if the bundle has none; and whether its plan measured any.

    Raises:
        BundleInvalid: Not a ZIP, a file missing or too large, or the counts are not those that the certificate lists.
    """
    files = read_files(source, (DOMAIN, CERTIFICATE), optional=(COUNTS,))
    counts = files.get(COUNTS)
    certificate = json_object(files[CERTIFICATE], CERTIFICATE)
    _require_listed(counts, certificate)
    return json_object(files[DOMAIN], DOMAIN), counts, _has_anchor(certificate.get("plan"))


def _has_anchor(plan: object) -> bool:
    """Whether a plan, or one of a selection's final ones, measures counts."""
    if not isinstance(plan, dict):
        return False
    finals = plan.get("finals")
    plans = finals if isinstance(finals, list) else [plan]
    return any(isinstance(one, dict) and one.get("anchor") is not None for one in plans)


def _require_listed(counts: bytes | None, certificate: Mapping[str, Any]) -> None:
    """Compare the counts with the certificate. Before it is signed, a staged bundle's certificate lists no files."""
    listed = certificate.get("artefacts")
    if isinstance(listed, dict) and listed.get(COUNTS) != (
        None if counts is None else artefacts_of({COUNTS: counts})[COUNTS]
    ):
        raise BundleInvalid(f"{COUNTS} in the bundle is not the file its certificate lists.")


def is_model(source: bytes | Path | BinaryIO) -> bool:
    """Whether a bundle holds a private model and no generator.

    Raises:
        BundleInvalid: It is no bundle.
    """
    return json_object(read_files(source, (MANIFEST,))[MANIFEST], MANIFEST).get("schema") == MODEL_SCHEMA


def read_files(
    source: bytes | Path | BinaryIO, names: Iterable[str], *, optional: Iterable[str] = ()
) -> dict[str, bytes]:
    """Return the files of these names, and those of the optional ones that are there.

    Raises:
        BundleInvalid: Not a ZIP, or a file is missing or too large.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            further = [name for name in optional if name in archive.namelist()]
            return {name: _read(archive, name) for name in (*names, *further)}
    except _DAMAGE:
        raise BundleInvalid(
            "The file is not a complete bundle: it must be the ZIP that the service sent."
        ) from None


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    # The size that a ZIP declares may be false, so the read itself is bounded.
    with archive.open(name) as member:
        content = member.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise BundleInvalid(f"{name} in the bundle is larger than a generator can be.")
    return content


def json_object(content: bytes, name: str) -> dict[str, Any]:
    """Read a JSON file of a bundle.

    Raises:
        BundleInvalid: It is not a JSON object.
    """
    try:
        value = json.loads(content)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BundleInvalid(f"{name} in the bundle is not a JSON object.")
    return value
