"""Looking at the owner's rows for a draft of their domain: what a file's columns hold, in constant memory."""

import csv
import gzip
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import InputUnusable

_NULLS = ("", "?", "NA", "N/A", "n/a", "NULL", "null", "None", "nan", "NaN", "-", ".")
_MOST_DISTINCT = 5000
_MOST_UNIQUE_CHECKED = 200_000
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_ISO_TIME = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The dialect of a CSV file, and which parts of it were guessed."""

    delimiter: str
    header: bool
    guessed: tuple[str, ...]


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does."""
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if zipped:
            with gzip.open(raw) as file:
                yield file
        else:
            yield raw


def read_dialect(path: Path, header: bool | None, delimiter: str | None) -> tuple[Dialect, list[str]]:
    """Delimiter, header and column names from the first lines."""
    with _opened(path) as file:
        lines = [
            line for line in (file.readline(1 << 20).decode("utf-8-sig") for _ in range(20)) if line.strip()
        ]
    if not lines:
        message = f"{path.name} is empty"
        raise InputUnusable(message)
    guessed = []
    if delimiter is None:
        guessed.append("delimiter")
        delimiter = max(",;\t|", key=lambda sign: (min(line.count(sign) for line in lines[:5]), -ord(sign)))
    first, *others = [[text.strip() for text in row] for row in csv.reader(lines, delimiter=delimiter)]
    if header is None:
        guessed.append("header")
        numbers_below = any(_is_number(text) for row in others for text in row)
        header = not any(_is_number(text) or text in _NULLS for text in first) and len(set(first)) == len(
            first
        )
        header = header and (numbers_below or not others or not _same_words(first, others))
    names = first if header else [f"column{index}" for index in range(1, len(first) + 1)]
    return Dialect(delimiter=delimiter, header=header, guessed=tuple(guessed)), names


def _same_words(first: list[str], others: list[list[str]]) -> bool:
    return any(text in {row[index] for row in others if len(row) > index} for index, text in enumerate(first))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def batches_of(path: Path, dialect: Dialect | None, names: list[str]) -> Iterator[Any]:
    """Arrow batches of a file, every column of a CSV as text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    if dialect is None:
        yield from parquet.ParquetFile(path).iter_batches(1 << 16)
        return
    if len(set(names)) < len(names):
        message = "two columns of the file have the same name; rename one"
        raise InputUnusable(message)
    with _opened(path) as file:
        yield from arrow_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=arrow_csv.ReadOptions(
                column_names=names, skip_rows=int(dialect.header), block_size=4 << 20, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=lambda _row: "skip"
            ),
            convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )


@dataclass(slots=True)
class Facts:
    """Facts common to the rows of one column; nothing else of them is kept."""

    rows: int = 0
    present: int = 0
    blanks: bool = False
    readable: bool = True
    null_texts: set[str] = field(default_factory=set)
    counts: Counter[str] | None = field(default_factory=Counter)
    firsts: set[str] | None = field(default_factory=set)
    unique: bool = True
    numeric: bool = True
    lower: float = math.inf
    upper: float = -math.inf
    decimals: int = 0
    whole: bool = True
    zeros: int = 0
    formats: set[str] = field(default_factory=lambda: {"date", "datetime", *_FORMATS})
    earliest: Any = None
    latest: Any = None
    clock: str = "day"

    def look(self, values: Any) -> None:  # noqa: ANN401 (an Arrow array; pyarrow is imported lazily)
        """Take in the next values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self.rows += len(values)
        if pa.types.is_nested(values.type) or pa.types.is_binary(values.type):
            self.readable = False
            return
        texts = values.cast(pa.string())
        bare = pc.utf8_trim_whitespace(texts)
        self.blanks |= bool(pc.any(pc.not_equal(texts, bare)).as_py())
        null = pc.is_in(bare, value_set=pa.array(_NULLS))
        self.null_texts |= set(pc.unique(bare.filter(null)).to_pylist())
        bare = bare.filter(pc.and_(pc.invert(null), pc.is_valid(bare)))
        self.present += len(bare)
        if len(bare):
            self._count(bare)
            self._measure(bare)
            self._date(bare)

    def _count(self, bare: Any) -> None:  # noqa: ANN401
        import pyarrow.compute as pc

        if self.counts is not None:
            for item in pc.value_counts(bare).to_pylist():
                self.counts[item["values"]] += item["counts"]
            if len(self.counts) > _MOST_DISTINCT:
                self.counts = None
        if self.unique and self.firsts is not None:
            distinct = pc.unique(bare)
            self.unique = len(distinct) == len(bare) and not self.firsts.intersection(distinct.to_pylist())
            self.firsts.update(distinct.to_pylist())
            if not self.unique or len(self.firsts) > _MOST_UNIQUE_CHECKED:
                self.firsts = None

    def _measure(self, bare: Any) -> None:  # noqa: ANN401
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.numeric:
            return
        self.numeric = bool(pc.all(pc.match_substring_regex(bare, _NUMBER)).as_py())
        if not self.numeric:
            return
        numbers = pc.cast(bare, pa.float64())
        ends = pc.min_max(numbers).as_py()
        self.lower, self.upper = min(self.lower, ends["min"]), max(self.upper, ends["max"])
        self.whole &= bool(pc.all(pc.equal(numbers, pc.floor(numbers))).as_py())
        self.zeros += pc.sum(pc.equal(numbers, 0)).as_py()
        digits = pc.struct_field(pc.extract_regex(bare, r"\.(?P<digits>[0-9]*)"), "digits")
        exponents = bool(pc.any(pc.match_substring_regex(bare, "[eE]")).as_py())
        self.decimals = max(
            self.decimals, pc.max(pc.utf8_length(digits)).as_py() or 0, 99 if exponents else 0
        )

    def _date(self, bare: Any) -> None:  # noqa: ANN401
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in sorted(self.formats):
            try:
                if name == "date":
                    moments = pc.cast(bare, pa.date32()).cast(pa.timestamp("s"))
                elif name == "datetime":
                    if not pc.all(pc.match_substring_regex(bare, _ISO_TIME)).as_py():
                        self.formats.discard(name)
                        continue
                    moments = pc.strptime(pc.utf8_slice_codeunits(pc.utf8_replace_slice(bare, 10, 11, "T"), 0, 16),
                                          format="%Y-%m-%dT%H:%M", unit="s")  # fmt: skip
                    self._clock(bare)
                else:
                    moments = pc.strptime(bare, format=name, unit="s")
            except pa.ArrowInvalid:
                self.formats.discard(name)
                continue
            ends = pc.min_max(moments).as_py()
            self.earliest = ends["min"] if self.earliest is None else min(self.earliest, ends["min"])
            self.latest = ends["max"] if self.latest is None else max(self.latest, ends["max"])

    def _clock(self, bare: Any) -> None:  # noqa: ANN401
        import pyarrow.compute as pc

        seconds = pc.match_substring_regex(bare, r"[T ][0-9]{2}:[0-9]{2}:(0[1-9]|[1-5][0-9])")
        self.clock = "second" if self.clock == "second" or pc.any(seconds).as_py() else "minute"
