"""Structural zeros of two-way tables: cells that the rules between columns or the calendar leave empty.

They are public, so a fit may set them to zero at no cost. A cell is forbidden only if no values of its two codes satisfy one
of the rules, for any values of the other columns. Cells that several rules forbid only together are not found.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Final

import numpy as np

from core.plan.domain.columns.kinds import LabelColumn, Modelled, OrderedColumn
from core.plan.domain.rules.classes import Classes, Flags, Floats, Places, Values
from core.plan.domain.rules.mending import (
    AtMost,
    Determines,
    Duration,
    ExactlyOne,
    Impossible,
    NullTogether,
    Possible,
    Rule,
    Sum,
)
from core.plan.domain.rules.values import column_values
from core.plan.domain.table import TableDomain

Pair = tuple[int, int]
LARGEST_TABLE: Final = 2**24
"""Largest table, in cells, that is examined; a larger one is not measured."""


def forbidden_pairs(domain: TableDomain) -> dict[Pair, Flags]:
    """Return the cells that some rule forbids, or that contain no time.

    Returns:
        By places of two coded columns, the smaller first: (codes of the first, codes of the second), true where
        forbidden. Pairs without such a cell are left out.
    """
    found: dict[Pair, Flags] = {}
    for by_pair in (forbidden_by_calendar(domain), *forbidden_by_rule(domain)):
        for pair, cells in by_pair.items():
            found[pair] = found[pair] | cells if pair in found else cells
    return dict(sorted(found.items()))


def forbidden_by_calendar(domain: TableDomain) -> dict[Pair, Flags]:
    """Return the pairs of a bin and a pattern's code that no time has; a pattern is missing exactly where its time is.

    Returns:
        As `forbidden_pairs`.
    """
    found: dict[Pair, Flags] = {}
    places = {column.name: place for place, column in enumerate(domain.coded)}
    for column in {time.name: time for time, _pattern in domain.patterns}.values():
        pattern_places = [places[f"{column.name}.{pattern}"] for pattern in column.patterns]
        for number, place in enumerate(pattern_places):
            cells = np.zeros((column.cardinality, domain.coded[place].cardinality), dtype=np.bool_)
            possible = column.patterned.possible(number)
            cells[: column.bins.count, : possible.shape[1]] = ~possible
            _missing_together(cells, column.null_code, domain.coded[place].null_code)
            found[places[column.name], place] = cells
        for first, second in combinations(pattern_places, 2):
            cells = np.zeros(
                (domain.coded[first].cardinality, domain.coded[second].cardinality), dtype=np.bool_
            )
            _missing_together(cells, domain.coded[first].null_code, domain.coded[second].null_code)
            found[first, second] = cells
    return {pair: cells for pair, cells in found.items() if cells.any()}


def _missing_together(cells: Flags, first: int | None, second: int | None) -> None:
    """Forbid all cells where one code is null and the other is not."""
    if first is not None and second is not None:
        cells[first, :] = cells[:, second] = True
        cells[first, second] = False


def forbidden_by_rule(domain: TableDomain) -> Iterator[dict[Pair, Flags]]:
    """Yield the cells that each rule forbids by itself, in the order of the document.

    Returns:
        One mapping per rule, as in `forbidden_pairs`; empty if the rule forbids no cell of a pair.
    """
    if domain.kept is None:
        return
    keeper = domain.kept.keeper
    codes = {place: _Codes(domain.modelled[place]) for place in keeper.values}
    made = {one["place"] for one in domain.differences}
    for rule in keeper.declared[: len(domain.rules)]:
        found: dict[Pair, Flags] = {}
        for (first, second), cells in _FORBIDDEN[type(rule)](rule, codes):
            # Codes of a distance from another column say nothing of the column's own values.
            if cells.any() and not made & {first, second}:
                found[min(first, second), max(first, second)] = cells if first < second else cells.T
        yield found


def whole_groups(cells: Flags, first: Places, second: Places) -> Flags:
    """Return which pairs of groups are forbidden: those in which every pair of codes is forbidden.

    Args:
        cells: (codes of the first column, codes of the second), true where forbidden.
        first: the group of each code of the first column, from 0 without a gap.
        second: the same of the second column.

    Returns:
        (groups of the first column, groups of the second).
    """
    forbidden: Flags = np.ones((int(first.max()) + 1, int(second.max()) + 1), dtype=np.bool_)
    allowed_first, allowed_second = np.nonzero(~cells)
    forbidden[first[allowed_first], second[allowed_second]] = False
    return forbidden


class _Codes:
    """The values of every code of a column.

    Attributes:
        lows: Smallest value of each code, (codes,); NaN for null.
        highs: Largest value.
    """

    def __init__(self, column: Modelled) -> None:
        self.values = Values(column_values(column))
        self.lows = np.full(column.cardinality, np.nan)
        self.highs = np.full(column.cardinality, np.nan)
        if isinstance(column, LabelColumn):
            self.lows[: len(column.words)] = self.highs[: len(column.words)] = np.arange(len(column.words))
        else:
            self._read_ordered(column)

    def _read_ordered(self, column: OrderedColumn) -> None:
        bins, specials = column.bins, len(column.specials)
        every = np.arange(bins.count)
        last = bins.decode(every, np.full(bins.count, np.nextafter(1.0, 0.0)))
        if bins.grid is None:
            last = np.append(np.nextafter(bins.highs, bins.lows)[:-1], bins.highs[-1])
        for ends, of_bins in ((self.lows, bins.decode(every, np.zeros(bins.count))), (self.highs, last)):
            ends[:specials] = column.specials
            ends[specials : specials + bins.count] = of_bins

    @property
    def missing(self) -> Flags:
        """Mask of the code that is null."""
        found: Flags = np.isnan(self.lows)
        return found

    @property
    def never_exempt(self) -> Flags:
        """Mask of the codes that are numbers. Order and sums do not apply to null or to special values beyond the bounds."""
        found: Flags = self.values.are_numbers(self.lows)
        return found

    def holding(self, values: Floats) -> Flags:
        """Mask of the codes that hold each of some values; (n,) to (n, codes)."""
        wanted = values[:, None]
        inside = (self.lows <= wanted) & (wanted <= self.highs)
        # A special value has its own code, even inside a bin.
        inside &= ~np.isin(wanted, self.values.specials) | (self.lows == self.highs)
        found: Flags = inside | (np.isnan(wanted) & self.missing)
        return found

    def any_of(self, classes: Classes, flags: Flags) -> Flags:
        """Whether some value of each code is in a flagged class; (classes, n) to (codes, n)."""
        first, last = classes.of(self.lows), classes.of(self.highs)
        ordinary = flags.copy()
        ordinary[: len(classes.starts)][classes.special] = False
        sums = np.zeros((len(flags) + 1, flags.shape[1]), dtype=np.int32)
        np.cumsum(ordinary, axis=0, out=sums[1:])
        single = self.missing | (self.lows == self.highs)
        found: Flags = np.where(single[:, None], flags[first], sums[last + 1] > sums[first])
        return found


Found = Iterator[tuple[Pair, Flags]]
Known = Mapping[int, _Codes]


def _pairs(rule: Rule, codes: Known) -> Iterator[Pair]:
    """Every pair of a rule's columns whose table is at most `LARGEST_TABLE`, by their positions in the rule."""
    sizes = [len(codes[place].lows) for place in rule.columns]
    for second in range(len(sizes)):
        for first in range(second):
            if sizes[first] * sizes[second] <= LARGEST_TABLE:
                yield first, second


def _at_most(rule: Rule, codes: Known) -> Found:
    assert isinstance(rule, AtMost)
    for _ in _pairs(rule, codes):
        first, second = (codes[place] for place in rule.columns)
        above = first.lows[:, None] > rule.latest(second.highs)
        yield (rule.columns[0], rule.columns[1]), above & first.never_exempt[:, None] & second.never_exempt


def _sum(rule: Rule, codes: Known) -> Found:
    """A cell is forbidden if the interval of its residual, total minus parts, is beyond the tolerance."""
    assert isinstance(rule, Sum)
    signs = [-1.0] * (len(rule.columns) - 1) + [1.0]
    ends = [
        _times(sign, *_span(codes[place].values)) for sign, place in zip(signs, rule.columns, strict=True)
    ]
    always = [bool(codes[place].never_exempt.all()) for place in rule.columns]
    for first, second in _pairs(rule, codes):
        others = [place for place in range(len(rule.columns)) if place not in (first, second)]
        if not all(always[place] for place in others):
            continue
        one, other = (codes[rule.columns[place]] for place in (first, second))
        low_one, high_one = _times(signs[first], one.lows, one.highs)
        low_other, high_other = _times(signs[second], other.lows, other.highs)
        lowest = low_one[:, None] + low_other + sum(ends[place][0] for place in others)
        highest = high_one[:, None] + high_other + sum(ends[place][1] for place in others)
        never = (lowest > rule.tolerance) | (highest < -rule.tolerance)
        yield (
            (rule.columns[first], rule.columns[second]),
            never & one.never_exempt[:, None] & other.never_exempt,
        )


def _span(values: Values) -> tuple[Floats, Floats]:
    """Smallest and largest number of a column, special ones between its bounds included."""
    every = np.append(values.specials, [values.lowest, values.highest])
    numbers = every[values.are_numbers(every)]
    return numbers.min(), numbers.max()


def _times(sign: float, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    return (low, high) if sign > 0 else (-high, -low)


def _null_together(rule: Rule, codes: Known) -> Found:
    for first, second in _pairs(rule, codes):
        pair = rule.columns[first], rule.columns[second]
        one, other = (codes[place].missing for place in pair)
        yield pair, one[:, None] != other


def _exactly_one(rule: Rule, codes: Known) -> Found:
    assert isinstance(rule, ExactlyOne)
    can = [
        codes[place].holding(value)[0] for place, value in zip(rule.columns, rule.set[:, None], strict=True)
    ]
    must = [
        can[place] & (codes[column].lows == codes[column].highs) for place, column in enumerate(rule.columns)
    ]
    for first, second in _pairs(rule, codes):
        cells = must[first][:, None] & must[second]
        if len(rule.columns) == 2:  # noqa: PLR2004 - one of two is set
            cells = cells | ~(can[first][:, None] | can[second])
        yield (rule.columns[first], rule.columns[second]), cells


def _determines(rule: Rule, codes: Known) -> Found:
    assert isinstance(rule, Determines)
    for _ in _pairs(rule, codes):
        key, determined = (codes[place] for place in rule.columns)
        count = rule.classes.count
        allowed = determined.holding(rule.images[:count]) | ~rule.listed[:count, None]
        yield (rule.columns[0], rule.columns[1]), ~key.any_of(rule.classes, allowed)


def _combinations(rule: Rule, codes: Known) -> Found:
    assert isinstance(rule, Possible)
    for first, second in _pairs(rule, codes):
        others = tuple(place for place in range(len(rule.columns)) if place not in (first, second))
        allowed: Flags = np.any(rule.allowed, axis=others, keepdims=False)
        pair = rule.columns[first], rule.columns[second]
        of_first = codes[pair[0]].any_of(rule.classes[first], allowed)
        yield pair, ~codes[pair[1]].any_of(rule.classes[second], of_first.T).T


def _none(rule: Rule, codes: Known) -> Found:  # noqa: ARG001 - as the others
    """A duration ties three columns together: of two of them it forbids nothing."""
    yield from ()


_FORBIDDEN: Final[Mapping[type[Rule], Callable[[Rule, Known], Found]]] = {
    AtMost: _at_most,
    Sum: _sum,
    Duration: _none,
    NullTogether: _null_together,
    ExactlyOne: _exactly_one,
    Determines: _determines,
    Possible: _combinations,
    Impossible: _combinations,
}
