"""A draft as shown in Python: everything that accepting it makes public, above all the words of its columns.

A person cannot refuse what is not shown: accepting a draft makes each of its values public.
"""

import json
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.confirmation import shown_rule
from understudy.drafts.dependencies import DURATION, MISSING_TOGETHER, ORDER, RULES, SKIPPED
from understudy.drafts.differences import DIFFERENCE
from understudy.drafts.hints import target_line
from understudy.plain_text import one_line
from understudy.table_files import DECLARED_SIZE, MARK

MOST_SHOWN: Final = 20
"""Maximum words, values and pairs of a column that are shown; only their number is shown beyond that."""
WIDTH: Final = 96
"""Maximum width of the text, in characters."""
_INDENT: Final = 4
_FEWEST_ALIKE: Final = 3
"""Minimum run of columns, alike but for their names, that share one row."""

_SAID: Final = (
    ("type", "integer"),
    ("type", "real"),
    ("other", True),
    ("other", False),
    ("null", "category"),
    ("unreadable", "null"),
    ("unknown", "null"),
    ("infinite", "null"),
)
"""Keys with sentences of their own, or without meaning for a reader."""

Column = Mapping[str, Any]


def table_lines(document: Mapping[str, Any], *, unit: str) -> list[str]:
    """Sentences on what a draft declares of the whole table; `unit` is the one on its privacy unit."""
    columns = document["columns"]
    size = document.get(DECLARED_SIZE)
    counted = "rows" if document.get("privacy_unit") is None else "privacy units"
    many = "column" if len(columns) == 1 else "columns"
    public = (
        f"Draft of {len(columns)} {many}, to be accepted. Everything below comes from the rows, and accepted values become public:"
        " whoever sees a release may see them."
    )
    counted_as = f"Declared size: {size}, the number of {counted} that formulas use, to two digits."
    return [public, target_line(document), unit, counted_as, *_missing(document)]


def _missing(document: Mapping[str, Any]) -> Iterator[str]:
    """The texts that mean "missing" in every column, and the treatment of blanks."""
    words = (document.get("csv") or {}).get("null_values", [""])
    listed = (
        ", ".join(
            "an empty text" if word == "" else one_line(json.dumps(word, ensure_ascii=False))
            for word in words
        )
        or "none"
    )
    blanks = " Blanks around texts are dropped." if (document.get("csv") or {}).get("strip_spaces") else ""
    yield f"Texts taken as missing in every column: {listed}.{blanks}"


def rule_lines(document: Mapping[str, Any]) -> list[str]:
    """Drafted rules with their pairs, which become public too; one line per rule."""
    return [
        f"{one_line(shown_rule(rule, most=MOST_SHOWN))}."
        for rule in document.get(RULES) or ()
        if rule.get("kind") in {"determines", "sum"}
        or (rule.get("kind") in {ORDER, DURATION, MISSING_TOGETHER, SKIPPED} and MARK in rule)
    ]


def column_rows(document: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, kind, declared values and note of each column; a run of three or more columns that are alike but for their names shares a row."""
    rows: list[tuple[str, str, str, str]] = []
    for (kind, declared, note), columns in groupby(document["columns"], key=_shown):
        names = [str(column["name"]) for column in columns]
        listed = names if len(names) < _FEWEST_ALIKE else [", ".join(map(_quoted, names))]
        rows += [(one_line(name), kind, declared, note) for name in listed]
    return rows


def _shown(column: Column) -> tuple[str, str, str]:
    """Kind, declared values and note of a column."""
    return str(column["kind"]), one_line("; ".join(_declared(column))), one_line(str(column.get(NOTE, "")))


def text_of(rows: Sequence[Sequence[str]], *, before: Sequence[str], after: Sequence[str]) -> str:
    """A draft as text of at most `WIDTH` columns: the rows of `column_rows` between sentences."""
    lines = [line for sentence in before if sentence for line in _wrapped(sentence, indent=0)]
    lines.append("")
    for name, kind, declared, note in rows:
        lines += _wrapped(f"{name} | {kind}{f' | {declared}' if declared else ''}", indent=2)
        lines += _wrapped(note, indent=2 + _INDENT) if note else []
    lines += ["", *(line for sentence in after for line in _wrapped(sentence, indent=0))] if after else []
    return "\n".join(lines)


def _wrapped(text: str, *, indent: int) -> list[str]:
    pad = " " * indent
    further = pad + " " * _INDENT if indent == 2 else pad  # noqa: PLR2004 - names of columns stand out
    return textwrap.wrap(text, WIDTH, initial_indent=pad, subsequent_indent=further, break_on_hyphens=False)


def _declared(column: Column) -> Iterator[str]:
    """The declared values of a column, part by part; keys without a sentence are shown as they are."""
    left = {key: value for key, value in column.items() if key not in {"name", "kind"} and key[0] != "_"}
    yield from _ends(left)
    if left.get("type") == "integer":
        yield "whole numbers"
    yield from _listed("special values", left.pop("specials", None))
    if "records" in left:
        records = left.pop("records")
        yield f"records {'learnt' if records == 'learn' else records}"
    for key, title in (("categories", "words"), ("levels", "levels in order")):
        words = left.pop(key, None)
        if words == "learn":
            yield f"learnt, at most {left.pop('most', None)} words"
        else:
            yield from _listed(title, words)
    if (prefix := left.pop("prefix", None)) is not None:
        yield (
            "shortened to the letters at the beginning"
            if prefix == "letters"
            else f"shortened to {prefix} characters"
        )
    if column["kind"] == "boolean":
        yield f"true is {_quoted(left.pop('true', 'true'))}, false is {_quoted(left.pop('false', 'false'))}"
    if left.get("other") is True:
        yield "any other word is 'other'"
    if left.get("null") == "category":
        yield "may be missing"
    if "null" in {left.get("unreadable"), left.get("unknown"), left.get("infinite")}:
        yield "anything else is missing"
    patterns = left.pop("patterns", None)
    yield from _other_keys(left, said=[key for key, value in _SAID if left.get(key) == value])
    yield from _listed("counted like columns of their own:", patterns)


def _ends(left: dict[str, Any]) -> Iterator[str]:
    """The bounds of a column and of its difference, which are removed from its keys."""
    if (distance := left.pop(DIFFERENCE, None)) is not None:
        yield f"{distance.get('lower')} to {distance.get('upper')} from {distance.get('from')}"
        yield from _listed("special distances", distance.get("specials"))
        yield from _other_keys(distance, said=("lower", "upper", "from", "specials"))
    if "lower" in left:
        bins = {"log": ", bins that widen from the lower bound on"}.get(left.pop("spacing", ""), "")
        if left.get("bins") == "learn":
            bins = ", bins learnt"
            del left["bins"]
        yield f"{left.pop('lower')} to {left.pop('upper')}{bins}"


def _other_keys(declared: Mapping[str, Any], *, said: Collection[str]) -> Iterator[str]:
    for key, value in declared.items():
        if key not in said:
            yield f"{key} {_quoted(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _listed(title: str, words: object) -> Iterator[str]:
    if isinstance(words, list) and words:
        more = f" and {len(words) - MOST_SHOWN:,} more" if len(words) > MOST_SHOWN else ""
        yield f"{title} {', '.join(map(_quoted, words[:MOST_SHOWN]))}{more}"


def _quoted(word: object) -> str:
    """A word, quoted if it is empty or has blanks at its ends."""
    text = str(word)
    plain = text and text == text.strip() and not set(text) & set(',;"|')
    return text if plain and not text.startswith("?") else json.dumps(text, ensure_ascii=False)
