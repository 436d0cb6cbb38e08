"""The privacy unit of a draft and all that follows from it: its column, the declared size, the notes.

Drafting and a person's change take the same way (`take_unit`). A person may name another unit where the rows are no longer read,
so a draft keeps under ``_units`` how many values each column has.
"""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from understudy.drafts.bounds import FEWEST_ROWS_OF_A_DRAFT
from understudy.drafts.categories import NOTE
from understudy.drafts.facts import Facts
from understudy.drafts.hints import WARNINGS, few_rows
from understudy.drafts.units import SEVERAL
from understudy.errors import InputUnusable
from understudy.near_names import suggestion
from understudy.table_files import DECLARED_SIZE, MARK

Document = dict[str, Any]

UNITS: Final = "_units"
"""Key of a draft under which it has how many rows there are, how many values each column has, and the sentences of its note on the unit."""
NO_UNIT: Final = frozenset({"none", "null", "-"})
"""Answers that each row is protected by itself."""
_ROWS, _DRAFTED_FOR, _SAID, _VALUES = "rows", "drafted_for", "said", "values"
_SIZE, _EACH, _MISSING, _MAY_BE = "size", "rows_each", "missing", "candidate"
_MOST_ROWS_LEARNT: Final = 2_000_000
"""Rows up to which the bound on records is learnt, because a learnt domain needs all rows in memory."""
_WHOSE_COLUMN: Final = "Says whose row it is: kept sealed, never modelled or released."
_RECORDS_LEARNT: Final = (
    "How many rows of a unit count is learnt, for at most 2 % of a release's budget, and synthetic rows are like these rows; without `records` all "
    "rows of a unit count as one. Leave `records` out if you will order a training that takes no bound on them: of a private classifier, with a critic"
    " (`profile=idpgan`), or that chooses the best of several candidates."
)
_WHOSE: Final = "An identifier that repeats. If it says whose row it is, make it the privacy unit."
_WHOSE_ELSE: Final = "An identifier that repeats. If it says whose row it is, make it the privacy unit; else ignore it, unless its values may be released."
_HOLDS_NOTHING: Final = "column {!r} holds nothing that could say whose row it is"
_WAS_UNIT: Final = "It was the privacy unit. It identifies, so it is left out."


def facts_of_units(
    facts: Mapping[str, Facts], *, candidates: Collection[str], drafted_for: str | None
) -> Document:
    """The number of rows and of each column's values, as a draft keeps them for a change of the privacy unit.

    Args:
        candidates: Names of those that may say whose row it is.
        drafted_for: The column whose values are the units by which bounds were chosen; None for rows.
    """
    values: dict[str, Document] = {}
    for name, fact in facts.items():
        if not _holds_units(fact):
            continue
        each = 1.0 if fact.unique else max(1.01, float(f"{fact.present / fact.distinct:.3g}"))
        values[name] = {_SIZE: _size(fact.distinct), _EACH: each}
        values[name] |= {_MISSING: True} if fact.present < fact.rows else {}
        values[name] |= {_MAY_BE: True} if name in candidates else {}
    rows = max((fact.rows for fact in facts.values()), default=0)
    return {_ROWS: _size(rows), _DRAFTED_FOR: drafted_for, _VALUES: values}


def facts_of_image_units(images: int, units: Mapping[str, int]) -> Document:
    """The number of images and of each column's values, as a draft of images keeps them for a change of the privacy unit."""
    return {_ROWS: _size(images), _VALUES: {name: {_SIZE: _size(many)} for name, many in units.items()}}


def _size(many: int) -> int:
    """The number of units, to two digits; a small one stays exact, as in the warning of few rows."""
    return many if many < FEWEST_ROWS_OF_A_DRAFT else nice_size(many)


def nice_size(rows: int) -> int:
    """The number of rows to two significant digits, and to tens at least.

    One digit would be wrong by up to a third: utility reports count half of that as an error of every column.
    """
    unit = int(max(10, 10 ** (len(str(rows)) - 2)))
    return max(1, (rows + unit // 2) // unit) * unit


def take_unit(document: Document, name: str | None) -> None:
    """Let the values of a column be the privacy units of a draft, with everything that a draft with this unit says; with None, the rows.

    The earlier unit's column is left out. A draft that does not know how many units there are loses the size that counted others.

    Raises:
        InputUnusable: The column holds nothing.
    """
    if name is not None and UNITS in document and not _known(document, name):
        raise InputUnusable(_HOLDS_NOTHING.format(name))
    is_new = document.get("privacy_unit") != name or DECLARED_SIZE not in document
    if not is_new and (
        name is None or any(one["name"] == name and one["kind"] == "unit" for one in document["columns"])
    ):
        return
    for column in document["columns"]:
        if column["name"] == name:
            column.clear()
            column |= {"name": name, **_unit_column(document, str(name))}
        elif column.get("kind") == "unit":
            other = column["name"]
            column.clear()
            column |= {"name": other, "kind": "ignored", NOTE: _WAS_UNIT}
    document["privacy_unit"] = name
    if name is not None and document.get("target") == name:
        document["target"] = None
    _declare_size(document)
    point_at_candidates(document)
    _retell(document)


def take_unit_of_images(document: Document, text: str) -> None:
    """Let the values of a column be the privacy units of a draft of images; with "none", the images.

    Raises:
        InputUnusable: There is no such column.
    """
    name = column_or_none(text, document.get(UNITS, {}).get(_VALUES, {}))
    if name != document.get("privacy_unit"):
        document["privacy_unit"] = name
        _declare_size(document)


def _unit_column(document: Document, name: str) -> dict[str, Any]:
    """The unit column, with a learnt bound on records where units have several."""
    found = _known(document, name)
    missing = " Rows without one are refused." if _MISSING in found else ""
    has_several = found.get(_EACH, SEVERAL) >= SEVERAL
    if not has_several or document.get(UNITS, {}).get(_ROWS, 0) > _MOST_ROWS_LEARNT:
        return {"kind": "unit", NOTE: f"{_WHOSE_COLUMN}{missing}", MARK: ["name", "kind"]}
    return {
        "kind": "unit",
        "records": "learn",
        NOTE: f"{_WHOSE_COLUMN}{missing} {_RECORDS_LEARNT}",
        MARK: ["name", "kind", "records"],
    }


def _declare_size(document: Document) -> None:
    """Declare how many units there are, and warn of few."""
    name = document["privacy_unit"]
    size = document.get(UNITS, {}).get(_ROWS) if name is None else _known(document, name).get(_SIZE)
    document.pop(WARNINGS, None)
    if size is not None:
        document[DECLARED_SIZE] = nice_size(size)
        if "columns" in document and (
            few := few_rows(size, of="rows" if name is None else f"values of {name!r}")
        ):
            document[WARNINGS] = few
    else:
        document.pop(DECLARED_SIZE, None)
    marks = [key for key in document.get(MARK, ()) if key != DECLARED_SIZE or DECLARED_SIZE in document]
    if size is not None and DECLARED_SIZE not in marks:
        marks.append(DECLARED_SIZE)
    if marks:
        document[MARK] = marks
    else:
        document.pop(MARK, None)


def point_at_candidates(document: Document) -> None:
    """Let the notes of columns that may be the privacy unit say so, as long as there is none."""
    are_open = document.get("privacy_unit") is None
    for column in document["columns"]:
        note = str(column.get(NOTE, ""))
        for said in (_WHOSE, _WHOSE_ELSE):
            note = note.removeprefix(said).lstrip()
        if are_open and _MAY_BE in _known(document, column["name"]):
            note = f"{_WHOSE if column['kind'] == 'ignored' else _WHOSE_ELSE} {note}".rstrip()
        if note or NOTE in column:
            column[NOTE] = note


def unit_sentence(document: Mapping[str, Any]) -> str:
    """Why the privacy unit of a draft is what it is, as far as the draft knows."""
    name = document.get("privacy_unit")
    if name is not None:
        each = _known(document, name).get(_EACH)
        how = (
            "."
            if each is None
            else ", and no two rows have the same one."
            if each == 1
            else f", which stands in {each:.2g} rows on average."
            if each >= SEVERAL
            else ": few of them stand in more than one row. If those rows are copies, remove them."
        )
        again = ""
        if UNITS in document and document[UNITS].get(_DRAFTED_FOR) != name:
            again = (
                f" Bounds were drafted for other units, so one value of {name!r} alone may reach one: draft again with `--privacy-unit {shlex.quote(name)}`,"
                f" in Python draft(frame, privacy_unit={name!r})."
            )
        return f"The privacy unit is a value of {name!r}{how}{again}"
    if listed := ", ".join(f"{one!r} ({each:.2g} rows a value)" for one, each in candidates(document)):
        return f"Each row is protected by itself. If one of these says whose row it is, make it the privacy unit: {listed}."
    return "Each row is protected by itself: no column seems to say whose row it is."


def candidates(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Names of the columns that may say whose row it is, and how many rows a value of them has on average."""
    for name, found in document.get(UNITS, {}).get(_VALUES, {}).items():
        if _MAY_BE in found:
            yield name, found[_EACH]


def require_decided(document: Mapping[str, Any], *, answer: Callable[[str], str]) -> None:
    """Refuse to take each row as a unit unseen where columns may say whose row it is.

    Args:
        document: A draft.
        answer: How a person decides for a column, by its name.

    Raises:
        InputUnusable: Nobody has decided yet.
    """
    names = [name for name, _ in candidates(document)]
    if document.get("privacy_unit") is not None or "privacy_unit" not in document.get(MARK, ()) or not names:
        return
    listed = ", ".join(map(repr, names))
    raise InputUnusable(
        f"the draft does not know whose row a row is, and {listed} may say it: decide with {answer(names[0])} (or another column),"
        f" or with {answer('none')} if each row is of another person"
    )


def _known(document: Mapping[str, Any], name: str) -> Document:
    found: Document = document.get(UNITS, {}).get(_VALUES, {}).get(name, {})
    return found


def size_sentence(document: Mapping[str, Any]) -> str:
    """The units that the declared size of a draft counts, in a sentence."""
    if (name := document.get("privacy_unit")) is None:
        return "It counts rows, to two digits."
    return f"It counts privacy units, the values of {name!r}, to two digits."


def _retell(document: Document) -> None:
    """Put what the draft now says of its unit in the place of what it said before."""
    note, says = str(document.get(NOTE, "")), unit_sentence(document)
    said = document.get(UNITS, {}).get(_SAID, "")
    document[NOTE] = note.replace(said, says) if said and said in note else f"{note} {says}".strip()
    if UNITS in document:
        document[UNITS][_SAID] = says


def rename_unit(document: Document, before: str, name: str) -> None:
    """Give the new name of a column to what the draft knows of units."""
    if document.get("privacy_unit") == before:
        document["privacy_unit"] = name
    if (known := document.get(UNITS)) is None:
        return
    known[_VALUES] = {name if one == before else one: found for one, found in known[_VALUES].items()}
    known[_DRAFTED_FOR] = name if known[_DRAFTED_FOR] == before else known[_DRAFTED_FOR]
    _retell(document)


def wanted_unit(text: str, facts: Mapping[str, Facts]) -> str | None:
    """The column that a person names as the privacy unit before the draft; None if each row is one.

    Raises:
        InputUnusable: There is no such column, or it holds nothing.
    """
    name = column_or_none(text, facts)
    if name is not None and not _holds_units(facts[name]):
        raise InputUnusable(_HOLDS_NOTHING.format(name))
    return name


def column_or_none(text: str, names: Collection[str]) -> str | None:
    """The column that an answer names as the privacy unit; None if it says that each row is one.

    Raises:
        InputUnusable: There is no such column.
    """
    if text in names or text.lower() not in NO_UNIT:
        if text not in names:
            raise InputUnusable(f"there is no column {text!r}{suggestion(text, list(names))}")
        return text
    return None


def _holds_units(fact: Facts) -> bool:
    return fact.readable and fact.present > 0
