"""The directory of API keys: issue, recognise, revoke."""

from collections.abc import Iterable, Sequence
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.access import repository
from core.access.errors import KeyNotFound, KeyRefused
from core.access.keys import Entropy, KeyText, digest_of, digests_equal, make_key, parse_key
from core.access.roles import Principal, Role
from core.clock import Clock
from core.db.tables.api_key import ApiKey


class KeyDirectory:
    """Issues, recognises and revokes keys inside the caller's transaction.

    Args:
        pepper: Key of the digests, from ``pepper_from(master_key)``.
        clock: Stamps creation and revocation.
        entropy: Source of random bytes; ``os.urandom`` outside tests.
    """

    def __init__(self, *, pepper: bytes, clock: Clock, entropy: Entropy) -> None:
        self._pepper = pepper
        self._clock = clock
        self._entropy = entropy

    def issue(
        self, session: Session, *, name: str, roles: Iterable[Role], principal_id: UUID | None = None
    ) -> tuple[ApiKey, KeyText]:
        """Make a key; the text is returned once and kept nowhere.

        Args:
            session: The open transaction.
            name: What people call the key.
            roles: At least one role.
            principal_id: Whom it speaks for; a new principal where none is given.
        """
        key = make_key(self._entropy)
        return self._store(session, key, name=name, roles=roles, principal_id=principal_id), key

    def register(self, session: Session, key: KeyText, *, name: str, roles: Iterable[Role]) -> ApiKey:
        """Store a key made elsewhere (the embedded stack's own), once: a second call finds the first row."""
        known = repository.by_digest(session, digest_of(key, pepper=self._pepper))
        return known or self._store(session, key, name=name, roles=roles, principal_id=None)

    def recognise(self, session: Session, text: str) -> Principal:
        """Tell who a presented key speaks for.

        Raises:
            KeyRefused: Malformed, unknown or revoked.
        """
        key = parse_key(text)
        if key is None:
            raise KeyRefused
        presented = digest_of(key, pepper=self._pepper)
        for row in repository.live_with_prefix(session, key.prefix):
            if digests_equal(row.digest, presented):
                return Principal(
                    id=row.principal_id, key_id=row.id, roles=frozenset(Role(role) for role in row.roles)
                )
        raise KeyRefused

    def list_keys(self, session: Session) -> Sequence[ApiKey]:
        """Every key, oldest first."""
        return repository.all_keys(session)

    def revoke(self, session: Session, key_id: UUID) -> ApiKey:
        """Make a key useless from now on; revoking twice changes nothing.

        Raises:
            KeyNotFound: No key has this id.
        """
        row = repository.revoke(session, key_id, at=self._clock.now())
        if row is None:
            raise KeyNotFound
        return row

    def _store(
        self, session: Session, key: KeyText, *, name: str, roles: Iterable[Role], principal_id: UUID | None
    ) -> ApiKey:
        row = ApiKey(
            id=uuid4(),
            principal_id=principal_id or uuid4(),
            name=name,
            roles=sorted(roles),
            prefix=key.prefix,
            digest=digest_of(key, pepper=self._pepper),
            created_at=self._clock.now(),
        )
        repository.add(session, row)
        return row
