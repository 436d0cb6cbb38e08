"""A budget as a bar: how much of the cap is taken, and how much one more job may still have.

Charges add up more slowly than their epsilons do (docs/privacy-promise.md), so the cap less the spent epsilons is not
what is left. The free part of the bar is what the API says one more job may have; what is taken is divided between
spent and reserved as their epsilons are to each other.
"""

from dataclasses import dataclass
from typing import Final

from service.budgets.schemas import BudgetView

WIDTH: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """Widths of the parts, of ``WIDTH`` together with the free part.

    Args:
        spent: What jobs have used.
        reserved: What jobs that wait hold.
        label: The same in words.
    """

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
    return Bar(spent=used, reserved=held, label=f"{free} % of the cap is free for one more job")
