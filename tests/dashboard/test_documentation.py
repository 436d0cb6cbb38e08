"""The documentation is served from the package under a strict content policy, or says how it is built."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from markdown import Markdown

from service.dashboard import documentation
from service.dashboard.rendering import EXPLAINED_BY, TEMPLATES
from tests.dashboard.visitor import Visitor
from tests.service.world import World

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "<script src='bundle.js'></script><script>one()</script><script type='application/json'>{}</script><style>p{}</style>"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the service looks for the site; empty."""
    monkeypatch.setattr(documentation, "SITE", tmp_path / "site")
    return tmp_path / "site"


def build(site: Path) -> None:
    for name, text in {
        "index.html": PAGE,
        "start/page.html": "<p>start",
        "search/search_index.json": "{}",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (site.parent / "secret.html").write_text("not of the site")


def test_the_site_is_served_to_everybody_and_nothing_beside_it(world: World, site: Path) -> None:
    build(site)
    browser = world.client
    assert browser.get("/docs", follow_redirects=False).headers["location"] == "/docs/index.html"
    assert browser.get("/docs/start/page.html").text == "<p>start"
    assert browser.get("/docs/search/search_index.json").headers["content-type"] == "application/json"
    for name in (
        "../secret.html",
        "%2e%2e/secret.html",
        "start",
        "start/",
        "no.html",
        "a%00.html",
        "x" * 300,
    ):
        assert browser.get(f"/docs/{name}").status_code == 404, name
    (site / "new.html").write_text("<p>new")
    (site / "search" / "search_index.json").write_text("{} ")
    assert browser.get("/docs/new.html").status_code == 200, "a site that was built anew is read anew"


def test_the_address_without_a_page_leads_to_the_first_one(world: World, site: Path) -> None:
    for _ in ("without the site", "with it"):
        for path in ("/docs", "/docs/"):
            answer = world.client.get(path, follow_redirects=False)
            assert (answer.status_code, answer.headers["location"]) == (303, "/docs/index.html")
        for path in ("/docs//", "/docs/%2e", "/docs/%2e/"):
            assert world.client.get(path, follow_redirects=False).status_code == 404, path
        build(site)


def test_only_what_a_page_was_built_with_runs(world: World, site: Path) -> None:
    build(site)
    policy = dict(
        part.strip().split(" ", 1)
        for part in world.client.get("/docs/index.html").headers["content-security-policy"].split(";")
    )

    def hashed(text: str) -> str:
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == f"'self' {hashed('one()')}"
    assert policy["style-src"] == f"'self' {hashed('p{}')}"
    assert "unsafe" not in str(policy)
    assert "http" not in str(policy)


def test_a_checkout_without_the_site_says_how_to_build_it(world: World, site: Path) -> None:
    answer = world.client.get("/docs/tutorials/owner.html", headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert "<code>make site</code>" in answer.text
    assert "docs/tutorials/owner.md" in answer.text
    heading, *_ = (documentation.SOURCE / "tutorials" / "owner.md").read_text().splitlines()
    assert heading in answer.text, "a clone has the source of the page"
    for name in ("../README.html", "%2e%2e/README.html", "reference/errors.html", "generate.py"):
        said = world.client.get(f"/docs/{name}", headers={"Accept": "text/html"}).text
        assert "<pre" not in said


def test_a_copy_that_pip_installed_without_the_site_claims_no_source(
    world: World, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "SOURCE", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "start.md").write_text("of another package")
    answer = world.client.get("/docs/start.html", headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert "<code>make site</code>" in answer.text
    assert "of another package" not in answer.text


def test_every_page_is_explained() -> None:
    pages = {
        path.name
        for path in TEMPLATES.glob("*.html")
        if path.read_text().startswith(('{% extends "base.html" %}', '{% extends "dataset_base.html" %}'))
    }
    assert set(EXPLAINED_BY) == pages - {"dataset_base.html"}


def test_every_section_that_explains_a_page_is_there() -> None:
    for target in set(EXPLAINED_BY.values()):
        name, _, section = target.partition("#")
        if not section:
            continue
        converter = Markdown(extensions=["toc"])
        converter.convert((DOCS / name).with_suffix(".md").read_text())
        assert section in {entry["id"] for entry in _entries(converter.toc_tokens)}, target


def _entries(tokens: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Entries of a table of contents, with those below them."""
    for entry in tokens:
        yield entry
        yield from _entries(entry["children"])


def test_help_leads_to_the_page_that_explains_the_page(world: World, sign_in: Callable[..., Visitor]) -> None:
    owner = sign_in("owner")
    for path, template in {"/overview": "overview", "/datasets/new": "declare", "/keys": "keys"}.items():
        found = re.search(r'href="/docs/([^"]+)" target="_blank"', owner.page(path))
        assert found, path
        assert found[1] == EXPLAINED_BY[f"{template}.html"]
    assert f"/docs/{EXPLAINED_BY['sign_in.html']}" in world.client.get("/sign-in").text
