"""The synchronous client, made from the asynchronous one.

Only `backend.py` is written by hand in both folders: sleeping and threads differ.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[1] / "understudy" / "async_client"
BY_HAND: Final = "backend.py"
RULES: Final[tuple[tuple[str, str], ...]] = (
    # Before the others: these turn more than one word.
    (r"understudy\.async_client", "understudy.client"),
    (
        r"(?m)^\"\"\"The asynchronous client\. .*$",
        '"""The synchronous client, made from `understudy.async_client`.',
    ),
    (r"Awaitable\[([^\[\]]+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
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
    return text


def synchronous_client() -> Mapping[str, str]:
    """Return the files that are made, by name."""
    sources = sorted(path for path in SOURCE.glob("*.py") if path.name != BY_HAND)
    return {path.name: synchronous(path.read_text(encoding="utf-8")) for path in sources}
