"""Conditions of samples on the command line: how they are read, and what the commands say of them."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from understudy.client import Client
from understudy.documents import Json, take
from understudy.errors import InputUnusable, Refused

FIX = (
    "Fix modelled columns to values of their domain, such as --where sick=yes, or --where COLUMN=null for a missing value. "
    "Ranges and lists: --where 'age>=65', --where 'seen in 2024-01..2024-03', --where 'ward in A,B'."
)
"""Advice where a condition cannot be met, in the form of the command line."""
_BINNED = frozenset({"numeric", "date", "datetime"})
_COMPARED: Final = re.compile(r"(.*?\S)\s*(>=|<=|>(?!.*(?<![<>])=)|<(?!.*(?<![<>])=))\s*(\S.*)", re.DOTALL)
"""A column, how it is compared, and a value. A sign before a later `=` belongs to the name of a column, such as `hba1c<7=yes`."""
_AMONG: Final = re.compile(r"([^=<>]*?\S)\s+in\s+(\S[^=<>]*)", re.DOTALL)
_ENDS: Final = {">=": "from", ">": "above", "<=": "to", "<": "below"}
_PERIOD: Final = re.compile(r"[0-9]{4}(-[0-9]{2})?")


def parse_conditions(words: Sequence[str]) -> dict[str, Any]:
    """Read conditions as the service takes them: `age=65`, `age>=65`, `seen in 2024-01..2024-03`, `ward in A,B`.

    Two ends of a range may come apart.

    Raises:
        InputUnusable: if one is none of these, or a column is restricted twice.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, wanted = _condition(word)
        before = found.get(name, {})
        if name in found and not (
            isinstance(before, dict) and isinstance(wanted, dict) and not before.keys() & wanted.keys()
        ):
            message = f"--where {name} is given twice"
            raise InputUnusable(message)
        found[name] = before | wanted if isinstance(wanted, dict) else wanted
    return found


def _condition(word: str) -> tuple[str, Any]:
    plain = word.find("=")
    compared = _COMPARED.fullmatch(word)
    if compared is not None and not 0 <= plain < compared.end(1):
        return compared[1], {_ENDS[compared[2]]: _value(compared[3])}
    among = _AMONG.fullmatch(word)
    if among is not None:
        return among[1], _among(among[2].strip())
    name, _, value = word.partition("=")
    if plain < 1:
        message = (
            f"--where takes COLUMN=VALUE, COLUMN>=VALUE, 'COLUMN in A..B' or 'COLUMN in A,B', not {word!r}"
        )
        raise InputUnusable(message)
    return name, _value(value)


def _among(text: str) -> Any:  # noqa: ANN401 - a range or a list
    """A range `A..B`, a list `A,B`, or one in JSON."""
    low, dots, high = text.partition("..")
    if dots and (low or high):
        ends = {"from": low.strip(), "to": high.strip()}
        return {name: _value(end) for name, end in ends.items() if end}
    value = _value(text)
    return value if isinstance(value, list) else [_value(one.strip()) for one in text.split(",")]


def _value(text: str) -> Any:  # noqa: ANN401 - of any column
    """A value of JSON, but a number or truth value as it is written where JSON would write it otherwise, because it may be a word."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    is_word = isinstance(value, bool | float) or (isinstance(value, int) and str(value) != text)
    return text if is_word else value


def bin_note(name: str, value: object, bounds: str | None) -> str:
    """Say that a value is drawn within its bin, with the bounds of the bin where they are known."""
    within = "" if bounds is None else f", {bounds}"
    return f"{name}={value} fixes its bin{within}: each row has a value drawn within it."


def declared_bin_notes(client: Client, release: str, where: Json) -> list[str]:
    """Say so of the columns of a release of the service, of which the release alone holds bins that were learnt."""
    columns: list[Json] = []
    with suppress(Refused):  # who may draw may not be allowed to read the declaration
        dataset = client.read_dataset(client.read_release(release).dataset_id)
        (domain,) = take(dataset.document, "domain")
        columns = domain.get("columns", [])
    return [
        bin_note(name, where[name], None)
        for column in columns
        for name in (f"{column['name']}.difference" if column.get("difference") else column["name"],)
        if column.get("kind") in _BINNED
        and where.get(name) is not None
        and not isinstance(where[name], dict | list)
        and not _is_special(column, where[name])
        and not (column["kind"] != "numeric" and _PERIOD.fullmatch(str(where[name])))
    ]


def _is_special(column: Json, value: object) -> bool:
    with suppress(ValueError):  # it is a date, or refused
        return float(str(value)) in column.get("specials", ())
    return False


def hidden_lines(client: Client, release: str, where: Json) -> list[str]:
    """Say that the noise of a release hides the rows that meet conditions, if it does."""
    with suppress(Refused):  # the samples themselves are drawn all the same, or refused with the reason
        (hidden,) = take(client.read_precision(release, where=where), "hidden")
        return [f"WARNING: {line}" for line in hidden]
    return []
