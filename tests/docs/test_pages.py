"""Docs that a test keeps true: links, decisions, and the commands the README shows."""

import json
import os
import re
from pathlib import Path

import pytest

from docs.reference import REFERENCE

ROOT = Path(__file__).parents[2]
PAGES_BY_HAND = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
PAGES_BY_HAND += sorted((ROOT / "docs").rglob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
PROOFS = [*sorted((ROOT / "docs" / "mechanisms").glob("*.md")), ROOT / "docs" / "privacy-promise.md"]
DECISIONS_ASKED_FOR = {
    "adjacency-and-unit",
    "accountant-as-filter",
    "plan-reserve-spend-settle",
    "where-commit-happens",
    "synchronous-database-code",
    "declared-size-is-public",
    "replay-safe-randomness",
    "embedded-servers",
}


@pytest.mark.parametrize("name", REFERENCE)
def test_a_reference_file_is_made_of_the_code(name):
    text = REFERENCE[name]()
    if name.endswith(".json"):
        assert {"openapi", "$schema"} & json.loads(text).keys()
    else:
        assert text.startswith("# ")
        assert text.count("\n| `") + text.count("\n| GET ") > 10, "it has rows"
        assert not _broken(text, ROOT / "docs" / "reference")


def _broken(text, folder):
    """The links of a page in a folder that lead to no file, kept or made by the site's builder."""
    made = {ROOT / "docs" / "reference" / name for name in REFERENCE}
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    places = {target: Path(os.path.normpath(folder / target)) for target in targets if "://" not in target}
    return [target for target, place in places.items() if place not in made and not place.exists()]


def test_a_link_that_leads_nowhere_is_found():
    text = "[a](settings.md#top) [b](../concepts.md) [c](absent.md) [d](https://example.org/x)"
    assert _broken(text, ROOT / "docs" / "reference") == ["absent.md"]


@pytest.mark.parametrize("page", [*PAGES_BY_HAND, *NOTEBOOKS], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert not _broken(page.read_text(), page.parent)


def test_every_chair_has_a_notebook_that_the_first_page_links_to():
    chairs = ["admin", "analyst", "operator", "owner", "protection-officer"]
    assert [notebook.stem for notebook in NOTEBOOKS] == chairs
    start = (ROOT / "docs" / "start.md").read_text()
    for notebook in NOTEBOOKS:
        assert f"(notebooks/{notebook.name})" in start
        cells = json.loads(notebook.read_text())["cells"]
        assert len({cell["id"] for cell in cells}) == len(cells)
        assert not any(cell.get("outputs") for cell in cells), "outputs are made where it is run"


def test_every_page_has_a_place_in_the_navigation():
    """Building the site, which takes long, refuses a page without one."""
    listed = re.findall(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    folder = ROOT / "docs"
    notebooks = (page.with_suffix(".md") for page in folder.rglob("*.ipynb"))
    written = {str(page.relative_to(folder)) for page in (*folder.rglob("*.md"), *notebooks)}
    made = {f"reference/{name}" for name in REFERENCE if name.endswith(".md")}
    assert set(listed) == written | made


def test_every_decision_asked_for_is_recorded():
    assert {page.stem for page in DECISIONS} >= DECISIONS_ASKED_FOR


@pytest.mark.parametrize("page", [*DECISIONS, *PROOFS], ids=lambda page: page.stem)
def test_a_decision_or_proof_names_a_check(page):
    assert re.search(r"`tests/[\w/]+\.py", page.read_text()), "the page must name the test that enforces it"


@pytest.mark.parametrize("page", PAGES_BY_HAND, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_and_file_that_a_page_names_exists(page):
    text = page.read_text()
    for path, function in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?", text):
        assert (ROOT / path).exists(), path
        assert not function or re.search(rf"(def|class) {function}\b", (ROOT / path).read_text()), function
    for path in re.findall(
        r"`((?:benchmarks|core|models|service|understudy|workers)/[\w/]+\.(?:py|json))`", text
    ):
        assert (ROOT / path).exists(), path


def test_the_readme_shows_the_two_commands_first():
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:25])
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_commands_shown_in_the_readme_exist():
    shown = set(
        re.findall(r"^(?:\.venv/bin/)?understudy (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    )
    known = REFERENCE["commands.md"]()
    assert shown
    assert not [name for name in shown if f"## `understudy {name}" not in known]


def test_make_targets_named_in_the_docs_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES_BY_HAND for name in re.findall(r"`make ([a-z-]+)", page.read_text())}
    assert named
    assert named <= targets


def test_the_page_of_the_drill_counts_the_rounds_on_record():
    runs = json.loads((ROOT / "benchmarks/results/drill.json").read_text())["runs"].values()
    rounds, faults = (sum(run[name] for run in runs) for name in ("rounds", "faults_total"))
    seeds = len({run["seed"] for run in runs})
    page = (ROOT / "docs/drill.md").read_text()
    assert f"{rounds} rounds with {faults} faults under {seeds} seeds" in page
