"""A draft of a frame's domain, and its owner's changes before acceptance."""

import copy
import datetime as dt
import math
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from understudy.documents import Json
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change, leave_the_rest_to_other, meet, read_categories
from understudy.drafts.chosen_unit import require_decided, take_unit, unit_sentence
from understudy.drafts.differences import DIFFERENCE
from understudy.drafts.display import column_rows, rule_lines, table_lines, text_of
from understudy.drafts.hints import order_of_times, rules_of, warnings_of
from understudy.drafts.marked_values import Mark, accept_kinds
from understudy.errors import InputUnusable, UnitChanged
from understudy.local.html_tables import html_table
from understudy.local.warned import warn
from understudy.near_names import suggestion
from understudy.table_files import DECLARED_SIZE, MARK, without_notes

_NULL_VALUES: Final = "null_values"
_NONE: Final = "none"
"""Answers that model a column by its own values, as in the note of a drafted difference."""
_COLUMNS: Final = "columns"
_OF_THE_TABLE: Final = ("target", "privacy_unit", "rules", DECLARED_SIZE, _NULL_VALUES)
"""Changes of `accept_draft` that concern the whole table; columns with these names are changed under `columns`."""

_BOUNDS: Final = frozenset({"lower", "upper"})
_SIZE: Final = (DECLARED_SIZE, False)

Changes = Mapping[tuple[str, bool], object]
"""Changes by name, and whether the name is that of a column."""


class Draft:
    """A draft of a frame's domain. It quotes values of the rows, so it is for the owner alone until accepted.

    `document` is the domain document with its marks; it may be edited before acceptance.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def __repr__(self) -> str:
        """Everything that becomes public: for the table, then the kind, declared values and reasons of each column."""
        return text_of(column_rows(self.document), before=self._above(), after=self._below())

    def _repr_html_(self) -> str:
        above = "".join(f"<p>{escape(line)}</p>" for line in self._above() if line)
        below = "".join(f"<p>{escape(line)}</p>" for line in self._below())
        return above + html_table(("column", "kind", "declared", "why"), column_rows(self.document)) + below

    def _above(self) -> list[str]:
        # The reason for the privacy unit: the last sentences of the document's note.
        unit = str(self.document.get(NOTE, "")).partition(". ")[2]
        return [*warnings_of(self.document), *table_lines(self.document, unit=unit)]

    def _below(self) -> list[str]:
        answer = 'accept_draft(rules=[{"kind": "at_most", "columns": [FIRST, LAST]}])'
        return [
            *rules_of(self.document, answer="accept_draft(rules=[])"),
            *rule_lines(self.document),
            *order_of_times(self.document, answer=answer),
        ]

    def accepted(self, changes: Changes, *, sized: bool = False) -> Json:
        """The domain document of a draft accepted with changes (`changes_of`); the draft itself stays unchanged.

        Args:
            changes: see `changes_of`.
            sized: whether the declared size is given elsewhere.

        Warns:
            UnitChanged: the privacy unit is another one than the draft's, and so is the declared size.

        Raises:
            InputUnusable: a change is impossible, and the message names the column; or the privacy unit is undecided.
        """
        document = copy.deepcopy(self.document)
        for (name, of_column), wanted in sorted(changes.items(), key=_turn):
            # Accepting removes marks, and a given value may be a part of the draft.
            (_change_column if of_column else _change_table)(document, name, copy.deepcopy(wanted))
        require_decided(document, answer="accept_draft(privacy_unit={!r})".format)
        unit = document.get("privacy_unit")
        if unit != self.document.get("privacy_unit") and not sized and _SIZE not in changes:
            counted = "rows" if unit is None else f"values of {unit!r}"
            warn(
                f"the declared size is {document.get(DECLARED_SIZE)}, the number of {counted} to two digits, and becomes public; give"
                f" declared_size= to declare another one. {unit_sentence(document)}",
                UnitChanged,
            )
        accept_kinds(document, ["all"])
        return without_notes(document)


def _turn(change: tuple[tuple[str, bool], object]) -> int:
    """The unit first: columns and the declared size follow from it, unless they are given."""
    return -1 if change[0] == ("privacy_unit", False) else int(change[0] == _SIZE)


def changes_of(given: Mapping[str, object]) -> Changes:
    """The changes in the keywords of `Synthesizer.accept_draft`.

    A keyword for the whole table always means the table, even if a column has that name: otherwise the meaning of code would depend on the rows.

    Raises:
        InputUnusable: `columns` holds no changes by column name.
    """
    of_columns = given.get(_COLUMNS, {})
    if not isinstance(of_columns, Mapping):
        message = f"{_COLUMNS} takes the changes of each column, such as columns={{'note': 'ignored'}}"
        raise InputUnusable(message)
    found = {(name, name not in _OF_THE_TABLE): wanted for name, wanted in given.items() if name != _COLUMNS}
    return found | {(str(name), True): wanted for name, wanted in of_columns.items()}


def combined(earlier: Changes, later: Changes) -> Changes:
    """Earlier and later changes of the same draft, in order.

    Keys of a column add to earlier ones; any other change replaces the earlier one.
    """
    found = {name: wanted for name, wanted in earlier.items() if name not in later}
    for name, wanted in later.items():
        before = earlier.get(name)
        if isinstance(before, Mapping) and isinstance(wanted, Mapping) and "kind" not in wanted:
            found[name] = {**before, **wanted}
        else:
            found[name] = wanted
    return found


def _change_table(document: dict[str, Any], name: str, wanted: object) -> None:
    """Change a declaration of the whole table."""
    try:
        _require_form(name, wanted)
        if name in {"rules", DECLARED_SIZE}:
            document[name] = wanted
        elif name == _NULL_VALUES:
            document["csv"] = (document.get("csv") or {}) | {name: wanted}
        else:
            mark = Mark(document, name, None)
            change(document, mark, "none" if wanted is None else str(wanted))
            mark.accept()
    except InputUnusable as error:
        if name not in {str(column["name"]) for column in document["columns"]}:
            raise
        message = f"{error}. To change the column {name!r}: accept_draft(columns={{{name!r}: ...}})"
        raise InputUnusable(message) from None


def _require_form(name: str, wanted: object) -> None:
    """Refuse an impossible change of the whole table, whatever its columns.

    Raises:
        InputUnusable: the change is impossible.
    """
    if name == DECLARED_SIZE:
        is_fit = isinstance(wanted, int) and not isinstance(wanted, bool) and wanted >= 1
        form = "a whole number, 1 or more, such as 4000"
    elif name == "rules":
        is_fit, form = isinstance(wanted, list | tuple), "a list of rules"
    elif name == _NULL_VALUES:
        is_fit, form = isinstance(wanted, list | tuple), "a list of texts"
    else:
        is_fit, form = wanted is None or isinstance(wanted, str | int), "the name of a column, or None"
    if not is_fit:
        message = f"{name} is {form}"
        raise InputUnusable(message)


def _change_column(document: dict[str, Any], name: str, wanted: object) -> None:
    """Change the declaration of a column."""
    columns = {str(column["name"]): column for column in document["columns"]}
    if name not in columns:
        message = f"there is no column {name!r}{suggestion(name, [*columns, *_OF_THE_TABLE])}"
        raise InputUnusable(message)
    column = columns[name]
    if wanted == _NONE and DIFFERENCE in column:
        wanted = {DIFFERENCE: None}
    if isinstance(wanted, str):
        change(document, Mark(column, "kind", name), wanted)
    elif isinstance(wanted, Mapping):
        if wanted.get("kind") == "unit" and document.get("privacy_unit") != name:
            take_unit(document, name)
        _change_keys(column, name, wanted)
    else:
        message = f"column {name!r}: give its keys, such as {{'lower': 0, 'upper': 110}}, or 'ignored'"
        raise InputUnusable(message)


def _change_keys(column: dict[str, Any], name: str, wanted: Mapping[str, Any]) -> None:
    """Change some keys of a column, or all of them if the kind is among them."""
    kept = {} if "kind" in wanted else {key: value for key, value in column.items() if key != MARK}
    given = {key: _written(value, key, kept.get("kind", wanted.get("kind"))) for key, value in wanted.items()}
    for key in _BOUNDS & given.keys() & kept.keys():
        _require_bound(name, key, given[key], kept[key])
    if isinstance(words := given.get("categories"), str) and "categories" in kept:
        given["categories"] = read_categories(column, words)
    column.clear()
    column |= {"name": name} | kept | given
    if "categories" in kept and "categories" in given and "other" not in given:
        leave_the_rest_to_other(column, kept["categories"])
    if DIFFERENCE in column and column[DIFFERENCE] is None:
        del column[DIFFERENCE]
    if "edges" not in kept or "edges" in wanted:
        return
    # Edges must fit the bounds, and bins of another rule replace them.
    if not {"bins", "spacing"}.isdisjoint(wanted):
        del column["edges"]
    elif not _BOUNDS.isdisjoint(wanted):
        meet(column, {key: kept[key] for key in ("lower", "upper")})


def _written(value: object, key: str, kind: object) -> object:
    """A value as a domain document has it: a date or time of Python, pandas or numpy as text, numbers of numpy as numbers."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()  # type: ignore[attr-defined] # a scalar of numpy
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if kind == "date" else value.isoformat(timespec="seconds")
    if isinstance(value, dt.date):
        # As an upper bound of times a date is all its day.
        of_day = "" if kind == "date" else "T23:59:59" if key == "upper" else "T00:00:00"
        return value.isoformat() + of_day
    return value


def _require_bound(name: str, key: str, bound: object, before: object) -> None:
    """Refuse a bound of another type than that of the draft.

    Raises:
        InputUnusable: it is no number, or no date or time.
    """
    if isinstance(before, str):
        is_fit, form = isinstance(bound, str), "a date or time, such as '2020-12-31'"
    else:
        is_whole = isinstance(bound, int) and not isinstance(bound, bool)
        is_fit, form = is_whole or (isinstance(bound, float) and math.isfinite(bound)), "a finite number"
    if not is_fit:
        message = f"column {name!r}: {key!r} is {form}"
        raise InputUnusable(message)
