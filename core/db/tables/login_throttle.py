"""Failed logins per source address and per key prefix."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class LoginThrottle(Base):
    """The failures of one source. Rows are deleted a while after the last failure."""

    __tablename__ = "login_throttles"

    # A keyed digest of the address or prefix: the table does not reveal who failed.
    subject: Mapped[bytes] = mapped_column(primary_key=True)
    failures: Mapped[int]
    failed_at: Mapped[datetime] = mapped_column(index=True)
    opens_at: Mapped[datetime | None]
