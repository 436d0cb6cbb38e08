"""Build the wheel of a commit, and tag a release with its notes.

    python -m docs.release wheel    dist/understudy-X.Y.Z-py3-none-any.whl of HEAD: the same commit gives the same bytes
    python -m docs.release tag      the wheel, dist/release-notes.md from CHANGELOG.md, and the annotated tag vX.Y.Z

Nothing is uploaded or pushed. A wheel is built from what git has, not from what lies in the folder, with the commit's time in place of the
clock and fixed permissions, and contains the documentation site of that commit; the builder's own version is in requirements-dev.lock.
"""

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
OUT = "dist"
PLACEHOLDER = "understudy.example"
"""Host of the addresses in pyproject.toml as long as the project has no public place."""
_SECTION = re.compile(r"^## ", re.MULTILINE)


class NotReleasable(Exception):
    """The repository is not in a state to be released; the message says what to do."""


def build_wheel(root: Path, out: Path) -> Path:
    """Build the wheel of HEAD.

    Args:
        root: the repository.
        out: the folder for the wheel.

    Returns:
        The wheel; a file of its name is replaced.
    """
    tree = _git(root, "archive", "HEAD")
    moment = _git(root, "log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(tree)) as archive:
            archive.extractall(folder, filter="data")
        environment = os.environ | {"SOURCE_DATE_EPOCH": moment}
        build_site(Path(folder), environment)
        command = [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(out.resolve()),
            folder,
        ]
        subprocess.run(command, env=environment, umask=0o022, check=True, stdout=subprocess.DEVNULL)
    return out / f"understudy-{_version(root)}-py3-none-any.whl"


def build_site(tree: Path, environment: Mapping[str, str]) -> None:
    """Build the documentation site into the package that serves it.

    Args:
        tree: a copy of the repository.
        environment: of the builder; `SOURCE_DATE_EPOCH` is the time on the pages.
    """
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=tree,
        env={**environment, "NO_MKDOCS_2_WARNING": "1"},
        umask=0o022,
        check=True,
    )


def release_notes(changelog: str, version: str, last: str | None) -> str:
    """Return what CHANGELOG.md says since the last release.

    Args:
        changelog: its text, newest section first, each beginning with ``## X.Y.Z``.
        version: the one to be released.
        last: the last one that was, or None.

    Raises:
        NotReleasable: the first section is not of this version, or one has no part on privacy.
    """
    sections = _SECTION.split(changelog)[1:]
    if not sections or sections[0].split(maxsplit=1)[0] != version:
        message = f"CHANGELOG.md must begin with '## {version}' and a date: rename its section of what is unreleased"
        raise NotReleasable(message)
    new: list[str] = []
    for section in sections:
        if section.split(maxsplit=1)[0] == last:
            break
        if "### Privacy" not in section:
            message = f"section '{section.splitlines()[0]}' of CHANGELOG.md has no part '### Privacy'"
            raise NotReleasable(message)
        new.append(f"## {section.rstrip()}\n")
    return "\n".join(new)


def tag_release(root: Path) -> str:
    """Build the wheel, write the notes and tag HEAD.

    Args:
        root: the repository.

    Returns:
        The tag.

    Raises:
        NotReleasable: something is not committed, the version is tagged already, or CHANGELOG.md has no section for it.
    """
    if changed := _git(root, "status", "--porcelain").decode():
        message = f"commit or remove first:\n{changed}"
        raise NotReleasable(message)
    version = _version(root)
    tag = f"v{version}"
    tags = _git(root, "tag", "--list", "v*", "--sort=-version:refname").decode().split()
    if tag in tags:
        message = f"{tag} is there already: raise the version in pyproject.toml"
        raise NotReleasable(message)
    notes = release_notes(
        (root / "CHANGELOG.md").read_text(), version, tags[0].removeprefix("v") if tags else None
    )
    out = root / OUT
    wheel = build_wheel(root, out)
    notes += f"\nSHA-256 of {wheel.name}: {hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (out / "release-notes.md").write_text(notes)
    _git(root, "tag", "--annotate", tag, "--cleanup=verbatim", "--file", str(out / "release-notes.md"))
    return tag


def _version(root: Path) -> str:
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def _git(root: Path, *words: str) -> bytes:
    command = ["git", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True).stdout


def unset_addresses(pyproject: str) -> list[str]:
    """Say which addresses a publisher still has to set, in a line each.

    Args:
        pyproject: Text of pyproject.toml.
    """
    project = tomllib.loads(pyproject)["project"]
    found = [name for name, url in project["urls"].items() if urlsplit(url).hostname == PLACEHOLDER]
    lines = [f"placeholders ({PLACEHOLDER}) under [project.urls]: {', '.join(found)}"] if found else []
    if not any("email" in one for one in project["maintainers"]):
        lines.append("no maintainer has an email, to which SECURITY.md sends reports")
    return lines


if __name__ == "__main__":
    for unset in unset_addresses((ROOT / "pyproject.toml").read_text()):
        print(f"note: pyproject.toml: {unset}", file=sys.stderr)
    try:
        print(build_wheel(ROOT, ROOT / OUT) if sys.argv[1:] == ["wheel"] else tag_release(ROOT))
    except NotReleasable as refusal:
        sys.exit(f"not released: {refusal}")
