"""Columns that are made of another one and a distance: a discharge as the admission and the days of the stay.

Where two columns lie close together, their bins are too wide to hold how far apart they are. So the distance is coded and counted in the
place of the second column, and a drawn row's second value is its first one plus a distance that is drawn inside a bin.

Needs numpy alone: the script of a bundle holds a copy.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def distances(
    start: NDArray[np.float64], end: NDArray[np.float64], difference: Mapping[str, Any]
) -> NDArray[np.float64]:
    """How far the second value of each row is from the first; NaN where one of them is missing.

    Args:
        start: (rows,) values of the first column.
        end: (rows,) values of the second column.
        difference: "unit", the number of which one distance is made; "scale", distances are multiples of 1 / scale, or None;
            "start_unit", see `counted_alike`.
    """
    apart: NDArray[np.float64] = (end - counted_alike(start, difference["start_unit"])) / difference["unit"]
    return (
        apart if difference["scale"] is None else np.round(apart * difference["scale"]) / difference["scale"]
    )


def counted_alike(start: NDArray[np.float64], start_unit: int) -> NDArray[np.float64]:
    """The first column's values as the second one counts: the days of times where that is a date.

    Args:
        start: (rows,) values of the first column.
        start_unit: how many of its units are one of the second column's; 1 where both count alike.
    """
    return start if start_unit == 1 else np.floor(start / start_unit)


def add_starts(values: Sequence[NDArray[np.float64]], differences: Sequence[Mapping[str, Any]]) -> None:
    """Replace distances by values: the other column's value plus the distance, moved to the nearest bound where it is beyond.

    Args:
        values: (rows,) for each column; changed in place.
        differences: "place" of the distances, "start", the place of the other column, "start_unit", "unit", "scale", and the "lower" and
            "upper" bound of the values. Those that others start from come first.
    """
    for one in differences:
        made = counted_alike(values[one["start"]], one["start_unit"]) + values[one["place"]] * one["unit"]
        if one["scale"] is not None:
            made = np.round(made * one["scale"]) / one["scale"]
        values[one["place"]][:] = np.clip(made, one["lower"], one["upper"])
