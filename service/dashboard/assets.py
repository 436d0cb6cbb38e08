"""Scripts and styles of the pages: read once, named after their content, kept by browsers for a year.

A name that holds the digest of the content never means two things, so nothing has to be asked for twice. The files are
the same for everybody and hold no token, so, unlike pages, they may be compressed.
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
    """One file.

    Args:
        path: Where browsers find it.
        media_type: What it is.
        content: Its bytes.
        packed: The same, compressed.
    """

    path: str
    media_type: str
    content: bytes
    packed: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """Every file by its plain name."""
    return {path.name: _asset(path) for path in sorted(FOLDER.iterdir()) if path.suffix in MEDIA_TYPES}


def path_of(name: str) -> str:
    """The address of a file, as templates write it."""
    return assets()[name].path


@router.get("/static/{name}")
def read_asset(name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """A file by the name that holds its digest.

    Raises:
        NotFound: There is none, or no longer with this content.
    """
    found = _by_path().get(f"/static/{name}")
    if found is None:
        raise NotFound("There is no such file.")
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
