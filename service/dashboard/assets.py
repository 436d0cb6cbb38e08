"""Static assets: read once, served under content-hashed names, cached by browsers for a year.

A name contains the digest of the content, so it never changes meaning and needs no revalidation. Assets are the same
for every visitor and contain no CSRF token. Unlike pages, they can therefore be compressed without exposing a secret to
a compression side channel.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Header, Response

from core.errors import NotFound

FOLDER: Final = Path(__file__).parent / "static"
MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
_DIGITS: Final = 12

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its URL path with the content hash, its content, and the content gzipped."""

    path: str
    media_type: str
    content: bytes
    packed: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """All assets by their plain file names."""
    return {path.name: _asset(path) for path in sorted(FOLDER.iterdir()) if path.suffix in MEDIA_TYPES}


def path_of(name: str) -> str:
    """The URL of an asset, for templates."""
    return assets()[name].path


@router.get("/static/{name}")
def read_asset(name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """Serve an asset by its content-hashed name.

    Raises:
        NotFound: No such asset, or its content has changed since.
    """
    found = _by_path().get(f"/static/{name}")
    if found is None:
        raise NotFound("No such file.")
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if "gzip" in accept_encoding:
        return Response(
            found.packed, media_type=found.media_type, headers=headers | {"Content-Encoding": "gzip"}
        )
    return Response(found.content, media_type=found.media_type, headers=headers)


@cache
def _by_path() -> Mapping[str, Asset]:
    return {asset.path: asset for asset in assets().values()}


def _asset(path: Path) -> Asset:
    content = path.read_bytes()
    stem, digest = path.name.removesuffix(path.suffix), sha256(content).hexdigest()[:_DIGITS]
    return Asset(
        path=f"/static/{stem}.{digest}{path.suffix}",
        media_type=MEDIA_TYPES[path.suffix],
        content=content,
        packed=gzip.compress(content, compresslevel=9, mtime=0),
    )
