"""The directory of API keys: issue, recognise, rotate, revoke."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.access import repository
from core.access.errors import ExpiryRefused, KeyEnded, KeyNotFound, KeyRefused
from core.access.keys import Entropy, KeyText, digest_of, digests_equal, make_key, parse_key
from core.access.roles import Principal, Role
from core.access.scopes import Scope
from core.clock import Clock
from core.db.tables.api_key import ApiKey

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
        """Make a key; the text is returned once and kept nowhere.

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
        if expires_at is not None:
            self._require_future(expires_at)
        key = make_key(self._entropy)
        row = self._store(
            session,
            key,
            name=name,
            roles=roles,
            principal_id=principal_id,
            scopes=scopes,
            expires_at=expires_at,
        )
        return row, key

    def register(self, session: Session, key: KeyText, *, name: str, roles: Iterable[Role]) -> ApiKey:
        """Store a key made elsewhere (the embedded stack's own), once: a second call finds the first row."""
        known = repository.by_digest(session, self.digest(key))
        return known or self._store(session, key, name=name, roles=roles)

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
        for row in repository.live_with_prefix(session, key.prefix, at=self._clock.now()):
            if digests_equal(row.digest, presented):
                return Known(principal=principal_of(row), expires_at=row.expires_at)
        raise KeyRefused

    def list_keys(self, session: Session) -> Sequence[ApiKey]:
        """Every key, oldest first."""
        return repository.all_keys(session)

    def is_live(self, row: ApiKey) -> bool:
        """Whether a key is neither revoked nor expired."""
        return row.revoked_at is None and (row.expires_at is None or row.expires_at > self._clock.now())

    def rotate(
        self, session: Session, key_id: UUID, *, by: Principal, overlap: timedelta
    ) -> tuple[ApiKey, ApiKey, KeyText]:
        """Give a key a successor with the same rights, and let the old secret work for a while longer.

        An admin rotates any key, and the successor lives as long as the old key was made to. Anybody else rotates the
        presented key alone, and the successor ends when the old key would have: a key cannot prolong its own life,
        nor gain the rights of a sibling.

        Args:
            session: The open transaction.
            key_id: The key.
            by: Who asks.
            overlap: How much longer the old secret works, at most.

        Returns:
            The old row, the new row, and the new secret.

        Raises:
            KeyNotFound: No such key, or not one that this caller may rotate.
            KeyEnded: It is revoked, expired or replaced already.
        """
        old = repository.key_for_update(session, key_id)
        if old is None or not (by.has(Role.ADMIN) or by.key_id == key_id):
            raise KeyNotFound
        if not self.is_live(old) or old.replaced_by is not None:
            raise KeyEnded
        now = self._clock.now()
        expires_at = old.expires_at
        if expires_at is not None and by.has(Role.ADMIN):
            expires_at = now + (expires_at - old.created_at)
        new, key = self.issue(
            session,
            name=old.name,
            roles=[Role(role) for role in old.roles],
            principal_id=old.principal_id,
            scopes=[Scope(scope) for scope in old.scopes],
            expires_at=expires_at,
        )
        old.replaced_by = new.id
        old.expires_at = now + overlap if old.expires_at is None else min(old.expires_at, now + overlap)
        session.flush()
        return old, new, key

    def revoke(self, session: Session, key_id: UUID) -> ApiKey:
        """Make a key useless from now on; revoking twice changes nothing.

        Raises:
            KeyNotFound: No key has this id.
        """
        row = repository.revoke(session, key_id, at=self._clock.now())
        if row is None:
            raise KeyNotFound
        return row

    def _require_future(self, moment: datetime) -> None:
        now = self._clock.now()
        if not now < moment <= now + timedelta(days=LONGEST_DAYS):
            raise ExpiryRefused(longest_days=LONGEST_DAYS)

    def _store(
        self,
        session: Session,
        key: KeyText,
        *,
        name: str,
        roles: Iterable[Role],
        principal_id: UUID | None = None,
        scopes: Iterable[Scope] = (),
        expires_at: datetime | None = None,
    ) -> ApiKey:
        row = ApiKey(
            id=uuid4(),
            principal_id=principal_id or uuid4(),
            name=name,
            roles=sorted(roles),
            prefix=key.prefix,
            digest=self.digest(key),
            created_at=self._clock.now(),
            scopes=sorted(scopes),
            expires_at=expires_at,
        )
        repository.add(session, row)
        return row


def principal_of(row: ApiKey) -> Principal:
    """Whom a key speaks for."""
    return Principal(
        id=row.principal_id,
        key_id=row.id,
        roles=frozenset(Role(role) for role in row.roles),
        scopes=frozenset(Scope(scope) for scope in row.scopes),
    )
