"""Parts of uploads that have arrived."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class UploadPart(Base):
    """One part, verified and sealed. Each attempt to send it writes its own object; the row names the valid one."""

    __tablename__ = "upload_parts"
    __table_args__ = (
        CheckConstraint("number > 0 AND size_bytes > 0", name="counts_positive"),
        CheckConstraint("octet_length(sha256) = 32", name="digest_sha256"),
    )

    upload_id: Mapped[UUID] = mapped_column(ForeignKey("uploads.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    size_bytes: Mapped[int]
    sha256: Mapped[bytes]
    object_key: Mapped[str]
    stored_at: Mapped[datetime]
