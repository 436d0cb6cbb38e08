"""Confirming a draft of a domain in a terminal: a person accepts or edits every value that was taken from the rows.

A mark is a key that a draft lists under ``_from_data``. Accepting it says that its value may be public. What was accepted stays
accepted when the person stops and goes on later: the file with fewer marks is the whole state.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final, Literal

from understudy.code_forms import BOOKS as SHORTENED
from understudy.countries import BOOKS as COUNTRIES
from understudy.countries import country_book
from understudy.errors import InputUnusable
from understudy.near_names import suggestion
from understudy.table_files import MARK

KINDS: Final = ("unit", "size", "target", "file", "names", "kinds", "bounds", "words")
"""Kinds of marked values, in the order in which a person is asked."""
_MEANING: Final = {
    "unit": "Whose presence is hidden: one row, or all rows that share a value of this column. If a person has several rows, name the column that says whose they are.",
    "size": "The number of people (or rows) that formulas use, and that everybody may know. A round number says less than the exact one.",
    "target": "The column that others will want to predict. Relations with it come out better, at no cost. It may be none.",
    "file": "How the file is written, and which texts mean that a value is missing.",
    "names": "The names of the columns. They are public.",
    "kinds": "What each column holds. An ignored column is dropped on arrival and never stored.",
    "bounds": "The smallest and largest value. Say what is possible, not what occurs: an upper bound of 107 tells that somebody is 107. Values beyond count as the bound; wider bounds make bins coarser.",
    "words": "The words of a column. A word that few people have reveals that somebody has it: drop it, and it counts as 'other'. The whole code book of a catalogue reveals nothing.",
}
_KIND_OF: Final = {
    "privacy_unit": "unit", "declared_size": "size", "target": "target", "name": "names", "lower": "bounds", "upper": "bounds",
    "edges": "bounds", "specials": "bounds", "categories": "words", "levels": "words", "true": "words", "false": "words",
    "labels": "words",
}  # fmt: skip
_NONE: Final = frozenset({"none", "null", "-"})
_LONG = 12
_ALL: Final = "all"
_LEARN: Final = "learn"
_BOOK: Final = "_book"
_NUMBERED: Final = ("numeric", "categorical", "ordinal")
_MOST_NUMBERED: Final = 60

Ask = Callable[[str], str | None]
"""Asks a question; None if nobody answers any more."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Mark:
    """One marked value.

    Attributes:
        holder: The object of the document that holds it.
        key: Its key.
        column: Name of its column; None outside columns.
    """

    holder: dict[str, Any] = field(repr=False)
    key: str
    column: str | None

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        if (
            self.column is None
            and self.key not in _KIND_OF
            and "delimiter" not in self.holder
            and "null_values" not in self.holder
        ):
            return "kinds"
        return _KIND_OF.get(self.key, "file" if self.column is None else "kinds")

    @property
    def place(self) -> str:
        """Where it stands, for a person."""
        return f"column {self.column!r}" if self.column is not None else self.key

    def accept(self) -> None:
        """Take the mark away: the value may be public."""
        listed = self.holder.get(MARK)
        left = [key for key in listed if key != self.key] if isinstance(listed, list) else []
        if left:
            self.holder[MARK] = left
        else:
            self.holder.pop(MARK, None)


class Quit(Exception):
    """The person stops; what was accepted stays accepted."""


def marks_of(document: dict[str, Any]) -> list[Mark]:
    """Return all marks of a draft of a table or of images, by kind, then in the order of the file."""
    csv = document.get("csv")
    columns = document.get("columns")
    holders: list[tuple[dict[str, Any], str | None]] = [(document, None)]
    holders += [(csv, None)] if isinstance(csv, dict) else []
    holders += [(column, str(column.get("name"))) for column in columns or () if isinstance(column, dict)]
    marks = [Mark(holder, key, name) for holder, name in holders for key in _keys(holder)]
    return sorted(marks, key=lambda mark: KINDS.index(mark.kind))


def _keys(holder: dict[str, Any]) -> Iterator[str]:
    if MARK not in holder:
        return
    listed = holder[MARK]
    # A mark without a list marks the whole object.
    whole = not isinstance(listed, list) or not listed
    yield from (key for key in holder if not key.startswith("_")) if whole else (str(key) for key in listed)


def accept_kinds(document: dict[str, Any], kinds: Sequence[str]) -> None:
    """Accept all marked values of some kinds.

    Args:
        document: The draft, which is changed.
        kinds: Of `KINDS`, or "all".

    Raises:
        InputUnusable: There is no such kind.
    """
    for kind in kinds:
        if kind not in {*KINDS, "all"}:
            raise InputUnusable(f"--accept takes {', '.join(KINDS)} or all{suggestion(kind, KINDS)}")
    for mark in marks_of(document):
        if "all" in kinds or mark.kind in kinds:
            mark.accept()


def walk(document: dict[str, Any], ask: Ask, say: Say) -> None:
    """Ask about every mark that is left.

    Args:
        document: The draft, which is changed.
        ask: Asks one question.
        say: Shows one line.

    Raises:
        Quit: The person stops, or nobody answers any more.
    """
    for kind in KINDS:
        # A column may have been dropped meanwhile, and its other marks with it.
        while marks := [mark for mark in marks_of(document) if mark.kind == kind]:
            say(f"\n{kind.upper()} ({len(marks)} to confirm)")
            if kind in {"names", "kinds", "file"}:
                _ask_together(document, marks, ask, say)
            else:
                _ask_each(document, marks, ask, say)


def _ask_together(document: dict[str, Any], marks: Sequence[Mark], ask: Ask, say: Say) -> None:
    kind = marks[0].kind
    for column, group in groupby(marks, key=lambda mark: None if kind == "names" else mark.column):
        said = ", ".join(_shown(mark) for mark in group)
        say(f"  {said}" if column is None else f"  {column}: {said}")
    while True:
        match _answer(ask, "  [Enter] accept all, [o]ne by one, [?] explain, [q]uit: "):
            case "" | "a" | "y":
                for mark in marks:
                    mark.accept()
                return
            case "o":
                _ask_each(document, marks, ask, say)
                return
            case "?":
                say(f"  {_MEANING[kind]}")
            case _:
                say("  Answer with Enter, o, ? or q.")


def _ask_each(document: dict[str, Any], marks: Sequence[Mark], ask: Ask, say: Say) -> None:
    groups = [list(group) for _, group in groupby(marks, key=lambda mark: mark.column)]
    for place, group in enumerate(groups):
        if _ask_one(document, group, len(groups) - place, ask, say) == "all":
            for mark in (mark for rest in groups[place:] for mark in rest):
                mark.accept()
            return


def _ask_one(
    document: dict[str, Any], group: Sequence[Mark], left: int, ask: Ask, say: Say
) -> Literal["one", "all"]:
    """Ask about the marks of one place until they are accepted, or their column is dropped."""
    column = group[0].holder if group[0].column is not None else None
    ignore = "" if column is None else "[i]gnore the column, "
    while group[0].holder.get(MARK) is not None:
        head = "" if column is None else f"{group[0].column} ({column['kind']}): "
        say(f"  {head}{', '.join(_shown(mark) for mark in group if mark.key in mark.holder)}")
        note = group[0].holder.get("_note") if column is not None else _why_unit(document, group)
        if note:
            say(f"    {note}")
        match _answer(
            ask, f"  [Enter] accept, [e]dit, {ignore}[a]ccept all {left} left, [?] explain, [q]uit: "
        ):
            case "" | "y":
                for mark in group:
                    mark.accept()
                break
            case "a":
                return "all"
            case "e":
                _edit(document, group, ask, say)
            case "i" if column is not None:
                _ignore(document, column)
            case "?":
                say(f"  {_MEANING[group[0].kind]}")
            case _:
                say("  Answer with Enter, e, i, a, ? or q.")
    return "one"


def _why_unit(document: Mapping[str, Any], group: Sequence[Mark]) -> str:
    """Why the privacy unit was proposed: the sentences of the document's note after its first."""
    return str(document.get("_note", "")).partition(". ")[2] if group[0].kind == "unit" else ""


def _edit(document: dict[str, Any], group: Sequence[Mark], ask: Ask, say: Say) -> None:
    for mark in group:
        if mark.key not in mark.holder:
            continue  # another kind, which was just chosen, has no such key
        value = mark.holder[mark.key]
        hint = " (commas between words; -WORD drops one)" if isinstance(value, list) else ""
        if mark.key == "categories":
            hint = f" ({'; '.join(_category_hints(mark.holder))})"
        text = _answer(ask, f"    {mark.key} [{_value(value)}]{hint}: ")
        if not text:
            continue
        try:
            change(document, mark, text)
        except InputUnusable as error:
            say(f"    {error}")
            return
        if (
            mark.key in {"lower", "upper"}
            and mark.holder["kind"] == "numeric"
            and "bins" not in mark.holder
            and "edges" not in mark.holder
        ):
            width = (mark.holder["upper"] - mark.holder["lower"]) / 32
            say(
                f"    With 32 bins of {width:.3g}, a median may be off by that much, and values beyond count as the bound."
            )


def _category_hints(column: Mapping[str, Any]) -> Iterator[str]:
    yield "commas between words"
    if isinstance(column["categories"], list):
        yield "-WORD drops one"
    if (book := _book(column)) is not None:
        label, words = book
        yield f"all lists all {len(words):,} {label}"


def _book(column: Mapping[str, Any]) -> tuple[str, Sequence[str]] | None:
    """Label and words of the public book of a column: the one that its draft names, or that of its countries."""
    if (shortened := SHORTENED.get(str(column.get(_BOOK)))) is not None:
        return shortened.label, shortened.words
    listed = column["categories"]
    label = country_book(listed) if isinstance(listed, list) else None
    return None if label is None else (label, COUNTRIES[label])


def _answer(ask: Ask, question: str) -> str:
    answer = ask(question)
    if answer is None or answer.strip() == "q":
        raise Quit
    return answer.strip()


def change(document: dict[str, Any], mark: Mark, text: str) -> None:
    """Give a marked value another one, as a person writes it.

    Args:
        document: The draft, which is changed.
        mark: The value's.
        text: The new value; lists have commas between their words, or drop one word with a dash before it.

    Raises:
        InputUnusable: It cannot be the value; the message names the column.
    """
    if mark.key == "privacy_unit":
        _change_unit(document, text)
    elif mark.key == "target":
        document["target"] = None if text.lower() in _NONE else _known_column(document, text)["name"]
    elif mark.key == "kind":
        if text in {"ignored", "unit"}:
            _ignore(document, mark.holder) if text == "ignored" else _change_unit(document, str(mark.column))
        elif text in _NUMBERED and (values := _whole_numbers(mark.holder)):
            _change_numbers(mark.holder, text, values)
        else:
            known = ["ignored", "unit", *_NUMBERED]
            near = "" if text in known else suggestion(text, known)
            raise InputUnusable(
                f"{mark.place}: a kind may be changed to 'ignored' or 'unit' here, and that of at most {_MOST_NUMBERED} whole numbers to"
                f" {', '.join(_NUMBERED)}; another one needs other keys: edit the file, or in Python give all keys of the column{near}"
            )
    else:
        before = mark.holder[mark.key]
        mark.holder[mark.key] = _read(mark, text)
        if (problem := _problem(mark)) is not None:
            mark.holder[mark.key] = before
            raise InputUnusable(f"{mark.place}: {problem}")
        if mark.key == "name":
            document |= {
                key: mark.holder["name"]
                for key in ("target", "privacy_unit")
                if before is not None and document.get(key) == before
            }
        if mark.key in {"lower", "upper", "edges"} and "edges" in mark.holder:
            _meet(mark.holder, mark.key)
        if mark.key == "categories":
            _leave_the_rest_to_other(mark.holder, before)


def _leave_the_rest_to_other(column: dict[str, Any], before: object) -> None:
    """Count words that are no longer listed as "other"; a list that was learnt has no length any more."""
    if column["categories"] == _LEARN or before == _LEARN:
        column["other"] = column.get("other") or True
        Mark(column, "most", None).accept()
        column.pop("most", None)
    elif not set(before if isinstance(before, list) else ()).issubset(column["categories"]):
        column["other"] = column.get("other") or True


def _whole_numbers(column: Mapping[str, Any]) -> list[int]:
    """The whole numbers that a column may hold; empty where it holds other values, or too many."""
    if column["kind"] == "numeric" and column.get("type") == "integer" and "lower" in column:
        lower, upper = int(column["lower"]), int(column["upper"])
        values = range(lower, upper + 1) if upper - lower < _MOST_NUMBERED else ()
        return sorted({*values, *map(int, column.get("specials", ()))}) if values else []
    words = column.get("categories", column.get("levels", ()))
    if not isinstance(words, list) or not all(re.fullmatch("-?[0-9]{1,9}", str(word)) for word in words):
        return []
    return sorted(map(int, words))


def _change_numbers(column: dict[str, Any], kind: str, values: Sequence[int]) -> None:
    """Let whole numbers be a quantity, codes or levels. What was accepted of the column stays accepted, its values are asked about."""
    kept = {key: column[key] for key in ("name", "null") if key in column}
    marks = [key for key in column.get(MARK, ()) if key in kept]
    loses = "null" in {column.get("unreadable"), column.get("unknown")}
    column.clear()
    column |= kept | {"kind": kind}
    if kind == "numeric":
        column |= {"type": "integer", "lower": values[0], "upper": values[-1]}
        marks += ["lower", "upper"]
    else:
        key = {"categorical": "categories", "ordinal": "levels"}[kind]
        column[key] = [str(value) for value in values]
        marks.append(key)
    if loses:
        column["unreadable" if kind == "numeric" else "unknown"] = "null"
    column[MARK] = marks


def _meet(column: dict[str, Any], changed: str) -> None:
    """Let the first and last edge equal the bounds again, after one of the three was changed."""
    edges = column["edges"]
    if changed == "edges":
        column["lower"], column["upper"] = edges[0], edges[-1]
        return
    lower, upper = column["lower"], column["upper"]
    column["edges"] = [lower, *(edge for edge in edges if lower < edge < upper), upper]


def _change_unit(document: dict[str, Any], text: str) -> None:
    column = None if text.lower() in _NONE else _known_column(document, text)
    for other in document["columns"]:
        if other.get("kind") == "unit" and other is not column:
            _ignore(document, other)
    document["privacy_unit"] = None if column is None else column["name"]
    if column is not None:
        name = column["name"]
        column.clear()
        column |= {"name": name, "kind": "unit"}


def _known_column(document: dict[str, Any], name: str) -> dict[str, Any]:
    columns: dict[str, dict[str, Any]] = {
        str(column["name"]): column for column in document.get("columns", ())
    }
    if name not in columns:
        raise InputUnusable(f"there is no column {name!r}{suggestion(name, list(columns))}")
    return columns[name]


def _ignore(document: dict[str, Any], column: dict[str, Any]) -> None:
    """Drop a column: what the person says about it comes from the person."""
    name = column["name"]
    column.clear()
    column |= {"name": name, "kind": "ignored"}
    for key in ("target", "privacy_unit"):
        if document.get(key) == name:
            document[key] = None


def _read(mark: Mark, text: str) -> Any:  # noqa: ANN401 - any value of JSON
    before = mark.holder[mark.key]
    if mark.key == "categories":
        return _read_categories(mark.holder, text)
    try:
        if isinstance(before, bool):
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        if isinstance(before, list):
            return _read_list(before, text)
        if isinstance(before, int | float):
            number = float(text)
            return int(number) if number.is_integer() else number
    except (KeyError, ValueError):
        wanted = "yes or no" if isinstance(before, bool) else "a number"
        raise InputUnusable(f"{mark.place}: {mark.key} must be {wanted}") from None
    return text


def _read_categories(column: Mapping[str, Any], text: str) -> Any:  # noqa: ANN401 - a list, or the word that says that it is learnt
    listed = column["categories"] if isinstance(column["categories"], list) else []
    if text == _LEARN:
        return text
    if text.startswith("-") and text[1:] in map(str, listed):
        return [item for item in listed if str(item) != text[1:]]
    if text == _ALL and (book := _book(column)) is not None:
        return [*book[1], *(word for word in listed if word not in book[1])]
    return _items(text)


def _read_list(before: list[Any], text: str) -> list[Any]:
    if text.startswith("-") and text[1:] in map(str, before):
        return [item for item in before if str(item) != text[1:]]
    numbers = bool(before) and all(isinstance(item, int | float) for item in before)
    return [float(item) for item in _items(text)] if numbers else _items(text)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


def _problem(mark: Mark) -> str | None:
    """What is wrong with a changed value, as far as it shows without the rows."""
    holder, value = mark.holder, mark.holder[mark.key]
    if mark.key in {"lower", "upper"}:
        if isinstance(value, str):
            try:
                (date if holder["kind"] == "date" else datetime).fromisoformat(value)
            except ValueError:
                return f"{mark.key} must be a {holder['kind']} such as {'2020-12-31' if holder['kind'] == 'date' else '2020-12-31T23:59:00'}"
        elif holder.get("type") == "integer" and not float(value).is_integer():
            return f"{mark.key} of a column of whole numbers must be whole"
        return None if holder["lower"] < holder["upper"] else "lower must be below upper"
    if mark.key in {"categories", "levels", "labels"} and value != _LEARN:
        return None if value and len(set(value)) == len(value) else "the list needs words, each once"
    if mark.key == "declared_size":
        return None if isinstance(value, int) and value >= 1 else "the size is a whole number, 1 or more"
    return None


def _shown(mark: Mark) -> str:
    value = _value(mark.holder[mark.key])
    return value if mark.key == "name" or (mark.key == "kind" and mark.column) else f"{mark.key} {value}"


def _value(value: object) -> str:
    if isinstance(value, list):
        shown = ", ".join(_quoted(item) for item in value[:_LONG])
        return f"{shown} ... ({len(value)} in all)" if len(value) > _LONG else shown
    if isinstance(value, bool | None):
        return {True: "yes", False: "no", None: "none"}[value]
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _quoted(value)


def _quoted(value: object) -> str:
    """A value, in quotes where it would not be seen without: an empty text, blanks at its ends, a comma."""
    text = str(value)
    return f'"{text}"' if text != text.strip() or text in {"", ","} else text
