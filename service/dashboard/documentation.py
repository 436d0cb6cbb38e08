"""The help page of the dashboard, and the documentation site, served from the package.

The help page says what each role does next, and explains the words of the pages.

`make site` builds the site into `service/documentation`, and the wheel contains it. It is the same for every visitor, so
it needs no session and, unlike pages with a CSRF token, can be compressed. A source checkout without it shows how to build it, and the
Markdown of the page.
"""

import gzip
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Header, Request, Response

from core.errors import NotFound
from service.dashboard.rendering import open_page, page, sent_on
from service.dashboard.visit import CurrentVisit

SITE: Final = Path(__file__).parents[1] / "documentation"
SOURCE: Final = SITE.parents[1] / "docs"
"""The Markdown of the pages, where the package runs from a clone."""
FIRST: Final = "index.html"
_WRITTEN_LAST: Final = "search/search_index.json"
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ipynb": "application/x-ipynb+json",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".xml": "application/xml",
}
_PACKED: Final = frozenset({".gz", ".png"})
_SCRIPT: Final = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_STYLE: Final = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)

router = APIRouter(include_in_schema=False)


@router.get("/help")
def help_page(visit: CurrentVisit) -> Response:
    """Show the help, with the sections of the visitor's own roles first."""
    return page(visit, "help.html")


@router.get("/docs")
@router.get("/docs/")
def first_page() -> Response:
    """Redirect to the first page."""
    return sent_on(f"/docs/{FIRST}")


@router.get("/docs/{name:path}")
def read_documentation(
    request: Request, name: str, accept_encoding: Annotated[str, Header()] = ""
) -> Response:
    """Serve a file of the site; without the site, a page that says how to build it.

    Raises:
        NotFound: The site has no such file, or the path names none.
    """
    found = files()
    if not Path(name).name:
        raise NotFound("The documentation has no such page.")
    if not found:
        source = sources().get(name)
        return open_page(
            request,
            "documentation.html",
            source=f"docs/{Path(name).with_suffix('.md')}",
            text=None if source is None else source.read_text(encoding="utf-8"),
        )
    if name not in found:
        raise NotFound("The documentation has no such page.")
    path = found[name]
    content = path.read_bytes()
    headers = {"Cache-Control": "public, max-age=600", "Vary": "Accept-Encoding"}
    if path.suffix in {".html", ".svg"}:
        headers["Content-Security-Policy"] = _content_policy(content.decode())
    if "gzip" in accept_encoding and path.suffix not in _PACKED:
        content = gzip.compress(content, compresslevel=5, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(
        content, media_type=_MEDIA_TYPES.get(path.suffix, "application/octet-stream"), headers=headers
    )


def files() -> Mapping[str, Path]:
    """The files of the site by their path in it; empty where it was not built."""
    last = SITE / _WRITTEN_LAST
    return _files(SITE, last.stat().st_mtime_ns) if last.exists() else {}


def sources() -> Mapping[str, Path]:
    """The Markdown files by the path of their page in the site; empty where the package does not run from a clone."""
    # Where pip installed a copy, a folder `docs` beside the package belongs to another distribution.
    if not (SOURCE.parent / "mkdocs.yml").is_file():
        return {}
    return {path.relative_to(SOURCE).with_suffix(".html").as_posix(): path for path in SOURCE.rglob("*.md")}


@lru_cache(maxsize=1)
def _files(site: Path, _built_at: int) -> Mapping[str, Path]:
    return {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}


def _content_policy(html: str) -> str:
    """Allow our own files, and the inline scripts and styles that this page was built with, by their hashes."""
    return (
        f"default-src 'none'; script-src 'self'{_hashes(_SCRIPT, html)}; style-src 'self'{_hashes(_STYLE, html)}; "
        "img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


def _hashes(inline: re.Pattern[str], html: str) -> str:
    digests = (sha256(text.encode()).digest() for text in dict.fromkeys(inline.findall(html)))
    return "".join(f" 'sha256-{b64encode(digest).decode()}'" for digest in digests)
