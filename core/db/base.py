"""Shared by all tables: constraint names, aware UTC times, JSON, uuid keys."""

from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID, uuid4

from sqlalchemy import BigInteger, DateTime, Dialect, LargeBinary, MetaData, Text, TypeDecorator, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Json = dict[str, Any]

NAMING_CONVENTION = {
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


class UtcDateTime(TypeDecorator[datetime]):
    """A timestamp column: aware datetimes in, aware UTC out. A naive datetime is a bug and is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Convert to UTC, refusing naive values.

        Raises:
            ValueError: the value has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            message = "a naive datetime was given to the database"
            raise ValueError(message)
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Convert to UTC, whatever the session's time zone."""
        return None if value is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Parent of all tables."""

    metadata = MetaData(naming_convention=NAMING_CONVENTION)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        int: BigInteger(),
        bytes: LargeBinary(),
        datetime: UtcDateTime(),
        UUID: Uuid(),
        Json: JSONB(),
    }


class WithId:
    """A table whose key is a random UUID: identifiers must not reveal how many rows there are."""

    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)


def one_of(column: str, values: tuple[str, ...]) -> str:
    """The SQL of a check constraint: `column` holds one of `values`."""
    return f"{column} IN ({', '.join(repr(value) for value in values)})"
