"""API keys: created, rotated and revoked by their own principals. Admins can list and revoke all keys, but not create any for others."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.orm import Session

from core.db.session import on_commit
from core.platform.access.errors import (
    ExpiryRefused,
    KeyBeyondMaker,
    KeyEnded,
    KeyForAnother,
    KeyNotFound,
    RecoveryHold,
    TokenMakesNoKeys,
)
from core.platform.access.names import names_of
from core.platform.access.roles import Role
from service.audit import record
from service.context import AppContext
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.principals.key_schemas import KeyList, KeyOrder, KeyView, NewKey, RotatedKey, end_of
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/keys", tags=["keys"], route_class=StrictRoute)


@router.post(
    "",
    status_code=201,
    summary="Create an API key",
    responses=problems(KeyForAnother, KeyBeyondMaker, TokenMakesNoKeys, ExpiryRefused),
)
def create_key(
    order: KeyOrder, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewKey:
    """Create a further key for the caller, within the roles, scopes and lifetime of the key in use.

    The response contains the secret, which cannot be shown again. Nobody can create a key for someone else:
    administrators create people (`POST /v1/people`), and a person's first key is created with the enrolment.
    """
    if order.principal_id not in {None, principal.id} or order.principal_name is not None:
        raise KeyForAnother
    row, key = context.access.keys.make(
        session,
        by=principal,
        name=order.name,
        roles=order.roles,
        scopes=order.scopes,
        expires_at=end_of(
            order.expires_at, now=context.clock.now(), lifetime_days=context.settings.key_lifetime_days
        ),
        shortened=order.expires_at is None,
    )
    record(session, principal, action="key.create", object_id=row.id, clock=context.clock)
    return NewKey.with_secret(row, key, names_of(session, [row.principal_id]))


@router.get("", summary="List API keys")
def list_keys(principal: CurrentPrincipal, context: InjectedContext, session: OpenSession) -> KeyList:
    """The caller's own keys, or all keys for an admin; including revoked ones, without secrets."""
    rows = context.access.keys.list_keys(
        session, principal_id=None if principal.has(Role.ADMIN) else principal.id
    )
    names = names_of(session, [row.principal_id for row in rows])
    return KeyList(items=[KeyView.of(row, names) for row in rows])


@router.post(
    "/{key_id}/rotate",
    status_code=201,
    summary="Rotate an API key",
    responses=problems(KeyNotFound, KeyEnded),
)
def rotate_key(
    key_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> RotatedKey:
    """Create a successor with the same rights. The old secret keeps working for the stated overlap.

    A key can only rotate itself, and the successor expires when the old key would have.
    """
    overlap = timedelta(seconds=context.settings.key_overlap_seconds)
    old, new, key = context.access.keys.rotate(session, key_id, by=principal, overlap=overlap)
    record(session, principal, action="key.rotate", object_id=old.id, clock=context.clock)
    _forget(session, context, key_id)
    assert old.expires_at is not None
    made = NewKey.with_secret(new, key, names_of(session, [new.principal_id]))
    return RotatedKey(**made.model_dump(), old_key_ends_at=old.expires_at)


@router.delete("/{key_id}", summary="Revoke an API key", responses=problems(KeyNotFound, RecoveryHold))
def revoke_key(
    key_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> KeyView:
    """Revoke a key and end its sessions: at once in this process, within two seconds in all others.

    Callers can revoke their own keys, admins any. Revoking a key again changes nothing. The successor of a rotated key is
    a separate key and stays valid. After a recovery, the caller's keys of other enrolments cannot be revoked until the
    hold ends: the person can cancel the recovery with one of them.
    """
    row = context.access.keys.revoke(session, key_id, by=principal)
    record(session, principal, action="key.revoke", object_id=row.id, clock=context.clock)
    _forget(session, context, key_id)
    return KeyView.of(row, names_of(session, [row.principal_id]))


def _forget(session: Session, context: AppContext, key_id: UUID) -> None:
    on_commit(session, lambda: context.access.authenticator.forget(key_id))
