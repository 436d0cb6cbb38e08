"""A release: the same wheel from the same commit, whole and well described; notes and a tag, or a reason why not."""

import subprocess
import zipfile
from email.message import Message
from email.parser import Parser
from hashlib import sha256
from pathlib import Path

import pytest

from docs import release
from docs.package_files import package_files
from docs.release import NotReleasable, build_wheel, release_notes, tag_release, unset_addresses

ROOT = Path(__file__).parents[2]
SITE = "service/documentation/"
PACKAGES = ("core", "service", "workers", "models", "migrations", "understudy")
SECTION = "## 0.2.0 (2026-12-01)\n\n### Added\n\n* Plots.\n\n### Privacy\n\n* Nothing changed.\n"
OLDER = "\n## 0.1.0 (2026-11-01)\n\n### Privacy\n\n* The first.\n"


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


@pytest.mark.long
def test_the_wheel_has_the_site_of_its_commit_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = (build_wheel(ROOT, tmp_path / name) for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        names = {name.removeprefix(SITE) for name in archive.namelist() if name.startswith(SITE)}
    assert {
        "index.html",
        "search/search_index.json",
        "tutorials/owner.html",
        "reference/errors.html",
    } <= names
    assert not [name for name in names if name.endswith(".map")]


@pytest.mark.long
def test_the_same_commit_gives_the_same_wheel_which_is_whole_and_says_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(tree: Path, _environment: object) -> None:
        (tree / SITE / "start").mkdir(parents=True)
        (tree / SITE / "index.html").write_text("<p>the site</p>")
        (tree / SITE / "start" / "once.js.map").write_text("{}")

    monkeypatch.setattr(release, "build_site", built)  # the real one takes long: the test above
    first, second = (build_wheel(ROOT, tmp_path / name) for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    tracked = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD", *PACKAGES],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    with zipfile.ZipFile(first) as archive:
        files = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert sorted(files) == sorted([*tracked, *package_files(), f"{SITE}index.html"])
    found = metadata_of(first)
    for field in (
        "Summary",
        "License-Expression",
        "Maintainer",
        "Keywords",
        "Requires-Python",
        "Description-Content-Type",
    ):
        assert found[field], field
    assert {url.partition(",")[0] for url in found.get_all("Project-URL", [])} == {
        "Homepage", "Documentation", "Source", "Issues", "Changelog", "Security policy",
    }  # fmt: skip
    always = [
        line.partition(">")[0].partition("<")[0]
        for line in found.get_all("Requires-Dist", [])
        if "extra ==" not in line
    ]
    assert always == ["httpx", "rich", "typer"], "the light client"


def test_a_release_names_the_addresses_that_its_publisher_has_to_set() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    placeholders, no_email = unset_addresses(text)
    assert placeholders.endswith("Homepage, Documentation, Source, Issues, Changelog, Security policy")
    assert "SECURITY.md" in no_email
    assert unset_addresses(text.replace(release.PLACEHOLDER, "understudy.test").replace(
        "maintainers = [{ name", 'maintainers = [{ email = "security@understudy.test", name')) == []  # fmt: skip


def test_notes_are_the_sections_since_the_last_release() -> None:
    assert release_notes(f"# Changelog\n\n{SECTION}{OLDER}", "0.2.0", "0.1.0") == SECTION
    assert "The first" in release_notes(f"{SECTION}{OLDER}", "0.2.0", None)
    with pytest.raises(NotReleasable, match=r"must begin with '## 0\.3\.0'"):
        release_notes(SECTION, "0.3.0", None)
    with pytest.raises(NotReleasable, match="must begin"):
        release_notes(SECTION.replace("## 0.2.0", "## Unreleased (0.2.0)"), "0.2.0", None)
    with pytest.raises(NotReleasable, match="no part '### Privacy'"):
        release_notes(SECTION.replace("Privacy", "Fixed"), "0.2.0", None)


def test_a_version_is_tagged_once_with_its_notes_and_never_from_changed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    def built(_root: Path, out: Path) -> Path:
        out.mkdir()
        (out / "understudy.whl").write_bytes(b"wheel")
        return out / "understudy.whl"

    monkeypatch.setattr(release, "build_wheel", built)
    for variable in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(variable, "a")
    for variable in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(variable, "a@example.org")
    git("init", "--quiet")
    (tmp_path / ".gitignore").write_text("dist/\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{SECTION}{OLDER}")
    with pytest.raises(NotReleasable, match=r"commit or remove first:[\s\S]*CHANGELOG\.md"):
        tag_release(tmp_path)
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    git("tag", "v0.1.0")
    assert tag_release(tmp_path) == "v0.2.0"
    said = git("tag", "--list", "--format=%(contents)", "v0.2.0")
    assert said.strip() == (tmp_path / "dist" / "release-notes.md").read_text().strip()
    assert "## 0.2.0" in said
    assert f"SHA-256 of understudy.whl: {sha256(b'wheel').hexdigest()}" in said
    assert "The first" not in said
    with pytest.raises(NotReleasable, match=r"v0\.2\.0 is there already"):
        tag_release(tmp_path)
