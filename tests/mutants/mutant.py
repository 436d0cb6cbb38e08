"""A seeded privacy bug: one small change of one source file, and the test that must notice it."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Unfit(Exception):
    """The source has moved on, so the mutant is no longer the bug that it was; rewrite it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One seeded bug.

    Args:
        name: unique; words with dashes.
        path: source file, from the root of the repository.
        before: text of the source that occurs exactly once.
        after: what takes its place.
        bug: what is wrong then, in words.
        source: who had it, or which class of bugs it is of.
        killed_by: the test that fails, as pytest names it: "tests/...::test_name", with the case in brackets where one is enough.
    """

    name: str
    path: str
    before: str
    after: str
    bug: str
    source: str
    killed_by: str

    @property
    def module(self) -> str:
        """The changed file as Python imports it."""
        return self.path.removesuffix(".py").replace("/", ".")

    def applied(self, text: str) -> str:
        """The source with the bug in it.

        Raises:
            Unfit: the text to replace is not there exactly once, nothing would change, or the result is no Python.
        """
        found = text.count(self.before)
        if found != 1:
            raise Unfit(f"{self.name}: its text occurs {found} times in {self.path}, not once")
        changed = text.replace(self.before, self.after)
        if changed == text:
            raise Unfit(f"{self.name}: it changes nothing")
        try:
            compile(changed, self.path, "exec")
        except SyntaxError as error:
            raise Unfit(f"{self.name}: what it leaves is no Python: {error}") from None
        return changed


def undefined_names(texts: Mapping[str, str], folder: Path) -> str:
    """What ruff says of names that nothing defines: such a mutant would crash, not be caught. Empty for sound code.

    Args:
        texts: sources by the name of their mutant.
        folder: where they may be written.
    """
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--isolated",
            "--quiet",
            "--select",
            "F821,F823",
            str(folder),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    return found.stdout + found.stderr if found.returncode else ""
