"""Values in rules: reading, representation as numbers, writing.

Numbers are unchanged. A date becomes its day number, a time its second, a word its index in the column's list, and a
missing value None.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import numpy as np

from core.plan.domain.columns.calendar import day_number, second_number
from core.plan.domain.columns.document import time_text
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.reading import Node, plain_number
from core.plan.domain.rules.classes import Values

Number = float | None


@dataclass(frozen=True, slots=True)
class ValueSet:
    """Values of one column, as a rule names them.

    Attributes:
        null: Whether the set contains a missing value.
        ranges: Closed ranges of numbers; an undeclared end is infinite.
    """

    null: bool
    ranges: tuple[tuple[float, float], ...]

    def data(self, lower: float, upper: float) -> list[Any]:
        """The set in the form that `core.plan.domain.rules.classes.Classes` takes.

        Args:
            lower: The column's lower bound, at which ranges are cut off.
            upper: The column's upper bound, likewise.
        """
        found = [
            (low, high) if low == high else (max(low, lower), min(high, upper)) for low, high in self.ranges
        ]
        return [self.null, found]


class Vocabulary:
    """The values that synthetic rows can have in a column, as a rule may name them."""

    def __init__(self, column: Modelled) -> None:
        self.column = column
        self.values = Values(column_values(column))
        words = column.words if isinstance(column, LabelColumn) else ()
        self.places = {word: float(place) for place, word in enumerate(words)}

    def first(self, low: float, high: float) -> float | None:
        """The smallest ordinary value of a closed range; None if there is none."""
        found = float(self.values.ceil(np.array([low]))[0])
        return found if found <= high else None

    def other_than(self, value: float) -> Number:
        """Some other value.

        Raises:
            LookupError: there is none.
        """
        values = self.values
        ordinary = [values.lowest, *values.above(np.array([values.lowest])).tolist()]
        for other in (*ordinary, *values.specials.tolist()):
            if other != value and not math.isnan(other):
                return float(other)
        if values.nullable:
            return None
        raise LookupError


def column_values(column: Modelled) -> dict[str, Any]:
    """The values that synthetic rows can have in a column, in the form that `core.plan.domain.rules.classes.Values` takes."""
    nullable = column.null_code is not None
    if isinstance(column, LabelColumn):
        words = {"offset": 0, "width": 1, "scale": 1, "ticks": len(column.words), "table": None}
        last = len(column.words) - 1
        return {"lower": 0, "upper": last, "grid": words, "specials": [], "nullable": nullable}
    grid = column.grid
    found = None if grid is None else {
        "offset": grid.offset, "width": grid.width, "scale": grid.scale, "ticks": grid.ticks,
        "table": None if grid.table is None else grid.table.tolist(),
    }  # fmt: skip
    return {
        "lower": column.lower,
        "upper": column.upper,
        "grid": found,
        "specials": list(column.specials),
        "nullable": nullable,
    }


def refuse(pointer: str, detail: str, problem: str, remedy: str = "") -> NoReturn:
    """Raise DomainInvalid at a place of the document."""
    raise DomainInvalid(detail, pointer=pointer, problem=problem, remedy=remedy)


_EVERY: Final = (-math.inf, math.inf)


def read_value_set(pointer: str, value: object, known: Vocabulary) -> ValueSet:
    """A value, null, ``{"from": ..., "to": ...}``, ``{"one_of": [...]}`` or ``{"not": null}``."""
    if value == {"not": None}:
        specials = () if isinstance(known.column, LabelColumn) else known.column.specials
        return ValueSet(null=False, ranges=(_EVERY, *((special, special) for special in specials)))
    if not isinstance(value, dict):
        single = read_value(pointer, value, known)
        return (
            ValueSet(null=True, ranges=())
            if single is None
            else ValueSet(null=False, ranges=((single, single),))
        )
    node = Node(value, pointer)
    if node.has("one_of"):
        listed = [
            read_value(node.at(f"one_of/{index}"), item, known)
            for index, item in enumerate(node.take_list("one_of"))
        ]
        node.finish()
        if not listed:
            node.refuse("'one_of' is empty.", "no-values", key="one_of")
        points = sorted({number for number in listed if number is not None})
        return ValueSet(null=None in listed, ranges=tuple((point, point) for point in points))
    low = _end(node, "from", known, -math.inf)
    high = _end(node, "to", known, math.inf)
    node.finish()
    if low == -math.inf and high == math.inf:
        node.refuse("A range needs 'from' or 'to'.", "missing-key", remedy="Write at least one of them.")
    if known.first(low, high) is None:
        node.refuse("No value of the column lies in this range.", "no-values")
    return ValueSet(null=False, ranges=((low, high),))


def _end(node: Node, key: str, known: Vocabulary, absent: float) -> float:
    if not node.has(key):
        return absent
    column = known.column
    value = node.take(key)
    if isinstance(column, NumericColumn):
        return node.number(value, key)
    if isinstance(column, LabelColumn) and column.kind != "ordinal":
        node.refuse("Only numbers, times and ordinal columns have ranges.", "not-comparable", key=key)
    found = _number(node.at(key), value, known)
    if found is None:
        node.refuse("The end of a range is a value.", "bad-value", key=key)
    return found


def _number(pointer: str, value: object, known: Vocabulary) -> Number:
    """The number of a declared value, without a check of the bounds; None for null."""
    column = known.column
    if value is None:
        return None
    if isinstance(column, NumericColumn):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= 2**53:
            refuse(pointer, "This must be a number.", "not-a-number")
        return float(value)
    if isinstance(column, TimeColumn):
        try:
            return float((day_number if column.kind == "date" else second_number)(cast("str", value)))
        except (ValueError, TypeError):
            refuse(pointer, f"This must be an ISO 8601 {column.kind} without a zone.", "not-a-date")
    if isinstance(value, bool) and column.kind == "boolean":
        return float(value)
    word = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(word, str) or word not in known.places:
        refuse(pointer, f"The column '{column.name}' does not list this value.", "unknown-value")
    return known.places[word]


def read_value(pointer: str, value: object, known: Vocabulary) -> Number:
    """The number of one value that synthetic rows can have; None for null."""
    found, column = _number(pointer, value, known), known.column
    if found is None:
        if column.null_code is None:
            refuse(
                pointer,
                f"The column '{column.name}' is never missing in synthetic rows.",
                "null-has-no-place",
                "Give its 'null' the policy 'category', or name another value.",
            )
        return None
    if isinstance(column, LabelColumn) or found in column.specials:
        return found
    if known.first(found, found) is None:
        refuse(
            pointer,
            f"Synthetic rows cannot have this value in '{column.name}'.",
            "outside-bounds",
            "Name a value between the bounds, with the declared decimals or resolution, or a special one.",
        )
    return found


def value_to_json(value: Number, column: Modelled) -> object:
    """A value as the document writes it."""
    if value is None:
        return None
    if isinstance(column, LabelColumn):
        return column.words[int(value)]
    return plain_number(value) if isinstance(column, NumericColumn) else time_text(column, value)


def set_to_json(test: ValueSet, column: Modelled) -> object:
    """A set of values as the document writes it; ``read_value_set`` reads it back."""
    if _EVERY in test.ranges:
        return {"not": None}
    points = [low for low, high in test.ranges if low == high]
    if len(test.ranges) == len(points):
        listed = [value_to_json(point, column) for point in points] + ([None] if test.null else [])
        return listed[0] if len(listed) == 1 else {"one_of": listed}
    ((low, high),) = test.ranges
    ends = {"from": low, "to": high}
    return {key: value_to_json(end, column) for key, end in ends.items() if math.isfinite(end)}
