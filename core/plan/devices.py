"""Choice of the kind of device that trains a plan: the order's wish, else a public rule, among the kinds that live workers serve.

The rule compares measured private steps (docs/gpu.md): one CPU thread takes about 1 ms for a record of 28x28 pixels under three
convolutions and 0.01 to 0.19 ms for a row of a table; an H100 takes 4 to 6 ms for a whole step of 512 records. The limits are reasoned
from these: a GPU pays once the records of all steps together take a CPU about a minute.
"""

from collections.abc import Collection
from typing import Final, Literal

from core.plan.ordered_plan import OrderedPlan
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan
from core.plan.utility_reports.plan import ReportPlan

Device = Literal["cpu", "gpu"]
Wish = Literal["auto", "cpu", "gpu"]
DEVICES: Final[tuple[Device, ...]] = ("cpu", "gpu")

RECORDS_OF_IMAGES: Final = 50_000
RECORDS_OF_TABLES: Final = 2_000_000
"""Steps times expected batch from which a critic of images, or of tables, trains on a GPU."""


def device_by_rule(plan: OrderedPlan, *, images: bool) -> Device:
    """Return the kind of device on which a plan trains fastest; the CPU if no critic takes noisy steps.

    Args:
        images: whether the critic sees images.
    """
    plans = plan.finals if isinstance(plan, SelectionPlan) else (plan,)
    records = max(one.steps * one.expected_batch_size if isinstance(one, Plan) else 0 for one in plans)
    return "gpu" if records >= (RECORDS_OF_IMAGES if images else RECORDS_OF_TABLES) else "cpu"


def device_of(plan: OrderedPlan, wish: Wish, *, images: bool, served: Collection[Device]) -> Device | None:
    """Return the kind of device that an order waits for; None for a report, which has a queue of its own.

    A wish is kept. Without one the rule decides, and the other kind is taken if live workers serve only that.

    Args:
        images: whether the critic sees images.
        served: the kinds that live workers serve.
    """
    if isinstance(plan, ReportPlan):
        return None
    if wish != "auto":
        return wish
    chosen = device_by_rule(plan, images=images)
    other = next(device for device in DEVICES if device != chosen)
    return other if chosen not in served and other in served else chosen
