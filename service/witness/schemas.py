"""Wire types of signed heads and signing keys."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from core.db.tables.signing_key import SigningKey
from core.platform.witness.verification import LedgerCheck
from service.auditing.schemas import SignedHead


class LedgerHeadView(SignedHead):
    """The signed head of a population's ledger."""

    population_id: UUID
    sequence: int = Field(description="Number of entries in the ledger.")


class LedgerVerification(BaseModel):
    """The result of verifying one ledger."""

    population_id: UUID
    intact: bool
    checked: int = Field(description="Number of intact entries from the first on.")
    broken_at: int | None = Field(description="Sequence of the first wrong or missing entry.")
    problem: str | None = Field(description="Description of the problem.")
    witnessed: list[int] = Field(
        description="Sequences of the recorded heads that the ledger was compared with."
    )
    frozen: bool = Field(description="Whether the population is frozen, for any reason.")

    @classmethod
    def of(cls, population_id: UUID, found: LedgerCheck, *, frozen: bool) -> Self:
        """Convert a result."""
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
    """All keys ever used, oldest first."""

    items: list[SigningKeyView]
