"""Sealed rows of an upload with too many refused rows, until the owner accepts or discards them."""

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json


class WaitingRows(Base):
    """The rows that a dataset gets if its owner accepts them. The dataset itself stays `declared`.

    All of it is for the owner only, even its existence, which is why it is not a state of the dataset.
    `intake_report` counts private rows. The data key is wrapped for the dataset, so accepting copies the
    values unchanged.
    """

    __tablename__ = "waiting_rows"

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True)
    rows_key: Mapped[str]
    wrapped_data_key: Mapped[bytes]
    stored_bytes: Mapped[int]
    intake_report: Mapped[Json]
