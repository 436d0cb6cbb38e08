"""Wire types of signed heads and of the keys that sign them."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.signing_key import SigningKey
from core.witness.verification import LedgerCheck
from service.auditing.schemas import SignedHead


class LedgerHeadView(SignedHead):
    """The end of a population's ledger, signed."""

    population_id: UUID
    sequence: int = Field(description="How many entries the ledger has.")


class LedgerVerification(BaseModel):
    """What a verification of one ledger found."""

    population_id: UUID
    intact: bool
    checked: int = Field(description="Entries whose links are whole, counted from the first.")
    broken_at: int | None = Field(description="Sequence of the first entry that is wrong or missing.")
    problem: str | None = Field(description="What is wrong.")
    witnessed: list[int] = Field(description="Sequences of the noted heads that the ledger was held against.")
    frozen: bool = Field(description="Whether the population is frozen, for this or another reason.")

    @classmethod
    def of(cls, population_id: UUID, found: LedgerCheck, *, frozen: bool) -> Self:
        """Show what was found."""
        return cls(
            population_id=population_id,
            intact=found.chain.intact,
            checked=found.chain.checked,
            broken_at=found.chain.broken_at,
            problem=found.chain.problem,
            witnessed=sorted(head.sequence for head in found.witnessed),
            frozen=frozen,
        )


class SigningKeyView(BaseModel):
    """A public key of the service."""

    key_id: str = Field(description="The first half of the public key's SHA-256, hexadecimal.")
    algorithm: str
    public_key: str = Field(description="32 bytes, hexadecimal.")
    created_at: datetime
    retired_at: datetime | None = Field(description="When it stopped signing; what it signed stays valid.")

    @classmethod
    def of(cls, row: SigningKey) -> Self:
        """Show a row."""
        return cls(
            key_id=row.id,
            algorithm="Ed25519",
            public_key=row.public_key.hex(),
            created_at=row.created_at,
            retired_at=row.retired_at,
        )


class SigningKeyList(BaseModel):
    """Every key there ever was, oldest first."""

    items: list[SigningKeyView]
