"""Wire types of API keys."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from core.access.keys import KeyText
from core.access.roles import Role
from core.db.tables.api_key import ApiKey
from service.wire import Name


class KeyOrder(BaseModel):
    """A key to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "research group", "roles": ["analyst"]}]}
    )

    name: Name = Field(description="What people call the key.")
    roles: set[Role] = Field(min_length=1, description="What the key may be used for.")
    principal_id: UUID | None = Field(
        None,
        description="Whom the key speaks for; leave out for a new principal, give one to rotate its key.",
    )


class KeyView(BaseModel):
    """A key without its secret."""

    id: UUID
    principal_id: UUID
    name: str
    roles: list[Role]
    prefix: str = Field(description="The first digits of the key, to tell keys apart.")
    created_at: datetime
    revoked_at: datetime | None

    @classmethod
    def of(cls, row: ApiKey) -> Self:
        """Show a row."""
        return cls(
            id=row.id,
            principal_id=row.principal_id,
            name=row.name,
            roles=[Role(role) for role in row.roles],
            prefix=row.prefix,
            created_at=row.created_at,
            revoked_at=row.revoked_at,
        )


class NewKey(KeyView):
    """A key that was just made; the only answer that ever holds the secret."""

    key: str = Field(description="The key itself. It is shown once and kept nowhere.")

    @classmethod
    def with_secret(cls, row: ApiKey, key: KeyText) -> Self:
        """Show a row together with its secret."""
        return cls(**KeyView.of(row).model_dump(), key=key.text)


class KeyList(BaseModel):
    """All keys, oldest first."""

    items: list[KeyView]
