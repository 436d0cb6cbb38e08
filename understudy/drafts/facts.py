"""Facts of the owner's rows for a draft of their domain, collected in constant memory."""

import csv
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from understudy.drafts.date_forms import DateForms
from understudy.errors import InputUnusable
from understudy.table_files import opened
from understudy.text_encoding import UTF8

_QUOTED = re.compile(r'"[^"]*"')
_DELIMITERS = ",;\t|"
_SEPARATOR = re.compile(r'"?sep=.?"?', re.IGNORECASE)
"""The first line by which Excel learns the delimiter."""
_SIGNS = (
    "", "?", "NA", "N/A", "n/a", "N.A.", "n.a.", "#N/A", "#NV", "<NA>", "NULL", "null", "None", "nan", "NaN", "-", "--", ".", "k.A.", "k. A.",
    "Keine Angabe", "#DIV/0!", "#VALUE!", "#WERT!", "#REF!", "#BEZUG!",
)  # fmt: skip
_MISSING = (
    "unknown", "missing", "not available", "not applicable", "not known", "not recorded", "not specified", "unspecified", "unbekannt",
    "keine angabe", "inconnu", "non renseigné", "desconocido", "sin datos", "sconosciuto", "prefer not to say", "prefer not to answer",
)  # fmt: skip
NULLS = (*_SIGNS, *(form(word) for word in _MISSING for form in (str, str.capitalize, str.upper)))
"""Texts that mean "missing" in every column of a file."""
ODD = frozenset({"n", "x", "u", "unk", "none", "nil", "refused", "blank", "*", "not asked", "n/d", "tbd"})
"""Words, in lower case, that mean "missing" among numbers but may mean something else among words."""
_CENSORED = re.compile(r"[<>≤≥]=?\s?[0-9]+([.,][0-9]+)?")
_OPEN_ENDED = re.compile(r"[0-9]+([.,][0-9]+)?\s?\+")
MOST_ODD = 3
"""Maximum distinct words beside numbers."""
_FEWEST_BESIDE_WORDS = 20
_SHARE_BESIDE_WORDS = 2 / 3
_MOST_SAMPLED = 1 << 16
"""Maximum distinct values that are counted. Beyond that every second one is kept by a hash, then every fourth."""
_DIGITS = 4
"""Significant digits of numbers in a distribution."""
_FEWEST_STEPS = 1000
"""Minimum range of a column in steps of that rounding; narrower columns, such as degrees within one town, are not rounded."""
MOST_DECIMALS = 4
"""Maximum decimals of a number; more are a measurement, not a format."""
_UNWRITTEN = 99
"""The decimals of numbers with an exponent."""
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The dialect of a CSV file, and the parts of it that were guessed."""

    delimiter: str
    header: bool
    guessed: tuple[str, ...]
    decimal_mark: str = "."
    encoding: str = UTF8


def read_dialect(
    path: Path, header: bool | None, delimiter: str | None, encoding: str = UTF8
) -> tuple[Dialect, list[str]]:
    """Read delimiter, header and column names from the first lines.

    Raises:
        InputUnusable: The file is empty, its first line is blank or the `sep=` of Excel, or its header has an empty or repeated name.
    """
    with opened(path, encoding) as file:
        all_lines = [file.readline(1 << 20).decode("utf-8-sig") for _ in range(20)]
    lines = [line for line in all_lines if line.strip()]
    if not lines:
        message = f"{path.name} is empty"
        raise InputUnusable(message)
    if header is not False and lines[0] != all_lines[0]:
        message = f"{path.name}: its first line is blank; delete the blank lines above the column names"
        raise InputUnusable(message)
    if _SEPARATOR.fullmatch(lines[0].strip()):
        message = f"{path.name}: its first line, `sep=`, only tells Excel the delimiter; delete that line"
        raise InputUnusable(message)
    guessed = []
    if delimiter is None:
        guessed.append("delimiter")
        bare = [_QUOTED.sub("", line) for line in lines]
        delimiter = max(_DELIMITERS, key=lambda sign: (median(line.count(sign) for line in bare), -ord(sign)))
    first, *others = [[text.strip() for text in row] for row in csv.reader(lines, delimiter=delimiter)]
    if "delimiter" not in guessed:
        _require_delimiter(path, delimiter, lines)
    if header is None:
        guessed.append("header")
        header = _is_header(first, others)
    if header and "" in first:
        message = (
            f"{path.name}: column {first.index('') + 1} has no name in the first line; name it, or drop it, as"
            " `to_csv(..., index=False)` of pandas does with its index"
        )
        raise InputUnusable(message)
    if header:
        try:
            require_different(first)
        except InputUnusable as error:
            message = f"{path.name}: {error}; if the first line is a row, give --no-header"
            raise InputUnusable(message) from None
    names = first if header else [f"column{index}" for index in range(1, len(first) + 1)]
    return Dialect(delimiter=delimiter, header=header, guessed=tuple(guessed), encoding=encoding), names


def _require_delimiter(path: Path, delimiter: str, lines: Sequence[str]) -> None:
    """Refuse a delimiter that is absent from the first line if another one splits all lines into equally many fields.

    Raises:
        InputUnusable: There is such a delimiter.
    """
    if delimiter in lines[0]:
        return
    for other in _DELIMITERS:
        counts = {len(row) for row in csv.reader(lines, delimiter=other)}
        if len(counts) == 1 and (fields := counts.pop()) > 1:
            message = (
                f"{path.name}: its first line has no {delimiter!r}, and {other!r} splits all first lines into {fields} fields;"
                f" give --delimiter {other!r}, or leave it out"
            )
            raise InputUnusable(message)


def require_different(names: Sequence[str]) -> None:
    """Refuse repeated column names, ignoring outer blanks.

    The message gives positions only: a first line that was taken for a header may be a row.

    Raises:
        InputUnusable: Two columns have the same name.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if (earlier := places.setdefault(bare_name(name), place)) < place:
            blanks = "" if names[earlier - 1] == name else " except for outer blanks"
            message = f"columns {earlier} and {place} have the same name{blanks}; rename one"
            raise InputUnusable(message)


def bare_name(name: str) -> str:
    """The declared name of a column: the name without outer blanks, unless it is blank.

    Intake compares the names of a file in the same way (``core.data.intake.header``).
    """
    return name.strip() or name


def is_readable(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    """Whether intake reads values of a type, as any kind of column."""
    import pyarrow as pa
    from pyarrow import types

    return not (
        isinstance(kind, pa.BaseExtensionType)
        or types.is_nested(kind)
        or types.is_duration(kind)
        or types.is_interval(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def means_missing(word: str) -> bool:
    """Whether a word means "missing" among the numbers of any table."""
    return word.lower() in ODD


def are_many_numbers(different: int, *, rows: int, present: int) -> bool:
    """Whether a column is numeric, whatever a few words in it mean.

    Args:
        different: Number of distinct numbers.
        rows: Rows with a number.
        present: Rows with a value.
    """
    return different > _FEWEST_BESIDE_WORDS and rows >= _SHARE_BESIDE_WORDS * present


def is_open_ended(word: str) -> bool:
    """Whether a word is an open upper band, such as "90+"."""
    return _OPEN_ENDED.fullmatch(word) is not None


def _is_limit(word: str) -> bool:
    return _CENSORED.fullmatch(word) is not None


def _same_words(first: list[str], others: list[list[str]]) -> bool:
    return any(text in {row[index] for row in others if len(row) > index} for index, text in enumerate(first))


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Whether the first line seems to have the column names."""
    # An index that was written to the file has no name.
    named = first[1:] if first[0] == "" and all(is_number(row[0]) for row in others) else first
    if any(map(is_number, named)):
        return False
    if any(text in NULLS for text in named):
        # Sodium is called NA, and a comma at the end of each line makes an empty name.
        return _has_name_over_numbers(first, others)
    numbers_below = any(is_number(text) for row in others for text in row)
    recurs = bool(others) and _same_words(first, others)
    return not recurs or (numbers_below and len(set(named)) == len(named))


def _has_name_over_numbers(first: list[str], others: list[list[str]]) -> bool:
    """Whether a field of the first line that does not mean "missing" stands above numbers alone."""
    for index, text in enumerate(first):
        below = [row[index] for row in others if len(row) > index and row[index] not in NULLS]
        if text not in NULLS and below and all(map(is_number, below)):
            return True
    return False


def is_number(text: str) -> bool:
    """Whether a text is a number in Python's notation."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def batches_of(path: Path, dialect: Dialect | None, names: list[str], ragged: list[int]) -> Iterator[Any]:
    """Arrow batches of a file, every column of a CSV as text; without a dialect the file is Parquet.

    Rows with more or fewer fields than columns are left out, and `ragged` collects their numbers, from 1.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    if dialect is None:
        file = parquet.ParquetFile(path)
        require_different(file.schema_arrow.names)
        for batch in file.iter_batches(1 << 16):
            yield batch.rename_columns([bare_name(name) for name in batch.schema.names])
        return

    def leave_out(row: Any) -> str:  # noqa: ANN401 - pyarrow has no types
        ragged.append(row.number)
        return "skip"

    with opened(path, dialect.encoding) as file:
        yield from arrow_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=arrow_csv.ReadOptions(
                column_names=names, skip_rows=int(dialect.header), block_size=4 << 20, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=leave_out
            ),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )


def rounded_number(value: float) -> float:
    """A number as a distribution counts it."""
    return float(f"{value:.{_DIGITS}g}")


def _decimals(value: float) -> int:
    """The decimals of a number at twelve significant digits, which hide floating-point noise."""
    text = f"{value:.12g}"
    return _UNWRITTEN if "e" in text else len(text.partition(".")[2])


@dataclass(slots=True)
class Facts:
    """Facts about the rows of one column; nothing else is kept.

    Attributes:
        present: Number of rows with a value.
        blanks: Whether some text has outer blanks.
        readable: Whether intake reads values of the column's type.
        is_text: Whether the values are text, which a number's format is declared for.
        null_texts: Texts of the column that mean "missing".
        values: Counts of distinct values; after thinning, only of values whose hash ends in `thinned` zero bits.
        thinned: How often `values` was halved.
        numbers: Number of rows with a number.
        odd: Counts of words that are no numbers; None if there are too many for a numeric column.
        decimals: Largest number of decimals, without floating-point noise: 6.699999999999999 has one.
        whole: Whether all numbers are whole.
        zero_led: Whether a number has a needless leading zero, as codes do.
        rounded: Counts of numbers, rounded to four significant digits.
        dates: The values read as dates or times.
        owned: Numbers of a sample of rows with their privacy units; None if each row is a unit.
        units: Number of privacy units of the table.
        as_words: Whether words beside the numbers are levels or codes like them.
        called_after: What other columns have in their names after that of this one and a point: "weekday" of `admitted.weekday`.
    """

    rows: int = 0
    present: int = 0
    blanks: bool = False
    readable: bool = True
    is_text: bool = True
    null_texts: set[str] = field(default_factory=set)
    values: Counter[str] = field(default_factory=Counter)
    thinned: int = 0
    numbers: int = 0
    odd: Counter[str] | None = field(default_factory=Counter)
    lower: float = math.inf
    upper: float = -math.inf
    decimals: int = 0
    whole: bool = True
    zero_led: bool = False
    rounded: Counter[float] = field(default_factory=Counter)
    dates: DateForms = field(default_factory=DateForms)
    owned: tuple[Any, Any] | None = None
    units: int = 0
    as_words: bool = False
    called_after: frozenset[str] = frozenset()
    _unrounded: Counter[float] | None = field(default=None, init=False, repr=False)

    @property
    def spread(self) -> Counter[float]:
        """Counts of numbers, rounded unless rounding would merge close numbers."""
        far = max(abs(self.lower), abs(self.upper))
        if not self.rounded or self.lower == self.upper or not math.isfinite(far):
            return self.rounded
        if self.upper - self.lower >= _FEWEST_STEPS * 10.0 ** (math.floor(math.log10(far)) + 1 - _DIGITS):
            return self.rounded
        if self._unrounded is None:
            self._unrounded = Counter[float]()
            for text, count in self.values.items():
                if text not in (self.odd or ()):
                    self._unrounded[float(text)] += count
        return self._unrounded

    def ends_of_units(self, without: Sequence[float]) -> tuple[Counter[float], Counter[float]] | None:
        """Counts of each privacy unit's smallest and largest number; None if each row is a unit."""
        import numpy as np

        if self.owned is None:
            return None
        numbers, owners = self.owned
        known = ~np.isnan(numbers) & ~np.isin(numbers, without)
        numbers, owners = numbers[known], owners[known]
        order = np.lexsort((numbers, owners))
        numbers, owners = numbers[order], owners[order]
        is_last = np.append(owners[1:] != owners[:-1], True)[: len(owners)]
        is_first = np.roll(is_last, 1)
        return Counter(numbers[is_first].tolist()), Counter(numbers[is_last].tolist())

    @property
    def distinct(self) -> int:
        """Number of distinct values; above 65,536 an estimate within about one percent."""
        return len(self.values) << self.thinned

    @property
    def unique(self) -> bool:
        """Whether every value differs, judged by the kept ones."""
        return self.present > 0 and max(self.values.values(), default=0) == 1

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers, apart from words for "missing" and detection limits.

        A few other words beside many numbers are allowed too.
        """
        if self.numbers == 0 or self.odd is None or self.as_words:
            return False
        return not self.unknown or are_many_numbers(
            self.distinct - len(self.odd), rows=self.numbers, present=self.present
        )

    @property
    def unknown(self) -> Counter[str]:
        """Counts of words among numbers that have no public meaning of "missing"."""
        odd = self.odd or Counter[str]()
        return Counter(
            {word: count for word, count in odd.items() if not means_missing(word) and not _is_limit(word)}
        )

    @property
    def censored(self) -> Counter[str]:
        """Counts of words such as "<0.5" and "90+" among numbers: below or above a limit of measurement."""
        odd = self.odd or Counter[str]()
        return Counter({word: count for word, count in odd.items() if _is_limit(word) or is_open_ended(word)})

    def add(self, values: Any) -> None:  # noqa: ANN401 (an Arrow array; pyarrow is imported lazily)
        """Take in the next values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self.rows += len(values)
        self._unrounded = None
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        if not is_readable(kind):
            self.readable = False
            return
        self.is_text &= _is_text(kind)
        if pa.types.is_dictionary(values.type):
            # Categories of polars are text views; Arrow can decode their dictionary only this way.
            values = values.dictionary.cast(pa.string()).take(values.indices)
        texts = values.cast(pa.string())
        bare = pc.utf8_trim_whitespace(texts)
        self.blanks |= bool(pc.any(pc.not_equal(texts, bare)).as_py())
        null = pc.is_in(bare, value_set=pa.array(NULLS))
        self.null_texts |= set(pc.unique(bare.filter(null)).to_pylist())
        bare = bare.filter(pc.and_(pc.invert(null), pc.is_valid(bare)))
        self.present += len(bare)
        if len(bare):
            self._count(bare)
            self._measure(bare)
            self.dates.add(bare)

    def _count(self, bare: Any) -> None:  # noqa: ANN401
        import pyarrow.compute as pc

        found = pc.value_counts(bare)
        for text, count in zip(
            *(found.field(name).to_pylist() for name in ("values", "counts")), strict=True
        ):
            if self._kept(text):
                self.values[text] += count
        while len(self.values) > _MOST_SAMPLED:
            self.thinned += 1
            self.values = Counter({text: count for text, count in self.values.items() if self._kept(text)})

    def _kept(self, text: str) -> bool:
        return self.thinned == 0 or zlib.crc32(text.encode()) >> (32 - self.thinned) == 0

    def _measure(self, bare: Any) -> None:  # noqa: ANN401
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.odd is None:
            return
        numbers = pc.match_substring_regex(bare, _NUMBER)
        for item in pc.value_counts(bare.filter(pc.invert(numbers))).to_pylist():
            self.odd[item["values"]] += item["counts"]
        if len(self.odd) > MOST_ODD:
            self.odd = None
            return
        bare = bare.filter(numbers)
        if len(bare) == 0:
            return
        self.numbers += len(bare)
        numbers = pc.cast(bare, pa.float64())
        ends = pc.min_max(numbers).as_py()
        self.lower, self.upper = min(self.lower, ends["min"]), max(self.upper, ends["max"])
        self.whole &= bool(pc.all(pc.equal(numbers, pc.floor(numbers))).as_py())
        self.zero_led |= bool(pc.any(pc.match_substring_regex(bare, "^0[0-9]")).as_py())
        digits = pc.utf8_length(pc.struct_field(pc.extract_regex(bare, r"\.(?P<digits>[0-9]*)"), "digits"))
        are_long = pc.fill_null(pc.greater(digits, MOST_DECIMALS), fill_value=False)
        exponents = bool(pc.any(pc.match_substring_regex(bare, "[eE]")).as_py())
        few = pc.max(digits.filter(pc.invert(are_long))).as_py() or 0
        self.decimals = max(self.decimals, few, _UNWRITTEN if exponents else 0)
        for value in np.unique(np.asarray(numbers.filter(are_long))).tolist():
            if self.decimals > MOST_DECIMALS:
                break
            self.decimals = max(self.decimals, _decimals(value))
        found, counts = np.unique(np.asarray(numbers), return_counts=True)
        for value, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.rounded[rounded_number(value)] += count
