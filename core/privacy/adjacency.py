"""What "one more or one less" means: the adjacency and the privacy unit. Never a default, always an argument."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from core.privacy.errors import InvalidGuarantee


class Adjacency(StrEnum):
    """Which pairs of tables a guarantee cannot tell apart."""

    ADD_OR_REMOVE = "add-or-remove"
    """The tables differ by all records of one privacy unit, present in one and absent in the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """Who is protected: one record, or one value of a declared column with any number of records."""

    column: str | None
    """Name of the unit column; None when every record is its own unit."""

    def __post_init__(self) -> None:
        if self.column == "":
            raise InvalidGuarantee(
                "the privacy unit's column has no name", remedy="name a column, or use null for one record"
            )

    def to_json(self) -> dict[str, str | None]:
        """Return the unit as a JSON object."""
        return {"column": self.column}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidGuarantee: the member `column` is missing or is neither text nor null.
        """
        column = document.get("column", 0)
        if not (column is None or isinstance(column, str)):
            raise InvalidGuarantee("a privacy unit needs the member column, which is text or null")
        return cls(column=column)
