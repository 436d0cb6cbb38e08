"""Values of columns in classes that rules between columns distinguish. Needs numpy alone: the script of a bundle holds a copy."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


class Values:
    """The values that one column can have: ordinary ones between its bounds, special ones, a missing one.

    Args:
        data: "lower" and "upper", the declared bounds; "grid", with "offset", "width", "scale", "ticks" and "table", or None
            where every number between the bounds is ordinary; "specials", a list; "nullable".
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.lower, self.upper = float(data["lower"]), float(data["upper"])
        self.grid = data["grid"]
        self.specials: Floats = np.unique(np.array(data["specials"], dtype=np.float64))
        self.nullable = bool(data["nullable"])
        self.table: Floats | None = None
        self.lowest, self.highest = self.lower, self.upper
        if self.grid is not None:
            if self.grid["table"] is not None:
                self.table = np.array(self.grid["table"], dtype=np.float64)
            self.ticks = int(self.grid["ticks"])
            self.lowest, self.highest = self.points(np.array([0, self.ticks - 1])).tolist()

    def are_numbers(self, values: Floats) -> Flags:
        """Mask of the values between the bounds; a special value beyond them is a word, such as "not asked"."""
        return (values >= self.lower) & (values <= self.upper)

    def points(self, ticks: Places) -> Floats:
        """The ordinary values of a grid, by their number from 0."""
        if self.table is not None:
            return self.table[ticks]
        whole = (ticks * self.grid["width"] + self.grid["offset"]).astype(np.float64)
        found: Floats = whole if self.grid["scale"] == 1 else whole / self.grid["scale"]
        return found

    def ticks_below(self, numbers: Floats) -> Places:
        """How many ordinary values of a grid are below or at each number."""
        if self.table is not None:
            return np.searchsorted(self.table, numbers, side="right")
        inside = np.clip(numbers, self.lowest, self.highest)
        near = np.rint((inside * self.grid["scale"] - self.grid["offset"]) / self.grid["width"])
        ticks = np.clip(near.astype(np.int64), 0, self.ticks - 1)
        ticks -= self.points(ticks) > inside
        return np.where(numbers < self.lowest, 0, ticks + 1)

    def floor(self, numbers: Floats) -> Floats:
        """The largest ordinary value not above each number; NaN where there is none."""
        if self.grid is None:
            found = np.minimum(numbers, self.highest)
        else:
            found = self.points(np.maximum(self.ticks_below(numbers) - 1, 0))
        return np.where(numbers >= self.lowest, found, np.nan)

    def ceil(self, numbers: Floats) -> Floats:
        """The smallest ordinary value not below each number; NaN where there is none."""
        if self.grid is None:
            found = np.maximum(numbers, self.lowest)
        else:
            ticks = self.ticks_below(numbers)
            exact = self.points(np.maximum(ticks - 1, 0)) == numbers
            found = self.points(np.minimum(ticks - exact, self.ticks - 1))
        return np.where(numbers <= self.highest, found, np.nan)

    def above(self, numbers: Floats) -> Floats:
        """The smallest ordinary value above each number; NaN where there is none."""
        return self.ceil(np.nextafter(numbers, np.inf))

    def nearest(self, numbers: Floats) -> Floats:
        """The ordinary value nearest to each number."""
        inside = np.clip(numbers, self.lowest, self.highest)
        below, above = self.floor(inside), self.ceil(inside)
        return np.where(inside - below <= above - inside, below, above)

    def draw(self, rows: int, rng: np.random.Generator) -> Floats:
        """Any values that are not missing."""
        drawn = self.floor(self.lowest + rng.random(rows) * (self.highest - self.lowest))
        if len(self.specials):
            special = rng.random(rows) < 1 / 4
            drawn[special] = self.specials[rng.integers(len(self.specials), size=int(special.sum()))]
        return drawn


class Classes:
    """A column's values in classes within which the tests of a rule do not distinguish.

    Each special value is a class, the missing value is the last class, each other class is a range of ordinary values.

    Args:
        values: Of the column.
        tests: Each a pair: whether a missing value meets it, and the closed ranges whose values meet it.
    """

    def __init__(self, values: Values, tests: Sequence[Sequence[Any]]) -> None:
        ranges = np.array([bounds for _, ranges in tests for bounds in ranges], dtype=np.float64).reshape(
            -1, 2
        )
        borders = (
            [values.lowest],
            values.specials,
            values.above(values.specials),
            values.ceil(ranges[:, 0]),
            values.above(ranges[:, 1]),
        )
        together = np.concatenate(borders)
        self.values = values
        self.starts: Floats = np.unique(together[~np.isnan(together)])
        self.special = np.isin(self.starts, values.specials)
        self.count = len(self.starts) + values.nullable
        ends = np.append(self.starts[1:], np.inf)
        if values.grid is None:
            self.stops = np.minimum(ends, np.nextafter(values.highest, np.inf))
        else:
            self.first = values.ticks_below(np.nextafter(self.starts, -np.inf))
            self.sizes = values.ticks_below(np.nextafter(ends, -np.inf)) - self.first

    def of(self, values: Floats) -> Places:
        """The class of each value."""
        found = np.searchsorted(self.starts, values, side="right") - 1
        return np.where(np.isnan(values), len(self.starts), found)

    def meeting(self, test: Sequence[Any]) -> Places:
        """The classes that meet a test."""
        null, ranges = test
        ends = np.searchsorted(self.starts, [(low, np.nextafter(high, np.inf)) for low, high in ranges])
        found = [np.arange(start, stop) for start, stop in ends.reshape(-1, 2).tolist()]
        missing = [len(self.starts)] if null and self.values.nullable else []
        return np.concatenate([*found, np.array(missing, dtype=np.int64)])

    def draw(self, classes: Places, rng: np.random.Generator) -> Floats:
        """A value of each class, drawn evenly."""
        inside = np.minimum(classes, len(self.starts) - 1)
        starts, uniforms = self.starts[inside], rng.random(len(classes))
        if self.values.grid is None:
            stops = self.stops[inside]
            drawn = np.minimum(starts + uniforms * (stops - starts), np.nextafter(stops, starts))
        else:
            sizes = np.maximum(self.sizes[inside], 1)
            ticks = self.first[inside] + np.minimum((uniforms * sizes).astype(np.int64), sizes - 1)
            drawn = self.values.points(np.minimum(ticks, self.values.ticks - 1))
        drawn = np.where(self.special[inside], starts, drawn)
        return np.where(classes == len(self.starts), np.nan, drawn)
