"""Reading a JSON document key by key; every error has a JSON pointer.

A ``Node`` is one object of the document. Each ``take_*`` method consumes one key and checks its type;
``finish`` refuses the keys that were not consumed: a misspelt option is an error and never a silent default.
Keys that begin with an underscore are notes for people and are skipped.
"""

import math
from collections.abc import Iterable
from typing import Final, NoReturn

from core.plan.domain.errors import DomainInvalid
from core.plan.near_names import nearest

_MISSING: Final = object()
_LARGEST: Final = 2**53


def escape(key: str) -> str:
    """One token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def plain_number(value: float) -> float | int:
    """A whole float as an integer: 17, not 17.0."""
    return int(value) if math.isfinite(value) and value.is_integer() else value


class Node:
    """One JSON object of the document, with its JSON pointer."""

    def __init__(self, value: object, pointer: str) -> None:
        self.pointer = pointer
        if not isinstance(value, dict):
            self.refuse("This must be a JSON object.", "not-an-object")
        self._rest: dict[str, object] = {str(key): item for key, item in value.items()}
        self._known: set[str] = set()

    def refuse(self, detail: str, problem: str, *, key: str | None = None, remedy: str = "") -> NoReturn:
        """Raise DomainInvalid at this object or at one of its keys."""
        pointer = self.pointer if key is None else self.at(key)
        raise DomainInvalid(detail, pointer=pointer, problem=problem, remedy=remedy)

    def at(self, path: str) -> str:
        """The JSON pointer of a place below this object, given as escaped tokens joined by slashes."""
        return f"{self.pointer}/{path}"

    def has(self, key: str) -> bool:
        """Whether the key is present and not yet consumed."""
        return key in self._rest

    def peek(self, key: str) -> object:
        """The value of a key, which is not consumed; None where it is absent."""
        return self._rest.get(key)

    def is_text(self, key: str, text: str, *, absent: bool = False) -> bool:
        """Whether a key holds a text; `absent` where there is no such key. Nothing is consumed."""
        return self._rest[key] == text if key in self._rest else absent

    def has_null(self, key: str) -> bool:
        """Whether the key is absent or null; a null is consumed."""
        if self._rest.get(key) is None:
            self._rest.pop(key, None)
            return True
        return False

    def take(self, key: str, default: object = _MISSING) -> object:
        """Consume a key of any type; without a default it must be present."""
        self._known.add(key)
        value = self._rest.pop(key, default)
        if value is _MISSING:
            near = nearest(key, self._rest)
            misspelt = f", or rename '{near}' to it" if near else ""
            self.refuse(f"The key '{key}' is missing.", "missing-key", remedy=f"Add '{key}'{misspelt}.")
        return value

    def take_text(self, key: str, default: object = _MISSING) -> str:
        """Consume a string that is not empty."""
        value = self.take(key, default)
        if not isinstance(value, str) or not value:
            self.refuse(f"'{key}' must be a string that is not empty.", "not-text", key=key)
        return value

    def take_choice(self, key: str, choices: Iterable[str], default: object = _MISSING) -> str:
        """Consume one of a few words."""
        value = self.take(key, default)
        words = tuple(choices)
        if not isinstance(value, str) or value not in words:
            listed = ", ".join(f"'{word}'" for word in words)
            near = nearest(value, words)
            self.refuse(
                f"'{key}' must be one of {listed}.",
                "not-a-choice",
                key=key,
                remedy=f"Did you mean '{near}'?" if near else "",
            )
        return value

    def take_flag(self, key: str, *, default: bool) -> bool:
        """Consume a JSON boolean."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            self.refuse(f"'{key}' must be true or false.", "not-a-boolean", key=key)
        return value

    def take_integer(self, key: str, default: int | None, *, lowest: int, highest: int) -> int | None:
        """Consume a whole number within a range; None is returned only as the default."""
        value = self.take(key, default)
        if value is None and default is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            self.refuse(
                f"'{key}' must be a whole number from {lowest} to {highest}.", "out-of-range", key=key
            )
        return value

    def take_list(self, key: str, default: object = _MISSING) -> list[object]:
        """Consume a JSON array."""
        value = self.take(key, default)
        if not isinstance(value, (list, tuple)):
            self.refuse(f"'{key}' must be an array.", "not-an-array", key=key)
        return list(value)

    def take_texts(self, key: str, default: object = _MISSING) -> tuple[str, ...]:
        """Consume an array of different strings; numbers are taken as written in JSON."""
        texts: dict[str, None] = {}
        for index, item in enumerate(self.take_list(key, default)):
            if isinstance(item, bool) or not isinstance(item, (str, int)):
                self.refuse("Each entry must be a string.", "not-text", key=f"{key}/{index}")
            if str(item) in texts:
                self.refuse("This entry is listed twice.", "duplicate-value", key=f"{key}/{index}")
            texts[str(item)] = None
        return tuple(texts)

    def number(self, value: object, key: str) -> float:
        """Check that a consumed value is a finite number of at most 2^53 in size."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(f"'{key}' must be a number.", "not-a-number", key=key)
        if not abs(value) <= _LARGEST:
            self.refuse(f"'{key}' must be finite and at most 2^53 in size.", "number-too-large", key=key)
        return float(value)

    def finish(self) -> None:
        """Refuse the keys that were not consumed, except notes (keys that begin with an underscore)."""
        for key in self._rest:
            if not key.startswith("_"):
                near = nearest(key, self._known)
                self.refuse(
                    f"The key '{key}' is not known here.",
                    "unknown-key",
                    key=escape(key),
                    remedy=(f"Did you mean '{near}'? " if near else "")
                    + "Check the spelling in docs/domain.md, of images in docs/images.md; begin a note's key with '_'.",
                )
