"""Coded tables for reports: rows as codes; names, labels and distances of codes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.artifacts.reports.errors import ReportTargetUnknown
from core.plan.domain.codec import Codes, codes_type, decode, encode, encode_column
from core.plan.domain.columns.calendar import day_text, second_text
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, OrderedColumn, TimeColumn
from core.plan.domain.declared import Domain
from core.plan.domain.images import LABEL, PIXELS, ImageDomain
from core.plan.domain.table import TableDomain

MISSING = "(missing)"
FEWEST_VALUES = 2
"""Values or bins of a column that can be predicted."""
DISTANCE_SCALE = 2**18
"""The whole number that stands for a distance of 1. Sums of whole numbers are exact, so a column's part can be subtracted again."""
_WHOLE_FROM = 1000.0
_NARROWEST = 1e-9
_GROWTH = 20.0
"""Ratio of the widest bin to the first one from which a column of widening bins is drawn on a logarithmic axis."""
_FEWEST_GROWING = 4
"""Number of bins from which their widths are informative."""
_DAY = 86400.0
_KINDS = {
    "numeric": "number",
    "categorical": "category",
    "ordinal": "ordered category",
    "boolean": "yes or no",
    "date": "date",
    "datetime": "time",
}


@dataclass(frozen=True, kw_only=True)
class ReportColumn:
    """One modelled column. All of it is declared and therefore public.

    Attributes:
        words: label of each code, in code order.
        places: (codes,) position of each code on a scale from 0 to 1, NaN for a code without one (a category, a
            special or missing value).
        other: the code of all values that the domain does not list; None where it has none.
        spans: (bins, 2) where each bin begins and ends on the axis of a plot, from 0 to 1; None for words. The axis is that of the declared
            spacing: where bins are spaced by logarithms, so is it.
        length: of that axis in the column's own units, of dates and times in days; 0 where it is not linear.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    places: NDArray[np.float64] = field(repr=False, compare=False)
    other: int | None = None
    spans: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    length: float = 0.0

    @property
    def codes(self) -> int:
        """Number of codes."""
        return len(self.words)

    @property
    def is_ordered(self) -> bool:
        """Whether at least two codes have a position on the scale."""
        return int(np.isfinite(self.places).sum()) > 1

    @property
    def is_logarithmic(self) -> bool:
        """Whether its bins are spaced by logarithms, and drawn so."""
        return self.spans is not None and not self.length

    @property
    def keeps_order(self) -> bool:
        """Whether its values are listed in their order: those of a scale, and few numbers, each with a code of its own."""
        return self.is_ordered or self.kind == _KINDS["numeric"]

    def heights(self, distribution: NDArray[np.float64], spans: NDArray[np.float64]) -> NDArray[np.float64]:
        """Heights of bars whose areas are the shares, so that bins of other widths do not look like other densities.

        A bar of the mean width is as high as its share.

        Args:
            distribution: (bars,) shares.
            spans: (bars, 2) where each bar begins and ends.
        """
        widths = np.maximum(spans[:, 1] - spans[:, 0], _NARROWEST)
        scaled: NDArray[np.float64] = distribution * widths.mean() / widths
        return scaled

    @cached_property
    def distances(self) -> NDArray[np.int32]:
        """(codes, codes) distances, times `DISTANCE_SCALE`: the difference of two positions, 1 for other unequal codes."""
        apart = np.abs(self.places[:, None] - self.places[None, :])
        apart = np.where(np.isfinite(apart), apart, 1.0)
        np.fill_diagonal(apart, 0.0)
        whole: NDArray[np.int32] = np.rint(apart * DISTANCE_SCALE).astype(np.int32)
        return whole


def columns_of(domain: TableDomain) -> tuple[ReportColumn, ...]:
    """The coded columns of a declared domain."""
    return tuple(_column(column) for column in domain.coded)


def target_of(domain: Domain, asked: str | None) -> str:
    """The column to predict: the requested one, else the domain's target, else `default_target`.

    Of images it is the label. Reports on images without labels predict nothing and name the pixels.

    Raises:
        ReportTargetUnknown: no coded column has the name.
    """
    if isinstance(domain, ImageDomain):
        if asked not in {None, only := LABEL if domain.labels else PIXELS}:
            raise ReportTargetUnknown
        return only
    chosen = asked or domain.target or default_target(domain)
    if chosen not in {column.name for column in domain.coded}:
        raise ReportTargetUnknown
    return chosen


def default_target(domain: TableDomain) -> str:
    """The column to predict where the domain declares no target: the last of those with the fewest declared values or bins, of two at least.

    The declaration alone decides. A choice by what the rows show would favour a column that came out well.
    """
    return min(
        reversed(domain.coded_columns),
        key=lambda column: (column.ordinary_codes < FEWEST_VALUES, column.ordinary_codes),
    ).name


def target_note(domain: TableDomain, target: str) -> str | None:
    """Why a column is predicted that the domain does not declare as its target; None for the target or another requested column."""
    if domain.target is not None or target != default_target(domain):
        return None
    return (
        "The domain declares no target. Predicted is the last of the columns with the fewest declared values, as an example: "
        "declare a target in the domain, or order a report that names the column to predict."
    )


def made_columns_of(domain: TableDomain) -> tuple[ReportColumn, ...]:
    """The columns that are coded as differences, as rows hold them: values in the bins of the column that each starts from."""
    return tuple(_column(column) for column in _made(domain))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MadeColumns:
    """The columns that a release makes of another one and a distance, as rows hold them.

    Attributes:
        real: (rows, columns) codes of the real rows' values.
    """

    domain: TableDomain
    real: Codes = field(repr=False)

    @property
    def columns(self) -> tuple[ReportColumn, ...]:
        """The columns, in file order."""
        return made_columns_of(self.domain)

    def drawn(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """(rows, columns) codes of the values that synthetic rows of these codes have; a rule moves no value here."""
        return _values_of(_made(self.domain), decode(self.domain, codes, rng))


def _values_of(columns: Sequence[NumericColumn | TimeColumn], batch: pa.RecordBatch) -> Codes:
    """(rows, columns) codes of the values of some columns."""
    codes: Codes = np.empty((batch.num_rows, len(columns)), np.int32)
    for index, column in enumerate(columns):
        codes[:, index] = encode_column(column, batch.column(column.name))
    return codes


def _made(domain: TableDomain) -> tuple[NumericColumn | TimeColumn, ...]:
    """The columns that have a difference, without it, in the bins of the column that each starts from, through others where that has one too.

    Two columns close together have values in the same places, and a column with a difference declares no bins of its own.
    """
    by_name = {column.name: column for column in domain.modelled}
    found: list[NumericColumn | TimeColumn] = []
    for column in domain.modelled:
        start: Modelled = column
        while start.difference is not None:
            start = by_name[start.difference.start]
        if start is column:
            continue
        if isinstance(column, NumericColumn) and isinstance(start, NumericColumn):
            found.append(replace(
                column, difference=None, lower=start.lower, upper=start.upper, edges=start.edges,
                bin_count=start.bin_count, spacing=start.spacing,
            ))  # fmt: skip
        elif isinstance(column, TimeColumn) and isinstance(start, TimeColumn):
            if start.kind != column.kind:  # a date that starts from the day of a time
                found.append(replace(column, difference=None))
                continue
            found.append(replace(
                column, difference=None, lower=start.lower, upper=start.upper, edges=start.edges,
                bin_count=start.bin_count,
            ))  # fmt: skip
    return tuple(found)


def coded_rows(
    batches: Iterable[pa.RecordBatch], domain: TableDomain
) -> tuple[Codes, NDArray[np.int64], MadeColumns]:
    """Encode stored rows one by one, learning nothing from them, and number the privacy units.

    Args:
        batches: clean rows with `storage_schema(domain)`.

    Returns:
        (rows, columns) codes, (rows,) the unit of every row, and the values of columns that are coded as differences.
    """
    codes: list[Codes] = [np.empty((0, len(domain.coded)), codes_type(domain.cardinalities))]
    columns = _made(domain)
    values: list[Codes] = [np.empty((0, len(columns)), np.int32)]
    units = []
    for batch in batches:
        codes.append(encode(domain, batch))
        values.append(_values_of(columns, batch))
        if domain.privacy_unit is not None:
            units.append(batch.column(domain.privacy_unit))
    records: Codes = np.concatenate(codes)
    made = MadeColumns(domain=domain, real=np.concatenate(values))
    if domain.privacy_unit is None:
        return records, np.arange(len(records)), made
    numbered = pc.dictionary_encode(pa.chunked_array(units, pa.string())).combine_chunks().indices
    return records, numbered.to_numpy(zero_copy_only=False).astype(np.int64), made


def _column(column: Modelled) -> ReportColumn:
    kind = _KINDS[column.kind]
    spans, length = None, 0.0
    if isinstance(column, LabelColumn):
        words = list(column.words)
        places = _scale(len(column.labels) if column.kind == "ordinal" else 0)
    else:
        assert isinstance(column, OrderedColumn), "a column has labels or bins"
        words = [*(f"{special:g}" for special in column.specials), *_bins(column)]
        places = np.append(np.full(len(column.specials), np.nan), _scale(column.bins.count))
        spans, length = _spans(column)
    if column.null_code is not None:
        words.append(MISSING)
    whole = np.full(column.cardinality, np.nan)
    whole[: len(places)] = places
    other = column.other_code if isinstance(column, LabelColumn) else None
    return ReportColumn(
        name=column.name, kind=kind, words=tuple(words), places=whole, other=other, spans=spans, length=length
    )


def _spans(column: OrderedColumn) -> tuple[NDArray[np.float64], float]:
    """Where the bins lie on the axis of a plot, and how long it is; 0 if it is not linear."""
    bins = column.bins
    grid = bins.grid
    # The last value of a grid is as wide as the others: a bin that holds it alone would have no width.
    ticks = 0 if grid is None else int(bins.tick_counts.sum())
    step = (bins.highs[-1] - bins.lows[0]) / max(1, ticks - 1) if ticks else 0.0
    highs = np.append(bins.highs[:-1], bins.highs[-1] + step)
    edges = np.stack([bins.lows, highs], axis=1) - bins.lows[0]
    length = max(float(edges[-1, 1]), _NARROWEST)
    widths = edges[:, 1] - edges[:, 0]
    if isinstance(column, NumericColumn) and (column.spacing == "log" or _grow(widths)):
        unit = length / 1000 if grid is None else grid.width / grid.scale
        unit = max(length / 1e6, float(widths[0])) if column.edges else unit
        return np.log1p(edges / unit) / np.log1p(length / unit), 0.0
    return edges / length, length / (
        _DAY if isinstance(column, TimeColumn) and column.kind == "datetime" else 1
    )


def _grow(widths: NDArray[np.float64]) -> bool:
    """Whether bins widen by ratios upwards, as declared edges of amounts do: on a linear axis all but the last would be one line."""
    lower, upper = np.array_split(widths, 2)
    return len(widths) >= _FEWEST_GROWING and bool(
        widths.max() > _GROWTH * widths[0] and np.median(upper) > _GROWTH / 4 * np.median(lower)
    )


def _scale(codes: int) -> NDArray[np.float64]:
    return np.arange(codes) / max(1, codes - 1)


def _bins(column: OrderedColumn) -> Sequence[str]:
    """Labels of the bins as ``low to high``; a single-valued bin is labelled with its value."""
    bins = column.bins
    if isinstance(column, TimeColumn):
        text = day_text if column.kind == "date" else second_text
        return [text(int(low)) for low in bins.lows]
    if bins.grid is not None and (bins.tick_counts == 1).all():
        return [_number(low) for low in bins.grid.points(bins.first_ticks)]
    return [f"{_number(low)} to {_number(high)}" for low, high in zip(bins.lows, bins.highs, strict=True)]


def _number(value: float) -> str:
    """At most six digits, with its digits grouped in threes instead of powers of ten."""
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= _WHOLE_FROM else f"{value:.4g}"
