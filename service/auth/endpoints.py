"""API keys: made, rotated and revoked by the principals they speak for; admins list and revoke them, and make none."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.orm import Session

from core.access.errors import (
    ExpiryRefused,
    KeyBeyondMaker,
    KeyEnded,
    KeyForAnother,
    KeyNotFound,
    RecoveryHold,
    TokenMakesNoKeys,
)
from core.access.names import names_of
from core.access.roles import Role
from core.db.session import on_commit
from service.audit import record
from service.auth.schemas import KeyList, KeyOrder, KeyView, NewKey, RotatedKey
from service.context import AppContext
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/keys", tags=["keys"], route_class=StrictRoute)


@router.post(
    "",
    status_code=201,
    summary="Make an API key",
    responses=problems(KeyForAnother, KeyBeyondMaker, TokenMakesNoKeys, ExpiryRefused),
)
def create_key(
    order: KeyOrder, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> NewKey:
    """Make a further key for oneself, within the roles, the scopes and the life of the key in use.

    The answer holds the secret; it cannot be shown again. Nobody makes a key for somebody else: administrators create
    people (`POST /v1/people`), and a person's first key comes of the enrolment.
    """
    if order.principal_id not in {None, principal.id} or order.principal_name is not None:
        raise KeyForAnother
    row, key = context.access.keys.make(
        session,
        by=principal,
        name=order.name,
        roles=order.roles,
        scopes=order.scopes,
        expires_at=order.end(now=context.clock.now(), lifetime_days=context.settings.key_lifetime_days),
        shortened=order.expires_at is None,
    )
    record(session, principal, action="key.create", object_id=row.id, clock=context.clock)
    return NewKey.with_secret(row, key, names_of(session, [row.principal_id]))


@router.get("", summary="List the API keys")
def list_keys(principal: CurrentPrincipal, context: InjectedContext, session: OpenSession) -> KeyList:
    """One's own keys, and for an admin everybody's; revoked ones too, without their secrets."""
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
    """Make a successor with the same rights; the old secret works on for the stated overlap, then no more.

    A key rotates itself and no other, and the successor ends when the old key would have.
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
    """Make a key and its sessions useless, here at once and in all processes within two seconds.

    For one's own keys; an admin revokes any. Revoking it again changes nothing. Its successor, if it was rotated, is a key
    of its own and stays. After a recovery the caller's keys of other enrolments cannot be revoked until the hold is over:
    with one of them the person can cancel the recovery.
    """
    row = context.access.keys.revoke(session, key_id, by=principal)
    record(session, principal, action="key.revoke", object_id=row.id, clock=context.clock)
    _forget(session, context, key_id)
    return KeyView.of(row, names_of(session, [row.principal_id]))


def _forget(session: Session, context: AppContext, key_id: UUID) -> None:
    on_commit(session, lambda: context.access.authenticator.forget(key_id))
