"""The one spelling of a JSON document that hashes and signatures cover."""

import json
from collections.abc import Mapping
from typing import Any


def canonical(document: Mapping[str, Any]) -> bytes:
    """Sorted keys, no spaces, ASCII; numbers as Python prints them, which reads back to the same value.

    Raises:
        ValueError: NaN or an infinity, which JSON does not know.
        TypeError: a value that JSON does not know.
    """
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")
