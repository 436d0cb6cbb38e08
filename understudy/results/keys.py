"""API keys as frozen values; ``document`` is the whole answer."""

from dataclasses import dataclass, field
from typing import Self

from understudy.documents import Json, named, take


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key, with its secret only right after it was made.

    Attributes:
        principal_name: display name of that principal, or None.
        name: its label.
        scopes: what it is narrowed to; empty for all that its roles may do.
        prefix: the first digits of the key.
        expires_at: when it expires, or None.
        last_used_at: when it was last used, to the minute, or None.
        revoked_at: when it was revoked, or None.
        key: the secret, in the answer that made it.
    """

    id: str
    principal_id: str
    principal_name: str | None
    name: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    prefix: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    key: str | None = field(repr=False)
    document: Json = field(repr=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        known = ("id", "principal_id", "name", "prefix", "expires_at", "last_used_at", "revoked_at")
        stated = named(document, *known)
        roles, scopes = take(document, "roles", "scopes")
        return cls(
            **stated,
            principal_name=document.get("principal_name"),
            roles=tuple(roles),
            scopes=tuple(scopes),
            key=document.get("key"),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new API key in plain text, shown once and never in the `repr` of this object."""

    key: str = field(repr=False)
    document: Json = field(repr=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer, which has every field of an `ApiKey`."""
        ApiKey.from_json(document)
        return cls(key=take(document, "key")[0], document=document)

    @property
    def facts(self) -> ApiKey:
        """Its id, roles, scopes and expiry."""
        return ApiKey.from_json(self.document)
