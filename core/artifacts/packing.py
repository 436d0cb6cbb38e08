"""Packing a generator bundle (`core.artifacts.bundle`): the same generator gives the same bytes."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

from core.artifacts.bundle import (
    CERTIFICATE,
    COUNTS,
    DOMAIN,
    MANIFEST,
    NETWORK,
    README,
    SCRIPT,
    WEIGHTS,
    Bundle,
)
from core.artifacts.manifest import DIGESTS
from core.artifacts.sampling.sampler_script import render_script

# ZIP cannot say "no date"; this is its earliest one.
_NO_DATE = (1980, 1, 1, 0, 0, 0)


def files_of(bundle: Bundle, *, readme: str) -> dict[str, bytes]:
    """Return the files of a bundle by name, except the certificate, which lists them."""
    files = {WEIGHTS: bundle.weights, NETWORK: bundle.network, DOMAIN: json_bytes(bundle.domain)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest = json_bytes({**bundle.manifest.to_json(), DIGESTS: digests})
    script = render_script(bundle.manifest, bundle.domain).encode()
    counted = {} if bundle.counts is None else {COUNTS: bundle.counts}
    return files | {MANIFEST: manifest, README: readme.encode(), SCRIPT: script} | counted


def pack(bundle: Bundle, *, readme: str) -> bytes:
    """Return the ZIP of a bundle; the same bundle always gives the same bytes."""
    return zipped(files_of(bundle, readme=readme) | {CERTIFICATE: json_bytes(bundle.certificate)})


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return the ZIP of files by name; the same files always give the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
    return target.getvalue()


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Return the text of a JSON file in a bundle."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"
