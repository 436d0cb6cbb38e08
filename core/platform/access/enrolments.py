"""People and their enrolments: an administrator creates both, but only the person makes keys.

An enrolment is a single-use token. The administrator hands it over, and accepting it returns the person's
first key. If the person already had keys, it is a recovery: access to what is sealed to the person is held
for a while. The person is notified and can object with a key of their own.
"""

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.outbox import Kind, notify_principal
from core.db.tables.api_key import ApiKey
from core.db.tables.enrolment import Enrolment
from core.db.tables.person import Person
from core.platform.access import repository
from core.platform.access.directory import KeyDirectory
from core.platform.access.errors import (
    EnrolmentEnded,
    EnrolmentNotFound,
    EnrolmentRefused,
    PersonNotEnrolled,
    PersonNotFound,
    RecoveryHold,
)
from core.platform.access.keys import (
    Entropy,
    KeyText,
    make_enrolment_token,
    parse_enrolment_token,
    subkey_of,
)
from core.platform.access.roles import Principal, Role

MOST_LISTED: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """An accepted enrolment, now used, with the first key and its secret."""

    enrolment: Enrolment
    key: ApiKey
    text: KeyText


class Enrolments:
    """Create people and enrolments inside the caller's transaction.

    Args:
        pepper: The key of the API keys' digests; the key for enrolment tokens is derived from it.
        lifetime: How long a token works.
        hold: How long a recovery blocks access to what is sealed to the person.
    """

    def __init__(
        self,
        *,
        keys: KeyDirectory,
        pepper: bytes,
        clock: Clock,
        entropy: Entropy,
        lifetime: timedelta,
        hold: timedelta,
    ) -> None:
        self._keys = keys
        self._digest_key = subkey_of(pepper, b"enrolments")
        self._clock = clock
        self._entropy = entropy
        self._lifetime = lifetime
        self._hold = hold

    def create_person(self, session: Session, *, roles: Iterable[Role], by: UUID) -> Person:
        """Create a principal whose keys may have these roles. It has no key yet."""
        row = Person(
            principal_id=uuid4(), roles=sorted(set(roles)), created_by=by, created_at=self._clock.now()
        )
        repository.add(session, row)
        return row

    def invite(self, session: Session, principal_id: UUID, *, by: UUID) -> tuple[Enrolment, KeyText]:
        """Make an enrolment. The token is returned once and not stored; an earlier pending enrolment is cancelled.

        Raises:
            PersonNotFound: No person has this id.
        """
        now = self._clock.now()
        person = repository.person_for_update(session, principal_id)
        if person is None:
            repository.put_person_of_keys(session, principal_id, at=now)
            person = repository.person_for_update(session, principal_id)
        if person is None:
            raise PersonNotFound
        for earlier in repository.enrolments(session, principal_id=principal_id):
            if self.waits(earlier):
                earlier.cancelled_at, earlier.cancelled_by = now, by
        token = make_enrolment_token(self._entropy)
        row = Enrolment(
            id=uuid4(),
            principal_id=principal_id,
            digest=self._digest(token),
            is_recovery=person.enrolled_at is not None or repository.has_keys(session, principal_id),
            created_by=by,
            created_at=now,
            expires_at=now + self._lifetime,
        )
        repository.add(session, row)
        self._tell(session, Kind.RECOVERY_MADE, row)
        return row, token

    def accept(
        self, session: Session, text: str, *, name: str, expires_at: datetime | None, shown: Principal | None
    ) -> Accepted:
        """Accept an enrolment: make the person's first key.

        Args:
            expires_at: Expiry of the key; None for never.
            shown: The principal that the caller also authenticated as, if any. A recovery by the person
                themselves has no hold.

        Raises:
            EnrolmentRefused: Malformed, unknown, used, cancelled or expired.
            ExpiryRefused: The key would end in the past or in more than ten years.
        """
        token = parse_enrolment_token(text)
        seen = None if token is None else repository.enrolment_with_digest(session, self._digest(token))
        if seen is None:
            raise EnrolmentRefused
        person, found = self._locked(session, seen)
        if not self.waits(found):
            raise EnrolmentRefused
        now = self._clock.now()
        found.accepted_at = now
        if found.is_recovery and not self._is_proved(person, shown):
            found.held_until = now + self._hold
            person.held_until = max(found.held_until, person.held_until or found.held_until)
        person.enrolled_at = person.enrolled_at or now
        key, secret = self._keys.first_key(
            session, person, enrolment_id=found.id, name=name, expires_at=expires_at
        )
        self._tell(session, Kind.RECOVERY_ACCEPTED, found)
        return Accepted(enrolment=found, key=key, text=secret)

    def cancel(
        self, session: Session, enrolment_id: UUID, *, by: Principal
    ) -> tuple[Enrolment, Sequence[UUID]]:
        """Cancel a pending enrolment, or a recovery during its hold together with the keys that it created.

        Allowed to an admin, and to the person with any key that this enrolment did not create.

        Returns:
            The enrolment, and the ids of the revoked keys.

        Raises:
            EnrolmentNotFound: No such enrolment, or somebody else's.
            EnrolmentEnded: It was cancelled, has expired, or was accepted and its hold is over.
        """
        seen = repository.enrolment(session, enrolment_id)
        allowed = seen is not None and (
            by.has(Role.ADMIN) or (by.id == seen.principal_id and by.enrolment_id != enrolment_id)
        )
        if seen is None or not allowed:
            raise EnrolmentNotFound
        person, found = self._locked(session, seen)
        now = self._clock.now()
        is_held = found.cancelled_at is None and found.held_until is not None and now < found.held_until
        if not (self.waits(found) or is_held):
            raise EnrolmentEnded
        found.cancelled_at, found.cancelled_by = now, by.id
        ended = repository.revoke_descendants(session, enrolment_id, at=now)
        others = repository.enrolments(session, principal_id=seen.principal_id)
        person.held_until = max(
            (each.held_until for each in others if each.held_until and each.cancelled_at is None),
            default=None,
        )
        session.flush()
        self._tell(session, Kind.RECOVERY_CANCELLED, found)
        return found, ended

    def waits(self, row: Enrolment) -> bool:
        """Whether an enrolment can still be accepted."""
        return row.accepted_at is None and row.cancelled_at is None and row.expires_at > self._clock.now()

    def people(self, session: Session) -> Sequence[Person]:
        """Every person, oldest first."""
        return repository.people(session)

    def of(self, session: Session, principal_id: UUID | None) -> Sequence[Enrolment]:
        """The enrolments of a person, or all where none is named; newest first."""
        return repository.enrolments(session, principal_id=principal_id)[:MOST_LISTED]

    def note_token(self, session: Session, principal: Principal) -> None:
        """Record a principal authenticated by the identity provider as an enrolled person."""
        now = self._clock.now()
        repository.put_person(
            session,
            Person(
                principal_id=principal.id,
                roles=sorted(principal.roles),
                created_by=principal.id,
                created_at=now,
                enrolled_at=now,
            ),
        )

    def _locked(self, session: Session, seen: Enrolment) -> tuple[Person, Enrolment]:
        """An enrolment with its person. The person's row is locked first, as in `invite`."""
        person = repository.person_for_update(session, seen.principal_id)
        assert person is not None, "an enrolment refers to its person"
        return person, repository.enrolment_for_update(session, seen.id)

    def _is_proved(self, person: Person, shown: Principal | None) -> bool:
        """Whether the person took part: with a key of their own that has all their roles, no scopes and no hold."""
        return (
            shown is not None
            and shown.id == person.principal_id
            and shown.enrolment_id is not None
            and not shown.scopes
            and shown.roles >= frozenset(Role(role) for role in person.roles)
            and (person.held_until is None or person.held_until <= self._clock.now())
        )

    def _tell(self, session: Session, kind: Kind, row: Enrolment) -> None:
        if row.is_recovery:
            notify_principal(
                session,
                kind,
                row.principal_id,
                at=self._clock.now(),
                enrolment_id=row.id,
                principal_id=row.principal_id,
            )

    def _digest(self, token: KeyText) -> bytes:
        return hmac.digest(self._digest_key, token.text.encode("ascii"), "sha256")


def require_enrolled(principal: Principal, *, whose: str) -> None:
    """Refuse a principal whose key was handed out by an administrator.

    Raises:
        PersonNotEnrolled: The key descends from no enrolment.
    """
    if principal.enrolment_id is None:
        raise PersonNotEnrolled(whose=whose)


def require_counted(
    session: Session, principal_id: UUID, *, since: datetime, at: datetime, whose: str
) -> None:
    """Refuse a principal that the two-person rule does not count.

    Args:
        since: The principal must have been enrolled by then.
        whose: How the error message names the principal.

    Raises:
        PersonNotEnrolled: The principal is not enrolled, or was not by then.
        RecoveryHold: The principal was recovered recently.
    """
    person = repository.person(session, principal_id)
    if person is None or person.enrolled_at is None or person.enrolled_at > since:
        raise PersonNotEnrolled(whose=whose)
    if person.held_until is not None and at < person.held_until:
        raise RecoveryHold(whose=whose, until=person.held_until)
