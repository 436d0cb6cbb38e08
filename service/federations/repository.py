"""Federations and what their members handed in: the state of a round is written once."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select, tuple_, update
from sqlalchemy.orm import Session, defer

from core.db.tables.federation import Federation
from core.db.tables.federation_member import FederationMember
from core.db.tables.federation_state import FederationState
from core.platform.access.roles import Principal
from service.federations.errors import (
    FederationNotFound,
    FederationTokenRefused,
    RoundNotOpen,
    StateDiffers,
    StateNotFound,
)
from service.paging import page_of

MOST_OPEN: Final = 20
"""Open federations of one principal: each may hold the states of two rounds."""
OPEN: Final = "open"


def created_by(
    session: Session, federation_id: UUID, principal: Principal, *, lock: bool = False
) -> Federation:
    """A federation of this principal.

    Raises:
        FederationNotFound: No such federation, or another principal's.
    """
    row = session.get(Federation, federation_id, with_for_update=lock)
    if row is None or row.created_by != principal.id:
        raise FederationNotFound
    return row


def page(
    session: Session, principal: Principal, *, limit: int, before: UUID | None
) -> tuple[Sequence[Federation], UUID | None]:
    """A page of the federations that this principal created."""
    query = select(Federation).where(Federation.created_by == principal.id)
    return page_of(session, query, Federation, limit=limit, before=before)


def member_with(session: Session, federation_id: UUID, digest: bytes) -> FederationMember:
    """The member of a federation whose token has this digest.

    Raises:
        FederationTokenRefused: None has.
    """
    wanted = (FederationMember.federation_id == federation_id, FederationMember.token_digest == digest)
    row = session.scalar(select(FederationMember).where(*wanted))
    if row is None:
        raise FederationTokenRefused
    return row


def members_of(session: Session, federation_id: UUID) -> Sequence[FederationMember]:
    """All members, in order."""
    wanted = select(FederationMember).where(FederationMember.federation_id == federation_id)
    return session.scalars(wanted.order_by(FederationMember.place)).all()


def locked(session: Session, federation_id: UUID) -> Federation:
    """The row of a federation, locked."""
    return session.get_one(Federation, federation_id, with_for_update=True)


def handed_in(session: Session, federation_id: UUID, number: int) -> Sequence[FederationState]:
    """The states of a round, without their content."""
    wanted = (FederationState.federation_id == federation_id, FederationState.round == number)
    return session.scalars(
        select(FederationState).where(*wanted).options(defer(FederationState.content))
    ).all()


def here_now(session: Session, rows: Sequence[Federation]) -> dict[UUID, set[int]]:
    """The places of the members that have handed in their state of the open round, by federation."""
    rounds = [(row.id, row.round) for row in rows]
    found: dict[UUID, set[int]] = {row.id: set() for row in rows}
    query = select(FederationState.federation_id, FederationState.place).where(
        tuple_(FederationState.federation_id, FederationState.round).in_(rounds)
    )
    for federation_id, place in session.execute(query):
        found[federation_id].add(place)
    return found


def content_of(session: Session, federation_id: UUID, number: int, place: int) -> bytes:
    """The state of one member.

    Raises:
        StateNotFound: It was not handed in, or is no longer kept.
    """
    row = session.get(FederationState, (federation_id, number, place))
    if row is None or row.content is None:
        raise StateNotFound
    return row.content


def is_late(row: Federation, *, at: datetime) -> bool:
    """Whether the round under way has missed its deadline."""
    if row.state != OPEN or row.round_since is None:
        return False
    return at > row.round_since + timedelta(seconds=row.round_seconds)


def fail_if_late(session: Session, row: Federation, *, at: datetime) -> None:
    """End a locked federation whose round has missed its deadline, and name the members that did not hand in."""
    if not is_late(row, at=at):
        return
    here = {state.place for state in handed_in(session, row.id, row.round)}
    missing = [one.name for one in members_of(session, row.id) if one.place not in here]
    row.state, row.vanished, row.ended_at = "failed", ", ".join(missing), at
    forget_states(session, row.id)
    session.flush()


def fail_the_late(session: Session, rows: Sequence[Federation], *, at: datetime) -> None:
    """End those of several federations whose round has missed its deadline."""
    for row in rows:
        if is_late(row, at=at):
            session.refresh(row, with_for_update=True)
            fail_if_late(session, row, at=at)


def forget_states(session: Session, federation_id: UUID, *, before: int | None = None) -> None:
    """Delete the content of states, of all rounds or of those before one; their digests stay."""
    wanted = [FederationState.federation_id == federation_id, FederationState.content.is_not(None)]
    if before is not None:
        wanted.append(FederationState.round < before)
    session.execute(update(FederationState).where(*wanted).values(content=None))


def hand_in(
    session: Session, row: Federation, number: int, place: int, *, content: bytes, sha256: bytes, at: datetime
) -> None:
    """Store a member's state of a round of a locked federation, and open the next round once all have handed in.

    All members keep a checkpoint of a complete round before they hand in the next, so older rounds are not needed again.

    Raises:
        StateDiffers: The member has handed in other bytes.
        RoundNotOpen: The round is not the open one.
    """
    earlier = session.get(FederationState, (row.id, number, place), options=[defer(FederationState.content)])
    if earlier is not None:
        if earlier.sha256 != sha256:
            raise StateDiffers
        return
    if number != row.round or row.state != OPEN:
        raise RoundNotOpen(round_open=row.round)
    session.add(
        FederationState(
            federation_id=row.id, round=number, place=place, sha256=sha256, content=content, created_at=at
        )
    )
    session.flush()
    row.round_since = row.round_since or at
    if len(handed_in(session, row.id, number)) == len(row.plan["federation"]["members"]):
        forget_states(session, row.id, before=number)
        if number + 1 == row.rounds:
            row.state = "done"
        else:
            row.round, row.round_since = number + 1, at
    session.flush()


def keep_certificate(row: FederationMember, certificate: Mapping[str, Any]) -> None:
    """Store a member's certificate, once.

    Raises:
        StateDiffers: The member has handed in another one.
    """
    if row.certificate is not None and row.certificate != certificate:
        raise StateDiffers
    row.certificate = dict(certificate)
