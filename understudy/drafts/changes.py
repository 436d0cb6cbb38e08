"""Giving a marked value of a draft another one, as a person writes it, and what follows from it for other values."""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from understudy.drafts.bin_costs import equal_ratio_edges
from understudy.drafts.categories import BOOK
from understudy.drafts.chosen_unit import NO_UNIT, column_or_none, rename_unit, take_unit, take_unit_of_images
from understudy.drafts.code_forms import BOOKS as SHORTENED
from understudy.drafts.code_forms import LETTERS, shortened
from understudy.drafts.countries import BOOKS as COUNTRIES
from understudy.drafts.countries import country_book
from understudy.drafts.dependencies import ELSE, RULES
from understudy.drafts.differences import DIFFERENCE, drop_difference, is_difference
from understudy.drafts.marked_values import Mark
from understudy.drafts.numbers import plain
from understudy.errors import InputUnusable
from understudy.near_names import suggestion
from understudy.table_files import MARK

COMMAS: Final = "commas between words; quotes around a word that has one"
_ALL: Final = "all"
_LEARN: Final = "learn"
_PREFIX: Final = "prefix"
_LONGEST_PREFIX: Final = 200
_KEEP: Final = "keep"
_RECORDS: Final = "records"
MOST_RECORDS: Final = 1000
"""Largest bound on the records of a unit that the service takes."""
_NUMBERED: Final = ("numeric", "categorical", "ordinal")
_MOST_NUMBERED: Final = 60


def category_hints(column: Mapping[str, Any]) -> Iterator[str]:
    """How the categories of a column may be written."""
    yield COMMAS
    if isinstance(column["categories"], list):
        yield "-WORD drops one"
    if (book := _book(column)) is not None:
        label, words = book
        yield f"all lists all {len(words):,} {label}"


def _book(column: Mapping[str, Any]) -> tuple[str, Sequence[str]] | None:
    """Label and words of the public book of a column: the one that its draft names, or that of its countries."""
    if (shortened := SHORTENED.get(str(column.get(BOOK)))) is not None:
        return shortened.label, shortened.words
    listed = column["categories"]
    label = country_book(listed) if isinstance(listed, list) else None
    return None if label is None else (label, COUNTRIES[label])


def change(document: dict[str, Any], mark: Mark, text: str) -> None:
    """Give a marked value of the draft another one, as a person writes it.

    Lists have commas between their words (`quoted`), or drop one word with a dash before it.

    Raises:
        InputUnusable: It cannot be the value; the message names the column.
    """
    if mark.key == "privacy_unit":
        change_unit(document, text)
    elif mark.key == "target":
        document["target"] = None if text.lower() in NO_UNIT else known_column(document, text)["name"]
    elif mark.key == "kind":
        _change_kind(document, mark, text)
    elif mark.key in {_RECORDS, _PREFIX}:
        (_change_records if mark.key == _RECORDS else _change_prefix)(mark, text)
    elif mark.key == DIFFERENCE and text.lower() in NO_UNIT:
        drop_difference(mark.holder)
    else:
        before = mark.holder[mark.key]
        mark.holder[mark.key] = _read(mark, text)
        if (problem := _problem(mark)) is not None:
            mark.holder[mark.key] = before
            raise InputUnusable(f"{mark.place}: {problem}")
        if mark.key == "name":
            _rename(document, before, mark.holder["name"])
        if mark.key in {"lower", "upper", "edges"} and "edges" in mark.holder:
            meet(mark.holder, {mark.key: before})
        if mark.key == "categories":
            leave_the_rest_to_other(mark.holder, before)


def _change_prefix(mark: Mark, text: str) -> None:
    """Change how much of a code counts, and shorten the listed words to it; none for whole codes, of which the common ones are learnt."""
    column, wanted = mark.holder, text.lower()
    if wanted in NO_UNIT:
        mark.accept()
        del column[_PREFIX]
        if column["categories"] != _LEARN:
            column |= {"categories": _LEARN, "other": True}
    elif wanted == LETTERS or (wanted.isdecimal() and 1 <= int(wanted) <= _LONGEST_PREFIX):
        column[_PREFIX] = prefix = wanted if wanted == LETTERS else int(wanted)
        if column["categories"] != _LEARN:
            column["categories"] = list(
                dict.fromkeys(shortened(word, prefix) for word in column["categories"])
            )
    else:
        raise InputUnusable(
            f"{mark.place}: the prefix is a number of characters, 'letters' for the letters at the beginning, or 'none' for whole codes"
        )
    column.pop(BOOK, None)  # it lists codes of the former length


def _change_kind(document: dict[str, Any], mark: Mark, text: str) -> None:
    otherwise = mark.holder.get(ELSE, {}).get("kind")
    if text == otherwise or (text == _KEEP and mark.holder["kind"] == "ignored" and otherwise):
        _keep(mark.holder)
    elif text in {"ignored", "unit"}:
        ignore(document, mark.holder) if text == "ignored" else take_unit(document, str(mark.column))
    elif text in _NUMBERED and (values := _whole_numbers(mark.holder)):
        _change_numbers(mark.holder, text, values)
    else:
        known = ["ignored", "unit", *_NUMBERED, *([otherwise] if otherwise else [])]
        near = "" if text in known else suggestion(text, known)
        raise InputUnusable(
            f"{mark.place}: a kind may be changed to 'ignored' or 'unit' here, and that of at most {_MOST_NUMBERED} whole numbers to"
            f" {', '.join(_NUMBERED)}, of values that mostly are dates to 'date' or 'datetime', of words that mostly are numbers to 'numeric'; another one needs other keys: edit the file, or in Python give all keys of the column{near}"
        )


def _change_records(mark: Mark, text: str) -> None:
    """Change how many records of a unit count: a number, learnt, or none for all of them as one."""
    if text.lower() in NO_UNIT:
        mark.accept()
        mark.holder.pop(_RECORDS)
    elif text == _LEARN:
        mark.holder[_RECORDS] = text
    elif re.fullmatch("[0-9]{1,4}", text) and 1 <= int(text) <= MOST_RECORDS:
        mark.holder[_RECORDS] = int(text)
    else:
        raise InputUnusable(
            f"{mark.place}: records must be {_LEARN}, none, or a whole number from 1 to {MOST_RECORDS}"
        )


def _rename(document: dict[str, Any], before: object, name: str) -> None:
    """Give the new name of a column to what names it."""
    for column in document.get("columns", ()):
        if isinstance(difference := column.get(DIFFERENCE), dict) and difference.get("from") == before:
            difference["from"] = name
    for rule in document.get(RULES, ()):
        for key in {"columns", "parts"} & rule.keys():
            rule[key] = [name if one == before else one for one in rule[key]]
        for key in ("total", "computed"):
            if before is not None and rule.get(key) == before:
                rule[key] = name
    if before is not None and document.get("target") == before:
        document["target"] = name
    rename_unit(document, str(before), name)


def _keep(column: dict[str, Any]) -> None:
    """Model a column that was left out as a copy of another one; its values are asked about."""
    otherwise, marks = column.pop(ELSE), column.pop(MARK, [])
    name = column["name"]
    column.clear()
    asked = [key for key in otherwise.get(MARK, ()) if key != "name" or "name" in marks]
    column |= {"name": name} | otherwise | {MARK: asked}


def leave_the_rest_to_other(column: dict[str, Any], before: object) -> None:
    """Count words that are no longer listed as "other", and the word itself; a list that was learnt has no length any more."""
    if column["categories"] == _LEARN or before == _LEARN:
        column["other"] = column.get("other") or True
        Mark(column, "most", None).accept()
        column.pop("most", None)
    elif not set(before if isinstance(before, list) else ()).issubset(column["categories"]):
        column["other"] = column.get("other") or True
    if column.get("other") and isinstance(column["categories"], list):
        other = "other" if column["other"] is True else column["other"]
        column["categories"] = [word for word in column["categories"] if word != other]


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
    """Let whole numbers be a quantity, codes or levels. What was accepted of the column stays accepted, its values are asked about.

    Special values beyond the bounds, such as -9, are on no scale: among levels they count as missing.
    """
    beyond = []
    if kind == "ordinal" and column["kind"] == "numeric":
        lower, upper = column["lower"], column["upper"]
        beyond = [value for value in column.get("specials", ()) if not lower <= value <= upper]
        values = [value for value in values if value not in beyond]
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
    if beyond:
        column["null"] = "category"
        marks += [key for key in ("null", "unknown") if key not in marks]
    if loses or beyond:
        column["unreadable" if kind == "numeric" else "unknown"] = "null"
    column[MARK] = marks


def meet(column: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Let the first and last edge of a column equal its bounds again, after one of the three was changed; `before` is what it was."""
    edges = column["edges"]
    if "edges" in before:
        column["lower"], column["upper"] = edges[0], edges[-1]
        return
    lower, upper = column["lower"], column["upper"]
    if not lower < upper:
        del column["edges"]  # no edges fit, and the domain refuses such bounds by their name
        return
    earlier = before.get("lower", lower), before.get("upper", upper)
    if column["kind"] == "numeric" and edges == _equal_ratios(column, *earlier) and lower > 0:
        column["edges"] = _equal_ratios(column, lower, upper)
        return
    column["edges"] = [lower, *(edge for edge in edges if lower < edge < upper), upper]


def _equal_ratios(column: Mapping[str, Any], lower: float, upper: float) -> list[float]:
    """Edges of equal ratio between two bounds of a column of numbers; empty where there are none."""
    unit = (
        1.0 if column["type"] == "integer" else 10.0 ** -column["decimals"] if "decimals" in column else None
    )
    return [] if lower <= 0 else [plain(edge) for edge in equal_ratio_edges(lower, upper, unit)]


def change_unit(document: dict[str, Any], text: str) -> None:
    """Let the values of a column be the privacy units of a draft of a table or of images; with "none", its rows.

    Raises:
        InputUnusable: There is no such column.
    """
    if "columns" not in document:
        take_unit_of_images(document, text)
        return
    take_unit(document, column_or_none(text, [str(column["name"]) for column in document["columns"]]))


def known_column(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The column of a name.

    Raises:
        InputUnusable: There is none.
    """
    columns: dict[str, dict[str, Any]] = {
        str(column["name"]): column for column in document.get("columns", ())
    }
    if name not in columns:
        raise InputUnusable(f"there is no column {name!r}{suggestion(name, list(columns))}")
    return columns[name]


def ignore(document: dict[str, Any], column: dict[str, Any]) -> None:
    """Drop a column: what the person says about it comes from the person."""
    name = column["name"]
    is_unit = name is not None and document.get("privacy_unit") == name
    if is_unit:
        take_unit(document, None)
        document[MARK] = ["privacy_unit", *(key for key in document.get(MARK, ()) if key != "privacy_unit")]
    column.clear()
    column |= {"name": name, "kind": "ignored"}
    if document.get("target") == name:
        document["target"] = None


def _read(mark: Mark, text: str) -> Any:  # noqa: ANN401 - any value of JSON
    before = mark.holder[mark.key]
    if mark.key == "categories":
        return read_categories(mark.holder, text)
    try:
        if isinstance(before, dict):
            return _read_object(text)
        if isinstance(before, bool):
            return {"yes": True, "true": True, "no": False, "false": False}[text.lower()]
        if isinstance(before, list):
            return _read_list(before, text)
        if isinstance(before, int | float):
            number = _finite(text)
            return int(number) if number.is_integer() else number
    except (KeyError, ValueError):
        wanted = "yes or no" if isinstance(before, bool) else "a finite number"
        if isinstance(before, list):
            wanted = "finite numbers with commas between them"
        if isinstance(before, dict):
            wanted = f"an object such as {json.dumps(before, ensure_ascii=False)}"
        raise InputUnusable(f"{mark.place}: {mark.key} must be {wanted}") from None
    return text


def _read_object(text: str) -> dict[str, Any]:
    """An object of JSON, such as the format of numbers."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError  # noqa: TRY004 - like the error of a text that is no JSON
    return found


def read_categories(column: Mapping[str, Any], text: str) -> Any:  # noqa: ANN401 - a list, or the word that says that it is learnt
    """Return the words that a text gives a column: a list with commas, one word less, all words of a public book, or "learn".

    Raises:
        InputUnusable: No known book has the column's words.
    """
    listed = column["categories"] if isinstance(column["categories"], list) else []
    if text == _LEARN:
        return text
    if (left := _without(listed, text)) is not None:
        return left
    if text == _ALL and _ALL not in map(str, listed):
        if (book := _book(column)) is None:
            message = (
                f"column {column.get('name')!r}: no public list is known that has its words; give the words"
            )
            raise InputUnusable(message)
        return [*book[1], *(word for word in listed if word not in book[1])]
    return _items(text)


def _read_list(before: list[Any], text: str) -> list[Any]:
    if (left := _without(before, text)) is not None:
        return left
    numbers = bool(before) and all(isinstance(item, int | float) for item in before)
    return [_finite(item) for item in _items(text)] if numbers else _items(text)


def _without(listed: list[Any], text: str) -> list[Any] | None:
    """A list without the word after a dash; None if the text is no such answer."""
    left = [item for item in listed if text[1:] not in {str(item), quoted(item)}]
    return left if text.startswith("-") and len(left) < len(listed) else None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def quoted(value: object) -> str:
    """A value as a person writes it in a list: as in CSV, in quotes if it is empty, or has a comma, a quotation mark or outer blanks."""
    text = str(value)
    is_plain = text and text == text.strip() and not {",", '"'} & {*text}
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """The text that `quoted` shows so; any other text unchanged."""
    items = _items(text)
    return items[0] if [quoted(item) for item in items] == [text] else text


def _items(text: str) -> list[str]:
    """The words of a list as `quoted` writes them; blanks around other words do not count.

    Raises:
        InputUnusable: The text has a line break outside quotes, or is longer than a field of CSV.
    """
    try:
        items = [item for row in csv.reader([text], skipinitialspace=True) for item in row]
    except csv.Error:
        raise InputUnusable("a list is one short line, with commas between its words") from None
    return [item if quoted(item) in text else item.strip() for item in items]


def _problem(mark: Mark) -> str | None:
    """Problem with a changed value, as far as it shows without the rows."""
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
    if mark.key == DIFFERENCE:
        return (
            None
            if is_difference(value)
            else "a difference has 'from' and finite 'lower' and 'upper' in order"
        )
    if mark.key == "declared_size":
        is_size = isinstance(value, int) and value >= 1
        return None if is_size else "the size is a whole number, 1 or more"
    is_list = mark.key in {"categories", "levels", "labels"} and value != _LEARN
    return "the list needs words, each once" if is_list and not 0 < len(set(value)) == len(value) else None
