"""Measurable parts of a dataset for a utility report, by its declared domain: a table's columns, or three facts of an image.

The facts of an image are its label, if images have labels, and two numbers computed from its pixels
(`models/reports/records.py`): brightness and detail, each in 32 public steps.
"""

from typing import Final

from core.plan.domain.images import LABEL, ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.utility_reports.plan import SYNTHETIC_ROWS

BRIGHTNESS: Final = "brightness"
DETAIL: Final = "detail"
STEPS: Final = 32
"""Number of codes of brightness and of detail."""
FEWEST_DRAWN: Final = 2_000
_DRAWN_VALUES: Final = 2**26
"""Limit on the total values of drawn images, above a minimum number: large images take long to draw."""


def measurable(domain: TableDomain | ImageDomain) -> tuple[str, ...]:
    """Names of the measurable columns, in the order of the codes."""
    if isinstance(domain, TableDomain):
        return tuple(column.name for column in domain.coded)
    return (*([LABEL] if domain.labels else []), BRIGHTNESS, DETAIL)


def cardinalities(domain: TableDomain | ImageDomain) -> tuple[int, ...]:
    """Number of codes of each of `measurable`."""
    if isinstance(domain, TableDomain):
        return domain.cardinalities
    return (*([len(domain.labels)] if domain.labels else []), STEPS, STEPS)


def drawn(domain: TableDomain | ImageDomain) -> int:
    """Number of records drawn from a release, for comparison and training."""
    if isinstance(domain, TableDomain):
        return SYNTHETIC_ROWS
    return min(SYNTHETIC_ROWS, max(FEWEST_DRAWN, _DRAWN_VALUES // domain.values))


def predictable(domain: TableDomain | ImageDomain) -> tuple[str, ...]:
    """Names of what a classifier may predict: any column of a table with others, or the label of images."""
    if isinstance(domain, ImageDomain):
        return (LABEL,) if domain.labels else ()
    names = measurable(domain)
    return names if len(names) > 1 else ()


def declared_target(domain: TableDomain | ImageDomain) -> str | None:
    """The default target of an order; None if there is none."""
    if isinstance(domain, TableDomain):
        return domain.target
    return LABEL if domain.labels else None
