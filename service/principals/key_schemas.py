"""Wire types of API keys and browser sessions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from core.db.tables.api_key import ApiKey
from core.platform.access.keys import KeyText
from core.platform.access.roles import Principal, Role, Via
from core.platform.access.scopes import Scope
from service.principals.schemas import DisplayName
from service.wire import Moment, Name

MAX_KEY_LENGTH = 200

End = Annotated[
    Moment | Literal["never"] | None,
    Field(
        description='When the key expires: a time or "never". Default: the configured lifetime, or the expiry of the'
        " creating key if that is earlier."
    ),
]


def end_of(
    expires_at: datetime | Literal["never"] | None, *, now: datetime, lifetime_days: int
) -> datetime | None:
    """When a key expires; None for never."""
    if expires_at == "never":
        return None
    return expires_at or now + timedelta(days=lifetime_days)


class KeyOrder(BaseModel):
    """A key to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"name": "research group", "roles": ["analyst"]},
                {"name": "nightly upload", "roles": ["owner"], "scopes": ["datasets:write"]},
            ]
        },
    )

    name: Name = Field(description="Display name of the key.")
    roles: set[Role] = Field(
        min_length=1, description="Roles of the key; a subset of the roles of the creating key."
    )
    scopes: set[Scope] = Field(
        default_factory=set,
        description="Restricts the key to these scopes. Default: everything its roles allow. A restricted key can only create keys"
        " with a subset of its own scopes.",
    )
    principal_id: UUID | None = Field(
        None,
        description="Optional; the caller's own id. A key for anyone else is refused (`key-for-another`).",
    )
    principal_name: DisplayName | None = Field(
        None, description="No longer accepted (`key-for-another`): create people with `POST /v1/people`."
    )
    expires_at: End = None


class KeyView(BaseModel):
    """A key without its secret."""

    id: UUID
    principal_id: UUID
    principal_name: str | None = Field(description="Name of the principal; null without a name.")
    name: str
    roles: list[Role]
    scopes: list[Scope] = Field(
        description="The scopes that the key is restricted to; empty for everything its roles allow."
    )
    prefix: str = Field(description="The first characters of the key, to tell keys apart.")
    created_at: datetime
    expires_at: datetime | None = Field(description="When it expires; null for never.")
    last_used_at: datetime | None = Field(description="When it was last used, to within a minute.")
    replaced_by: UUID | None = Field(description="The successor, if this key was rotated.")
    revoked_at: datetime | None

    @classmethod
    def of(cls, row: ApiKey, names: Mapping[UUID, str]) -> Self:
        """Convert a row, with the name of its principal."""
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
    """A new key; the only response that ever contains the secret."""

    key: str = Field(description="The key itself. It is shown only once and not stored.")

    @classmethod
    def with_secret(cls, row: ApiKey, key: KeyText, names: Mapping[UUID, str]) -> Self:
        """Convert a row together with its secret."""
        return cls(**KeyView.of(row, names).model_dump(), key=key.text)


class RotatedKey(NewKey):
    """The successor of a rotated key, and the end of the old secret's validity."""

    old_key_ends_at: datetime = Field(
        description="Both secrets work until then, afterwards only the new one."
    )


class KeyList(BaseModel):
    """Keys, oldest first."""

    items: list[KeyView]


class Login(BaseModel):
    """A browser's login."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"key": "us_..."}]})

    key: SecretStr = Field(max_length=MAX_KEY_LENGTH, description="An API key.")


class SessionView(BaseModel):
    """The caller, and the token that a browser needs to make changes."""

    principal_id: UUID
    roles: list[Role]
    scopes: list[Scope]
    via: Via = Field(description="How the caller authenticated: by key, session or token.")
    held_until: datetime | None = Field(
        description="End of the hold on the caller's sealed data after a recovery; null without a hold."
    )
    csrf_token: str | None = Field(
        description="CSRF token to send as `X-CSRF-Token` with every change; null without a session."
    )

    @classmethod
    def of(cls, principal: Principal, *, csrf_token: str | None) -> Self:
        """Convert a principal."""
        return cls(
            principal_id=principal.id,
            roles=sorted(principal.roles),
            scopes=sorted(principal.scopes),
            via=principal.via,
            held_until=principal.held_until,
            csrf_token=csrf_token,
        )
