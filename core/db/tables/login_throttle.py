"""How often logins failed, per source address and per prefix of a key."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class LoginThrottle(Base):
    """The failures of one source. Rows are forgotten a while after the last failure."""

    __tablename__ = "login_throttles"

    # A keyed digest of the address or prefix: the table tells nobody who failed.
    subject: Mapped[bytes] = mapped_column(primary_key=True)
    failures: Mapped[int]
    failed_at: Mapped[datetime] = mapped_column(index=True)
    opens_at: Mapped[datetime | None]
