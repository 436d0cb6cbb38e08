"""Pictures of a budget: the bar of spent, reserved and remaining shares of the cap, and their course over time.

Composition is tighter than the sum of epsilons (docs/privacy-promise.md), so the remaining budget is not the cap minus
the spent epsilons. The free part of the bar is the API's remaining epsilon for one more job. The rest is split between
spent and reserved in proportion to their epsilons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.budgets.schemas import BudgetView
from service.overview.schemas import DatasetBudget
from service.wording.amounts import day, epsilon

BAR_WIDTH: Final = 1000
SPARKLINE_WIDTH: Final = 240
SPARKLINE_HEIGHT: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Widths of the segments; with the free segment they add up to ``BAR_WIDTH``."""

    spent: int
    reserved: int
    label: str


def bar_of(budget: BudgetView) -> Bar | None:
    """The bar of a budget; None before a cap is set."""
    if budget.cap is None or budget.remaining_epsilon is None:
        return None
    cap, left = budget.cap["epsilon"], budget.remaining_epsilon
    spent, reserved = float(budget.spent["epsilon"]), float(budget.reserved["epsilon"])
    taken = round(BAR_WIDTH * min(1.0, max(0.0, 1 - left / cap)))
    held = 0 if not reserved else max(1, round(taken * reserved / (spent + reserved)))
    used = max(0, taken - held)
    free = round(100 * (1 - taken / BAR_WIDTH))
    return Bar(spent=used, reserved=held, label=f"{free} % of the cap is available for one more job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """Two areas as SVG paths in a box of ``SPARKLINE_WIDTH`` x ``SPARKLINE_HEIGHT``; time runs to the right.

    Args:
        spent: Outline of the epsilon spent.
        in_force: Outline of the epsilon spent and reserved.
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
    path = [f"M0 {SPARKLINE_HEIGHT}"]
    for place, value in zip(places, values, strict=True):
        path.append(f"H{place * SPARKLINE_WIDTH:.1f}V{SPARKLINE_HEIGHT * (1 - value / top):.1f}")
    return "".join([*path, f"H{SPARKLINE_WIDTH}V{SPARKLINE_HEIGHT}Z"])
