"""Drafts of domains: values taken from the data stay marked until a person decides that they may be public."""

from typing import Final

from core.plan.domain.errors import DomainUnconfirmed
from core.plan.domain.reading import escape

MARK: Final = "_from_data"
"""Key under which a draft lists values taken from the data; a domain that contains it is refused."""


def require_confirmed(document: object) -> None:
    """Refuse a document that still contains marks.

    Raises:
        DomainUnconfirmed: marks are left; the error lists the pointers of all.
    """
    marks = tuple(_marks(document, ""))
    if marks:
        raise DomainUnconfirmed(marks)


def _marks(value: object, pointer: str) -> list[str]:
    """Pointers of everything that is still marked as taken from the data."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if key == MARK:
                listed = item if isinstance(item, list) and item else [""]
                found += [f"{pointer}/{escape(str(name))}" if name else pointer for name in listed]
            else:
                found += _marks(item, f"{pointer}/{escape(str(key))}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _marks(item, f"{pointer}/{index}")
    return found
