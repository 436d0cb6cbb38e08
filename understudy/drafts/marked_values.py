"""The marks of a draft: values taken from the rows, which a person accepts one by one or by kind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.drafts.dependencies import RULES, require_possible
from understudy.errors import InputUnusable
from understudy.near_names import suggestion
from understudy.table_files import MARK

KINDS: Final = ("unit", "size", "target", "file", "names", "kinds", "bounds", "words", "rules")
"""Kinds of marked values, in the order of the questions."""
_KIND_OF: Final = {
    "privacy_unit": "unit", "records": "unit", "declared_size": "size", "target": "target", "name": "names", "lower": "bounds", "upper": "bounds",
    "edges": "bounds", "specials": "bounds", "difference": "bounds", "prefix": "words", "categories": "words", "levels": "words", "true": "words", "false": "words",
    "labels": "words", "pairs": "rules", "combinations": "rules", "parts": "rules", "computed": "rules", "columns": "rules",
}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """One marked value.

    Attributes:
        holder: The object that holds the value.
        column: Name of the column; None outside columns.
    """

    holder: dict[str, Any] = field(repr=False)
    key: str
    column: str | None

    @property
    def kind(self) -> str:
        """The kind of the value, one of `KINDS`."""
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
        """The place of the value, for a person."""
        return f"column {self.column!r}" if self.column is not None else self.key

    def accept(self) -> None:
        """Remove the mark: the value may be public."""
        listed = self.holder.get(MARK)
        left = [key for key in listed if key != self.key] if isinstance(listed, list) else []
        if left:
            self.holder[MARK] = left
        else:
            self.holder.pop(MARK, None)


def marks_of(document: dict[str, Any]) -> list[Mark]:
    """Return all marks of a draft of a table or of images, by kind and then in file order."""
    csv = document.get("csv")
    columns = document.get("columns")
    holders: list[tuple[dict[str, Any], str | None]] = [(document, None)]
    holders += [(csv, None)] if isinstance(csv, dict) else []
    holders += [(column, str(column.get("name"))) for column in columns or () if isinstance(column, dict)]
    holders += [(rule, None) for rule in document.get(RULES) or () if isinstance(rule, dict)]
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
    """Accept all marked values of the given kinds of `KINDS`, or of "all".

    Raises:
        InputUnusable: A kind is unknown.
    """
    for kind in kinds:
        if kind not in {*KINDS, "all"}:
            raise InputUnusable(f"--accept takes {', '.join(KINDS)} or all{suggestion(kind, KINDS)}")
    require_possible(document)
    for mark in marks_of(document):
        if "all" in kinds or mark.kind in kinds:
            mark.accept()
