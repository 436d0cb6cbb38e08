"""Roles of keys, and the principal behind a request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from core.platform.access.scopes import Scope


class Role(StrEnum):
    """Purpose of a key. One key may carry several roles.

    An owner declares and uploads datasets and sees what is sealed to the owner.
    An analyst requests quotes, orders jobs and downloads.
    An admin sets caps and creates people, and sees no private fact of any dataset.
    An auditor reads everybody's public facts, budgets, ledgers, certificates and audit log, and changes nothing.
    """

    OWNER = "owner"
    ANALYST = "analyst"
    ADMIN = "admin"
    AUDITOR = "auditor"


class Via(StrEnum):
    """How a principal authenticated."""

    KEY = "key"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the name of a method, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The authenticated party behind a request. A principal may have several keys, which allows rotation.

    Args:
        id: Identifies the owner of datasets and the author of jobs.
        key_id: The key in use, also behind a browser session, or ``id`` for an account at the identity provider.
            The audit log names it and the rate limit counts it.
        roles: The roles of that key, not the union over the principal's keys.
        scopes: Uses that the key is restricted to; empty for all that its roles allow.
        via: How the principal authenticated.
        enrolment_id: The enrolment that the key descends from; None for a key that an admin handed out before
            enrolments existed. The principal's own id for an account at the identity provider.
        held_until: Until when a recovery blocks access to what is sealed to the principal; None without a hold.
    """

    id: UUID
    key_id: UUID
    roles: frozenset[Role]
    scopes: frozenset[Scope] = frozenset()
    via: Via = Via.KEY
    enrolment_id: UUID | None = None
    held_until: datetime | None = None

    def has(self, *roles: Role) -> bool:
        """Whether the key has at least one of these roles."""
        return not self.roles.isdisjoint(roles)

    @property
    def has_key(self) -> bool:
        """Whether an API key stands behind the request; False for a bearer token and for the session of an account."""
        return self.key_id != self.id

    def within(self, scope: Scope) -> bool:
        """Whether the key's scopes allow this use."""
        return not self.scopes or scope in self.scopes

    def is_held(self, at: datetime) -> bool:
        """Whether a recovery blocks, at this moment, access to what is sealed to the principal."""
        return self.held_until is not None and at < self.held_until
