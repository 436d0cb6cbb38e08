"""JSON from untrusted sources: unique names, finite numbers, bounded depth and length."""

import json
import math
from typing import Any

from understudy.errors import NotABundle

_LONGEST_NUMBER = 40
_DEEPEST = 64


def read_object(content: bytes, name: str) -> dict[str, Any]:
    """Read a JSON object; errors have the name of its file.

    Raises:
        NotABundle: the content is not UTF-8, not JSON, not an object, repeats a member, is nested deeper than 64, or contains NaN, an infinity
            or a number of more than 40 characters.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a member is there twice")
        return made

    try:
        value = json.loads(
            content.decode("utf-8", errors="strict"),
            object_pairs_hook=members,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_whole,
        )
        _check_depth(value, 0)
    except (ValueError, RecursionError) as error:
        why = str(error) if type(error) is ValueError else type(error).__name__
        raise NotABundle(f"{name} is not JSON as the service writes it: {why}") from None
    if not isinstance(value, dict):
        raise NotABundle(f"{name} is not a JSON object")
    return value


def _no_number(text: str) -> Any:  # noqa: ANN401 - never returns
    message = f"{text} is not a number"
    raise ValueError(message)


def _finite(text: str) -> float:
    if len(text) > _LONGEST_NUMBER or not math.isfinite(float(text)):
        raise ValueError("a number is too large")
    return float(text)


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("a number is too large")
    return int(text)


def _check_depth(value: object, depth: int) -> None:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict):
        for member in value.values():
            _check_depth(member, depth + 1)
    elif isinstance(value, list):
        for member in value:
            _check_depth(member, depth + 1)
