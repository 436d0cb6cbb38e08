"""The sparkline of a budget: epsilon spent and reserved over time as two step curves under the cap."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.overview.schemas import DatasetBudget
from service.wording.labels import day, epsilon

WIDTH: Final = 240
HEIGHT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """Two areas as SVG paths in a box of ``WIDTH`` x ``HEIGHT``; time runs to the right.

    Args:
        spent: Outline of the epsilon spent.
        in_force: Outline of the epsilon spent and reserved.
        label: The curve in words.
    """

    spent: str
    in_force: str
    label: str


def sparkline_of(listed: DatasetBudget, now: datetime) -> Sparkline | None:
    """The sparkline of a budget from its first entry until now; None before anything was spent or reserved.

    The top of the box is the largest sum; how much of the cap that is, the bar shows.
    """
    course = listed.course
    spent = [float(point.spent) for point in course]
    in_force = [float(point.spent) + float(point.reserved) for point in course]
    top = max(in_force, default=0.0)
    if not top:
        return None
    start = course[0].at
    span = max((now - start).total_seconds(), 60.0)
    places = [min(1.0, max(0.0, (point.at - start).total_seconds() / span)) for point in course]
    return Sparkline(
        spent=_steps(places, spent, top),
        in_force=_steps(places, in_force, top),
        label=f"ε {epsilon(in_force[-1])} since {day(start)}",
    )


def _steps(places: Sequence[float], values: Sequence[float], top: float) -> str:
    """A closed step curve: each value holds until the next."""
    path = [f"M0 {HEIGHT}"]
    for place, value in zip(places, values, strict=True):
        path.append(f"H{place * WIDTH:.1f}V{HEIGHT * (1 - value / top):.1f}")
    return "".join([*path, f"H{WIDTH}V{HEIGHT}Z"])
