"""A first draft of a table's domain, made on the owner's machine from the owner's file.

A domain is public, but a draft is not: its bounds, categories and even its kinds come from the rows. Every value
taken from the data is therefore listed under ``_from_data`` beside it, and the service refuses a domain that still
carries such a mark. A person looks at each marked value, edits what would tell something about somebody (a single
very old patient, a rare diagnosis), and deletes the marks. Bounds are widened to round numbers, but stay marked.

Needs pyarrow (``pip install 'understudy[offline]'``). The whole file is read once, in constant memory.
"""

import csv
import gzip
import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import InputUnusable, NotInstalled

SCHEMA = "understudy.domain/1"
MARK = "_from_data"
NOTE = "_note"

_NULLS = ("", "?", "NA", "N/A", "n/a", "NULL", "null", "None", "nan", "NaN", "-", ".")
_MOST_CATEGORIES = 60
_MOST_DISTINCT = 5000
_MOST_UNIQUE_CHECKED = 200_000
_FEW_INTEGERS = 2
_SPIKE_SHARE = 0.2
_FEWEST_ROWS_FOR_IDS = 20
_WIDE_RANGE = 32
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_ISO_TIME = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
_FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
_TRUE_WORDS = {"true", "yes", "y", "t"}
_FALSE_WORDS = {"false", "no", "n", "f"}


def draft_domain(path: Path, *, header: bool | None = None, delimiter: str | None = None) -> dict[str, Any]:
    """Draft the domain document of a CSV (also gzipped) or Parquet file.

    Args:
        path: The private rows.
        header: Whether the first line names the columns; None to guess (always marked).
        delimiter: The character between fields; None to guess.

    Returns:
        A document that ``TableDomain.from_json`` refuses until its marks are removed.

    Raises:
        InputUnusable: the file is missing, empty, not UTF-8 or not readable.
        NotInstalled: pyarrow is missing.
    """
    try:
        import pyarrow as pa
    except ImportError:
        message = "drafting a domain needs pyarrow: pip install 'understudy[offline]'"
        raise NotInstalled(message) from None
    if not path.is_file():
        message = f"there is no file {path}"
        raise InputUnusable(message)
    try:
        dialect, names = (None, []) if _is_parquet(path) else _read_dialect(path, header, delimiter)
        facts: dict[str, _Facts] = {}
        rows = 0
        for batch in _batches(path, dialect, names):
            rows += batch.num_rows
            for name in batch.schema.names:
                facts.setdefault(name, _Facts()).look(batch.column(name))
    except UnicodeDecodeError:
        message = f"{path.name} is not UTF-8; save it as UTF-8"
        raise InputUnusable(message) from None
    except (pa.ArrowException, OSError, EOFError):
        message = f"{path.name} cannot be read as CSV (plain or gzip) or Parquet"
        raise InputUnusable(message) from None
    if rows == 0:
        message = f"{path.name} has no rows"
        raise InputUnusable(message)
    return _document(facts, rows, dialect)


def render_draft(draft: dict[str, Any]) -> str:
    """The draft as JSON text for a person: one key per line, lists on one line."""
    columns = ",\n".join("  " + _render(column, 2) for column in draft["columns"])
    rest = {key: value for key, value in draft.items() if key != "columns"}
    head = _render(rest, 0)[:-2]  # without the closing brace
    return f'{head},\n "columns": [\n{columns}\n ]\n}}\n'


def _render(value: dict[str, Any], indent: int) -> str:
    pad = " " * (indent + 1)
    lines = ",\n".join(f"{pad}{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
    return "{\n" + lines + "\n" + " " * indent + "}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    delimiter: str
    header: bool
    guessed: tuple[str, ...]


def _is_parquet(path: Path) -> bool:
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


def _read_dialect(path: Path, header: bool | None, delimiter: str | None) -> tuple[_Dialect, list[str]]:
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
    return _Dialect(delimiter=delimiter, header=header, guessed=tuple(guessed)), names


def _same_words(first: list[str], others: list[list[str]]) -> bool:
    return any(text in {row[index] for row in others if len(row) > index} for index, text in enumerate(first))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _batches(path: Path, dialect: _Dialect | None, names: list[str]) -> Iterator[Any]:
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
class _Facts:
    """What the rows of one column have in common; nothing else of them is kept."""

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


def _document(facts: dict[str, _Facts], rows: int, dialect: _Dialect | None) -> dict[str, Any]:
    draft: dict[str, Any] = {
        "schema": SCHEMA,
        NOTE: "A draft: check every value listed under _from_data, edit it, then delete the _from_data keys.",
        "target": None,
        "privacy_unit": None,
        "declared_size": nice_size(rows),
    }
    marked = ["declared_size"]
    if dialect is not None:
        nulls = sorted({""}.union(*(fact.null_texts for fact in facts.values())))
        draft["csv"] = {
            "delimiter": dialect.delimiter,
            "header": dialect.header,
            "null_values": nulls,
            "strip_spaces": any(fact.blanks for fact in facts.values()),
            MARK: [*dialect.guessed, "null_values", "strip_spaces"],
        }
    draft[MARK] = marked
    draft["columns"] = [_column(name, fact) for name, fact in facts.items()]
    return draft


def _column(name: str, fact: _Facts) -> dict[str, Any]:
    start: dict[str, Any] = {"name": name}
    column = start | _kind(fact)
    if column["kind"] != "ignored" and fact.present < fact.rows:
        column["null"] = "category"
    taken = [key for key in column if key != NOTE]
    return column | {MARK: taken}


def _kind(fact: _Facts) -> dict[str, Any]:
    if not fact.readable:
        return {"kind": "ignored", NOTE: "Nested or binary values cannot be modelled."}
    if fact.present == 0:
        return {"kind": "ignored", NOTE: "The column is empty."}
    looks_unique = fact.unique and fact.present >= _FEWEST_ROWS_FOR_IDS
    if fact.formats and not (fact.numeric and fact.formats == {"%Y%m%d"} and not _plausible(fact)):
        return _times(fact)
    if fact.numeric and not (looks_unique and fact.whole):
        return _numbers(fact)
    if looks_unique:
        return {"kind": "ignored", NOTE: "Every value differs: an identifier? It must not be modelled."}
    return _words(fact)


def _plausible(fact: _Facts) -> bool:
    return fact.earliest.year >= 1900 and fact.latest.year <= 2100 and fact.decimals == 0  # noqa: PLR2004


def _times(fact: _Facts) -> dict[str, Any]:
    names = sorted(fact.formats, key=lambda name: ({"date": 0, "datetime": 1}.get(name, 2), name))
    lower, upper = fact.earliest.date(), fact.latest.date()
    lower, upper = lower.replace(day=1), upper.replace(month=12, day=31)
    if names[0] == "datetime":
        return {
            "kind": "datetime",
            "lower": f"{lower}T00:00:00",
            "upper": f"{upper}T23:59:59",
            "resolution": fact.clock,
        }
    column = {"kind": "date", "lower": str(lower), "upper": str(upper), "resolution": "day"}
    if names[0] == "date":
        return column
    note = {NOTE: f"Could also be {' or '.join(names[1:])}."} if len(names) > 1 else {}
    return column | {"format": names[0]} | note


def _numbers(fact: _Facts) -> dict[str, Any]:
    if fact.whole and fact.decimals == 0 and fact.counts is not None and len(fact.counts) <= _FEW_INTEGERS:
        return {"kind": "categorical", "categories": sorted(fact.counts, key=float)}
    lower, upper = _nice_bounds(fact.lower, fact.upper)
    column: dict[str, Any] = {
        "kind": "numeric",
        "type": "integer" if fact.whole else "real",
        "lower": lower,
        "upper": upper,
    }
    if not fact.whole and fact.decimals <= 4:  # noqa: PLR2004 (more digits are measurements, not a format)
        column["decimals"] = fact.decimals
    if (
        fact.zeros > _SPIKE_SHARE * fact.present
        and fact.zeros < fact.present
        and fact.upper - fact.lower > _WIDE_RANGE
    ):
        column["specials"] = [0]
    return column


def _words(fact: _Facts) -> dict[str, Any]:
    if fact.counts is None or len(fact.counts) > _MOST_CATEGORIES:
        return {
            "kind": "ignored",
            NOTE: 'Many different texts. List the common ones as categories with "other": true; or, if this says '
            "whose record it is, make it kind 'unit' and name it in privacy_unit.",
        }  # fmt: skip
    words = sorted(fact.counts)
    lowered = [word.lower() for word in words]
    if len(words) == 2 and {word in _TRUE_WORDS for word in lowered} == {True, False}:  # noqa: PLR2004
        true = next(word for word in words if word.lower() in _TRUE_WORDS)
        false = next(word for word in words if word.lower() not in _TRUE_WORDS)
        if false.lower() in _FALSE_WORDS:
            return {"kind": "boolean", "true": true, "false": false}
    return {"kind": "categorical", "categories": words, "other": False}


def _nice_bounds(lower: float, upper: float) -> tuple[float | int, float | int]:
    """Bounds widened to multiples of 1, 2 or 5 times a power of ten, about a twentieth of the range."""
    span = (upper - lower) or max(abs(upper), 1.0)
    power = 10.0 ** math.floor(math.log10(span / 20))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= span / 20)
    step = max(step, 1.0) if float(lower).is_integer() and float(upper).is_integer() else step
    low, high = math.floor(lower / step) * step, math.ceil(upper / step) * step
    return _plain(low), _plain(high if high > low else low + step)


def _plain(value: float) -> float | int:
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() else rounded


def nice_size(rows: int) -> int:
    """The number of rows to one significant digit."""
    power = int(10 ** (len(str(rows)) - 1))
    return max(1, round(rows / power)) * power
