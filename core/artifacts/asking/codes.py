"""The labels of a column's codes, the codes that a condition selects, and the number that represents each code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.artifacts.asking.errors import QuestionInvalid
from core.artifacts.asking.question import Condition
from core.plan.domain.columns.calendar import day_number, day_text, second_number, second_text
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.table import TableDomain
from core.plan.near_names import nearest

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
MISSING = "(missing)"
MOST_NAMED, NAMED_OF_MORE = 100, 20
"""Maximum size of a group that is labelled with all its codes; a larger one is labelled with the first few."""
_LISTED = 2
_MISSING_WORDS = frozenset({"missing", "null", MISSING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The codes that a condition selects.

    Attributes:
        codes: (codes,) indicator.
        note: how the condition was widened to whole bins; None if it was not.
    """

    codes: Mask
    note: str | None = None


def counted_by(domain: TableDomain) -> str:
    """The unit of the counts, in words."""
    unit = domain.privacy_unit
    if unit is None:
        return "records"
    if domain.records_per_unit is not None:
        return f"records, of one '{unit}' at most {domain.records_per_unit}"
    return f"records, each divided by the records of its '{unit}'"


def labels_of(column: Modelled) -> list[str]:
    """The label of every code of a column, in code order."""
    labels = list(column.words) if isinstance(column, LabelColumn) else labels_of_values(column)
    return labels if column.null_code is None else [*labels, MISSING]


def labels_of_values(column: NumericColumn | TimeColumn) -> list[str]:
    """The label of every code of a number or time column except the missing code, in code order."""
    text = _text_of(column)
    lows, highs, is_open = bin_ends(column)
    return [text(value) for value in column.specials] + [
        text(low) if low == high else f"{text(low)} to {'below ' if below else ''}{text(high)}"
        for low, high, below in zip(lows, highs, is_open, strict=True)
    ]


def values_of(column: NumericColumn) -> list[float] | None:
    """The single number of every code except the missing code, in code order; None if some code covers several numbers."""
    lows, highs, is_open = bin_ends(column)
    if is_open.any() or (lows != highs).any():
        return None
    return [*map(float, column.specials), *lows.tolist()]


def name_of_group(labels: Sequence[str], groups: npt.NDArray[np.int64], group: int) -> str:
    """Label a group of codes: all its codes, the first and last of a contiguous range, or the first few of very many.

    Args:
        groups: (codes,) the group of each code.
    """
    members = np.flatnonzero(groups == group).tolist()
    if len(members) > _LISTED and members[-1] - members[0] == len(members) - 1:
        return f"{labels[members[0]]} ... {labels[members[-1]]}"
    named = members if len(members) <= MOST_NAMED else members[:NAMED_OF_MORE]
    more = "" if named is members else f" and {len(members) - len(named):,} more"
    return ", ".join(labels[code] for code in named) + more


def numbers_of(column: NumericColumn) -> tuple[Floats, Mask, float]:
    """The number that every code represents in a mean: the midpoint of its bin.

    Returns:
        (codes,) the numbers; (codes,) the codes that enter a mean, without missing values and without special values
            outside the declared bounds, which are not numbers; and half the width of the widest bin.
    """
    lows, highs, _is_open = bin_ends(column)
    specials = np.array(column.specials)
    numbers = np.concatenate(
        [specials, (lows + highs) / 2, np.zeros(column.cardinality - column.ordinary_codes)]
    )
    counts = np.ones(column.cardinality, dtype=np.bool_)
    counts[: len(specials)] = (specials >= column.lower) & (specials <= column.upper)
    counts[column.ordinary_codes :] = False
    return numbers, counts, float((highs - lows).max(initial=0.0) / 2)


def selected(column: Modelled, condition: Condition) -> Selected:
    """Find the codes that a condition selects. A range is widened to whole bins, because only bins were counted.

    Raises:
        QuestionInvalid: the column has no such value, or no order.
    """
    if isinstance(column, LabelColumn):
        return Selected(codes=_words(column, condition))
    if condition.is_range:
        low, high = (_number(column, value) for value in condition.values)
        return _range(column, low, high)
    codes, notes = np.zeros(column.cardinality, dtype=np.bool_), []
    for value in condition.values:
        if value.lower() in _MISSING_WORDS and column.null_code is not None:
            codes[column.null_code] = True
            continue
        number = _number(column, value)
        if number in column.specials:
            codes[column.specials.index(number)] = True
            continue
        found = _range(column, number, number)
        codes |= found.codes
        notes += [found.note] if found.note else []
    return Selected(codes=codes, note=" ".join(notes) or None)


def _words(column: LabelColumn, condition: Condition) -> Mask:
    codes = np.zeros(column.cardinality, dtype=np.bool_)
    places = [_word(column, value) for value in condition.values]
    if not condition.is_range:
        codes[places] = True
        return codes
    if column.kind != "ordinal" or max(places) >= column.ordinary_codes:
        raise QuestionInvalid(f"The values of '{column.name}' have no order; name them with in (...).")
    codes[places[0] : places[1] + 1] = True
    if not codes.any():
        raise _empty(column)
    return codes


def _word(column: LabelColumn, value: str) -> int:
    code = column.code_of(value)
    if code is not None:
        return code
    if value.lower() in _MISSING_WORDS and column.null_code is not None:
        return column.null_code
    near = nearest(value, column.words)
    hint = f"Did you mean '{near}'? " if near else ""
    if not near and column.kind == "ordinal":
        hint = f"It has '{column.labels[0]}' to '{column.labels[-1]}'. "
    raise QuestionInvalid(
        f"A value of the question is not declared for '{column.name}'.",
        remedy=hint + "Write it exactly as the domain does; `missing` selects missing values.",
        column=column.name,
    )


def _range(column: NumericColumn | TimeColumn, low: float, high: float) -> Selected:
    lows, highs, is_open = bin_ends(column)
    specials = np.array(column.specials)
    # A bin with an open upper end excludes its end, and a bin that begins at the end of the range adds only one point.
    touched = (lows <= high) & np.where(is_open, highs > low, highs >= low)
    touched &= ~((column.bins.grid is None) & (lows == high) & (high > low))
    codes = np.zeros(column.cardinality, dtype=np.bool_)
    codes[: len(specials)] = (specials >= low) & (specials <= high)
    codes[len(specials) : column.ordinary_codes] = touched
    if not codes.any():
        raise _empty(column)
    if not touched.any() or (lows[touched].min() >= low and highs[touched].max() <= high):
        return Selected(codes=codes)
    text = _text_of(column)
    bounds = f"{text(lows[touched].min())} to {text(highs[touched].max())}"
    return Selected(codes=codes, note=f"'{column.name}' was counted in whole bins: {bounds}.")


def bin_ends(column: NumericColumn | TimeColumn) -> tuple[Floats, Floats, Mask]:
    """Return the smallest and largest value of every bin, (bins,) each, and the bins with an open upper end."""
    bins = column.bins
    if bins.grid is None:
        is_open = np.ones(bins.count, dtype=np.bool_)
        is_open[-1:] = False
        return bins.lows, bins.highs, is_open
    every = np.arange(bins.count)
    last = np.full(bins.count, np.nextafter(1.0, 0.0))
    return (
        bins.decode(every, np.zeros(bins.count)),
        bins.decode(every, last),
        np.zeros(bins.count, dtype=np.bool_),
    )


def _number(column: NumericColumn | TimeColumn, value: str) -> float:
    try:
        if isinstance(column, NumericColumn):
            number = float(value)
        else:
            number = float((day_number if column.kind == "date" else second_number)(value))
    except (ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        kind = "number" if isinstance(column, NumericColumn) else f"{column.kind}, such as 2026-01-31"
        raise QuestionInvalid(
            f"A value of the question for '{column.name}' is not a {kind}.", column=column.name
        )
    return number


def _text_of(column: NumericColumn | TimeColumn) -> Callable[[float], str]:
    if isinstance(column, TimeColumn):
        return lambda value: (day_text if column.kind == "date" else second_text)(int(value))
    return lambda value: f"{value:.12g}"


def _empty(column: Modelled) -> QuestionInvalid:
    return QuestionInvalid(
        f"No value of '{column.name}' lies in this range.",
        remedy="Ask within its declared bounds, the smaller end first.",
        column=column.name,
    )
