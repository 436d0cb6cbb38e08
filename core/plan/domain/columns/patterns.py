"""Patterns of the calendar in dates and times: weekday, month of the year, hour of the day.

A column's bins hold which days were frequent, but not that Sundays are quiet within a bin of three weeks. A column that
declares patterns has a column of codes for each, counted like any other: of Monday to Sunday, January to December, or the
hours 0 to 23. A drawn record then gets a time of its bin that agrees with the codes drawn beside it.

Needs numpy alone: the script of a bundle holds a copy.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODES = {"weekday": 7, "month": 12, "hour": 24}
"""How many codes each pattern has."""
DAY_SECONDS, HOUR_SECONDS = 86400, 3600
THURSDAY = 3
"""Weekday of 1970-01-01, counted from Monday."""
MOST_STRETCHES = 2**20
"""Stretches of a column's calendar, at most: an hour as a pattern is given up where bounds span 119 years."""


def pattern_codes(pattern: str, times: NDArray[np.int64], unit_seconds: int) -> NDArray[np.int64]:
    """The code of each time.

    Args:
        pattern: One of `CODES`.
        times: (rows,) days or seconds since 1970-01-01.
        unit_seconds: Seconds of one of them.
    """
    if pattern == "hour":
        return times * unit_seconds // HOUR_SECONDS % CODES[pattern]
    days = times * unit_seconds // DAY_SECONDS
    if pattern == "weekday":
        return (days + THURSDAY) % CODES[pattern]
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % CODES[pattern]


class PatternedBins:
    """The times of a column's bins, distinguished by patterns.

    The calendar between the bounds is cut into stretches that lie in one bin and in one code of every pattern. Of a record's bin
    and codes all values of all such stretches are equally likely. Where there is none, the pattern that is listed last gives way,
    then the one before it, then two together, and so on; at last any value of the bin.

    Args:
        data: "patterns", in order; "unit_seconds"; "grid" with "offset", "width" and "table" as in `core.plan.domain.columns.bins.Grid`;
            "first_ticks" and "tick_counts" of the bins.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.grid = data["grid"]
        self.table = None if self.grid["table"] is None else np.array(self.grid["table"], dtype=np.int64)
        self.firsts = np.array(data["first_ticks"], dtype=np.int64)
        self.ticks = int(self.firsts[-1]) + int(data["tick_counts"][-1])
        self.seconds = seconds = int(data["unit_seconds"])
        kept = [
            place
            for place, name in enumerate(data["patterns"])
            if self._stretches(name, seconds) <= MOST_STRETCHES
        ]
        borders = [self._borders(data["patterns"][place], seconds) for place in kept]
        starts = np.unique(np.concatenate([self.firsts, *borders]))
        self.starts = starts[starts < self.ticks]
        self.lengths = np.diff(np.append(self.starts, self.ticks))
        self.bins = np.searchsorted(self.firsts, self.starts, side="right") - 1
        times = self.points(self.starts)
        self.codes = {place: pattern_codes(data["patterns"][place], times, seconds) for place in kept}
        self.sizes = {
            place: CODES[data["patterns"][place]] + 1 for place in kept
        }  # and one for a missing value
        self.sorted: dict[tuple[int, ...], tuple[NDArray[np.int64], ...]] = {}

    def points(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The times at these ticks."""
        if self.table is not None:
            return self.table[ticks]
        return ticks * int(self.grid["width"]) + int(self.grid["offset"])

    def codes_of(
        self, pattern: str, bins: NDArray[np.int64], times: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The code of the value of each bin that stands for each time: the last one not after it, if the bin has such a value.

        Args:
            pattern: One of `CODES`.
            bins: (rows,) the bins that the times are in.
            times: (rows,) whole days or seconds.
        """
        whole = times.astype(np.int64)
        if self.table is not None:
            ticks = np.searchsorted(self.table, whole, side="right") - 1
        else:
            ticks = (whole - int(self.grid["offset"])) // int(self.grid["width"])
        ends = np.append(self.firsts[1:], self.ticks) - 1
        inside = np.clip(ticks, self.firsts[bins], ends[bins])
        return pattern_codes(pattern, self.points(inside), self.seconds)

    def draw(
        self, bins: NDArray[np.int64], codes: Sequence[NDArray[np.int64]], uniforms: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """A time of each bin that agrees with the codes, as far as the bin has one; (rows,).

        Args:
            bins: (rows,) bin numbers.
            codes: Of each pattern (rows,) codes.
            uniforms: (rows,) in [0, 1).
        """
        ticks = np.zeros(len(bins), dtype=np.int64)
        left = np.arange(len(bins))
        for size in range(len(self.codes), -1, -1):
            for agreeing in combinations(self.codes, size):
                if not len(left):
                    break
                found, drawn = self._drawn(
                    agreeing, bins[left], [codes[place][left] for place in agreeing], uniforms[left]
                )
                ticks[left[found]] = drawn[found]
                left = left[~found]
        return self.points(ticks).astype(np.float64)

    def possible(self, place: int) -> NDArray[np.bool_]:
        """Mask of the codes of one pattern that occur in each bin; (bins, codes), all of them where the pattern was given up."""
        if place not in self.codes:
            return np.ones((len(self.firsts), 1), dtype=np.bool_)
        met = np.zeros((len(self.firsts), self.sizes[place] - 1), dtype=np.bool_)
        met[self.bins, self.codes[place]] = True
        return met

    def _drawn(
        self,
        agreeing: tuple[int, ...],
        bins: NDArray[np.int64],
        codes: Sequence[NDArray[np.int64]],
        uniforms: NDArray[np.float64],
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Whether each bin has a stretch of these codes, and a tick of one of them where it has."""
        if agreeing not in self.sorted:
            self.sorted[agreeing] = self._sorted(agreeing)
        keys, begins, totals, ends, order = self.sorted[agreeing]
        wanted = self._keys(agreeing, bins, codes)
        group = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found = keys[group] == wanted
        total = totals[group]
        place = begins[group] + np.minimum((uniforms * total).astype(np.int64), total - 1)
        stretch = np.searchsorted(ends, place, side="right")
        own = order[stretch]
        return found, self.starts[own] + place - (ends[stretch] - self.lengths[own])

    def _sorted(self, agreeing: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
        """Stretches in the order of bin and codes: the keys that occur, where their values begin, how many they are."""
        of_stretch = self._keys(agreeing, self.bins, [self.codes[place] for place in agreeing])
        order = np.argsort(of_stretch, kind="stable")
        keys, first = np.unique(of_stretch[order], return_index=True)
        ends = np.cumsum(self.lengths[order])
        begins = (ends - self.lengths[order])[first]
        return keys, begins, np.diff(np.append(begins, self.ticks)), ends, order

    def _keys(
        self, agreeing: tuple[int, ...], bins: NDArray[np.int64], codes: Sequence[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        keys = bins.astype(np.int64)
        for place, own in zip(agreeing, codes):  # noqa: B905 - the script runs on older Python too
            keys = keys * self.sizes[place] + own
        return keys

    def _stretches(self, pattern: str, seconds: int) -> int:
        """About how many stretches a pattern cuts the calendar into."""
        first, last = self.points(np.array([0, self.ticks - 1])).tolist()
        return int(last - first) * seconds // (HOUR_SECONDS if pattern == "hour" else DAY_SECONDS)

    def _borders(self, pattern: str, seconds: int) -> NDArray[np.int64]:
        """The first tick of every stretch of one code."""
        first, last = self.points(np.array([0, self.ticks - 1])).tolist()
        if pattern == "month":
            ends = np.array([first, last]) * seconds // DAY_SECONDS
            low, high = ends.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64).tolist()
            months = np.arange(low, high + 1).astype("datetime64[M]")
            times = months.astype("datetime64[D]").astype(np.int64) * DAY_SECONDS // seconds
        else:
            width = (HOUR_SECONDS if pattern == "hour" else DAY_SECONDS) // seconds
            times = np.arange(first // width, last // width + 1) * width
        if self.table is not None:
            return np.searchsorted(self.table, times)
        return np.maximum(-((int(self.grid["offset"]) - times) // int(self.grid["width"])), 0)
