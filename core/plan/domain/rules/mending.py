"""The kinds of rules between columns at work on drawn rows: which rows break a rule, and how they are mended.

Needs numpy alone: the script of a bundle holds a copy. Rows are held as `core.plan.domain.rules.keeping` says.
"""
# ruff: noqa: ARG002, D102 - the kinds of rules share the methods that `Rule` documents

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.plan.domain.rules.classes import Classes, Flags, Floats, Places, Values

Rows = dict[int, Floats]

CELLS_AT_ONCE = 2**22
DAY = 86400
YEAR = 365 * DAY
SECONDS = {"second": 1, "minute": 60, "hour": 3600}


class Rule:
    """One rule. Abstract: the kinds below are final.

    Args:
        data: What was declared, with "columns" as places.
        values: Of every tied column, by its place.
    """

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        self.columns: tuple[int, ...] = tuple(data["columns"])
        self.values = [values[place] for place in self.columns]

    def broken(self, rows: Rows) -> Flags:
        """Mask of the rows that break the rule."""
        raise AssertionError  # pragma: no cover

    def complete(self, rows: Rows) -> None:
        """Compute what the rule computes from other columns, in rows that break it."""

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        """Change the rule's columns in rows that all break it, so that they keep it.

        Args:
            rows: The rule's columns; changed in place.
            batch: All rows: where likely values are taken from.
            rng: Of the batch.
            first: Whether the documented column gives way; later passes draw which one does, so that two rules that pull at
                one column do not pull for ever.
        """
        raise AssertionError  # pragma: no cover


class Determines(Rule):
    """A code book: where the first column's value is listed, the second column has the value beside it."""

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        super().__init__(data, values)
        self.classes = Classes(self.values[0], [test for test, _ in data["pairs"]])
        self.listed = np.zeros(self.classes.count + 1, dtype=np.bool_)
        self.images = np.zeros(self.classes.count + 1)
        for test, image in data["pairs"]:
            members = self.classes.meeting(test)
            self.listed[members] = True
            self.images[members] = np.nan if image is None else image
        listed = np.flatnonzero(self.listed)
        # NaN sorts last, and is then found like any other value.
        self.by_image = listed[np.argsort(self.images[listed], kind="stable")]
        self.sorted_images = self.images[self.by_image]

    def broken(self, rows: Rows) -> Flags:
        classes = self.classes.of(rows[self.columns[0]])
        return self.listed[classes] & ~_same(rows[self.columns[1]], self.images[classes])

    def complete(self, rows: Rows) -> None:
        rows[self.columns[1]] = self.images[self.classes.of(rows[self.columns[0]])]

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        key, wanted = self.columns[0], rows[self.columns[1]]
        start = np.searchsorted(self.sorted_images, wanted, side="left")
        several = np.searchsorted(self.sorted_images, wanted, side="right") - start
        other = (several > 0) & (rng.random(len(wanted)) < (0 if first else 1 / 2))
        place = start + (rng.random(len(wanted)) * several).astype(np.int64)
        keys = self.classes.draw(self.by_image[np.minimum(place, len(self.by_image) - 1)], rng)
        rows[key] = np.where(other, keys, rows[key])
        rows[self.columns[1]] = np.where(other, wanted, self.images[self.classes.of(rows[key])])


class NullTogether(Rule):
    """All columns are missing, or none is."""

    def broken(self, rows: Rows) -> Flags:
        missing = np.stack([np.isnan(rows[place]) for place in self.columns])
        count = missing.sum(axis=0)
        found: Flags = (count != 0) & (count != len(missing))
        return found

    def clear(self, rows: Rows, rng: np.random.Generator, target: int | None) -> None:
        """Clear all columns where one of them, drawn for each row, is missing; of these rows the share that is missing is then the mean of the columns' own.

        Drawn again until nothing or everything is missing, rows would seldom be missing: of the draws that keep the rule, few are.

        Args:
            rows: The rule's columns in rows that all break it; changed in place.
            rng: Of the batch.
            target: The column that is followed instead if it is one of them, so that its values stay.
        """
        missing = np.stack([np.isnan(rows[place]) for place in self.columns])
        count = missing.shape[1]
        drawn: Places = rng.integers(len(self.columns), size=(count,))
        followed = drawn if target not in self.columns else np.full(count, self.columns.index(target))
        follows = missing[followed, np.arange(count)]
        for place in self.columns:
            rows[place] = np.where(follows, np.nan, rows[place])

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        missing = np.stack([np.isnan(rows[place]) for place in self.columns])
        clear = 2 * missing.sum(axis=0) >= len(self.columns)
        clear ^= rng.random(len(clear)) < (0 if first else 1 / 2)
        for place, values, absent in zip(self.columns, self.values, missing, strict=True):
            present = batch[place][~np.isnan(batch[place])]
            if len(present):
                likely = present[rng.integers(len(present), size=len(clear))]
            else:
                likely = values.draw(len(clear), rng)
            rows[place] = np.where(clear, np.nan, np.where(absent, likely, rows[place]))


class ExactlyOne(Rule):
    """One column is set, and no other is."""

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        super().__init__(data, values)
        self.set = np.array(data["set"], dtype=np.float64)
        self.unset = np.array(
            [np.nan if value is None else value for value in data["unset"]], dtype=np.float64
        )

    def _set(self, rows: Rows) -> Flags:
        """Mask of the columns that are set; (columns, rows)."""
        return np.stack([rows[place] == value for place, value in zip(self.columns, self.set, strict=True)])

    def broken(self, rows: Rows) -> Flags:
        found: Flags = self._set(rows).sum(axis=0) != 1
        return found

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        found, whole = self._set(rows), self._set(batch)
        likely = whole.argmax(axis=0)[whole.sum(axis=0) == 1]
        if len(likely) == 0:
            likely = np.arange(len(self.columns))
        one = likely[rng.integers(len(likely), size=found.shape[1])]
        chosen = found.any(axis=0) & (rng.random(found.shape[1]) >= (0 if first else 1 / 2))
        winner = np.where(chosen, (found * (1 - rng.random(found.shape))).argmax(axis=0), one)
        for number, place in enumerate(self.columns):
            without = np.where(found[number], self.unset[number], rows[place])
            rows[place] = np.where(winner == number, self.set[number], without)


class Sum(Rule):
    """The last column is the sum of the others, up to a tolerance, where all of them are numbers.

    "computed" is which of the columns is computed from the others, by its number in the rule; the last one by default.
    """

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        super().__init__(data, values)
        self.tolerance = float(data["tolerance"])
        self.computed = int(data.get("computed", len(self.columns) - 1))
        self.others = [number for number in range(len(self.columns)) if number != self.computed]

    def broken(self, rows: Rows) -> Flags:
        compared = np.ones(len(rows[self.columns[0]]), dtype=np.bool_)
        for place, values in zip(self.columns, self.values, strict=True):
            compared &= values.are_numbers(rows[place])
        return compared & ~(np.abs(self._rest(rows)) <= self.tolerance)

    def _rest(self, rows: Rows) -> Floats:
        """The total minus the sum of its parts."""
        parts = rows[self.columns[0]].copy()
        for place in self.columns[1:-1]:
            parts += rows[place]
        rest: Floats = rows[self.columns[-1]] - parts
        return rest

    def _change(self, number: int, rest: Floats) -> Floats:
        """Amount by which one column must change so that nothing is left."""
        return -rest if number == len(self.columns) - 1 else rest

    def complete(self, rows: Rows) -> None:
        place = self.columns[self.computed]
        change = self._change(self.computed, self._rest(rows))
        found = self.values[self.computed].nearest(rows[place] + change)
        rows[place] = np.where(np.abs(found - rows[place] - change) <= self.tolerance, found, rows[place])

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        place, values = self.columns[self.computed], self.values[self.computed]
        found = values.nearest(rows[place] + self._change(self.computed, self._rest(rows)))
        moved = rng.random(len(found)) >= (0 if first else 1 / 2)
        rows[place] = np.where(moved, found, rows[place])
        for position in rng.permutation(len(self.others)).tolist():
            number, rest = self.others[position], self._rest(rows)
            other = self.columns[number]
            wanted = self.values[number].nearest(rows[other] + self._change(number, rest))
            rows[other] = np.where(np.abs(rest) <= self.tolerance, rows[other], wanted)
        rest = self._rest(rows)
        found = values.nearest(rows[place] + self._change(self.computed, rest))
        rows[place] = np.where(np.abs(rest) <= self.tolerance, rows[place], found)


class Duration(Rule):
    """The third column is the time from the first to the second in whole units, where all three are values between their bounds.

    Days are those of the calendar, and years are whole birthdays; other units are elapsed time.
    """

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        super().__init__(data, values)
        self.unit = str(data["unit"])
        self.are_dates = tuple(data["is_date"])

    def broken(self, rows: Rows) -> Flags:
        compared = np.ones(len(rows[self.columns[0]]), dtype=np.bool_)
        for place, values in zip(self.columns, self.values, strict=True):
            compared &= values.are_numbers(rows[place])
        differs: Flags = rows[self.columns[2]] != self._measured(rows)
        return compared & differs

    def _days(self, number: int, rows: Rows) -> Floats:
        """The days of one of the times."""
        values = rows[self.columns[number]]
        return values if self.are_dates[number] else np.floor(values / DAY)

    def _measured(self, rows: Rows) -> Floats:
        if self.unit in SECONDS:
            apart = rows[self.columns[1]] - rows[self.columns[0]]
            return np.floor(apart / SECONDS[self.unit])
        start, end = self._days(0, rows), self._days(1, rows)
        return end - start if self.unit == "day" else _birthdays(start, end)

    def complete(self, rows: Rows) -> None:
        place, found = self.columns[2], self._measured(rows)
        rows[place] = np.where(self.values[2].nearest(found) == found, found, rows[place])

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        _, end, place = self.columns
        moved = rng.random(len(rows[place])) < (0 if first else 1 / 2)
        rows[place] = np.where(moved, rows[place], self.values[2].nearest(self._measured(rows)))
        # Beyond the bounds of the number the second time moves.
        unit = SECONDS.get(self.unit, DAY if self.unit == "day" else YEAR)
        apart = (rows[place] - self._measured(rows)) * (unit / DAY if self.are_dates[1] else unit)
        wanted = self.values[1].nearest(rows[end] + np.ceil(apart))
        rows[end] = np.where(apart == 0, rows[end], wanted)
        found = self._measured(rows)
        rows[place] = np.where(self.values[2].nearest(found) == found, found, rows[place])


class AtMost(Rule):
    """The first column is at most the second, where both are numbers or times. A date and a time are compared by day."""

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        super().__init__(data, values)
        self.first_is_date, self.second_is_date = data.get("is_date", (False, False))

    def latest(self, high: Floats) -> Floats:
        """The largest number that the first column may have beside one of the second."""
        if self.first_is_date:
            return np.floor(high / DAY)
        return high * DAY + (DAY - 1) if self.second_is_date else high

    def earliest(self, low: Floats) -> Floats:
        """The smallest number that the second column may have beside one of the first."""
        if self.first_is_date:
            return low * DAY
        return np.floor(low / DAY) if self.second_is_date else low

    def broken(self, rows: Rows) -> Flags:
        low, high = rows[self.columns[0]], rows[self.columns[1]]
        return (low > self.latest(high)) & self.values[0].are_numbers(low) & self.values[1].are_numbers(high)

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        (one, other), (ours, theirs) = self.columns, self.values
        low, high = rows[one], rows[other]
        lowered, raised = ours.floor(self.latest(high)), theirs.ceil(self.earliest(low))
        prefer = rng.random(len(low)) >= (0 if first else 1 / 2)
        lower = (prefer | np.isnan(raised)) & ~np.isnan(lowered)
        rows[one] = np.where(lower, lowered, low)
        rows[other] = np.where(lower | np.isnan(raised), high, raised)
        # Neither value is between the bounds of the other column: only the smallest one of ours may fit.
        neither = np.isnan(lowered) & np.isnan(raised)
        smallest = theirs.ceil(self.earliest(np.full(len(low), ours.lowest)))
        fits = neither & ~np.isnan(smallest)
        rows[one] = np.where(fits, ours.lowest, rows[one])
        rows[other] = np.where(fits, smallest, rows[other])


class Possible(Rule):
    """Combinations of values that are the only ones to occur."""

    possible = True

    def __init__(self, data: Mapping[str, Any], values: Mapping[int, Values]) -> None:
        super().__init__(data, values)
        tests = zip(*data["combinations"], strict=True)
        self.classes = [Classes(own, found) for own, found in zip(self.values, tests, strict=True)]
        self.allowed = np.full([classes.count for classes in self.classes], not self.possible)
        for combination in data["combinations"]:
            met = [classes.meeting(test) for classes, test in zip(self.classes, combination, strict=True)]
            self.allowed[np.ix_(*met)] = self.possible

    def _classes(self, rows: Rows) -> tuple[Places, ...]:
        return tuple(
            classes.of(rows[place]) for classes, place in zip(self.classes, self.columns, strict=True)
        )

    def broken(self, rows: Rows) -> Flags:
        kept: Flags = self.allowed[self._classes(rows)]
        return ~kept

    def mend(self, rows: Rows, batch: Rows, rng: np.random.Generator, *, first: bool) -> None:
        """Change one column, to a class that is likely in the batch; where that is not enough, change all of them."""
        count = len(rows[self.columns[0]])
        one = np.flatnonzero(rng.random(count) >= (0 if first else 1 / 2))
        for axis in rng.permutation(len(self.columns)).tolist():
            part = {place: rows[place][one] for place in self.columns}
            drawn = self._likely(axis, self._classes(part), batch, rng)
            able = (drawn >= 0) & self.broken(part)
            at = one[able]
            rows[self.columns[axis]][at] = self.classes[axis].draw(drawn[able], rng)
        left = np.flatnonzero(self.broken(rows))
        if not len(left):
            return
        donors = np.flatnonzero(~self.broken(batch)) if first else np.zeros(0, dtype=np.int64)
        if len(donors):
            chosen = donors[rng.integers(len(donors), size=len(left))]
            for place in self.columns:
                rows[place][left] = batch[place][chosen]
            return
        allowed = np.flatnonzero(self.allowed)
        if len(allowed):
            chosen = allowed[rng.integers(len(allowed), size=len(left))]
            every = np.unravel_index(chosen, self.allowed.shape)
            for place, classes, own in zip(self.columns, self.classes, every, strict=True):
                rows[place][left] = classes.draw(own.astype(np.int64), rng)

    def _likely(
        self, axis: int, classes: tuple[Places, ...], batch: Rows, rng: np.random.Generator
    ) -> Places:
        """Classes of one column that are allowed beside those of the others, drawn by their weight in a batch; else -1."""
        own = self.classes[axis]
        weights = np.bincount(own.of(batch[self.columns[axis]]), minlength=own.count) + 1.0
        allowed, found = np.moveaxis(self.allowed, axis, -1), np.full(len(classes[0]), -1)
        step = max(1, CELLS_AT_ONCE // own.count)
        for start in range(0, len(found), step):
            others = tuple(some[start : start + step] for place, some in enumerate(classes) if place != axis)
            lines = allowed[others]
            drawn = _weighted(lines * weights, rng)
            found[start : start + step] = np.where(lines.any(axis=1), drawn, -1)
        return found


class Impossible(Possible):
    """Combinations of values that do not occur."""

    possible = False


KINDS: dict[str, type[Rule]] = {
    "duration": Duration,
    "determines": Determines,
    "null_together": NullTogether,
    "exactly_one": ExactlyOne,
    "sum": Sum,
    "at_most": AtMost,
    "possible": Possible,
    "impossible": Impossible,
}


def _birthdays(start: Floats, end: Floats) -> Floats:
    """The whole years from days to days, numbered from 1970-01-01; NaN where one is missing."""
    known = ~(np.isnan(start) | np.isnan(end))
    years, of_year = [], []
    for numbers in (start, end):
        days = np.where(known, numbers, 0).astype(np.int64).astype("datetime64[D]")
        months = days.astype("datetime64[M]")
        years.append(days.astype("datetime64[Y]").astype(np.int64))
        of_year.append(
            32 * (months.astype(np.int64) % 12) + (days - months.astype("datetime64[D]")).astype(np.int64)
        )
    whole = years[1] - years[0] - (of_year[1] < of_year[0])
    return np.where(known, whole, np.nan)


def _same(left: Floats, right: Floats) -> Flags:
    """Equal, or both missing."""
    found: Flags = (left == right) | (np.isnan(left) & np.isnan(right))
    return found


def _weighted(weights: Floats, rng: np.random.Generator) -> Places:
    """The place of one weight of each row, drawn in proportion; (rows,)."""
    sums = weights.cumsum(axis=1)
    thresholds = rng.random((len(sums), 1)) * sums[:, -1:]
    found: Places = np.minimum((sums <= thresholds).sum(axis=1), weights.shape[1] - 1)
    return found
