"""The directory of API keys: issue, recognise, rotate, revoke."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.access import repository
from core.access.errors import (
    ExpiryRefused,
    KeyBeyondMaker,
    KeyEnded,
    KeyNotFound,
    KeyRefused,
    RecoveryHold,
    TokenMakesNoKeys,
)
from core.access.keys import Entropy, KeyText, digest_of, digests_equal, make_key, parse_key
from core.access.roles import Principal, Role, Via
from core.access.scopes import Scope
from core.clock import Clock
from core.db.tables.api_key import ApiKey
from core.db.tables.person import Person

LONGEST_DAYS: Final = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Who a key or a session speaks for, and until when that may be believed.

    Args:
        principal: The party.
        expires_at: When key or session ends by itself; None for never.
        session_id: The browser's session, where one was used.
    """

    principal: Principal
    expires_at: datetime | None
    session_id: UUID | None = None


class KeyDirectory:
    """Issues, recognises, rotates and revokes keys inside the caller's transaction.

    Args:
        pepper: Key of the digests, from ``pepper_from(master_key)``.
        clock: Stamps creation and revocation, and decides what has expired.
        entropy: Source of random bytes; ``os.urandom`` outside tests.
    """

    def __init__(self, *, pepper: bytes, clock: Clock, entropy: Entropy) -> None:
        self._pepper = pepper
        self._clock = clock
        self._entropy = entropy

    def issue(
        self,
        session: Session,
        *,
        name: str,
        roles: Iterable[Role],
        principal_id: UUID | None = None,
        scopes: Iterable[Scope] = (),
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, KeyText]:
        """Provision a key at the machine; the text is returned once and kept nowhere. Its principal counts as enrolled.

        Args:
            session: The open transaction.
            name: What people call the key.
            roles: At least one role.
            principal_id: Whom it speaks for; a new principal where none is given.
            scopes: What it is narrowed to; empty for all that its roles may do.
            expires_at: When it ends by itself; None for never.

        Raises:
            ExpiryRefused: It would end in the past or in more than ten years.
        """
        key = make_key(self._entropy)
        return self._provision(
            session,
            key,
            name=name,
            roles=roles,
            principal_id=principal_id or uuid4(),
            scopes=scopes,
            expires_at=expires_at,
        ), key

    def register(self, session: Session, key: KeyText, *, name: str, roles: Iterable[Role]) -> ApiKey:
        """Provision a key made elsewhere (the embedded stack's own), once: a second call finds the first row."""
        known = repository.by_digest(session, self.digest(key))
        if known is None:
            return self._provision(session, key, name=name, roles=roles, principal_id=uuid4())
        if known.enrolment_id is None:
            # It was registered before there were enrolments.
            self._enrol(session, known.principal_id, roles)
            known.enrolment_id = known.principal_id
            session.flush()
        return known

    def first_key(
        self, session: Session, person: Person, *, enrolment_id: UUID, name: str, expires_at: datetime | None
    ) -> tuple[ApiKey, KeyText]:
        """Make the key that comes of an enrolment: with all roles of the person, and not narrowed.

        Raises:
            ExpiryRefused: It would end in the past or in more than ten years.
        """
        key = make_key(self._entropy)
        row = self._store(
            session,
            key,
            name=name,
            roles=[Role(role) for role in person.roles],
            principal_id=person.principal_id,
            expires_at=expires_at,
            enrolment_id=enrolment_id,
        )
        return row, key

    def make(
        self,
        session: Session,
        *,
        by: Principal,
        name: str,
        roles: Iterable[Role],
        scopes: Iterable[Scope] = (),
        expires_at: datetime | None = None,
        shortened: bool = False,
    ) -> tuple[ApiKey, KeyText]:
        """Make a further key for the principal that asks, within the rights and the life of the key it asks with.

        Args:
            session: The open transaction.
            by: Who asks.
            name: What people call the key.
            roles: At least one role, all of them roles of the key in use.
            scopes: What it is narrowed to; where the key in use is narrowed, some of its scopes.
            expires_at: When it ends by itself; None for never.
            shortened: Whether a key that would outlive its maker ends with it; else it is refused.

        Raises:
            TokenMakesNoKeys: A bearer token was used.
            KeyRefused: The key in use has just ended.
            KeyBeyondMaker: It would have more rights, or a longer life, than the key in use.
            ExpiryRefused: It would end in the past or in more than ten years.
        """
        if by.via is Via.TOKEN:
            raise TokenMakesNoKeys
        maker = repository.key_for_update(session, by.key_id)
        if maker is None or not self.is_live(maker):
            raise KeyRefused
        wanted_roles, wanted_scopes = frozenset(roles), frozenset(scopes)
        end = maker.expires_at
        outlives = end is not None and (expires_at is None or expires_at > end)
        if outlives and shortened:
            expires_at, outlives = end, False
        beyond: list[str] = sorted(wanted_roles - by.roles)
        if by.scopes:
            beyond += sorted(wanted_scopes - by.scopes) if wanted_scopes else ["no scopes"]
        if outlives:
            beyond.append("expires_at")
        if beyond:
            raise KeyBeyondMaker(beyond=tuple(beyond))
        key = make_key(self._entropy)
        row = self._store(
            session,
            key,
            name=name,
            roles=wanted_roles,
            principal_id=by.id,
            scopes=wanted_scopes,
            expires_at=expires_at,
            enrolment_id=maker.enrolment_id,
        )
        return row, key

    def digest(self, key: KeyText) -> bytes:
        """The digest under which a key is stored."""
        return digest_of(key, pepper=self._pepper)

    def recognise(self, session: Session, text: str) -> Principal:
        """Tell who a presented key speaks for.

        Raises:
            KeyRefused: Malformed, unknown, expired or revoked.
        """
        key = parse_key(text)
        if key is None:
            raise KeyRefused
        return self.find(session, key).principal

    def find(self, session: Session, key: KeyText) -> Known:
        """Tell who a well-formed key speaks for, and for how long.

        Raises:
            KeyRefused: Unknown, expired or revoked.
        """
        presented = self.digest(key)
        for row, held_until in repository.live_with_prefix(session, key.prefix, at=self._clock.now()):
            if digests_equal(row.digest, presented):
                principal = principal_of(row, held_until=held_until)
                return Known(principal=principal, expires_at=row.expires_at)
        raise KeyRefused

    def list_keys(self, session: Session, *, principal_id: UUID | None = None) -> Sequence[ApiKey]:
        """The keys of a principal, or every key where none is named; oldest first."""
        return repository.keys(session, principal_id=principal_id)

    def is_live(self, row: ApiKey) -> bool:
        """Whether a key is neither revoked nor expired."""
        return row.revoked_at is None and (row.expires_at is None or row.expires_at > self._clock.now())

    def rotate(
        self, session: Session, key_id: UUID, *, by: Principal, overlap: timedelta
    ) -> tuple[ApiKey, ApiKey, KeyText]:
        """Give a key a successor with the same rights, and let the old secret work for a while longer.

        A key rotates itself and no other, whoever asks, and the successor ends when the old key would have: a key
        cannot prolong its own life, nor gain the rights of a sibling.

        Args:
            session: The open transaction.
            key_id: The key.
            by: Who asks.
            overlap: How much longer the old secret works, at most.

        Returns:
            The old row, the new row, and the new secret.

        Raises:
            KeyNotFound: No such key, or not the one that is presented.
            KeyEnded: It is revoked, expired or replaced already.
        """
        old = repository.key_for_update(session, key_id)
        if old is None or by.key_id != key_id:
            raise KeyNotFound
        if not self.is_live(old) or old.replaced_by is not None:
            raise KeyEnded
        now = self._clock.now()
        key = make_key(self._entropy)
        new = self._store(
            session,
            key,
            name=old.name,
            roles=[Role(role) for role in old.roles],
            principal_id=old.principal_id,
            scopes=[Scope(scope) for scope in old.scopes],
            expires_at=old.expires_at,
            enrolment_id=old.enrolment_id,
        )
        old.replaced_by = new.id
        old.expires_at = now + overlap if old.expires_at is None else min(old.expires_at, now + overlap)
        session.flush()
        return old, new, key

    def revoke(self, session: Session, key_id: UUID, *, by: Principal) -> ApiKey:
        """Make a key useless from now on; revoking twice changes nothing. An admin revokes any, others their own.

        A recovered principal revokes no key of their own that came of another enrolment until the hold is over: with
        such a key the person can cancel the recovery.

        Raises:
            KeyNotFound: No such key, or somebody else's.
            RecoveryHold: The caller was recovered a short while ago, and the key came of another enrolment.
        """
        row = repository.key_for_update(session, key_id)
        if row is None or not (by.has(Role.ADMIN) or row.principal_id == by.id):
            raise KeyNotFound
        now = self._clock.now()
        is_other = row.principal_id == by.id and row.enrolment_id != by.enrolment_id
        if is_other and by.held_until is not None and by.is_held(now):
            raise RecoveryHold(whose="caller", until=by.held_until)
        if row.revoked_at is None:
            row.revoked_at = now
            session.flush()
        return row

    def _require_future(self, moment: datetime) -> None:
        now = self._clock.now()
        if not now < moment <= now + timedelta(days=LONGEST_DAYS):
            raise ExpiryRefused(longest_days=LONGEST_DAYS)

    def _provision(
        self,
        session: Session,
        key: KeyText,
        *,
        name: str,
        roles: Iterable[Role],
        principal_id: UUID,
        scopes: Iterable[Scope] = (),
        expires_at: datetime | None = None,
    ) -> ApiKey:
        known_roles = frozenset(roles)
        self._enrol(session, principal_id, known_roles)
        return self._store(
            session,
            key,
            name=name,
            roles=known_roles,
            principal_id=principal_id,
            scopes=scopes,
            expires_at=expires_at,
            enrolment_id=principal_id,
        )

    def _enrol(self, session: Session, principal_id: UUID, roles: Iterable[Role]) -> None:
        now = self._clock.now()
        repository.put_person(
            session,
            Person(
                principal_id=principal_id,
                roles=sorted(roles),
                created_by=principal_id,
                created_at=now,
                enrolled_at=now,
            ),
        )

    def _store(
        self,
        session: Session,
        key: KeyText,
        *,
        name: str,
        roles: Iterable[Role],
        principal_id: UUID,
        scopes: Iterable[Scope] = (),
        expires_at: datetime | None = None,
        enrolment_id: UUID | None,
    ) -> ApiKey:
        if expires_at is not None:
            self._require_future(expires_at)
        row = ApiKey(
            id=uuid4(),
            principal_id=principal_id,
            name=name,
            roles=sorted(roles),
            prefix=key.prefix,
            digest=self.digest(key),
            created_at=self._clock.now(),
            scopes=sorted(scopes),
            expires_at=expires_at,
            enrolment_id=enrolment_id,
        )
        repository.add(session, row)
        return row


def principal_of(row: ApiKey, *, held_until: datetime | None = None) -> Principal:
    """Whom a key speaks for, and until when a recovery holds what is sealed to them."""
    return Principal(
        id=row.principal_id,
        key_id=row.id,
        roles=frozenset(Role(role) for role in row.roles),
        scopes=frozenset(Scope(scope) for scope in row.scopes),
        enrolment_id=row.enrolment_id,
        held_until=held_until,
    )
