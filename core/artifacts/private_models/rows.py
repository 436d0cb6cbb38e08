"""Rows of a file as the codes that a private model reads: every value is read as the declared domain reads it.

A value is kept, changed by a declared rule, or refused, as `core.plan.domain.cleaning` does it. A refused value counts as missing, and
a row that misses a value without having a code for it has no prediction. No message contains a value.

Needs numpy alone: the script of a model's bundle holds a copy.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.plan.domain.columns.differences import distances
from core.plan.domain.columns.patterns import PatternedBins
from core.plan.domain.columns.prefixes import shortened

NUMBER = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
PLAIN = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
CLOCK = re.compile(r"([0-9]{1,4}):([0-5][0-9])(?::[0-5][0-9](?:\.[0-9]+)?)?[ \u00a0\u202f]?([AaPp][Mm])?")
ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?)?",
    re.ASCII,
)
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - times without a zone are counted from it
HALF_DAY = 12
MOST_KNOWN = 100_000
"""Different texts of a column that are read once only."""
MISSING = (math.nan, "")


class FileUnusable(Exception):
    """The file as a whole cannot be read."""


def records_of(lines: Iterable[str], layout: Mapping[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file, each with the line on which it begins; blank lines of a table of several columns are left out.

    Args:
        lines: Of the file.
        layout: How the domain declares files: "delimiter", "quote" and "names", those of all columns.

    Raises:
        FileUnusable: A line is no record.
    """
    quote = layout["quote"]
    reader = csv.reader(
        lines,
        delimiter=layout["delimiter"],
        quotechar=quote,
        quoting=csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL,
        strict=True,
    )
    begin = 1
    try:
        for record in reader:
            if record or len(layout["names"]) == 1:
                yield begin, record or [""]
            begin = reader.line_num + 1
    except csv.Error:
        raise FileUnusable(
            f"line {begin} is no record: a quotation mark is out of place, or a field is too long"
        ) from None
    except UnicodeError:
        raise FileUnusable(f"the text is not {layout.get('encoding', 'UTF-8')}") from None


def places_of(
    layout: Mapping[str, Any], features: Sequence[Mapping[str, Any]], header: Sequence[str]
) -> list[int]:
    """The place of each feature in a record of the file.

    Args:
        layout: "names" of all columns, in the order of the domain; "target", one of them; "delimiter"; "header", whether the first record names the columns.
        features: Columns with a "name".
        header: The first record.

    Raises:
        FileUnusable: A column is missing, or there twice.
    """
    declared, wanted = layout["names"], [column["name"] for column in features]
    if layout["header"]:
        bare = [name.strip() for name in declared]
        names = [
            declared[bare.index(name.strip())]
            if name not in declared and bare.count(name.strip()) == 1
            else name
            for name in header
        ]
    else:
        names = [name for name in declared if name != layout["target"]]
        names = names if len(header) == len(names) else list(declared)
        if len(header) != len(names):
            raise FileUnusable(
                f"the domain declares files without a header of {len(names)} columns, or of all but the target, "
                f"separated by {layout['delimiter']!r}; the first line has {len(header)}"
            )
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FileUnusable(
            f"columns are missing: {', '.join(missing)}; the domain declares {layout['delimiter']!r} between the fields of a line"
        )
    repeated = [name for name in wanted if names.count(name) > 1]
    if repeated:
        raise FileUnusable(f"columns are there twice: {', '.join(repeated)}")
    return [names.index(name) for name in wanted]


class RowReader:
    """Codes of the rows of a file.

    Args:
        layout: How the domain declares files: "null_values", "strip_spaces", "decimal_mark".
        features: How the text of each column that is read becomes a number, or the code of a word.
        coded: How these become the codes that the model reads.
    """

    def __init__(
        self,
        layout: Mapping[str, Any],
        features: Sequence[Mapping[str, Any]],
        coded: Sequence[Mapping[str, Any]],
    ) -> None:
        self.layout, self.features, self.coded = layout, features, coded
        self.known: list[dict[str, tuple[float, str]]] = [{} for _ in features]
        self.patterned = {place: PatternedBins(one) for place, one in enumerate(coded) if one.get("pattern")}

    def codes(
        self, rows: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[list[str]]]:
        """(rows, coded columns) codes; which rows miss a value that has no code; and of each feature why its values were refused.

        Args:
            rows: The texts of the features.
        """
        values, refusals = [], []
        for place in range(len(self.features)):
            read = [self._read(place, row[place]) for row in rows]
            values.append(np.array([value for value, _ in read], dtype=np.float64))
            refusals.append([refusal for _, refusal in read])
        refused = [np.array([bool(one) for one in column], dtype=bool) for column in refusals]
        codes = np.zeros((len(rows), len(self.coded)), dtype=np.int64)
        without = np.zeros(len(rows), dtype=bool)
        for place, one in enumerate(self.coded):
            own = np.full(len(rows), -1) if one["column"] is None else self._coded(place, one, values)
            for source in (one["column"], one["start"]):
                if source is not None:
                    own = np.where(refused[source], -1, own)
            if one["null_code"] is None:
                without |= own < 0
                codes[:, place] = np.maximum(own, 0)
            else:
                codes[:, place] = np.where(own < 0, one["null_code"], own)
        return codes, without, refusals

    def _read(self, place: int, text: str) -> tuple[float, str]:
        known = self.known[place]
        if text not in known:
            if len(known) >= MOST_KNOWN:
                known.clear()
            known[text] = read_value(self.features[place], text, self.layout)
        return known[text]

    def _coded(
        self, place: int, one: Mapping[str, Any], values: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.int64]:
        """The codes of one coded column; -1 where a value is missing."""
        numbers = values[one["column"]]
        if one["start"] is not None:
            numbers = distances(values[one["start"]], numbers, one["difference"])
        missing = np.isnan(numbers)
        if one["kind"] == "label":
            return np.where(missing, -1, np.nan_to_num(numbers)).astype(np.int64)
        known = np.nan_to_num(numbers, nan=one["lower"] if place in self.patterned else 0.0)
        interval = np.searchsorted(np.array(one["starts"]), known, side="right") - 1
        bins = np.maximum(np.array(one["code_of_interval"])[np.clip(interval, 0, len(one["starts"]) - 1)], 0)
        if place in self.patterned:
            bins = self.patterned[place].codes_of(one["pattern"], bins, known)
        else:
            bins = bins + len(one["specials"])
            for code, special in enumerate(one["specials"]):
                bins[numbers == special] = code
        return np.where(missing, -1, bins)


def read_value(column: Mapping[str, Any], text: str, layout: Mapping[str, Any]) -> tuple[float, str]:
    """The number of a value, or the code of its word; not a number if it is missing. And why it is refused, or an empty text."""
    if layout["strip_spaces"]:
        text = text.strip()
    if text in layout["null_values"]:
        return _missing(column)
    if column["kind"] == "label":
        code = column["codes"].get(shortened(text, column.get("prefix")))
        if code is None and column["unknown"] == "other":
            code = column["other"]
        if code is not None:
            return code, ""
        return _missing(column) if column["unknown"] == "null" else (math.nan, "unknown-category")
    try:
        number = number_of(column, text, layout["decimal_mark"])
    except (ValueError, OverflowError):
        is_number = column["kind"] == "number"
        refusal = "not-a-number" if is_number else "not-a-date"
        return _missing(column) if column["unreadable"] == "null" else (math.nan, refusal)
    return _kept(column, number)


def _missing(column: Mapping[str, Any]) -> tuple[float, str]:
    if column["null"] == "refuse":
        return math.nan, "missing-value"
    return MISSING if column["null"] == "category" else (column["stand_in"], "")


def _kept(column: Mapping[str, Any], number: float) -> tuple[float, str]:
    """A number by the declared rules on infinity, fractions and bounds."""
    if math.isnan(number):
        return _missing(column)
    special = number in column["specials"]
    if math.isinf(number):
        if column["infinite"] != "clamp":
            return _missing(column) if column["infinite"] == "null" else (math.nan, "infinite")
        number = min(max(number, column["lower"]), column["upper"])
    if column["whole"] and number != round(number):
        if column["fraction"] != "round":
            return math.nan, "not-an-integer"
        number = float(round(number))
    if special or column["lower"] <= number <= column["upper"]:
        return number, ""
    if column["outside"] == "clamp":
        return min(max(number, column["lower"]), column["upper"]), ""
    return _missing(column) if column["outside"] == "null" else (math.nan, "outside-bounds")


def number_of(column: Mapping[str, Any], text: str, decimal_mark: str) -> float:
    """A number as the column writes it; of a time its days or seconds since 1970-01-01.

    Raises:
        ValueError, OverflowError: The text is none.
    """
    if column["kind"] != "number":
        return _time_of(column, text)
    how = column["number_format"]
    if how is not None:
        text = _minutes(text) if how["clock"] else _plain(how, text)
    elif decimal_mark == ",":
        text = text.replace(".", "_").replace(",", ".")
    if NUMBER.fullmatch(text) is None:
        raise ValueError
    return float(text)


def _plain(how: Mapping[str, Any], text: str) -> str:
    """A number without affixes and signs between thousands, with a decimal point."""
    if re.search(how["is_number"], text) is None or text.endswith("\n"):
        raise ValueError
    return re.sub(how["dropped"], "", text).replace(how["mark"], ".")


def _minutes(text: str) -> str:
    """The sixtieths of a text such as 17:45 and 5:45 PM; a plain number stays."""
    found = CLOCK.fullmatch(text)
    if found is None:
        if PLAIN.fullmatch(text) is None:
            raise ValueError
        return text
    hours, half = int(found[1]), (found[3] or "").lower()
    if half:
        if not 0 < hours <= HALF_DAY:
            raise ValueError
        hours = hours % HALF_DAY + (HALF_DAY if half == "pm" else 0)
    return str(hours * 60 + int(found[2]))


def _time_of(column: Mapping[str, Any], text: str) -> float:
    if column["format"]:
        moment = datetime.strptime(text, column["format"])  # noqa: DTZ007 - a zone is taken to UTC below
        shift = moment.utcoffset() or timedelta(0)
    else:
        found = ISO.fullmatch(text)
        if found is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        moment = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 - likewise
        shift = timedelta(hours=int(found[8] or 0), minutes=int(found[9] or 0))
        if shift.days:
            raise ValueError
        shift = -shift if found[7] == "-" else shift
    apart = moment.replace(tzinfo=None, microsecond=0) - EPOCH - shift
    return float(apart.days if column["kind"] == "date" else apart // timedelta(seconds=1))
