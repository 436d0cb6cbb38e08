"""Columns of a declared domain: frozen values, each a finite set of codes by public rule.

Order of the codes of a column: its ordinary codes (special values then bins; categories; levels; false, true),
then "other" if declared, then null if the null policy is "category".
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Literal

import numpy as np

from core.plan.domain.columns.bins import Bins, Floats, Grid, default_edges, make_bins
from core.plan.domain.columns.calendar import make_grid
from core.plan.domain.columns.number_format import NumberFormat
from core.plan.domain.columns.patterns import PatternedBins

Learnt = Literal["bounds", "bins", "categories", "records", "crowded"]
"""A property of a column that training learns from the rows, with noise and for a charge, instead of taking it as declared.

"records" is a property of the unit column: how many records of a unit count. "crowded" is in no document: whether even bins are crowded, and
the bins if they are."""
Pattern = Literal["weekday", "month", "hour"]
_WRITABLE: Final = re.compile(r"(?:[^%]|%[aAbBdDeFHIjmMpRSTyY%])*", re.DOTALL)
"""Formats whose parts Python and Arrow write alike for moments without a zone."""
Outside = Literal["clamp", "null", "refuse"]
Prefix = int | Literal["letters"]
Unknown = Literal["other", "null", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NullPolicy:
    """Treatment of a missing value: refuse the row, give null a code of its own, or use a declared replacement.

    Attributes:
        value: The replacement (action "use"), as written in the domain document.
    """

    action: Literal["refuse", "category", "use"]
    value: str | int | float | None = None


class ModelledColumn:
    """A column that is modelled. Abstract: the kinds below are final."""

    name: str
    null: NullPolicy
    learn: tuple[Learnt, ...]
    """The properties that are learnt, in this order. Until then the column has the maximum number of codes that learning may give it."""
    difference: "Difference | None" = None
    """The other column from which its distance is coded, instead of its own values."""

    @property
    def ordinary_codes(self) -> int:
        """Number of codes without "other" and null."""
        raise AssertionError  # pragma: no cover

    @property
    def other_code(self) -> int | None:
        """The code of every category that is not listed."""
        return None

    @property
    def null_code(self) -> int | None:
        """The code of a missing value."""
        if self.null.action != "category":
            return None
        return self.ordinary_codes + (self.other_code is not None)

    @property
    def cardinality(self) -> int:
        """Number of codes."""
        return self.ordinary_codes + (self.other_code is not None) + (self.null.action == "category")


class OrderedColumn(ModelledColumn):
    """A number or a time: special values, then bins. Abstract.

    ``bins`` is computed once per column object; two equal columns have equal bins.
    """

    specials: tuple[float, ...]
    outside: Outside
    unreadable: Literal["null", "refuse"]

    def make_bins(self) -> Bins:
        """The bins of the column, by declared edges or the default rule."""
        raise AssertionError  # pragma: no cover

    @property
    def bins(self) -> Bins:
        """The bins of the column (cached)."""
        return _bins_of(self)

    @property
    def ordinary_codes(self) -> int:
        """Special values, then bins."""
        return len(self.specials) + self.bins.count


@lru_cache(maxsize=4096)
def _bins_of(column: OrderedColumn) -> Bins:
    return column.make_bins()


@dataclass(frozen=True, kw_only=True)
class NumericColumn(OrderedColumn):
    """A number between public bounds.

    Attributes:
        integer: Whole numbers only.
        lower: Smallest ordinary value.
        upper: Largest ordinary value.
        edges: Declared bin edges from ``lower`` to ``upper``, or empty for the default rule.
        bin_count: Number of bins of the default rule, or None for 32.
        specials: Values with a code of their own (zero spikes, sentinels), in or out of the bounds.
        decimals: Digits after the point that synthetic reals show, or None for full precision.
        multiple_of: Synthetic values are multiples of it, special values apart, or None.
        outside: Treatment of values beyond the bounds.
        infinite: Treatment of plus and minus infinity.
        fraction: Treatment of 3.7 in a whole-number column.
        unreadable: Treatment of text that is not a number.
        number_format: How text writes the numbers, or None if plainly.
        learn: Learnt properties. With "bounds" the declared bounds are the outermost ones, with "bins" the declared number of bins is the maximum.
        difference: The distance from another column that is coded instead, or None.
    """

    kind: ClassVar[Literal["numeric"]] = "numeric"

    name: str
    integer: bool
    lower: float
    upper: float
    edges: tuple[float, ...] = ()
    bin_count: int | None = None
    spacing: Literal["linear", "log"] = "linear"
    specials: tuple[float, ...] = ()
    decimals: int | None = None
    multiple_of: float | None = None
    null: NullPolicy = NullPolicy(action="refuse")
    outside: Outside = "clamp"
    infinite: Outside = "refuse"
    fraction: Literal["round", "refuse"] = "refuse"
    unreadable: Literal["null", "refuse"] = "refuse"
    number_format: NumberFormat | None = None
    learn: tuple[Learnt, ...] = ()
    difference: "Difference | None" = None

    @property
    def grid(self) -> Grid | None:
        """Whole numbers, multiples of 10^-decimals or of `multiple_of`, or None for continuous values."""
        if not self.integer and self.decimals is None:
            return None
        scale = 10 ** (self.decimals or 0)
        low, high = round(self.lower * scale), round(self.upper * scale)
        low += low / scale < self.lower
        high -= high / scale > self.upper
        width = 1 if self.multiple_of is None else round(self.multiple_of * scale)
        low += -low % width
        return Grid(offset=low, width=width, scale=scale, ticks=(high - low) // width + 1)

    def make_bins(self) -> Bins:
        """The bins of the column, by declared edges or the default rule."""
        grid = self.grid
        span = self.upper - self.lower
        unit = span / 1000 if grid is None else grid.width / grid.scale
        edges: Floats = np.array(self.edges) if self.edges else default_edges(
            lower=self.lower, upper=self.upper, grid=grid, unit=unit, bins=self.bin_count, spacing=self.spacing
        )  # fmt: skip
        return make_bins(edges=edges, grid=grid, specials=np.array(self.specials))


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The distance of a column from another one: what is coded and counted in the place of the column's own values.

    Attributes:
        coded: The distance as a column of its own, named after the column (``discharged.difference``). Of times it is counted in units of the
            resolution, and missing where a time is missing.
    """

    start: str
    coded: NumericColumn


@dataclass(frozen=True, kw_only=True)
class TimeColumn(OrderedColumn):
    """A date or a time of day on a date, between public bounds.

    Attributes:
        kind: "date" (counted in days since 1970-01-01) or "datetime" (in seconds).
        lower: First day or second.
        upper: Last day or second.
        resolution: The unit to which values are distinguished; synthetic values are multiples of it.
        edges: Declared bin edges, or empty for the default rule.
        bin_count: Number of bins of the default rule, or None for 32.
        format: strptime format of text in files, read and synthetic, or None for ISO 8601.
        outside: Treatment of values beyond the bounds.
        unreadable: Treatment of text that is not a date.
        learn: Learnt properties, as in `NumericColumn`.
        patterns: Calendar patterns modelled in addition to the bins, the most important first.
        difference: The distance from another column that is coded instead, or None.
    """

    name: str
    kind: Literal["date", "datetime"]
    lower: int
    upper: int
    resolution: str
    edges: tuple[int, ...] = ()
    bin_count: int | None = None
    format: str | None = None
    null: NullPolicy = NullPolicy(action="refuse")
    outside: Outside = "clamp"
    unreadable: Literal["null", "refuse"] = "refuse"
    specials: tuple[float, ...] = ()
    learn: tuple[Learnt, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    difference: "Difference | None" = None

    @property
    def written_format(self) -> str | None:
        """The format of synthetic text: the declared one, or None for ISO 8601, also where the declared one has parts that only reading knows, such as a zone."""
        return self.format if self.format is not None and _WRITABLE.fullmatch(self.format) else None

    @property
    def seconds_per_unit(self) -> int:
        """Seconds in one unit of the bounds."""
        return 86400 if self.kind == "date" else 1

    @property
    def grid(self) -> Grid:
        """The days or seconds that the resolution distinguishes."""
        return make_grid(
            lower=self.lower,
            upper=self.upper,
            resolution=self.resolution,
            seconds_per_unit=self.seconds_per_unit,
        )

    def make_bins(self) -> Bins:
        """The bins of the column, by declared edges or the default rule."""
        grid = self.grid
        edges: Floats = np.array(self.edges, dtype=np.float64) if self.edges else default_edges(
            lower=self.lower, upper=self.upper, grid=grid, unit=grid.width, bins=self.bin_count, spacing="linear"
        )  # fmt: skip
        return make_bins(edges=edges, grid=grid, specials=np.zeros(0))

    @property
    def patterned(self) -> PatternedBins:
        """The values of the bins by the codes of the patterns (cached)."""
        return _patterned_bins_of(self)

    def pattern_data(self) -> dict[str, Any]:
        """The patterns, grid and bins as JSON, from which `PatternedBins` is made."""
        grid, bins = self.grid, self.bins
        return {
            "patterns": list(self.patterns),
            "unit_seconds": self.seconds_per_unit,
            "grid": {
                "offset": grid.offset,
                "width": grid.width,
                "table": None if grid.table is None else grid.table.tolist(),
            },
            "first_ticks": bins.first_ticks.tolist(),
            "tick_counts": bins.tick_counts.tolist(),
        }


@lru_cache(maxsize=256)
def _patterned_bins_of(column: TimeColumn) -> PatternedBins:
    return PatternedBins(column.pattern_data())


@dataclass(frozen=True, kw_only=True)
class LabelColumn(ModelledColumn):
    """A value from a declared list: categorical (unordered), ordinal (ordered) or boolean.

    Attributes:
        labels: The listed values in code order; for booleans the words for false and true.
        other: The text that replaces every value that is not listed, or None.
        unknown: Treatment of values that are not listed.
        learn: ("categories",) where the list is learnt; `labels` are then placeholders, as many as may be learnt.
        prefix: How many first characters of a text count, "letters" for the letters at its beginning, or None for all of it.
    """

    name: str
    kind: Literal["categorical", "ordinal", "boolean"]
    labels: tuple[str, ...]
    other: str | None = None
    null: NullPolicy = NullPolicy(action="refuse")
    unknown: Unknown = "refuse"
    learn: tuple[Learnt, ...] = ()
    prefix: Prefix | None = None

    @property
    def ordinary_codes(self) -> int:
        """The listed values."""
        return len(self.labels)

    @property
    def other_code(self) -> int | None:
        """The code after the listed values."""
        return None if self.other is None else len(self.labels)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The listed values and the text for "other"."""
        return self.labels if self.other is None else (*self.labels, self.other)

    def code_of(self, word: str) -> int | None:
        """The code of a word; None if it is not declared. A number may lack zeros at its beginning (7 for 07) where one word alone is that number."""
        if word in self.words:
            return self.words.index(word)
        if not _is_whole(word):
            return None
        alike = [
            code
            for code, one in enumerate(self.words)
            if _is_whole(one) and one.lstrip("0") == word.lstrip("0")
        ]
        return alike[0] if len(alike) == 1 else None


def _is_whole(word: str) -> bool:
    return word.isascii() and word.isdecimal()


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredColumn:
    """A column of the file that is dropped before anything is stored."""

    kind: ClassVar[str] = "ignored"

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitColumn:
    """The column that identifies the privacy unit of a record: stored sealed, never modelled, never released.

    Attributes:
        records: Maximum number of records of a unit that count, each fully. None if all count, with total weight one.
        learns_records: Whether training learns `records`, which is None until then.
    """

    kind: ClassVar[str] = "unit"

    name: str
    records: int | None = None
    learns_records: bool = False


_PATTERN_WORDS: Final[dict[Pattern, tuple[str, ...]]] = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ),
    "hour": tuple(f"{hour:02d}" for hour in range(24)),
}  # fmt: skip


def pattern_column(column: TimeColumn, pattern: Pattern) -> LabelColumn:
    """The column of codes of one pattern, named after its time (``seen.weekday``) and missing where the time is missing."""
    return LabelColumn(
        name=f"{column.name}.{pattern}",
        kind="ordinal",
        labels=_PATTERN_WORDS[pattern],
        null=NullPolicy(action="category" if column.null.action == "category" else "refuse"),
    )


Column = NumericColumn | TimeColumn | LabelColumn | IgnoredColumn | UnitColumn
Modelled = NumericColumn | TimeColumn | LabelColumn
