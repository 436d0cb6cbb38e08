"""Adjacency and privacy unit: which tables a guarantee makes indistinguishable. Never a default, always an argument."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from core.dp.errors import InvalidGuarantee

MOST_RECORDS: Final = 1000
"""Largest allowed bound on the records of a unit that count; noise grows with it."""


class Adjacency(StrEnum):
    """Which pairs of tables a guarantee makes indistinguishable."""

    ADD_OR_REMOVE = "add-or-remove"
    """The tables differ by all records of one privacy unit, present in one and absent in the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """The privacy unit: one record, or one value of a declared column with any number of records."""

    column: str | None
    """Name of the unit column; None when every record is its own unit."""
    records: int | None = None
    """Maximum number of records of a unit that count, each fully. None if all count, with total weight one."""

    def __post_init__(self) -> None:
        if self.column == "":
            raise InvalidGuarantee(
                "the privacy unit's column has no name", remedy="name a column, or use null for one record"
            )
        if self.records is not None and (self.column is None or not 1 <= self.records <= MOST_RECORDS):
            raise InvalidGuarantee(
                f"the records of a unit that count are from 1 to {MOST_RECORDS}, and units have a column"
            )

    @property
    def most_records(self) -> int:
        """The factor on the sensitivity of counts: a unit weighs at most as much as this many records."""
        return self.records or 1

    def to_json(self) -> dict[str, str | int | None]:
        """Return the unit as a JSON object."""
        # Omitted if there is none: plans older than the bound keep their digest.
        return {"column": self.column} | ({} if self.records is None else {"records": self.records})

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            InvalidGuarantee: the member `column` is missing or is neither text nor null.
        """
        column = document.get("column", 0)
        if not (column is None or isinstance(column, str)):
            raise InvalidGuarantee("a privacy unit needs the member column, which is text or null")
        records = document.get("records")
        if not (records is None or type(records) is int):
            raise InvalidGuarantee("the member records of a privacy unit is a whole number")
        return cls(column=column, records=records)
