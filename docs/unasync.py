"""Generate the synchronous client from the asynchronous one: `python -m docs.unasync` writes `understudy/client/`.

Only `backend.py` is written by hand in both folders: sleeping and threads differ. Needs ruff, which sorts the imports
and wraps the lines anew. A test compares the committed files with the output.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CLIENT: Final = Path(__file__).parents[1] / "understudy"
SOURCE: Final = CLIENT / "async_client"
TARGET: Final = CLIENT / "client"
BY_HAND: Final = "backend.py"
RULES: Final[tuple[tuple[str, str], ...]] = (
    # Before the others: these turn more than one word.
    (r"understudy\.async_client", "understudy.client"),
    (
        r"(?m)^\"\"\"The asynchronous client\. .*$",
        '"""The synchronous client, generated from `understudy.async_client`.',
    ),
    (r"Awaitable\[([^\[\]]+)\]", r"\1"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\.a(close|read|iter_bytes)\b", r".\1"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basynchronous\b", "synchronous"),
)


def synchronous(text: str) -> str:
    """Turn a module of the asynchronous client into its synchronous twin.

    Args:
        text: the module.
    """
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text)
    return _ruff(
        _ruff(text, "check", "--fix-only", "--unsafe-fixes", "--select=I001,F401,C4,UP028"), "format"
    )


def generated() -> Mapping[str, str]:
    """Return the files of the synchronous client, by name."""
    sources = sorted(path for path in SOURCE.glob("*.py") if path.name != BY_HAND)
    return {path.name: synchronous(path.read_text(encoding="utf-8")) for path in sources}


def _ruff(text: str, *words: str) -> str:
    command = [
        sys.executable,
        "-m",
        "ruff",
        *words,
        "--quiet",
        f"--stdin-filename={TARGET / 'module.py'}",
        "-",
    ]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Write the files, and remove those that have no source any more."""
    files = generated()
    for path in TARGET.glob("*.py"):
        if path.name not in {BY_HAND, *files}:
            path.unlink()
    for name, text in files.items():
        (TARGET / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
