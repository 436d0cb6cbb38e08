"""Budgets and ledgers as frozen values. Fields are the documented ones; ``document`` keeps the whole JSON."""

from dataclasses import dataclass
from typing import Self

from understudy.documents import Json, named


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The cap of a population, shared by everybody, and what was spent of it.

    Attributes:
        cap: epsilon and delta, or None before an admin has set them.
        spent: epsilon and delta spent, as exact decimals.
        reserved: epsilon and delta reserved, as exact decimals.
    """

    cap: Json | None
    spent: Json
    reserved: Json
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(**named(document, "cap", "spent", "reserved"), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The ledger of a population: caps, what is spent and reserved, every entry with its hash.

    Attributes:
        spent: epsilon and delta spent, as exact decimals.
        reserved: epsilon and delta reserved, as exact decimals.
        cap: epsilon and delta of the cap, or None before one is set.
        carried_by: the filter that carries the dataset.
        entries: all entries, oldest first.
    """

    spent: Json
    reserved: Json
    cap: Json | None
    carried_by: str | None
    entries: tuple[Json, ...]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        stated = named(document, "spent", "reserved", "cap", "carried_by", "entries")
        return cls(**stated | {"entries": tuple(stated["entries"])}, document=document)
