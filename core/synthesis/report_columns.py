"""What a utility report can measure of a dataset, by its declared domain: a table's columns, or three facts of an image.

An image has its label, where images have labels, and two numbers that everybody can compute from its pixels alone
(`models/reports/records.py`): how bright it is and how much detail it has, each in 32 public steps.
"""

from typing import Final

from core.domain.images import LABEL, ImageDomain
from core.domain.table import TableDomain
from core.synthesis.report_plan import SYNTHETIC_ROWS

BRIGHTNESS: Final = "brightness"
DETAIL: Final = "detail"
STEPS: Final = 32
"""Codes of brightness and of detail."""
FEWEST_DRAWN: Final = 2_000
_DRAWN_VALUES: Final = 2**26
"""Of images no more are drawn than have so many values together, but for the fewest: large ones take long to draw."""


def measurable(domain: TableDomain | ImageDomain) -> tuple[str, ...]:
    """Names of what can be measured, in the order of the codes."""
    if isinstance(domain, TableDomain):
        return tuple(column.name for column in domain.coded)
    return (*([LABEL] if domain.labels else []), BRIGHTNESS, DETAIL)


def cardinalities(domain: TableDomain | ImageDomain) -> tuple[int, ...]:
    """Codes of each of `measurable`."""
    if isinstance(domain, TableDomain):
        return domain.cardinalities
    return (*([len(domain.labels)] if domain.labels else []), STEPS, STEPS)


def drawn(domain: TableDomain | ImageDomain) -> int:
    """How many records are drawn from a release, to be compared and learnt from."""
    if isinstance(domain, TableDomain):
        return SYNTHETIC_ROWS
    return min(SYNTHETIC_ROWS, max(FEWEST_DRAWN, _DRAWN_VALUES // domain.values))


def predictable(domain: TableDomain | ImageDomain) -> tuple[str, ...]:
    """Names of what a classifier may be asked for: of a table any column beside others, of images their label."""
    if isinstance(domain, ImageDomain):
        return (LABEL,) if domain.labels else ()
    names = measurable(domain)
    return names if len(names) > 1 else ()


def declared_target(domain: TableDomain | ImageDomain) -> str | None:
    """What is predicted where an order names nothing; None where there is nothing."""
    if isinstance(domain, TableDomain):
        return domain.target
    return LABEL if domain.labels else None
