"""Columns from and to the domain document (schema ``understudy.domain/1``); the keys are in docs/domain.md."""

import math
from collections.abc import Callable
from typing import Final, Literal, cast

from core.dp.adjacency import MOST_RECORDS
from core.plan.domain.columns.calendar import (
    DATE_RESOLUTIONS,
    DATETIME_RESOLUTIONS,
    day_number,
    day_text,
    second_number,
    second_text,
    unit_of,
)
from core.plan.domain.columns.common_keys import (
    LEARN,
    MOST_BINS_OR_LEARNT,
    check_null_has_a_place,
    null_policy,
    refuse_stand_in,
)
from core.plan.domain.columns.difference_reading import difference_to_json, with_difference
from core.plan.domain.columns.kinds import (
    Column,
    IgnoredColumn,
    Learnt,
    Modelled,
    NumericColumn,
    Outside,
    Pattern,
    TimeColumn,
    UnitColumn,
)
from core.plan.domain.columns.label_reading import labels_from_json, labels_to_json
from core.plan.domain.columns.number_format import NumberFormat
from core.plan.domain.reading import Node, plain_number

MAXIMUM_CODES: Final = 1_000_000
"""Codes of all columns together; a code takes some 0.5 kB at the peak of a training (docs/wide-tables.md)."""
MOST_BINS: Final = 32
"""Default of `most` for a column whose bins are learnt: bins and heavy values together."""
LARGEST_NUMBER: Final = 2.0**53
"""Learnt bounds are at most this in absolute value if no bounds are declared."""


def column_from_json(value: object, pointer: str) -> Column:
    """Read one entry of "columns".

    Raises:
        DomainInvalid: the entry breaks a rule.
    """
    node = Node(value, pointer)
    name = node.take_text("name")
    kind = node.take_choice("kind", _READERS)
    column = _READERS[kind](node, name)
    if isinstance(column, (NumericColumn, TimeColumn)):
        column = with_difference(node, column, _numeric)
    node.finish()
    if not isinstance(column, (IgnoredColumn, UnitColumn)) and column.cardinality > MAXIMUM_CODES:
        node.refuse(
            f"This column would have {column.cardinality} codes; at most {MAXIMUM_CODES} are possible.",
            "too-many-codes",
            remedy="Declare fewer bins or categories, or make the column ignored.",
        )
    return column


def _learnt(node: Node) -> tuple[Learnt, ...]:
    """The properties of a number or time that its entry leaves to be learnt; "bounds" is consumed, "bins" is not."""
    found: list[Learnt] = []
    if node.has("bounds"):
        node.take_choice("bounds", (LEARN,))
        found.append("bounds")
    if node.is_text("bins", LEARN):
        found.append("bins")
    if found and node.has("edges"):
        node.refuse("Declared edges leave nothing to be learnt.", "learn-beside-edges", key="edges")
    if "bounds" in found and not node.is_text("outside", "clamp", absent=True):
        node.refuse(
            "A value beyond learnt bounds falls into the outermost bin.", "learn-beside-outside", key="outside",
            remedy="Leave out 'outside', or declare the bounds.",
        )  # fmt: skip
    return tuple(found)


def _bounds_or_edges(
    node: Node,
    read: Callable[[object, str], float],
    *,
    single: bool,
    outermost: tuple[object, object] | None = None,
) -> tuple[float, float, tuple[float, ...]]:
    """Lower and upper bound, and declared edges. The bounds are optional if edges are given or the bounds are learnt within `outermost`."""
    edges = tuple(read(item, f"edges/{index}") for index, item in enumerate(node.take_list("edges", ())))
    if len(edges) == 1:
        node.refuse("'edges' needs at least two values.", "too-few-edges", key="edges")
    for index in range(1, len(edges)):
        if edges[index] <= edges[index - 1]:
            node.refuse(
                "Edges must increase strictly.", "edges-not-increasing", key=f"edges/{index}",
                remedy="Sort the edges and drop repeated ones.",
            )  # fmt: skip
    widest = ({}, {}) if outermost is None else tuple({"default": bound} for bound in outermost)
    lower = read(node.take("lower", **widest[0]), "lower") if node.has("lower") or not edges else edges[0]
    upper = read(node.take("upper", **widest[1]), "upper") if node.has("upper") or not edges else edges[-1]
    if upper < lower or (upper == lower and not single):
        node.refuse(
            "'lower' must be below 'upper'.",
            "bounds-reversed",
            key="lower",
            remedy="Exchange the two bounds.",
        )
    if edges and (edges[0] != lower or edges[-1] != upper):
        node.refuse(
            "The first and last edge must equal 'lower' and 'upper'.", "edges-do-not-meet-bounds", key="edges",
            remedy="Leave out 'lower' and 'upper', or repeat them as first and last edge.",
        )  # fmt: skip
    return lower, upper, edges


def _numeric(node: Node, name: str) -> NumericColumn:
    integer = node.take_choice("type", ("integer", "real")) == "integer"

    def number(value: object, key: str) -> float:
        found = node.number(value, key)
        if integer and not found.is_integer():
            node.refuse(f"'{key}' of an integer column must be a whole number.", "not-an-integer", key=key)
        return found

    learn = _learnt(node)
    outermost = None
    if "bounds" in learn:
        digits = node.peek("decimals")
        limit = LARGEST_NUMBER / 10 ** (digits if type(digits) is int and 0 <= digits <= 9 else 0)  # noqa: PLR2004
        outermost = (-float(int(limit)), float(int(limit)))
    lower, upper, edges = _bounds_or_edges(node, number, single=integer, outermost=outermost)
    specials = tuple(number(item, f"specials/{i}") for i, item in enumerate(node.take_list("specials", ())))
    if len(set(specials)) < len(specials):
        node.refuse("A special value is listed twice.", "duplicate-value", key="specials")
    decimals = None if integer else node.take_integer("decimals", None, lowest=0, highest=9)
    if decimals is not None and max(abs(lower), abs(upper)) * 10**decimals > 2**53:
        node.refuse("The bounds have more digits than a double holds.", "number-too-large", key="decimals")

    def stand_in(value: object) -> float:
        found = number(value, "null/use")
        if not lower <= found <= upper and found not in specials:
            node.refuse("The value must lie in the bounds or be special.", "outside-bounds", key="null/use")
        return found

    null = null_policy(node, stand_in)
    refuse_stand_in(node, null, learn)
    column = NumericColumn(
        learn=learn,
        name=name, integer=integer, lower=lower, upper=upper, edges=edges, specials=specials, decimals=decimals,
        multiple_of=_multiple_of(node, integer=integer, decimals=decimals), bin_count=_bin_count(node, edges, learn), null=null,
        spacing=cast('Literal["linear", "log"]', node.take_choice("spacing", ("linear", "log"), "linear")),
        outside=cast("Outside", node.take_choice("outside", ("clamp", "null", "refuse"), "clamp")),
        infinite=cast("Outside", node.take_choice("infinite", ("clamp", "null", "refuse"), "refuse")),
        unreadable=_unreadable(node),
        fraction="refuse" if not integer else cast(
            'Literal["round", "refuse"]', node.take_choice("fraction", ("round", "refuse"), "refuse")),
        number_format=NumberFormat.from_node(Node(node.take("number_format"), node.at("number_format"))) if node.has("number_format") else None,
    )  # fmt: skip
    check_null_has_a_place(
        node, null, outside=column.outside, infinite=column.infinite, unreadable=column.unreadable
    )
    if column.grid is not None and column.grid.ticks < 1:
        key, values = (
            ("decimals", "value with so few decimals")
            if column.multiple_of is None
            else ("multiple_of", "multiple")
        )
        node.refuse(f"No {values} lies between the bounds.", "no-values", key=key)
    if column.bins.count == 0:
        node.refuse("Every value between the bounds is special.", "no-values", key="specials")
    return column


def _multiple_of(node: Node, *, integer: bool, decimals: int | None) -> float | None:
    """The number of which synthetic values are multiples."""
    if not node.has("multiple_of"):
        return None
    found = node.number(node.take("multiple_of"), "multiple_of")
    if not integer and decimals is None:
        node.refuse(
            "Multiples of a real number need 'decimals'.", "multiples-without-decimals", key="multiple_of",
            remedy="Add 'decimals', such as 2.",
        )  # fmt: skip
    step = found * 10 ** (decimals or 0)
    if step < 1 or not math.isclose(step, round(step), abs_tol=0):
        node.refuse(
            "'multiple_of' must be a positive whole number, or have at most as many decimals as the column.", "bad-multiple", key="multiple_of",
        )  # fmt: skip
    if node.has("difference"):
        node.refuse(
            "A column with a 'difference' takes its values from the other column.", "multiples-beside-difference", key="multiple_of",
            remedy="Leave out one of the two.",
        )  # fmt: skip
    return found


def _bin_count(node: Node, edges: tuple[float, ...], learn: tuple[Learnt, ...]) -> int | None:
    if "bins" in learn:
        node.take("bins")
        if node.has("spacing"):
            node.refuse(
                "'spacing' has no meaning where bins are learnt.", "learn-beside-spacing", key="spacing"
            )
        return node.take_integer("most", MOST_BINS, lowest=4, highest=MOST_BINS_OR_LEARNT)
    if edges and (node.has("bins") or node.has("spacing")):
        node.refuse("'bins' and 'spacing' have no meaning beside 'edges'.", "bins-beside-edges", key="edges")
    return node.take_integer("bins", None, lowest=1, highest=MOST_BINS_OR_LEARNT)


def _unreadable(node: Node) -> Literal["null", "refuse"]:
    return cast('Literal["null", "refuse"]', node.take_choice("unreadable", ("null", "refuse"), "refuse"))


_FIRST_AND_LAST: Final[dict[str, tuple[object, object]]] = {
    "date": ("0001-01-01", "9999-12-31"),
    "datetime": ("0001-01-01T00:00:00", "9999-12-31T23:59:59"),
}
"""Learnt bounds of times lie within these if no bounds are declared."""


_COARSEST: Final[dict[Pattern, str]] = {"weekday": "day", "month": "month", "hour": "hour"}
"""The coarsest resolution that still has each pattern."""


def _time(node: Node, name: str, kind: Literal["date", "datetime"]) -> TimeColumn:
    def moment(value: object, key: str) -> float:
        try:
            return float((day_number if kind == "date" else second_number)(cast("str", value)))
        except (ValueError, TypeError):
            node.refuse(
                f"'{key}' must be an ISO 8601 {kind} without a zone.", "not-a-date", key=key,
                remedy="Write 2020-12-31." if kind == "date" else "Write 2020-12-31T23:59:00.",
            )  # fmt: skip

    learn = _learnt(node)
    outermost = None if "bounds" not in learn else _FIRST_AND_LAST[kind]
    lower, upper, edges = _bounds_or_edges(node, moment, single=True, outermost=outermost)
    resolutions = DATE_RESOLUTIONS if kind == "date" else DATETIME_RESOLUTIONS

    def stand_in(value: object) -> float:
        found = moment(value, "null/use")
        if not lower <= found <= upper:
            node.refuse("The value must lie in the bounds.", "outside-bounds", key="null/use")
        return found

    null = null_policy(node, stand_in)
    refuse_stand_in(node, null, learn)
    resolution = node.take_choice("resolution", resolutions, "day" if kind == "date" else "second")
    column = TimeColumn(
        learn=learn, patterns=_patterns(node, kind, resolution),
        name=name, kind=kind, lower=int(lower), upper=int(upper), edges=tuple(int(edge) for edge in edges),
        resolution=resolution, bin_count=_bin_count(node, edges, learn), format=_time_format(node), null=null,
        outside=cast("Outside", node.take_choice("outside", ("clamp", "null", "refuse"), "clamp")),
        unreadable=_unreadable(node),
    )  # fmt: skip
    check_null_has_a_place(node, null, outside=column.outside, unreadable=column.unreadable)
    return column


def _patterns(node: Node, kind: str, resolution: str) -> tuple[Pattern, ...]:
    found: list[Pattern] = []
    for index, pattern in enumerate(node.take_list("patterns", ())):
        key = f"patterns/{index}"
        if not isinstance(pattern, str) or pattern not in _COARSEST or (pattern == "hour" and kind == "date"):
            node.refuse(
                "A pattern is 'weekday' or 'month', and of a datetime 'hour'.", "not-a-choice", key=key
            )
        if pattern in found:
            node.refuse("A pattern is listed twice.", "duplicate-value", key=key)
        if DATETIME_RESOLUTIONS.index(unit_of(resolution)) > DATETIME_RESOLUTIONS.index(_COARSEST[pattern]):
            node.refuse(
                f"A resolution of '{resolution}' is too coarse for the pattern '{pattern}'.", "pattern-below-resolution", key=key,
                remedy="Leave out the pattern, or declare a finer 'resolution'.",
            )  # fmt: skip
        found.append(pattern)
    return tuple(found)


def _time_format(node: Node) -> str | None:
    if not node.has("format"):
        return None
    text = node.take_text("format")
    if "%" not in text:
        node.refuse("'format' is a strptime pattern such as '%d/%m/%Y'.", "bad-format", key="format")
    return text


def _unit(node: Node, name: str) -> UnitColumn:
    if node.is_text("records", LEARN):
        node.take("records")
        return UnitColumn(name=name, learns_records=True)
    return UnitColumn(name=name, records=node.take_integer("records", None, lowest=1, highest=MOST_RECORDS))


_READERS: Final[dict[str, Callable[[Node, str], Column]]] = {
    "numeric": _numeric,
    "categorical": lambda node, name: labels_from_json(node, name, "categorical"),
    "ordinal": lambda node, name: labels_from_json(node, name, "ordinal"),
    "boolean": lambda node, name: labels_from_json(node, name, "boolean"),
    "date": lambda node, name: _time(node, name, "date"),
    "datetime": lambda node, name: _time(node, name, "datetime"),
    "ignored": lambda _node, name: IgnoredColumn(name=name),
    "unit": _unit,
}


def column_to_json(column: Column) -> dict[str, object]:
    """The complete entry of a column, with defaults; ``column_from_json`` reads it back."""
    found: dict[str, object] = {"name": column.name, "kind": column.kind}
    if isinstance(column, IgnoredColumn):
        return found
    if isinstance(column, UnitColumn):
        if column.learns_records:
            return found | {"records": LEARN}
        return found if column.records is None else found | {"records": column.records}
    if isinstance(column, NumericColumn):
        found |= _numeric_to_json(column)
    elif isinstance(column, TimeColumn):
        found |= _time_to_json(column)
    else:
        found |= labels_to_json(column)
    # Omitted where the column's own values are coded: documents older than the key keep their digest.
    if column.difference is not None:
        found["difference"] = difference_to_json(column.difference)
    return found | {"null": _null_to_json(column)}


def _numeric_to_json(column: NumericColumn) -> dict[str, object]:
    found: dict[str, object] = {
        "type": "integer" if column.integer else "real",
        "lower": plain_number(column.lower),
        "upper": plain_number(column.upper),
        "specials": [plain_number(value) for value in column.specials],
        "outside": column.outside,
        "infinite": column.infinite,
        "unreadable": column.unreadable,
    }
    if column.integer:
        found["fraction"] = column.fraction
    if column.multiple_of is not None:
        found["multiple_of"] = plain_number(column.multiple_of)
    if column.decimals is not None:
        found["decimals"] = column.decimals
    if column.edges:
        found["edges"] = [plain_number(value) for value in column.edges]
    elif "bins" not in column.learn:
        found["spacing"] = column.spacing
    # Omitted where numbers are plain: documents older than the key keep their digest.
    if column.number_format is not None:
        found["number_format"] = column.number_format.to_json()
    return found | _learnt_to_json(column)


def _learnt_to_json(column: NumericColumn | TimeColumn) -> dict[str, object]:
    """The number of bins, or that bins are learnt and their maximum number; and whether the bounds are learnt."""
    found: dict[str, object] = {}
    if "bins" in column.learn:
        found |= {"bins": LEARN, "most": column.bin_count}
    elif column.bin_count is not None:
        found["bins"] = column.bin_count
    if "bounds" in column.learn:
        found["bounds"] = LEARN
    return found


def time_text(column: TimeColumn, value: float) -> str:
    """ISO 8601 text of a day or second number of this column."""
    return (day_text if column.kind == "date" else second_text)(int(value))


def _time_to_json(column: TimeColumn) -> dict[str, object]:
    found: dict[str, object] = {
        "lower": time_text(column, column.lower),
        "upper": time_text(column, column.upper),
        "resolution": column.resolution,
        "outside": column.outside,
        "unreadable": column.unreadable,
    }
    if column.edges:
        found["edges"] = [time_text(column, edge) for edge in column.edges]
    found |= _learnt_to_json(column)
    if column.format is not None:
        found["format"] = column.format
    # Omitted if empty: documents older than patterns keep their digest.
    if column.patterns:
        found["patterns"] = list(column.patterns)
    return found


def _null_to_json(column: Modelled) -> object:
    if column.null.action != "use":
        return column.null.action
    value = column.null.value
    if isinstance(column, TimeColumn):
        value = time_text(column, cast("float", value))
    return {"use": plain_number(value) if isinstance(value, float) else value}
