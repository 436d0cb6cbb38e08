"""Columns of two words that follow from the sign of a number, such as refund and amount: a rule, and bins with an edge at zero.

A bin with values of both signs would lose the sign of half of its rows, and noise would fill both words.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.bin_costs import BINS
from understudy.drafts.categories import NOTE
from understudy.drafts.numbers import FEWEST_ROWS_OF_A_WORD, plain
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST_ROWS: Final = 100
_TWO: Final = 2
_DIGITS: Final = 12
_STEPS: Final = 10
"""Steps per power of ten for rounding a bin width."""
_WITH_OWN_BINS: Final = frozenset({"difference", "edges", "spacing", "specials"})

Column = dict[str, Any]


def propose_signs(
    columns: Sequence[Column], sample: RowSample, *, target: str | None, fixed: Collection[str]
) -> list[Column]:
    """Draft a rule for each two-word column that follows from the sign of a number, and note it; bounds of the numbers change.

    No rule computes the target, or a column that another rule computes (`fixed`).
    """
    signed = {
        str(column["name"]): sample.numbers(str(column["name"]))
        for column in columns
        if _has_both_signs(column)
    }
    by_name = {str(column["name"]): column for column in columns}
    rules = []
    for column in columns:
        name, words = str(column["name"]), _two_words(column)
        if words is None or name in fixed or not signed:
            continue
        for other, numbers in signed.items():
            if (by_sign := _words_by_sign(numbers, sample.words(name), words)) is None:
                continue
            below, at_zero, above = by_sign
            by = by_name[other]
            side = "below 0" if at_zero == above else "0 or below"
            said = f"{below} exactly where {other} is {side}, in every row that was compared."
            if name == target:
                column[NOTE] += f" WARNING: {said} If {other} is known only with the outcome, leave it out."
                break
            if "bins" in by:
                column[NOTE] += (
                    f" {said} No rule can declare this while bins of {other} are learnt: ignore this column, which takes budget, and compute it from"
                    " synthetic rows."
                )
                break
            _begin_a_bin_at_zero(by)
            rules.append(
                {
                    "kind": "determines",
                    "columns": [other, name],
                    "pairs": list(_pairs(by, below, at_zero, above)),
                    MARK: ["pairs"],
                }
            )
            column[NOTE] += f" {said} A rule is drafted, so that synthetic rows keep this."
            break
    return rules


def _has_both_signs(column: Mapping[str, Any]) -> bool:
    """Whether a number has values on both sides of zero, in ranges that a rule may name unless its bins are learnt."""
    return (
        column["kind"] == "numeric"
        and (column["type"] == "integer" or "decimals" in column)
        and _WITH_OWN_BINS.isdisjoint(column)
        and column["lower"] < 0 < column["upper"]
    )


def _two_words(column: Mapping[str, Any]) -> tuple[str, str] | None:
    """The two words of a column without other words or missing values; None for other columns."""
    if "null" in column:
        return None
    if column["kind"] == "boolean":
        return str(column.get("false", "false")), str(column.get("true", "true"))
    listed = column.get("categories") if column["kind"] == "categorical" and not column.get("other") else None
    return (listed[0], listed[1]) if isinstance(listed, list) and len(listed) == _TWO else None


def _words_by_sign(numbers: "Floats", found: Any, words: tuple[str, str]) -> tuple[str, str, str] | None:  # noqa: ANN401 - texts of Arrow
    """The words of numbers below, at and above zero, if the sign determines the word in all rows and both words have enough rows."""
    import numpy as np
    import pyarrow.compute as pc

    is_known = ~np.isnan(numbers)
    if is_known.sum() < _FEWEST_ROWS:
        return None
    is_second = np.asarray(pc.fill_null(pc.equal(found, words[1]), False), dtype=bool)[is_known]
    is_first = np.asarray(pc.fill_null(pc.equal(found, words[0]), False), dtype=bool)[is_known]
    known = numbers[is_known]
    if not (is_first ^ is_second).all():
        return None
    fewest = min(is_first.sum(), is_second.sum())
    for negative, at_zero in ((known < 0, "above"), (known <= 0, "below")):
        for below, above, is_below in ((words[1], words[0], is_second), (words[0], words[1], is_first)):
            if fewest >= FEWEST_ROWS_OF_A_WORD and (negative == is_below).all():
                return below, above if at_zero == "above" else below, above
    return None


def _unit(column: Mapping[str, Any]) -> float:
    return 1.0 if column["type"] == "integer" else 10.0 ** -column["decimals"]


def _begin_a_bin_at_zero(column: Column) -> None:
    """Widen the bounds of a number to multiples of the bin width, so that an even bin begins at zero."""
    lower, upper, unit = column["lower"], column["upper"], _unit(column)
    if (upper - lower) / unit < BINS:
        return  # each number has its own bin
    width = (upper - lower) / BINS
    step = max(unit, 10.0 ** floor(log10(width)) / _STEPS)
    while True:
        width = round(ceil(round(width / step, _DIGITS)) * step, _DIGITS)
        below = ceil(round(-lower / width, _DIGITS))
        if (BINS - below) * width >= upper:
            break
        width += step
    ends = (-below * width, (BINS - below) * width)
    column["lower"], column["upper"] = (plain(round(end, _DIGITS)) for end in ends)
    column[NOTE] += " A bin begins at 0, because another column gives the sign."


def _pairs(by: Mapping[str, Any], below: str, at_zero: str, above: str) -> Iterator[list[Any]]:
    """The ranges of a number on both sides of zero, with their words."""
    unit = _unit(by)
    last, first = (-unit, 0) if at_zero == above else (0, unit)
    yield [{"from": by["lower"], "to": plain(round(last, _DIGITS))}, below]
    yield [{"from": plain(round(first, _DIGITS)), "to": by["upper"]}, above]
