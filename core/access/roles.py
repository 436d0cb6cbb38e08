"""Who may ask: the roles a key can carry, and the principal a valid key speaks for."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What a key is for. One key may carry several roles.

    An owner declares and uploads datasets and sees what is sealed to the owner; an analyst asks for quotes, orders
    jobs and downloads; an admin sets caps and makes keys, and sees no private fact of any dataset.
    """

    OWNER = "owner"
    ANALYST = "analyst"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The party behind a request. Several keys may speak for one principal, so that keys can be rotated.

    Args:
        id: What ownership of datasets and authorship of jobs refer to.
        key_id: The key that was used; what the audit log names.
        roles: The roles of that key, not the union over the principal's keys.
    """

    id: UUID
    key_id: UUID
    roles: frozenset[Role]

    def has(self, *roles: Role) -> bool:
        """Whether the key carries at least one of these roles."""
        return not self.roles.isdisjoint(roles)
