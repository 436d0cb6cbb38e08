"""Who sees which datasets and what depends on them: one rule for requests and for notifications."""

from uuid import UUID

from sqlalchemy import BindParameter, ColumnElement, false, or_, select, true

from core.db.tables.dataset import Dataset
from core.db.tables.dataset_member import DatasetMember
from core.platform.access.roles import Role


def seen_by(roles: frozenset[Role], principal_id: UUID | BindParameter[UUID]) -> ColumnElement[bool]:
    """SQL condition: datasets whose public facts a principal with these roles may see.

    Admins and auditors see all, owners their own, analysts those they are members of.
    """
    if not roles.isdisjoint((Role.ADMIN, Role.AUDITOR)):
        return true()
    seen: list[ColumnElement[bool]] = [false()]
    if Role.OWNER in roles:
        seen.append(Dataset.owner_id == principal_id)
    if Role.ANALYST in roles:
        shown = select(DatasetMember.dataset_id).where(DatasetMember.principal_id == principal_id)
        seen.append(Dataset.id.in_(shown))
    return or_(*seen)


def governed_by(roles: frozenset[Role], principal_id: UUID) -> ColumnElement[bool]:
    """SQL condition: datasets whose members, requests and grants the principal manages, as owner or admin."""
    if Role.ADMIN in roles:
        return true()
    return Dataset.owner_id == principal_id if Role.OWNER in roles else false()


def overseen_by(roles: frozenset[Role], principal_id: UUID) -> ColumnElement[bool]:
    """SQL condition: datasets of which the principal sees every analyst's requests, grants and membership."""
    return true() if Role.AUDITOR in roles else governed_by(roles, principal_id)
