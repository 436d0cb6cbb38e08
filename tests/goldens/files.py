"""Golden files: one JSON object a file, one member a line, so that a diff names what moved."""

import json
import math
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "committed"
TOLERANCE: Final = 1e-9
"""Relative; floating-point sums differ in their last bits between processors (`tests/kernels`)."""
SMALLEST: Final = 1e-12
"""Absolute; below it two floats are equal."""


def canonical(value: object) -> str:
    """Sorted keys, no spaces, ASCII. Spelt here again: the product's own spelling is one of the contracts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: object) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return sha256(canonical(value).encode()).hexdigest()


def text_of(members: Mapping[str, object]) -> str:
    """The file's text, members in alphabetical order."""
    lines = ",\n".join(f"{canonical(name)}:{canonical(members[name])}" for name in sorted(members))
    return f"{{\n{lines}\n}}\n"


def path_of(name: str) -> Path:
    """Where a golden file lies."""
    return FOLDER / f"{name}.json"


def read(name: str) -> dict[str, Any]:
    """A committed golden file."""
    members: dict[str, Any] = json.loads(path_of(name).read_text())
    return members


def differences(committed: object, made: object, place: str = "") -> Iterator[str]:
    """Every place at which two JSON values differ, with what was committed and what was made."""
    if isinstance(committed, dict) and isinstance(made, dict):
        for name in sorted(committed.keys() | made.keys()):
            inner = f"{place} / {name}" if place else name
            if name not in made:
                yield f"{inner}: gone"
            elif name not in committed:
                yield f"{inner}: new"
            else:
                yield from differences(committed[name], made[name], inner)
    elif isinstance(committed, list) and isinstance(made, list) and len(committed) == len(made):
        for number, (one, other) in enumerate(zip(committed, made, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif isinstance(committed, list) and isinstance(made, list) and _are_words(committed + made):
        yield from (f"{place} / {text}: gone" for text in committed if text not in made)
        yield from (f"{place} / {text}: new" for text in made if text not in committed)
    elif not _equal(committed, made):
        yield f"{place}: {_short(committed)} became {_short(made)}"


def _are_words(values: list[Any]) -> bool:
    """Whether these are texts of two lists, each without repetition."""
    return all(isinstance(value, str) and values.count(value) <= 2 for value in values)


def _equal(committed: object, made: object) -> bool:
    if type(committed) is not type(made):
        return False
    if isinstance(committed, float) and isinstance(made, float):
        return math.isclose(committed, made, rel_tol=TOLERANCE, abs_tol=SMALLEST)
    return committed == made


def _short(value: object) -> str:
    text = canonical(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
