"""Entries of the ledger. Append-only: a trigger refuses UPDATE, DELETE and TRUNCATE."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY, JSON
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json, one_of

MOVEMENTS = ("RESERVED", "SPENT", "VOIDED", "SETTLED")
DECISIONS = ("CAP_SET", "GRANTED", "GRANT_CLOSED", "FROZEN", "UNFROZEN")
BALANCE_AMOUNTS = 16


class LedgerEntry(Base):
    """One change of one reservation, or one decision of a person about the budget.

    `job_id` is not a foreign key: entries outlive the job's row. Mechanism and terms are `json`, not `jsonb`,
    because the hash covers them and `jsonb` rewrites numbers. The balances are running totals after this
    entry, of the population and of the grant it draws on; entries written by the first release have none.
    """

    __tablename__ = "ledger_entries"
    __table_args__ = (
        CheckConstraint(one_of("kind", (*MOVEMENTS, *DECISIONS)), name="kind_known"),
        CheckConstraint("sequence > 0", name="sequence_counts"),
        CheckConstraint(
            "epsilon_micros >= 0 AND delta_femtos >= 0 AND 0 <= ALL(rdp_micros)", name="amounts_not_negative"
        ),
        CheckConstraint("cardinality(rdp_micros) = 6", name="one_amount_per_order"),
        CheckConstraint("(kind = 'SPENT') = (fence IS NOT NULL)", name="spent_has_fence"),
        CheckConstraint("(kind = 'RESERVED') = (mechanism IS NOT NULL)", name="reserved_has_mechanism"),
        CheckConstraint(f"({one_of('kind', MOVEMENTS)}) = (job_id IS NOT NULL)", name="movement_has_job"),
        CheckConstraint(f"({one_of('kind', DECISIONS)}) = (terms IS NOT NULL)", name="decision_has_terms"),
        CheckConstraint(f"cardinality(balance) = {BALANCE_AMOUNTS}", name="balance_whole"),
        CheckConstraint(f"cardinality(grant_balance) = {BALANCE_AMOUNTS}", name="grant_balance_whole"),
        CheckConstraint("octet_length(previous_hash) = 32 AND octet_length(hash) = 32", name="hashes_sha256"),
        Index("ledger_entries_job_id_population_id_kind_key", "job_id", "population_id", "kind", unique=True),
        Index(
            "ledger_entries_spent_or_voided_once_key",
            "job_id",
            "population_id",
            unique=True,
            postgresql_where=text("kind IN ('SPENT', 'VOIDED')"),
        ),
        Index(
            "ledger_entries_grant_id_sequence_idx",
            "grant_id",
            "sequence",
            postgresql_where=text("grant_id IS NOT NULL"),
        ),
    )

    population_id: Mapped[UUID] = mapped_column(ForeignKey("budgets.population_id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    job_id: Mapped[UUID | None]
    grant_id: Mapped[UUID | None]
    epsilon_micros: Mapped[int]
    delta_femtos: Mapped[int]
    rdp_micros: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    mechanism: Mapped[Json | None] = mapped_column(JSON(none_as_null=True))
    terms: Mapped[Json | None] = mapped_column(JSON(none_as_null=True))
    fence: Mapped[int | None]
    balance: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    grant_balance: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    at: Mapped[datetime]
    previous_hash: Mapped[bytes]
    hash: Mapped[bytes]
