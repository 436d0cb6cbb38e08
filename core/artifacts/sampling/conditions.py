"""Conditions on synthetic rows: columns fixed to values. Like all sampling, this is post-processing and costs nothing.

A condition fixes codes. A category is a code. The code of a number or time is its bin, so the value is drawn inside that bin. The target is fixed by conditioning the generator; other columns by rejection sampling,
which gives the generator's own conditional distribution. A condition that too few rows meet is refused before
the response starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.artifacts.errors import InvalidCondition
from core.artifacts.sampling.condition_values import number_of
from core.plan.domain.codec import encode_column
from core.plan.domain.columns.calendar import day_text, second_text
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.errors import DomainMismatch
from core.plan.domain.images import LABEL, ImageDomain
from core.plan.domain.schema import arrow_type
from core.plan.domain.table import TableDomain
from core.plan.near_names import nearest

TRIED_ROWS: Final = 2**14
FEWEST_ROWS: Final = 16
"""A condition that fewer of the first `TRIED_ROWS` rows meet, about one in a thousand, is refused."""

_NAMED: Final = 8

Where = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """Required codes of columns.

    Attributes:
        label: code of the target, or None if it is free.
        others: code of each other fixed column, by its place among the coded ones.
        among: (codes,) by place, which codes a column may have where it is not fixed to one.
    """

    label: int | None
    others: Mapping[int, int]
    among: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)

    def met_by(self, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """A mask of the rows, given as (rows, coded columns) codes, that meet it, without regard to the target."""
        met: NDArray[np.bool_] = np.ones(len(codes), dtype=np.bool_)
        for place, code in self.others.items():
            met &= codes[:, place] == code
        for place, allowed in self.among.items():
            met &= allowed[codes[:, place]]
        return met


def table_condition(domain: TableDomain, where: Where) -> Condition:
    """Read a condition on rows: values by name of column, null for a missing value.

    Raises:
        InvalidCondition: no coded column has this name, or it cannot have this value.
    """
    places = {column.name: place for place, column in enumerate(domain.coded)}
    for column in domain.modelled:
        if column.difference is not None and column.name in where:
            raise InvalidCondition(
                f"The column '{column.name}' is drawn by its distance from '{column.difference.start}': "
                f"fix '{column.difference.coded.name}' instead."
            )
    for name in where.keys() - places.keys():
        near = nearest(name, places)
        raise InvalidCondition(
            f"There is no modelled column '{name}'{f'; did you mean {near!r}?' if near else '.'}"
        )
    codes = {places[name]: _code(domain.coded[places[name]], value) for name, value in where.items()}
    label = None if domain.target_index is None else codes.pop(domain.target_index, None)
    return Condition(label, codes)


def image_label(domain: ImageDomain, where: Where) -> int | None:
    """Read a condition on images: only the label can be fixed.

    Raises:
        InvalidCondition: it fixes something other than the label, or the label is not declared.
    """
    if not where:
        return None
    label = _text(where.get(LABEL))
    if set(where) != {LABEL} or label not in domain.labels:
        raise InvalidCondition(f"Of images only '{LABEL}' can be fixed, to a declared label.")
    return domain.labels.index(label)


def bins_fixed(domain: TableDomain, where: Where) -> dict[str, str]:
    """By column, the bin that a condition fixes where it names one number or time of several in it.

    Raises:
        InvalidCondition: as `table_condition`.
    """
    table_condition(domain, where)
    found = {}
    for column in domain.coded:
        if column.name not in where or isinstance(column, LabelColumn):
            continue
        assert isinstance(column, NumericColumn | TimeColumn), "a column has labels or bins"
        place = _code(column, where[column.name]) - column.ordinary_codes + column.bins.count
        if not 0 <= place < column.bins.count:
            continue  # a special value, or a missing one
        low, high = _ends_of_bin(column, place)
        if low != high:
            found[column.name] = f"{low} to {high}"
    return found


def _ends_of_bin(column: NumericColumn | TimeColumn, place: int) -> tuple[str, str]:
    """The smallest and the largest value that are drawn in a bin, as text."""
    ends = column.bins.decode(np.full(2, place), np.array([0.0, np.nextafter(1.0, 0.0)]))
    if isinstance(column, NumericColumn):
        digits = 12 if column.bins.grid is not None else 6  # values between, where there is no grid
        return f"{ends[0]:.{digits}g}", f"{ends[1]:.{digits}g}"
    text = day_text if column.kind == "date" else second_text
    return text(int(ends[0])), text(int(ends[1]))


def _code(column: Modelled, value: object) -> int:
    impossible = InvalidCondition(
        f"The column '{column.name}' cannot have this value; {possible_values(column)}."
    )
    if value is None:
        if column.null_code is None:
            raise impossible
        return column.null_code
    if isinstance(column, LabelColumn):
        word = _word(column, value)
        code = None if word is None else column.code_of(word)
        if code is None:
            raise impossible
        return code
    try:
        number, array = _number(column, value)
    except (pa.ArrowException, InvalidCondition, TypeError, ValueError, OverflowError):
        raise impossible from None
    special = isinstance(column, NumericColumn) and number in column.specials
    if not special and not column.lower <= number <= column.upper:
        raise impossible
    try:
        return int(encode_column(column, array)[0])
    except DomainMismatch:
        raise impossible from None


def possible_values(column: Modelled) -> str:
    """The values that a condition may name, as the end of a sentence; of many words the first. All are public, by the domain."""
    missing = "" if column.null_code is None else ", or null for a missing value"
    if isinstance(column, LabelColumn):
        named = ", ".join(repr(word) for word in column.words[:_NAMED])
        further = f" and {len(column.words) - _NAMED} more" if len(column.words) > _NAMED else ""
        return f"it has {named}{further}{missing}"
    low, high = _ends(column)
    return f"its values lie between {low} and {high}{missing}"


def _ends(column: NumericColumn | TimeColumn) -> tuple[str, str]:
    if isinstance(column, NumericColumn):
        return f"{column.lower:g}", f"{column.upper:g}"
    text = day_text if column.kind == "date" else second_text
    return text(int(column.lower)), text(int(column.upper))


def _word(column: LabelColumn, value: object) -> str | None:
    if isinstance(value, bool) and column.kind == "boolean":
        return column.labels[int(value)]
    return _text(value)


def _text(value: object) -> str | None:
    """The declared word; a whole number is read as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _number(column: NumericColumn | TimeColumn, value: object) -> tuple[float, pa.Array]:
    """The value in the form of the domain's bounds, and as an array to be encoded."""
    if isinstance(column, NumericColumn):
        number = number_of(column, value)
        return number, pa.array([number], pa.float64())
    if not isinstance(value, str):
        raise TypeError
    array = pa.array([value], pa.string()).cast(arrow_type(column))
    width = pa.int32() if column.kind == "date" else pa.int64()
    return float(array.cast(width)[0].as_py()), array
