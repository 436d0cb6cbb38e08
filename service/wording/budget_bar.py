"""The budget bar: spent, reserved and remaining shares of the cap.

Composition is tighter than the sum of epsilons (docs/privacy-promise.md), so the remaining budget is not the cap minus
the spent epsilons. The free part of the bar is the API's remaining epsilon for one more job. The rest is split between
spent and reserved in proportion to their epsilons.
"""

from dataclasses import dataclass
from typing import Final

from service.budgets.schemas import BudgetView

WIDTH: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Widths of the segments; with the free segment they add up to ``WIDTH``."""

    spent: int
    reserved: int
    label: str


def bar_of(budget: BudgetView) -> Bar | None:
    """The bar of a budget; None before a cap is set."""
    if budget.cap is None or budget.remaining_epsilon is None:
        return None
    cap, left = budget.cap["epsilon"], budget.remaining_epsilon
    spent, reserved = float(budget.spent["epsilon"]), float(budget.reserved["epsilon"])
    taken = round(WIDTH * min(1.0, max(0.0, 1 - left / cap)))
    held = 0 if not reserved else max(1, round(taken * reserved / (spent + reserved)))
    used = max(0, taken - held)
    free = round(100 * (1 - taken / WIDTH))
    return Bar(spent=used, reserved=held, label=f"{free} % of the cap is available for one more job")
