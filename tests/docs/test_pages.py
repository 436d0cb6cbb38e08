"""Docs that a test keeps true: generated pages, links, decisions, and the commands the README shows."""

import re
from pathlib import Path

import pytest

from docs.generate import PAGES, stale_pages

ROOT = Path(__file__).parents[2]
PAGES_BY_HAND = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
PAGES_BY_HAND += sorted((ROOT / "docs").rglob("*.md"))
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


def test_generated_pages_are_fresh():
    assert PAGES
    assert not stale_pages(), "run `make docs` and commit the result"


@pytest.mark.parametrize("page", PAGES_BY_HAND, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [
        target for target in targets if "://" not in target and not (page.parent / target).resolve().exists()
    ]
    assert not missing


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
    known = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert shown
    assert not [name for name in shown if f"## `understudy {name}" not in known]


def test_make_targets_named_in_the_docs_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES_BY_HAND for name in re.findall(r"`make ([a-z-]+)", page.read_text())}
    assert named
    assert named <= targets
