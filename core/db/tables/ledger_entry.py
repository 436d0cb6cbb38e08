"""Entries of the ledger. Append-only: a trigger refuses UPDATE, DELETE and TRUNCATE."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, one_of

KINDS = ("RESERVED", "SPENT", "VOIDED", "SETTLED")


class LedgerEntry(Base):
    """One change of one reservation.

    `job_id` is no foreign key: entries outlive the job's row. The mechanism is `json`, not `jsonb`, because the hash
    covers it and `jsonb` rewrites numbers.
    """

    __tablename__ = "ledger_entries"
    __table_args__ = (
        CheckConstraint(one_of("kind", KINDS), name="kind_known"),
        CheckConstraint("sequence > 0", name="sequence_counts"),
        CheckConstraint(
            "epsilon_micros >= 0 AND delta_femtos >= 0 AND 0 <= ALL(rdp_micros)", name="amounts_not_negative"
        ),
        CheckConstraint("cardinality(rdp_micros) = 6", name="one_amount_per_order"),
        CheckConstraint("(kind = 'SPENT') = (fence IS NOT NULL)", name="spent_has_fence"),
        CheckConstraint("(kind = 'RESERVED') = (mechanism IS NOT NULL)", name="reserved_has_mechanism"),
        CheckConstraint("octet_length(previous_hash) = 32 AND octet_length(hash) = 32", name="hashes_sha256"),
        Index("ledger_entries_job_id_kind_key", "job_id", "kind", unique=True),
        Index(
            "ledger_entries_spent_or_voided_key",
            "job_id",
            unique=True,
            postgresql_where=text("kind IN ('SPENT', 'VOIDED')"),
        ),
    )

    population_id: Mapped[UUID] = mapped_column(ForeignKey("budgets.population_id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    job_id: Mapped[UUID]
    epsilon_micros: Mapped[int]
    delta_femtos: Mapped[int]
    rdp_micros: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    mechanism: Mapped[Json | None] = mapped_column(JSON(none_as_null=True))
    fence: Mapped[int | None]
    at: Mapped[datetime]
    previous_hash: Mapped[bytes]
    hash: Mapped[bytes]
