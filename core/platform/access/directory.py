"""The directory of API keys: issue, authenticate, rotate, revoke."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.api_key import ApiKey
from core.db.tables.person import Person
from core.platform.access import repository
from core.platform.access.errors import (
    ExpiryRefused,
    KeyBeyondMaker,
    KeyEnded,
    KeyNotFound,
    KeyRefused,
    RecoveryHold,
    TokenMakesNoKeys,
)
from core.platform.access.keys import Entropy, KeyText, digest_of, digests_equal, make_key, parse_key
from core.platform.access.roles import Principal, Role
from core.platform.access.scopes import Scope

LONGEST_DAYS: Final = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Whom a key or a session authenticates, and until when.

    Args:
        expires_at: Expiry of the key or session; None for never.
        session_id: The browser session, if one was used.
    """

    principal: Principal
    expires_at: datetime | None
    session_id: UUID | None = None


class KeyDirectory:
    """Issue, authenticate, rotate and revoke keys inside the caller's transaction.

    Args:
        pepper: Key of the digests, from ``pepper_from(master_key)``.
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
        """Issue a key from the operator's command line. Its secret is returned once; its principal counts as enrolled.

        Args:
            roles: At least one role.
            principal_id: Its principal; a new one if None.
            scopes: Uses that it is restricted to; empty for all that its roles allow.
            expires_at: Its expiry; None for never.

        Raises:
            ExpiryRefused: It would expire in the past or in more than ten years.
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
        """Store a key made elsewhere (by the embedded stack). A second call returns the first row."""
        known = repository.by_digest(session, self.digest(key))
        if known is None:
            return self._provision(session, key, name=name, roles=roles, principal_id=uuid4())
        if known.enrolment_id is None:
            # It was registered before enrolments existed.
            self._enrol(session, known.principal_id, roles)
            known.enrolment_id = known.principal_id
            session.flush()
        return known

    def key_of_all_roles(self, session: Session, first: ApiKey, roles: Iterable[Role]) -> Known:
        """The key behind the browser sessions of an embedded stack's one person, made at the first call.

        It belongs to the principal of `first`, so that the person owns what that key declared. Its secret is not kept.
        """
        wanted = sorted(roles)
        for row in self.list_keys(session, principal_id=first.principal_id):
            if row.roles == wanted and row.enrolment_id == first.principal_id and self.is_live(row):
                return Known(principal=principal_of(row), expires_at=row.expires_at)
        repository.widen_roles(session, first.principal_id, wanted)
        row, _ = self.issue(
            session,
            name="sign-in links",
            roles=[Role(role) for role in wanted],
            principal_id=first.principal_id,
        )
        return Known(principal=principal_of(row), expires_at=row.expires_at)

    def first_key(
        self, session: Session, person: Person, *, enrolment_id: UUID, name: str, expires_at: datetime | None
    ) -> tuple[ApiKey, KeyText]:
        """Make the key of an accepted enrolment, with all roles of the person and no scopes.

        Raises:
            ExpiryRefused: It would expire in the past or in more than ten years.
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
        """Make another key for the caller's principal, within the rights and lifetime of the key in use.

        Args:
            roles: At least one role, all of them roles of the key in use.
            scopes: Uses that it is restricted to; a subset of the scopes of the key in use, if that has any.
            expires_at: Its expiry; None for never.
            shortened: Whether a key that would outlive the key in use expires with it; otherwise it is refused.

        Raises:
            TokenMakesNoKeys: A bearer token, or an account at the identity provider, was used.
            KeyRefused: The key in use has just ended.
            KeyBeyondMaker: It would have more rights, or a longer lifetime, than the key in use.
            ExpiryRefused: It would expire in the past or in more than ten years.
        """
        if not by.has_key:
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
        """Return the principal that a key authenticates.

        Raises:
            KeyRefused: Malformed, unknown, expired or revoked.
        """
        key = parse_key(text)
        if key is None:
            raise KeyRefused
        return self.find(session, key).principal

    def find(self, session: Session, key: KeyText) -> Known:
        """Return whom a well-formed key authenticates, and until when.

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
        """The keys of one principal or of all, oldest first."""
        return repository.keys(session, principal_id=principal_id)

    def is_live(self, row: ApiKey) -> bool:
        """Whether a key is neither revoked nor expired."""
        return row.revoked_at is None and (row.expires_at is None or row.expires_at > self._clock.now())

    def rotate(
        self, session: Session, key_id: UUID, *, by: Principal, overlap: timedelta
    ) -> tuple[ApiKey, ApiKey, KeyText]:
        """Give a key a successor with the same rights; the old secret keeps working for the overlap.

        A key can only rotate itself, and the successor expires when the old key would have. A key can neither
        prolong its own lifetime nor gain the rights of a sibling.

        Args:
            overlap: How much longer the old secret works, at most.

        Returns:
            The old row, the new row, and the new secret.

        Raises:
            KeyNotFound: No such key, or not the key in use.
            KeyEnded: It is already revoked, expired or replaced.
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
        """Revoke a key; idempotent. An admin revokes any key, others only their own.

        During the hold of a recovery, the principal cannot revoke keys of another enrolment: with such a key
        the person can cancel the recovery.

        Raises:
            KeyNotFound: No such key, or somebody else's.
            RecoveryHold: The caller was recovered recently, and the key belongs to another enrolment.
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
    """The principal of a key, with the end of its recovery's hold."""
    return Principal(
        id=row.principal_id,
        key_id=row.id,
        roles=frozenset(Role(role) for role in row.roles),
        scopes=frozenset(Scope(scope) for scope in row.scopes),
        enrolment_id=row.enrolment_id,
        held_until=held_until,
    )
