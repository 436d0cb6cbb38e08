"""API keys as the client sees them: calls as values, and what they answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from understudy.calls import Call
from understudy.documents import Json, take


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key, with its secret only right after it was made.

    Attributes:
        id: its id.
        principal_id: whom it speaks for.
        principal_name: what everybody calls that principal, or None.
        name: what people call it.
        roles: what it may be used for.
        scopes: what it is narrowed to; empty for all that its roles may do.
        prefix: the first digits of the key.
        expires_at: when it ends by itself, or None.
        last_used_at: when it was last used, give or take a minute, or None.
        revoked_at: when it was revoked, or None.
        key: the secret, in the answer that made it.
        document: the whole answer.
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
        fields = dict(zip(known, take(document, *known), strict=True))
        roles, scopes = take(document, "roles", "scopes")
        return cls(
            **fields,
            principal_name=document.get("principal_name"),
            roles=tuple(roles),
            scopes=tuple(scopes),
            key=document.get("key"),
            document=document,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A new API key, shown once; never among what a program prints of the object itself.

    Attributes:
        key: the key in plain text.
        document: the whole answer.
    """

    key: str = field(repr=False)
    document: Json = field(repr=False)

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(key=take(document, "key")[0], document=document)


def create_key(
    *,
    name: str,
    roles: Sequence[str],
    scopes: Sequence[str] = (),
    expires_at: str | None = None,
) -> Call[ApiKey]:
    """Make a further key for oneself; the answer is the only time it is shown.

    Args:
        name: what people call it.
        roles: at least one of the roles of the key in use.
        scopes: what it is narrowed to; empty for all that its roles may do.
        expires_at: a moment (ISO 8601), or ``never``; None for the service's default.
    """
    body: dict[str, Any] = {"name": name, "roles": list(roles), "scopes": list(scopes)}
    if expires_at is not None:
        body["expires_at"] = expires_at
    return Call(method="POST", path="/v1/keys", read=ApiKey.from_json, body=body)


def name_principal(principal_id: str, name: str) -> Call[Json]:
    """Set what everybody calls a principal."""

    def read(document: object) -> Json:
        found, called = take(document, "principal_id", "name")
        return {"principal_id": found, "name": called}

    return Call(method="PUT", path=f"/v1/principals/{principal_id}", read=read, body={"name": name})


def list_keys() -> Call[tuple[ApiKey, ...]]:
    """Ask for one's own keys, and as an admin for everybody's, without their secrets."""

    def read(document: object) -> tuple[ApiKey, ...]:
        return tuple(ApiKey.from_json(item) for item in take(document, "items")[0])

    return Call(method="GET", path="/v1/keys", read=read)


def rotate_key(key_id: str) -> Call[ApiKey]:
    """Make the successor of the key in use; its answer also says until when the old secret works."""
    return Call(method="POST", path=f"/v1/keys/{key_id}/rotate", read=ApiKey.from_json)


def revoke_key(key_id: str) -> Call[ApiKey]:
    """Make a key useless; doing it again changes nothing."""
    return Call(method="DELETE", path=f"/v1/keys/{key_id}", read=ApiKey.from_json)
