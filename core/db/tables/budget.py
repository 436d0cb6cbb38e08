"""The budget of a population: its caps, whether it is frozen, and the head of its ledger. Admission locks this row."""

from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import CheckConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, one_of

RULES = ("filters", "basic")
NO_ENTRY_HASH = bytes(32)


class Budget(Base):
    """One row per population. All versions and copies of a dataset share their population's budget."""

    __tablename__ = "budgets"
    __table_args__ = (
        CheckConstraint(one_of("rule", RULES), name="rule_known"),
        CheckConstraint("(epsilon_cap IS NULL) = (delta_cap IS NULL)", name="caps_together"),
        CheckConstraint("epsilon_cap > 0 AND epsilon_cap < 'Infinity'", name="epsilon_cap_positive"),
        CheckConstraint("delta_cap > 0 AND delta_cap < 1", name="delta_cap_probability"),
        CheckConstraint("head_sequence >= 0", name="head_sequence_counts"),
        CheckConstraint("octet_length(head_hash) = 32", name="head_hash_sha256"),
    )

    population_id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    epsilon_cap: Mapped[float | None]
    delta_cap: Mapped[float | None]
    rule: Mapped[str]
    head_sequence: Mapped[int] = mapped_column(default=0)
    head_hash: Mapped[bytes] = mapped_column(default=NO_ENTRY_HASH)
    created_at: Mapped[datetime]
    frozen_at: Mapped[datetime | None]
