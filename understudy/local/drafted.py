"""A draft of a frame's domain, and what its owner changes of it before accepting it."""

import copy
from collections.abc import Mapping
from html import escape
from typing import Any, Final

from understudy.documents import Json
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change, meet
from understudy.drafts.differences import DIFFERENCE
from understudy.drafts.display import column_rows, rule_lines, table_lines, text_of
from understudy.drafts.hints import order_of_times, rules_of, warnings_of
from understudy.drafts.marked_values import Mark, accept_kinds
from understudy.errors import InputUnusable
from understudy.local.html_tables import html_table
from understudy.near_names import suggestion
from understudy.table_files import DECLARED_SIZE, MARK, without_notes

_NULL_VALUES: Final = "null_values"
_NONE: Final = "none"
"""Answers that a column is modelled by its own values, as the note of a drafted difference says."""
_COLUMNS: Final = "columns"
_OF_THE_TABLE: Final = ("target", "privacy_unit", "rules", DECLARED_SIZE, _NULL_VALUES)
"""What `accept_draft` changes of the whole table; columns of these names are changed under `columns`."""

Changes = Mapping[tuple[str, bool], object]
"""What to change by name, and whether that is a column's."""


class Draft:
    """A draft of a frame's domain: it quotes values of the rows, so it is for their owner alone until it is accepted.

    Attributes:
        document: the domain document with its marks; it may be edited before it is accepted.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    def __repr__(self) -> str:
        """All that becomes public: of the table, then what each column was taken for, what it declares, and why."""
        return text_of(column_rows(self.document), before=self._above(), after=self._below())

    def _repr_html_(self) -> str:
        above = "".join(f"<p>{escape(line)}</p>" for line in self._above() if line)
        below = "".join(f"<p>{escape(line)}</p>" for line in self._below())
        return above + html_table(("column", "kind", "declared", "why"), column_rows(self.document)) + below

    def _above(self) -> list[str]:
        # Why the privacy unit is what it is: the last sentences of the document's note.
        unit = str(self.document.get(NOTE, "")).partition(". ")[2]
        return [*warnings_of(self.document), *table_lines(self.document, unit=unit)]

    def _below(self) -> list[str]:
        answer = 'accept_draft(rules=[{"kind": "at_most", "columns": [FIRST, LAST]}])'
        return [
            *rules_of(self.document, answer="accept_draft(rules=[])"),
            *rule_lines(self.document),
            *order_of_times(self.document, answer=answer),
        ]

    def accepted(self, changes: Changes) -> Json:
        """The domain document of a draft that is accepted with changes; the draft itself stays.

        Args:
            changes: see `changes_of`.

        Raises:
            InputUnusable: a change cannot be made; the message names the column.
        """
        document = copy.deepcopy(self.document)
        for (name, of_column), wanted in changes.items():
            # Accepting takes marks off, and what was given may be a part of the draft.
            (_change_column if of_column else _change_table)(document, name, copy.deepcopy(wanted))
        accept_kinds(document, ["all"])
        return without_notes(document)


def changes_of(given: Mapping[str, object]) -> Changes:
    """The changes that the keywords of `Synthesizer.accept_draft` say.

    A word that changes the whole table always does, also where a column has that name: else what a line of code means would depend on the rows.

    Raises:
        InputUnusable: `columns` does not hold changes by name of a column.
    """
    of_columns = given.get(_COLUMNS, {})
    if not isinstance(of_columns, Mapping):
        message = f"{_COLUMNS} takes what to change of each column, such as columns={{'note': 'ignored'}}"
        raise InputUnusable(message)
    found = {(name, name not in _OF_THE_TABLE): wanted for name, wanted in given.items() if name != _COLUMNS}
    return found | {(str(name), True): wanted for name, wanted in of_columns.items()}


def combined(earlier: Changes, later: Changes) -> Changes:
    """Changes of a draft and further ones of the same draft, in the order in which they are made.

    Keys of a column are added to those that were changed before; any other change takes the place of the one before.

    Args:
        earlier: what was changed.
        later: what is changed now.
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
    """Change what a draft declares of the whole table."""
    try:
        _require_form(name, wanted)
        if name in {"rules", DECLARED_SIZE}:
            document[name] = wanted
        elif name == _NULL_VALUES:
            document["csv"] = (document.get("csv") or {}) | {name: wanted}
        else:
            change(document, Mark(document, name, None), "none" if wanted is None else str(wanted))
    except InputUnusable as error:
        if name not in {str(column["name"]) for column in document["columns"]}:
            raise
        message = f"{error}. To change the column {name!r}: accept_draft(columns={{{name!r}: ...}})"
        raise InputUnusable(message) from None


def _require_form(name: str, wanted: object) -> None:
    """Refuse what cannot be a change of the whole table, whatever its columns are.

    Raises:
        InputUnusable: It cannot be one.
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
    """Change what a draft declares of a column."""
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
        _change_keys(column, name, wanted)
    else:
        message = f"column {name!r}: give its keys, such as {{'lower': 0, 'upper': 110}}, or 'ignored'"
        raise InputUnusable(message)


def _change_keys(column: dict[str, Any], name: str, wanted: Mapping[str, Any]) -> None:
    """Give some keys of a column other values, or all of them where its kind is among them."""
    kept = {} if "kind" in wanted else {key: value for key, value in column.items() if key != MARK}
    column.clear()
    column |= {"name": name} | kept | dict(wanted)
    if DIFFERENCE in column and column[DIFFERENCE] is None:
        del column[DIFFERENCE]
    if "edges" not in kept or "edges" in wanted:
        return
    # Edges are those of the bounds, and bins of another rule take their place.
    if not {"bins", "spacing"}.isdisjoint(wanted):
        del column["edges"]
    elif not {"lower", "upper"}.isdisjoint(wanted):
        meet(column, {key: kept[key] for key in ("lower", "upper")})
