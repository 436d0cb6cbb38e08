"""Reading and checking of "difference": columns that are coded by their distance from another column."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from core.plan.domain.columns.kinds import Column, Difference, Modelled, NumericColumn, TimeColumn
from core.plan.domain.reading import Node, plain_number

_BINS: Final = ("lower", "upper", "edges", "bins", "spacing", "specials")
_EVEN_UNITS: Final = ("second", "minute", "hour", "day")
"""Resolutions whose units are equally long."""


def with_difference(
    node: Node, column: NumericColumn | TimeColumn, read_number: Callable[[Node, str], NumericColumn]
) -> NumericColumn | TimeColumn:
    """Read the key "difference" of a number or time, if it is there and not null.

    Args:
        read_number: Reads the distance's bounds and bins, which are declared as those of any number.

    Raises:
        DomainInvalid: The distance is declared wrongly, or the column has bins of its own.
    """
    if node.has_null("difference"):
        return column
    inner = Node(node.take("difference"), node.at("difference"))
    start = inner.take_text("from")
    declared = {key: inner.take(key) for key in _BINS if inner.has(key)}
    inner.finish()
    if _has_bins(column):
        node.refuse(
            "A column that is coded by its difference has neither bins, special values nor patterns of its own, and nothing of it is learnt.",
            "bins-beside-difference", key="difference", remedy="Declare 'bins' or 'edges' inside 'difference', or leave out 'difference'.",
        )  # fmt: skip
    if declared.get("bins") == "learn":
        inner.refuse("The bins of a difference are declared.", "learn-beside-difference", key="bins")
    if isinstance(column, TimeColumn) and column.resolution not in _EVEN_UNITS:
        node.refuse(
            "Differences of times are counted in seconds, minutes, hours or days.", "not-comparable", key="resolution",
            remedy="Declare one of these as 'resolution', or leave out 'difference'.",
        )  # fmt: skip
    whole = isinstance(column, TimeColumn) or column.integer
    digits = (
        {} if isinstance(column, TimeColumn) or column.decimals is None else {"decimals": column.decimals}
    )
    number = Node(
        ({} if "edges" in declared else {"lower": 0})
        | declared
        | {
            "type": "integer" if whole else "real",
            "null": "category" if column.null_code is not None else "refuse",
        }
        | digits,
        inner.pointer,
    )
    coded = read_number(number, f"{column.name}.difference")
    number.finish()
    return replace(column, difference=Difference(start=start, coded=coded))


def _has_bins(column: NumericColumn | TimeColumn) -> bool:
    """Whether a column declares how its own values are coded."""
    own = bool(column.edges or column.bin_count or column.specials or column.learn)
    if isinstance(column, TimeColumn):
        return own or bool(column.patterns)
    return own or column.spacing != "linear"


def difference_to_json(difference: Difference) -> dict[str, object]:
    """The complete object; `with_difference` reads it back."""
    coded = difference.coded
    found: dict[str, object] = {
        "from": difference.start,
        "lower": plain_number(coded.lower),
        "upper": plain_number(coded.upper),
    }
    if coded.specials:
        found["specials"] = [plain_number(value) for value in coded.specials]
    if coded.edges:
        return found | {"edges": [plain_number(value) for value in coded.edges]}
    if coded.bin_count is not None:
        found["bins"] = coded.bin_count
    return found if coded.spacing == "linear" else found | {"spacing": coded.spacing}


def check_differences(node: Node, columns: Sequence[Column], target: str | None) -> None:
    """Refuse differences that no row can be drawn from.

    Raises:
        DomainInvalid: A difference starts from a column of another kind, or from itself; or the column is the target.
    """
    by_name = {column.name: column for column in columns}
    for index, column in enumerate(columns):
        if not isinstance(column, NumericColumn | TimeColumn) or column.difference is None:
            continue
        key = f"columns/{index}/difference"
        if column.difference.coded.name in by_name:
            node.refuse(
                f"A column has the name '{column.difference.coded.name}' of the difference.", "duplicate-name", key=key,
                remedy="Rename the column, or leave out the difference.",
            )  # fmt: skip
        if column.name == target:
            node.refuse("The target is coded by its own values.", "difference-of-target", key=key)
        start = by_name.get(column.difference.start)
        if not isinstance(start, NumericColumn | TimeColumn):
            node.refuse(
                "A difference starts from a modelled number, date or time.", "unknown-column", key=f"{key}/from",
                remedy="Name a column of the same kind.",
            )  # fmt: skip
        _check_alike(node, key, start, column)
        if start.null_code is not None and column.null_code is None:
            node.refuse(
                f"'{column.name}' is missing where '{start.name}' is.", "null-has-no-place", key=f"columns/{index}/null",
                remedy="Give its 'null' the policy 'category'.",
            )  # fmt: skip
        _require_no_circle(node, key, by_name, column)


def _check_alike(
    node: Node, key: str, start: NumericColumn | TimeColumn, column: NumericColumn | TimeColumn
) -> None:
    if "bounds" in start.learn:
        node.refuse(
            "A difference starts from a column of declared bounds.",
            "learn-beside-difference",
            key=f"{key}/from",
        )
    if start.specials:
        node.refuse("A special value has no difference to others.", "not-comparable", key=f"{key}/from")
    unit = _start_unit(start, column)
    if isinstance(start, TimeColumn) and isinstance(column, TimeColumn) and unit != 1:
        alike = column.resolution == "day"
    elif isinstance(start, TimeColumn) and isinstance(column, TimeColumn):
        width = column.grid.width
        alike = (start.kind, start.resolution) == (column.kind, column.resolution)
        alike = alike and (start.lower - column.lower) % width == 0
    elif isinstance(start, NumericColumn) and isinstance(column, NumericColumn):
        alike = (start.integer, start.decimals) == (column.integer, column.decimals)
    else:
        alike = False
    if not alike:
        node.refuse(
            "Both columns of a difference must be numbers of the same type and decimals, or times of the same kind and resolution, or a date after a time.",
            "not-comparable", key=f"{key}/from",
            remedy="Declare them alike; the lower bounds of two times lie whole units of the resolution apart.",
        )  # fmt: skip
    first, last = (end if unit == 1 else end // unit for end in (start.lower, start.upper))
    if not column.lower <= first <= last <= column.upper:
        node.refuse(
            f"The bounds of '{column.name}' must hold those of '{start.name}'.", "bounds-reversed", key=key,
            remedy="Widen the bounds of the column that has the difference.",
        )  # fmt: skip


def _start_unit(start: NumericColumn | TimeColumn, column: NumericColumn | TimeColumn) -> int:
    """How many of a start's units are one of the column's: the seconds of a day where a date starts from a time, else 1."""
    if isinstance(start, TimeColumn) and isinstance(column, TimeColumn):
        return max(1, column.seconds_per_unit // start.seconds_per_unit)
    return 1


def _require_no_circle(
    node: Node, key: str, by_name: Mapping[str, Column], column: NumericColumn | TimeColumn
) -> None:
    seen, at = set[str](), column
    while at.difference is not None:
        if at.name in seen:
            node.refuse(
                "A difference starts, through others, from its own column.",
                "difference-of-itself",
                key=f"{key}/from",
            )
        seen.add(at.name)
        following = by_name.get(at.difference.start)
        if not isinstance(following, NumericColumn | TimeColumn):
            return
        at = following


def difference_data(modelled: Sequence[Modelled]) -> tuple[dict[str, Any], ...]:
    """The differences as JSON for `core.plan.domain.columns.differences`: a column comes after the one that it starts from."""
    places = {column.name: place for place, column in enumerate(modelled)}

    def depth(column: Modelled) -> int:
        return 0 if column.difference is None else 1 + depth(modelled[places[column.difference.start]])

    found = []
    for column in sorted(modelled, key=depth):
        if column.difference is None:
            continue
        assert isinstance(column, NumericColumn | TimeColumn), "labels have no difference"
        grid = column.grid
        first, last = (
            (column.lower, column.upper)
            if grid is None
            else grid.points(np.array([0, grid.ticks - 1])).tolist()
        )
        is_time = isinstance(column, TimeColumn)
        start = modelled[places[column.difference.start]]
        assert isinstance(start, NumericColumn | TimeColumn), "and none starts from them"
        found.append(
            {
                "place": places[column.name],
                "start": places[column.difference.start],
                "start_unit": _start_unit(start, column),
                "unit": grid.width if is_time and grid is not None else 1,
                "scale": None if is_time or grid is None else grid.scale,
                "lower": float(first),
                "upper": float(last),
            }
        )
    return tuple(found)
