"""Adjacency and privacy unit: the tables that a guarantee makes indistinguishable. Never a default, always an argument."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from core.dp.errors import InvalidGuarantee
from core.values import Count, Name, OrAbsent, Published, Value

MOST_RECORDS: Final = 1000
"""Largest allowed bound on the records of a unit that count; noise grows with it."""


class Adjacency(StrEnum):
    """Pairs of tables that a guarantee makes indistinguishable."""

    ADD_OR_REMOVE = "add-or-remove"
    """The tables differ by all records of one privacy unit, present in one and absent in the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit(Value):
    """The privacy unit: one record, or one value of a declared column with any number of records."""

    UNREADABLE = (
        InvalidGuarantee,
        "a privacy unit needs the member column, which is text or null; its records are a whole number",
    )

    column: Annotated[str | None, Published(Name | None)]
    """Name of the unit column; None when every record is its own unit."""
    records: Annotated[OrAbsent[int], Published(Count)] = None
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
