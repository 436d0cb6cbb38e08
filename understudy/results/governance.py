"""Members, budget requests and grants as frozen values; ``document`` is the whole answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from understudy.documents import Json, named, take


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The principal of a key.

    Attributes:
        principal_id: what an owner adds as a member.
        roles: what the key is for.
    """

    principal_id: str
    roles: tuple[str, ...]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        principal_id, roles = take(document, "principal_id", "roles")
        return cls(principal_id=principal_id, roles=tuple(roles), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An analyst who may see a dataset."""

    principal_id: str
    added_at: str
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(**named(document, "principal_id", "added_at"), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A part of the cap, for one analyst.

    Attributes:
        population_id: whose cap it is a part of.
        holder_id: who may draw on it.
        epsilon: of everything drawn on it.
        delta: of everything drawn on it.
        state: ``open``, ``expired`` or ``revoked``.
        expires_at: when it ends by itself.
    """

    id: str
    population_id: str
    holder_id: str
    epsilon: float
    delta: float
    state: str
    expires_at: str
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = ("id", "population_id", "holder_id", "epsilon", "delta", "state", "expires_at")
        return cls(**named(document, *known), document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRequest:
    """A part of a dataset's budget that an analyst asks for, and what became of it.

    Attributes:
        population_id: whose cap a grant would be a part of.
        requested_by: who asks, and would hold the grant.
        state: ``open``, ``approved``, ``denied``, ``withdrawn`` or ``expired``.
        note: note of the person who decided.
        grant: what was granted, once it is approved.
    """

    id: str
    dataset_id: str
    population_id: str
    requested_by: str
    epsilon: float
    delta: float
    purpose: str
    state: str
    note: str | None
    grant: Grant | None
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = (
            "id", "dataset_id", "population_id", "requested_by", "epsilon", "delta", "purpose", "state", "note",
        )  # fmt: skip
        stated = named(document, *known)
        (granted,) = take(document, "grant")
        grant = Grant.from_json(granted) if isinstance(granted, Mapping) else None
        return cls(**stated, grant=grant, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Cost of one more job, and whether it fits.

    Attributes:
        fits: whether an order would be admitted now.
        refusal: the code it would be refused with, or None.
        cap: under the cap: ``fits``, ``carried_by``, ``remaining_epsilon_after`` and others; None before it is set.
        grant: the same under the analyst's grant; None where none is drawn on.
    """

    fits: bool
    refusal: str | None
    cap: Json | None
    grant: Json | None
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(**named(document, "fits", "refusal", "cap", "grant"), document=document)
