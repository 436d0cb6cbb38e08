"""Who may ask: the roles a key can carry, and the principal a valid key speaks for."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from core.access.scopes import Scope


class Role(StrEnum):
    """What a key is for. One key may carry several roles.

    An owner declares and uploads datasets and sees what is sealed to the owner; an analyst asks for quotes, orders
    jobs and downloads; an admin sets caps and creates people, and sees no private fact of any dataset; an auditor reads
    public facts, budgets, ledgers, certificates and the audit log of everybody, and changes nothing.
    """

    OWNER = "owner"
    ANALYST = "analyst"
    ADMIN = "admin"
    AUDITOR = "auditor"


class Via(StrEnum):
    """How a principal proved who it is."""

    KEY = "key"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the name of a way, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The party behind a request. Several keys may speak for one principal, so that keys can be rotated.

    Args:
        id: What ownership of datasets and authorship of jobs refer to.
        key_id: The key that was used (also behind a browser session), or ``id`` where a bearer token of another
            provider was; what the audit log names and what the rate limit counts.
        roles: The roles of that key, not the union over the principal's keys.
        scopes: What the key is narrowed to; empty for all that its roles may do.
        via: How the principal proved who it is.
        enrolment_id: The enrolment that the key descends from; None for a key that an admin handed out before there
            were enrolments. A principal with a token stands for itself.
        held_until: Until then what is sealed to the principal stays shut; None where nothing is held.
    """

    id: UUID
    key_id: UUID
    roles: frozenset[Role]
    scopes: frozenset[Scope] = frozenset()
    via: Via = Via.KEY
    enrolment_id: UUID | None = None
    held_until: datetime | None = None

    def has(self, *roles: Role) -> bool:
        """Whether the key carries at least one of these roles."""
        return not self.roles.isdisjoint(roles)

    def within(self, scope: Scope) -> bool:
        """Whether the key is not narrowed to other uses than this one."""
        return not self.scopes or scope in self.scopes

    def is_held(self, at: datetime) -> bool:
        """Whether a recovery keeps shut, at this moment, what is sealed to the principal."""
        return self.held_until is not None and at < self.held_until
