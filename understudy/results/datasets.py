"""Datasets, intake reports and uploads as frozen values. Fields are the documented ones; ``document`` is the answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from understudy.documents import Json, named, take


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A declared private table. Everything here is public.

    Attributes:
        population_id: whose ledger it draws on.
        name: what people call it.
        state: ``declared`` or ``ready``.
        declared_size: the public number of privacy units.
    """

    id: str
    population_id: str
    name: str
    state: str
    declared_size: int
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        stated = named(document, "id", "population_id", "name", "state", "declared_size")
        return cls(**stated, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeReport:
    """Outcome of an upload. For the owner only: not differentially private.

    Rows that are `waiting` wait for the owner to accept or discard them, or to send others.
    """

    rows_accepted: int
    rows_refused: int
    waiting: bool
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        waiting = document.get("waiting") is True  # older services do not say
        return cls(**named(document, "rows_accepted", "rows_refused"), waiting=waiting, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that is sent in parts.

    Attributes:
        dataset_id: where its rows go.
        state: ``open``, ``completing``, ``completed``, ``refused``, ``aborted`` or ``expired``.
        part_bytes: size of every part but the last.
        parts_total: how many parts it has.
        parts: SHA-256 in hexadecimal of each part that has arrived, by number.
    """

    id: str
    dataset_id: str
    state: str
    part_bytes: int
    parts_total: int
    parts: Mapping[int, str]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        (listed,) = take(document, "parts")
        parts = dict(take(part, "number", "sha256") for part in listed)
        stated = named(document, "id", "dataset_id", "state", "part_bytes", "parts_total")
        return cls(**stated, parts=parts, document=document)
