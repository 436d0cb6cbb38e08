"""Synthetic rows in the types and under the names of the fitted frame: whole numbers for words such as "0" and "1", time zones, levels.

Only types come from the frame. A column gets its type if every declared value fits: that depends on the domain and on no row, so two samples
have the same types.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, time
from itertools import chain
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from core.artifacts.sampling.condition_values import listed, read_moment
from core.plan.domain.cleaning.cleaned import as_text
from understudy.documents import Json
from understudy.drafts.facts import bare_name
from understudy.local.rows.frames import dense

_OF_PANDAS: Final = ("Int", "UInt", "Float", "boolean", "string", "object", "Sparse")
"""Prefixes of the types that only pandas has."""
_INFERRED: Final = frozenset(
    {
        "Int64",
        "UInt64",
        "Float64",
        "int64[pyarrow]",
        "uint64[pyarrow]",
        "double[pyarrow]",
        "int64",
        "uint64",
        "float64",
    }
)
"""Types of numbers that pandas infers from all rows."""
_DAY_MINUTES: Final = 1440
_MOST_DIGITS: Final = 38
"""Maximum digits of Arrow decimals."""


@dataclass(frozen=True, kw_only=True)
class FrameDtypes:
    """The types of a frame.

    Attributes:
        library: "pandas", "polars" or "arrow"; None for other frames.
        own: types that only the library has, by column.
        labels: names that the domain has otherwise, such as 0 or " age", by the domain's.
        minutes: columns of times of day, modelled as minutes.
    """

    library: Literal["pandas", "polars", "arrow"] | None
    schema: pa.Schema
    own: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    minutes: frozenset[str] = frozenset()

    @classmethod
    def of(cls, frame: Any, columns: Collection[Json]) -> "FrameDtypes":  # noqa: ANN401 - a frame of any library
        """Take the types of a frame, for the modelled columns as the domain declares them."""
        found = cls._of_library(frame, [str(column["name"]) for column in columns])
        own, types = _of_declared(found.own, columns), []
        for column in columns:
            name = str(column["name"])
            if name not in found.schema.names:
                continue
            kind: pa.DataType | None = found.schema.field(name).type
            assert kind is not None
            if found.library == "pandas":
                kind = _apart_from_rows(kind, own, column)
            if kind is not None and (
                found.library != "pandas" or name in own or pa.types.is_dictionary(kind)
            ):
                kind = _of_declared_numbers(kind, own, column)
            if kind is not None and _holds_bounds(column, kind):
                types.append((name, kind))
            else:
                own.pop(name, None)
        return replace(
            found,
            schema=pa.schema(types),
            own=own,
            minutes=frozenset(str(column["name"]) for column in columns if _has_clock(column)),
        )

    @classmethod
    def _of_library(cls, frame: Any, names: Collection[str]) -> "FrameDtypes":  # noqa: ANN401
        home = type(frame).__module__.partition(".")[0]
        if home == "pandas":
            labels = {bare_name(str(name)): name for name in frame.columns}
            places = {name: place for place, name in enumerate(labels) if name in names}
            filled = dense(frame)
            # Each column separately, because columns that are not modelled may hold values that Arrow cannot.
            schema = pa.schema(
                [
                    (name, pa.array(filled.iloc[:, place], from_pandas=True).type)
                    for name, place in places.items()
                ]
            )
            dtypes = {name: frame.dtypes.iloc[place] for name, place in places.items()}
            return cls(
                library="pandas",
                schema=schema,
                own={name: one for name, one in dtypes.items() if _is_own(one)},
                labels={name: label for name, label in labels.items() if label != name},
            )
        if home == "polars":
            kinds = {
                bare_name(name): kind for name, kind in frame.schema.items() if type(kind).__name__ == "Enum"
            }
            return cls(library="polars", own=kinds, **_of_schema(pa.table(frame).schema))
        schema = getattr(frame, "schema", None)
        schema = schema if isinstance(schema, pa.Schema) else pa.schema([])
        return cls(library="arrow" if isinstance(frame, pa.Table) else None, **_of_schema(schema))

    def given_back(self, table: pa.Table) -> pa.Table:
        """Synthetic rows in the frame's types, for columns whose every possible value fits."""
        for place, name in enumerate(table.column_names):
            if name not in self.schema.names:
                continue
            with suppress(pa.ArrowException, ValueError):
                values = _in_kind(table.column(name), self.schema.field(name).type)
                table = table.set_column(place, name, values)
        return table

    def in_own(self, rows: Any) -> Any:  # noqa: ANN401 - a frame of any library
        """A sample, a frame of the library, in the types that only this library has, under the frame's own names."""
        for name, kind in self.own.items():
            if name not in rows.columns:
                continue
            if self.library == "polars":
                import polars as pl

                with suppress(pl.exceptions.PolarsError):  # a word outside its levels, such as "other"
                    rows = rows.with_columns(pl.col(name).cast(pl.String).cast(kind))
            elif _holds(rows[name], kind):
                rows[name] = rows[name].astype(kind)
        if self.library == "arrow":
            return rows.rename_columns([self.labels.get(name, name) for name in rows.column_names])
        if self.labels:
            rows.columns = [self.labels.get(name, name) for name in rows.columns]
        return rows

    def named(self, where: object) -> object:
        """Conditions under the domain's names, which are text."""
        if not isinstance(where, Mapping):
            return where
        found = {}
        for label, wanted in where.items():
            bare = bare_name(str(label))
            name = bare if bare in self.labels else label
            found[name] = _of_day(wanted) if str(name) in self.minutes else wanted
        return found

    def kind_of(self, name: str | None) -> pa.DataType | None:
        """Return the type of a column's values; None if there is no such column."""
        if name not in self.schema.names:
            return None
        kind = self.schema.field(name).type
        return kind.value_type if pa.types.is_dictionary(kind) else kind

    def zones(self) -> dict[str, str]:
        """The time zones of columns of times."""
        return {
            one.name: one.type.tz
            for one in self.schema
            if pa.types.is_timestamp(one.type) and one.type.tz is not None
        }


def _of_schema(schema: pa.Schema) -> dict[str, Any]:
    """A schema and its labels under the domain's names."""
    labels = {bare_name(name): name for name in schema.names}
    bare = pa.schema([field.with_name(bare_name(field.name)) for field in schema])
    return {"schema": bare, "labels": {name: label for name, label in labels.items() if label != name}}


def _of_declared(own: Mapping[str, Any], columns: Iterable[Json]) -> dict[str, Any]:
    """Types that only a library has, restricted to the declared levels: levels that the owner left out may be private."""
    found = {}
    for column in columns:
        if (kind := own.get(str(column["name"]))) is None:
            continue
        if column.get("prefix") is not None:
            continue  # its words are shorter than the levels of the frame
        levels = getattr(kind, "categories", None)
        if levels is not None:
            lists = [column[key] for key in ("categories", "levels") if key in column]
            single = [column[key] for key in ("true", "false", "other") if isinstance(column.get(key), str)]
            declared = {str(word) for word in [*chain(*lists), *single]}
            kept = [level for level in levels if _text_of(level) in declared]
            if str(getattr(levels, "dtype", "")) in _INFERRED:
                kept = [int(level) if _is_declared_whole(column) else float(level) for level in kept]
            kind = type(kind)(kept, ordered=True) if str(kind) == "category" else type(kind)(kept)
        found[str(column["name"])] = kind
    return found


def _text_of(level: object) -> object:
    """A level as a domain declares it."""
    # Arrow refuses Python's integers of 2^63 and more.
    return str(level) if type(level) is int else as_text("", pa.array([level]))[0].as_py()


def _apart_from_rows(kind: pa.DataType, own: dict[str, Any], column: Json) -> pa.DataType | None:
    """The declared pandas type where one value could change the inferred type; else None. `own` changes with it.

    A missing value turns numpy's integers into floats and booleans into objects, a fraction turns integers into floats, a number of 2^63 turns
    integers into unsigned ones, and Arrow reads objects as decimals with the longest number of digits.
    """
    name, has_missing = str(column["name"]), column.get("null") == "category"
    is_object = str(own.get(name)) == "object"
    if is_object and pa.types.is_decimal(kind):
        decimals = column.get("decimals")
        return None if decimals is None else pa.decimal128(_MOST_DIGITS, decimals)
    if pa.types.is_boolean(kind) and (is_object or name not in own):
        own.pop(name, None)
        if has_missing:
            own[name] = "object"
    if kind in {pa.int64(), pa.uint64(), pa.float64()} and (is_object or name not in own):
        return pa.int64() if _is_declared_whole(column) and not has_missing else pa.float64()
    return kind


def _of_declared_numbers(kind: pa.DataType, own: dict[str, Any], column: Json) -> pa.DataType:
    """The declared type of numbers that hold missing ones, where a reader without a given type infers one from all rows; else the type itself.

    One fraction makes real numbers of whole ones, and one number of 2^63 makes them unsigned, in nullable columns, in levels, in polars and in Arrow.

    Args:
        kind: the column's type in Arrow.
        own: types that only the library has, by column; changed.
        column: the column's declaration.
    """
    is_levels, name = pa.types.is_dictionary(kind), str(column["name"])
    inner, library = kind.value_type if is_levels else kind, str(own.get(name))
    if inner not in {pa.int64(), pa.uint64(), pa.float64()} or library == "object":
        return kind
    is_whole = _is_declared_whole(column)
    wanted = pa.int64() if is_whole else pa.float64()
    if is_levels:
        return pa.dictionary(kind.index_type, wanted, ordered=kind.ordered)
    if library in _INFERRED:
        whole, real = ("int64[pyarrow]", "double[pyarrow]") if "pyarrow" in library else ("Int64", "Float64")
        own[name] = whole if is_whole else real
    return wanted


def _is_declared_whole(column: Json) -> bool:
    """Whether every declared value is a whole number."""
    words = [*column.get("categories", ()), *column.get("levels", ())]
    words += [column[key] for key in ("true", "false") if key in column]
    return all(map(_is_whole, words)) if words else column.get("type") == "integer"


def _is_whole(word: object) -> bool:
    return str(word).removeprefix("-").isdecimal()


def _is_own(dtype: Any) -> bool:  # noqa: ANN401 - pandas may be absent
    if str(dtype) == "category":
        return bool(dtype.ordered)
    return str(dtype).startswith(_OF_PANDAS) or str(dtype).endswith("[pyarrow]")


def _holds(values: Any, kind: Any) -> bool:  # noqa: ANN401 - a Series and a type of pandas
    """Whether a pandas type holds every possible value of a column."""
    if str(kind) == "category":
        return str(values.dtype) == "category" and set(values.cat.categories) <= set(kind.categories)
    is_words = str(values.dtype) in {"str", "category"}
    return not is_words or str(kind) == "object" or "string" in str(kind)


def _holds_bounds(column: Json, kind: pa.DataType) -> bool:
    """Whether a type of whole numbers or times of day holds every possible value of a numeric column."""
    if column["kind"] != "numeric":
        return True
    ends = [column[key] for key in ("lower", "upper") if key in column]
    ends += [*column.get("edges", ()), *column.get("specials", ())]
    if pa.types.is_time(kind):
        return _has_clock(column) and all(0 <= end < _DAY_MINUTES for end in ends) and bool(ends)
    if not pa.types.is_integer(kind):
        return True
    try:
        pa.array([int(end) for end in ends], kind)
    except (pa.ArrowException, OverflowError):
        return False
    return bool(ends)  # learnt bounds are unknown


def _has_clock(column: Json) -> bool:
    """Whether a column reads times of day as minutes."""
    return bool((column.get("number_format") or {}).get("clock"))


def _in_kind(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Values of a sample in an Arrow type.

    Raises:
        ArrowException: a value does not fit.
        ValueError: a value does not fit.
    """
    if pa.types.is_dictionary(values.type):
        return _words_in_kind(values, kind)
    if pa.types.is_timestamp(kind) and pa.types.is_temporal(values.type):
        if kind.tz is None:
            return values.cast(kind)
        # Ambiguous autumn times take the first; skipped spring times move to the gap's end; order is kept.
        return pc.assume_timezone(
            values.cast(pa.timestamp(kind.unit)), kind.tz, ambiguous="earliest", nonexistent="latest"
        )
    if pa.types.is_time(kind) and pa.types.is_integer(values.type):
        # From minutes since midnight.
        return pc.multiply(values, 60).cast(pa.int32()).cast(pa.time32("s")).cast(kind)
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return values.cast(kind)
    return values


def _words_in_kind(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Words in the frame's type."""
    if values.num_chunks == 0:
        return values
    declared = values.combine_chunks()
    declared = declared.chunk(0) if isinstance(declared, pa.ChunkedArray) else declared
    words = declared.dictionary
    if pa.types.is_dictionary(kind):
        inner = kind.value_type
        typed = words.cast(inner) if pa.types.is_integer(inner) or pa.types.is_floating(inner) else words
        found = pa.DictionaryArray.from_arrays(declared.indices, typed, ordered=kind.ordered)
        return pa.chunked_array([found])
    if pa.types.is_time(kind):
        times = pa.array([time.fromisoformat(word) for word in words.to_pylist()], kind)
        return pa.chunked_array([times.take(declared.indices)])
    typed = words_as_numbers(words, kind)
    if typed is None:
        return values.cast(kind if pa.types.is_large_string(kind) else pa.string())
    return pa.chunked_array([typed.take(declared.indices)])


def words_as_numbers(words: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return words as numbers of a type; None if a word is no number."""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    try:
        typed = words.cast(kind)
    except pa.ArrowException:
        return None
    # "007" is a code, not a number.
    is_code = pa.types.is_integer(kind) and typed.cast(pa.string()).to_pylist() != words.to_pylist()
    return None if is_code else typed


def where_of_clocks(where: object, zones: Mapping[str, str]) -> object:
    """Conditions on times with a zone, as local times without the zone, like their declaration."""
    if not isinstance(where, Mapping) or zones.keys().isdisjoint(where):
        return where
    return {
        name: wanted if name not in zones else _of_clock(wanted, zones[name])
        for name, wanted in where.items()
    }


def _of_day(wanted: Any) -> Any:  # noqa: ANN401 - whatever a program writes
    """Times of day in a condition, as minutes."""
    if isinstance(wanted, tuple):
        return tuple(_of_day(one) for one in wanted)
    if (values := listed(wanted)) is not None:
        return [_of_day(one) for one in values]
    return 60 * wanted.hour + wanted.minute if isinstance(wanted, time) else wanted


def _of_clock(wanted: Any, zone: str) -> Any:  # noqa: ANN401 - whatever a program writes
    if isinstance(wanted, tuple):
        return tuple(_of_clock(one, zone) for one in wanted)
    if (values := listed(wanted)) is not None:
        return [_of_clock(one, zone) for one in values]
    moment = read_moment(wanted)
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return wanted
    return pc.local_timestamp(pa.array([moment], pa.timestamp("us", zone)))[0].as_py()
