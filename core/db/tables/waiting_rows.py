"""Sealed rows of which many were refused, until their owner accepts or discards them."""

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Json


class WaitingRows(Base):
    """The rows that a dataset would get if its owner accepts them. The dataset itself stays `declared`.

    All of it is for the owner only, its presence included; that is why it is no state of the dataset. `intake_report`
    counts private rows. The data key is wrapped for the dataset, so that accepting moves the values as they are.
    """

    __tablename__ = "waiting_rows"

    dataset_id: Mapped[UUID] = mapped_column(ForeignKey("datasets.id"), primary_key=True)
    rows_key: Mapped[str]
    wrapped_data_key: Mapped[bytes]
    stored_bytes: Mapped[int]
    intake_report: Mapped[Json]
