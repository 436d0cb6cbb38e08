"""API keys: made, listed and revoked by admins."""

from uuid import UUID

from fastapi import APIRouter

from core.access.errors import KeyNotFound
from service.audit import record
from service.auth.schemas import KeyList, KeyOrder, KeyView, NewKey
from service.dependencies import CurrentPrincipal, InjectedParts, OpenSession
from service.problem import problems

router = APIRouter(prefix="/keys", tags=["keys"])


@router.post("", status_code=201, summary="Make an API key")
def create_key(
    order: KeyOrder, principal: CurrentPrincipal, parts: InjectedParts, session: OpenSession
) -> NewKey:
    """Make a key with the given roles. The answer holds the secret; it cannot be shown again."""
    row, key = parts.keys.issue(session, name=order.name, roles=order.roles, principal_id=order.principal_id)
    record(session, principal, action="key.create", object_id=row.id, clock=parts.clock)
    return NewKey.with_secret(row, key)


@router.get("", summary="List the API keys")
def list_keys(_principal: CurrentPrincipal, parts: InjectedParts, session: OpenSession) -> KeyList:
    """All keys, revoked ones too, without their secrets."""
    return KeyList(items=[KeyView.of(row) for row in parts.keys.list_keys(session)])


@router.delete("/{key_id}", summary="Revoke an API key", responses=problems(KeyNotFound))
def revoke_key(
    key_id: UUID, principal: CurrentPrincipal, parts: InjectedParts, session: OpenSession
) -> KeyView:
    """Make a key useless from now on. Revoking it again changes nothing."""
    row = parts.keys.revoke(session, key_id)
    record(session, principal, action="key.revoke", object_id=row.id, clock=parts.clock)
    return KeyView.of(row)
