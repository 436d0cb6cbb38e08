"""Information in a frame's types beyond its values: ordered levels, days without times, time zones, and infinite numbers.

A text file has no types, so these rules are for frames alone. They read types, which the owner's code sets; a note says if values count too.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from understudy.drafts.categories import NOT_MODELLED, NOTE
from understudy.drafts.facts import NULLS, is_readable
from understudy.table_files import MARK

_MOST_LEVELS: Final = 200
_FEWEST_LEVELS: Final = 2


@dataclass(frozen=True, kw_only=True)
class FrameTypes:
    """Information in a frame's types.

    Attributes:
        orders: levels of the columns with an ordered type.
        zones: zone of the time columns that have one.
        infinite: numeric columns with infinite values.
        clocks: columns of times of day.
    """

    orders: dict[str, list[str]] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    infinite: set[str] = field(default_factory=set)
    clocks: set[str] = field(default_factory=set)


def plain_times(values: Any) -> Any:  # noqa: ANN401 - an Arrow array, which has no type
    """Times of day of an Arrow array as text without needless fractions, such as 08:30:00; other values unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_time(values.type):
        return values
    return pc.replace_substring_regex(values.cast(pa.string()), r"\.0+$", "")


def wall_times(values: Any) -> Any:  # noqa: ANN401 - an Arrow array, which has no type
    """Times with a zone of an Arrow array as local times without the zone; other values unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    has_zone = pa.types.is_timestamp(values.type) and values.type.tz is not None
    return pc.local_timestamp(values) if has_zone else values


def read_types(table: Any) -> tuple[Any, FrameTypes]:  # noqa: ANN401 - an Arrow table, which has no type
    """Convert an Arrow table to the types that a draft reads, and return what its own types say.

    Times with a zone become local times, midnights dates, times of day text, and infinite numbers missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found = FrameTypes()
    for place, name in enumerate(table.column_names):
        values, kind = table.column(name), table.schema.field(place).type
        if pa.types.is_dictionary(kind) and kind.ordered:
            if (levels := _levels(values)) is not None:
                found.orders[name] = levels
        elif pa.types.is_timestamp(kind) and kind.tz is not None:
            found.zones[name] = kind.tz
            values = wall_times(values)
        elif pa.types.is_time(kind):
            found.clocks.add(name)
            values = plain_times(values)
        elif pa.types.is_floating(kind) and pc.any(pc.is_inf(values)).as_py():
            found.infinite.add(name)
            values = pc.if_else(pc.is_inf(values), pa.scalar(None, kind), values)
        if pa.types.is_timestamp(values.type) and _are_days(values):
            values = values.cast(pa.date32(), safe=False)
        if values is not table.column(name):
            table = table.set_column(place, name, values)
    return table, found


def _levels(values: Any) -> list[str] | None:  # noqa: ANN401
    """The levels of an ordered type without words for "missing"; None if there are too few or too many."""
    import pyarrow as pa

    if values.num_chunks == 0 or not is_readable(values.type.value_type):
        return None
    words = values.chunk(0).dictionary.cast(pa.string()).to_pylist()
    levels = [word for word in words if word is not None and word.strip() not in NULLS]
    fits = _FEWEST_LEVELS <= len(levels) <= _MOST_LEVELS and len({word.strip() for word in levels}) == len(
        levels
    )
    return levels if fits else None


def _are_days(values: Any) -> bool:  # noqa: ANN401
    """Whether all times are midnights, which some libraries use for days."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seconds = values.cast(pa.timestamp("s"), safe=False)
    is_whole = pc.equal(seconds.cast(values.type), values)
    midnight = pc.equal(pc.floor_temporal(seconds, unit="day"), seconds)
    return values.null_count < len(values) and bool(pc.all(pc.and_(is_whole, midnight)).as_py())


def levels_of(types: FrameTypes, name: str) -> dict[str, Any] | None:
    """The draft of a column with ordered levels; None for other columns."""
    levels = types.orders.get(name)
    return (
        None
        if levels is None
        else {"kind": "ordinal", "levels": levels, NOTE: "Levels in the order of the column's type."}
    )


def say_what_types_say(columns: list[dict[str, Any]], types: FrameTypes) -> None:
    """Note the time zones, times of day and infinite numbers of columns."""
    for column in columns:
        name = column["name"]
        if column["kind"] in NOT_MODELLED:
            continue
        if (zone := types.zones.get(name)) is not None:
            column[NOTE] = (
                f"{column[NOTE]} Its times have the zone {zone}: they are declared as local times, and synthetic rows have that zone again."
            )
        if name in types.clocks and column["kind"] == "numeric":
            column[NOTE] = (
                f"{column[NOTE]} Its times of the day are modelled to the minute, without seconds, and synthetic rows have times of day again."
            )
        if name in types.infinite:
            key = "infinite" if column["kind"] == "numeric" else "unknown"
            column |= {key: "null"}
            column[MARK] = [*column.get(MARK, ()), key]
            column[NOTE] = f"{column[NOTE]} Some values are not a finite number (inf): they count as missing."
