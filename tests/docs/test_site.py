"""The documentation site builds strictly: no page without a place, no link or anchor that leads nowhere, nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.reference import REFERENCE
from service.dashboard.rendering import EXPLAINED_BY
from tests.dashboard.browsing import ARGUMENTS, BROKEN_OPTIONS, browser_path, chromium, grave_findings

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(
    r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^"'\s>]+"""
)
# The canonical address of a page and feeds are read by programs, not fetched by a browser; we have neither.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; `mkdocs.yml` says what is an error."""
    folder = tmp_path_factory.mktemp("site")
    finished = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "Documentation built" in finished.stderr, (
        "told less, the builder counts no warnings and passes everything"
    )
    return folder


@pytest.mark.long
def test_every_page_is_built_and_can_be_found(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text()
    written = [page.relative_to(ROOT / "docs") for page in sorted((ROOT / "docs").rglob("*.md"))]
    made = [Path("reference") / name for name in REFERENCE if name.endswith(".md")]
    made += [
        notebook.relative_to(ROOT / "docs").with_suffix(".md")
        for notebook in (ROOT / "docs").rglob("*.ipynb")
    ]
    for page in written + made:
        place = page.with_suffix(".html").as_posix().replace("README", "index")
        assert (site / place).exists(), place
        assert f'"{place}"' in index, place


@pytest.mark.long
def test_a_browser_fetches_nothing_from_elsewhere(site: Path) -> None:
    built = list(site.rglob("*.html"))
    assert len(built) > 50
    assert not {found for page in built for found in FETCHED.findall(page.read_text())}
    ours = (site / "site" / "site.css").read_text()
    assert "//" not in ours.replace("http://www.w3.org", "")
    assert FETCHED.search('<script src="https://unpkg.com/x">'), "it would be seen"


@pytest.mark.long
def test_the_search_works_from_the_disk(site: Path) -> None:
    path = browser_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        page = browser.new_page()
        fetched: list[str] = []
        page.on("request", lambda request: fetched.append(request.url))
        page.goto((site / "tutorials" / "owner.html").as_uri())
        page.click("input.md-search__input")
        page.type("input.md-search__input", "ledger")
        page.wait_for_selector(".md-search-result__item a", timeout=60_000)
        found = page.eval_on_selector_all(
            ".md-search-result__item a", "links => links.map(link => link.href)"
        )
        browser.close()
    assert any(address.startswith((site / "tutorials").parent.as_uri()) for address in found), found
    assert all(address.startswith(("file:", "data:", "blob:")) for address in fetched), fetched


@pytest.mark.long
def test_documents_for_programs_lie_beside_the_pages(site: Path) -> None:
    documents = [name for name in REFERENCE if name.endswith(".json")]
    assert len(documents) == 10
    for name in documents:
        assert (site / "reference" / name).read_text() == REFERENCE[name]()


@pytest.mark.long
def test_a_link_to_a_notebook_leads_to_its_page_which_offers_the_file(site: Path) -> None:
    assert 'href="notebooks/owner.html"' in (site / "start.html").read_text()
    assert '<a download href="owner.ipynb">' in (site / "notebooks" / "owner.html").read_text()
    assert (site / "notebooks" / "owner.ipynb").is_file()


@pytest.mark.long
def test_every_page_that_explains_one_of_the_dashboard_is_built(site: Path) -> None:
    for target in set(EXPLAINED_BY.values()):
        assert (site / target.partition("#")[0]).is_file(), target


@pytest.mark.long
def test_a_screenshot_is_shown_as_its_reader_would_have_it(site: Path) -> None:
    page = (site / "tutorials" / "owner.html").read_text()
    offered = re.findall(r'<source media="[^"]+" srcset="\.\./(screenshots/[\w-]+\.png)">', page)
    assert {
        f"screenshots/declare-{kind}.png" for kind in ("phone-light", "phone-dark", "desktop-dark")
    } <= set(offered)
    assert not [name for name in offered if not (site / name).exists()]


@pytest.mark.long
def test_a_long_name_in_a_table_breaks_between_its_words(site: Path) -> None:
    assert (
        "<code>UNDERSTUDY_<wbr>MASTER_<wbr>KEY</code>" in (site / "reference" / "settings.html").read_text()
    )
    assert "<wbr>" not in (site / "start.html").read_text().split("<table")[0]


@pytest.mark.long
def test_the_search_dialog_and_lists_of_pages_have_accessible_names(site: Path) -> None:
    page = (site / "faq.html").read_text()
    assert 'role="dialog" aria-label="Search"' in page
    lists = re.findall(r'<nav class="md-nav" data-md-level="\d+" ([^>]*)>', page)
    names = [re.fullmatch(r'aria-label="([^"]+)" aria-expanded="(?:true|false)"', found) for found in lists]
    assert len(names) > 5
    assert all(names), lists
    assert 'html lang="en"' in next((site / "source").rglob("*.html")).read_text()


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible(site: Path, scheme: str) -> None:
    """The same rules as for pages of the dashboard; the page of a wrong address is made to be served from the root."""
    pages = sorted(page for page in site.rglob("*.html") if page.name != "404.html")
    grave = {}
    with chromium() as browser:
        tab = browser.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 800}).new_page()
        for page in pages:
            tab.goto(page.as_uri(), wait_until="load")
            found = grave_findings(tab)
            grave |= {page.name: found} if found else {}
    assert len(pages) > 100
    assert not grave


@pytest.mark.long
def test_an_option_of_a_command_is_never_cut(site: Path) -> None:
    path = browser_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        whole, broken = 0, {}
        for width in (320, 360, 390):
            page = browser.new_page(viewport={"width": width, "height": 740})
            for name in (
                "domain.html",
                "faq.html",
                "local-library.html",
                "operations.html",
                "reference/commands.html",
            ):
                page.goto((site / name).as_uri())
                found = page.evaluate(BROKEN_OPTIONS)
                whole += found["whole"]
                broken |= {(name, width): found["broken"]} if found["broken"] else {}
        browser.close()
    assert not broken
    assert whole > 100


def test_every_metric_that_is_watched_is_on_the_page() -> None:
    page = REFERENCE["metrics.md"]()
    watched = {
        name
        for file in (ROOT / "docker").rglob("*")
        if file.suffix in {".yml", ".yaml", ".json"}
        for name in re.findall(r"\bunderstudy_[a-z_]+\b", file.read_text())
    }
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in watched}
    assert len(families) > 10
    assert not [name for name in families if f"`{name}`" not in page]


def test_figures_in_the_advice_are_the_measured_ones() -> None:
    advice = (ROOT / "docs" / "choosing-epsilon.md").read_text()
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    audited = (ROOT / "docs" / "audits.md").read_text()
    found = [
        re.search(
            rf"^\| anchor only \| {epsilon} \| \d \| (0\.\d+)[^|]*\|[^|]*\| (0\.\d+)",
            measured,
            re.MULTILINE,
        )
        for epsilon in (1, 4, 10)
    ]
    trees, pairs = ([f"{float(match[group]):.3f}" for match in found if match] for group in (1, 2))
    assert f"boosted trees | {' | '.join(trees)} |" in advice
    assert f"two-way counts | {' | '.join(pairs)} |" in advice
    for epsilon in (1, 10):
        area = re.search(
            rf"^\| epsilon {epsilon} \| 64 \| ([^|]+) \| [^|]+ \| ([\d.]+);", audited, re.MULTILINE
        )
        assert area is not None
        assert f"| epsilon {epsilon} | {area[1]} | {area[2]} |" in advice
