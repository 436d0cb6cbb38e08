"""Wire types of API keys and browser sessions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from core.access.keys import KeyText
from core.access.roles import Principal, Role, Via
from core.access.scopes import Scope
from core.db.tables.api_key import ApiKey
from service.principals.schemas import DisplayName
from service.wire import Moment, Name

MAX_KEY_LENGTH = 200

End = Annotated[
    Moment | Literal["never"] | None,
    Field(
        description='When the key ends by itself: a moment, or "never"; leave out for the default, or for the end of the'
        " key that makes it where that is earlier."
    ),
]


def end_of(
    expires_at: datetime | Literal["never"] | None, *, now: datetime, lifetime_days: int
) -> datetime | None:
    """When a key ends by itself; None for never."""
    if expires_at == "never":
        return None
    return expires_at or now + timedelta(days=lifetime_days)


class KeyOrder(BaseModel):
    """A key to be made."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"name": "research group", "roles": ["analyst"]},
                {"name": "nightly upload", "roles": ["owner"], "scopes": ["datasets:write"]},
            ]
        },
    )

    name: Name = Field(description="What people call the key.")
    roles: set[Role] = Field(
        min_length=1, description="What the key may be used for: roles of the key that makes it."
    )
    scopes: set[Scope] = Field(
        default_factory=set,
        description="Narrows the key to these uses; leave out for all that its roles may do. A narrowed key makes keys"
        " with some of its own scopes only.",
    )
    principal_id: UUID | None = Field(
        None,
        description="The caller's own id, or left out. A key for anybody else is refused (`key-for-another`).",
    )
    principal_name: DisplayName | None = Field(
        None, description="No longer taken (`key-for-another`): people are created with `POST /v1/people`."
    )
    expires_at: End = None

    def end(self, *, now: datetime, lifetime_days: int) -> datetime | None:
        """When the key ends by itself; None for never."""
        return end_of(self.expires_at, now=now, lifetime_days=lifetime_days)


class KeyView(BaseModel):
    """A key without its secret."""

    id: UUID
    principal_id: UUID
    principal_name: str | None = Field(description="What everybody calls the principal; null without a name.")
    name: str
    roles: list[Role]
    scopes: list[Scope] = Field(
        description="What the key is narrowed to; empty for all that its roles may do."
    )
    prefix: str = Field(description="The first digits of the key, to tell keys apart.")
    created_at: datetime
    expires_at: datetime | None = Field(description="When it ends by itself; null for never.")
    last_used_at: datetime | None = Field(description="When it was last used, give or take a minute.")
    replaced_by: UUID | None = Field(description="The key that took over when this one was rotated.")
    revoked_at: datetime | None

    @classmethod
    def of(cls, row: ApiKey, names: Mapping[UUID, str]) -> Self:
        """Show a row, with the name of its principal."""
        return cls(
            id=row.id,
            principal_id=row.principal_id,
            principal_name=names.get(row.principal_id),
            name=row.name,
            roles=[Role(role) for role in row.roles],
            scopes=[Scope(scope) for scope in row.scopes],
            prefix=row.prefix,
            created_at=row.created_at,
            expires_at=row.expires_at,
            last_used_at=row.last_used_at,
            replaced_by=row.replaced_by,
            revoked_at=row.revoked_at,
        )


class NewKey(KeyView):
    """A key that was just made; the only answer that ever holds the secret."""

    key: str = Field(description="The key itself. It is shown once and kept nowhere.")

    @classmethod
    def with_secret(cls, row: ApiKey, key: KeyText, names: Mapping[UUID, str]) -> Self:
        """Show a row together with its secret."""
        return cls(**KeyView.of(row, names).model_dump(), key=key.text)


class RotatedKey(NewKey):
    """The successor of a rotated key, and until when the old secret works."""

    old_key_ends_at: datetime = Field(description="Until then both secrets work; then only the new one.")


class KeyList(BaseModel):
    """Keys, oldest first."""

    items: list[KeyView]


class Login(BaseModel):
    """What a browser logs in with."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"key": "us_..."}]})

    key: SecretStr = Field(max_length=MAX_KEY_LENGTH, description="An API key.")


class SessionView(BaseModel):
    """Who the caller is, and what a browser needs to make changes."""

    principal_id: UUID
    roles: list[Role]
    scopes: list[Scope]
    via: Via = Field(description="How the caller proved it: by key, session or token.")
    held_until: datetime | None = Field(
        description="Until then, after a recovery, what is sealed to the caller stays shut; null where nothing is held."
    )
    csrf_token: str | None = Field(
        description="What a session's own pages send as `X-CSRF-Token` with every change; null without a session."
    )

    @classmethod
    def of(cls, principal: Principal, *, csrf_token: str | None) -> Self:
        """Show a principal."""
        return cls(
            principal_id=principal.id,
            roles=sorted(principal.roles),
            scopes=sorted(principal.scopes),
            via=principal.via,
            held_until=principal.held_until,
            csrf_token=csrf_token,
        )
