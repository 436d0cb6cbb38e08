"""Match the columns of a file with the declared ones. Messages name declared columns only."""

import csv
from collections import Counter
from collections.abc import Sequence
from typing import Final

from core.data.errors import WrongHeader
from core.plan.domain.columns.kinds import IgnoredColumn
from core.plan.domain.table import TableDomain


def declared_names(declared: Sequence[str], names: Sequence[str]) -> list[str]:
    """The declared name of each column of a file; its own name where none is declared.

    Blanks around a name do not count, as in drafts (``understudy.drafts.facts``). A name that is declared as it is wins.
    """
    counts = Counter(name.strip() for name in declared)
    bare = {name.strip(): name for name in declared if counts[name.strip()] == 1}
    known = set(declared)
    return [name if name in known else bare.get(name.strip(), name) for name in names]


def check_header(domain: TableDomain, names: Sequence[str]) -> list[str]:
    """Check that a file has exactly the declared columns, in any order.

    Returns:
        The declared name of each column of the file.

    Raises:
        WrongHeader: a declared column is missing or there twice, or there are undeclared columns.
    """
    return check_names([column.name for column in domain.columns], names)


def check_names(declared: Sequence[str], names: Sequence[str]) -> list[str]:
    """Check that a file has exactly the declared columns, in any order.

    Returns:
        The declared name of each column of the file.

    Raises:
        WrongHeader: a declared column is missing or there twice, or there are undeclared columns.
    """
    as_written, names = names, declared_names(declared, names)
    counts = Counter(names)
    missing = [name for name in declared if counts[name] == 0]
    repeated = [name for name in declared if counts[name] > 1]
    undeclared = [place for place, name in enumerate(names, start=1) if name not in set(declared)]
    if not (missing or repeated or undeclared):
        return names
    parts = []
    if missing:
        parts.append(f"missing: {', '.join(missing)}")
    if repeated:
        blanks = "" if any(as_written.count(name) > 1 for name in repeated) else " but for blanks around it"
        parts.append(f"repeated{blanks}: {', '.join(repeated)}")
    if undeclared:
        places = ", ".join(str(place) for place in undeclared[:20])
        parts.append(f"not declared: {len(undeclared)} column(s) at position {places}")
    remedy = "Declare every column of the file; give those that must not be used the kind 'ignored'."
    if len(missing) == len(declared):
        remedy = "Check csv.delimiter, and set csv.header to false if the file has no header."
    raise WrongHeader(
        f"The file's columns are not the declared ones ({'; '.join(parts)}).",
        remedy=remedy,
        missing=missing,
        repeated=repeated,
        undeclared_positions=undeclared[:20],
    )


_SIGNS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def require_declared_delimiter(domain: TableDomain, text: bytes) -> None:
    """Check that the first line does not name the declared columns under another delimiter than the declared one.

    Other errors of a file that is read with a wrong delimiter mislead: quotation marks are out of place then.

    Raises:
        WrongHeader: it does.
    """
    declared = [column.name for column in domain.columns]
    line = text.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    for sign, name in _SIGNS.items():
        named = declared_names(declared, _split(domain, line, sign))
        if sign == domain.csv.delimiter or sorted(named) != sorted(declared):
            continue
        wanted = _SIGNS.get(domain.csv.delimiter, "another sign")
        raise WrongHeader(
            f"The first line has {name} between its fields; the domain declares {wanted}.",
            remedy=f"Set csv.delimiter of the domain to {sign!r}, or send the file with {wanted}.",
            missing=declared,
            repeated=[],
            undeclared_positions=[],
            delimiter=sign,
        )


def csv_header(domain: TableDomain, line: bytes) -> list[str]:
    """The declared names of the columns of a CSV header record, checked.

    Raises:
        WrongHeader: see ``check_header``.
    """
    return check_header(domain, _split(domain, line.decode(), domain.csv.delimiter))


def _split(domain: TableDomain, line: str, delimiter: str) -> list[str]:
    """The fields of a line; none where it is not one record, or has a field that is longer than any name."""
    dialect = domain.csv
    rows = csv.reader(
        [line],
        delimiter=delimiter,
        quotechar=dialect.quote,
        quoting=csv.QUOTE_MINIMAL if dialect.quote is not None else csv.QUOTE_NONE,
    )
    try:
        return next(rows, [])
    except csv.Error:
        return []


def used_names(domain: TableDomain) -> list[str]:
    """Names of the columns that are read: all but the ignored ones."""
    return [column.name for column in domain.columns if not isinstance(column, IgnoredColumn)]
