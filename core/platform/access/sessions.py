"""Browser sessions: opened with an API key or an account, authenticated by a cookie, ended by logout, idleness or age.

The cookie holds 256 random bits; the table holds their keyed digest. The CSRF token is another keyed digest
of the same bits: bound to the session, never stored, and useless without the cookie.
"""

import base64
import hmac
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.api_key import ApiKey
from core.db.tables.browser_session import BrowserSession
from core.platform.access import repository
from core.platform.access.directory import Known, principal_of
from core.platform.access.errors import SessionRefused
from core.platform.access.keys import SECRET_BYTES, Entropy, digests_equal, subkey_of
from core.platform.access.roles import Principal, Role, Via

KEPT_AFTER_EXPIRY: Final = timedelta(days=1)


class BrowserSessions:
    """Open, look up and end sessions inside the caller's transaction.

    Args:
        pepper: The key of the API keys' digests; the keys for cookies and CSRF tokens are derived from it.
        longest: Absolute lifetime of a session.
        idle: Lifetime of an unused session.
    """

    def __init__(
        self, *, pepper: bytes, clock: Clock, entropy: Entropy, longest: timedelta, idle: timedelta
    ) -> None:
        self._digest_key = subkey_of(pepper, b"browser-sessions")
        self._token_key = subkey_of(pepper, b"csrf-tokens")
        self._clock = clock
        self._entropy = entropy
        self._longest = longest
        self._idle = idle

    def open(self, session: Session, known: Known) -> tuple[BrowserSession, str]:
        """Open a session for a principal, with its key or with its present roles. The cookie is returned once and not stored."""
        now = self._clock.now()
        expires_at = now + self._longest
        cookie = base64.urlsafe_b64encode(self._entropy(SECRET_BYTES)).rstrip(b"=").decode("ascii")
        principal = known.principal
        row = BrowserSession(
            id=uuid4(),
            key_id=principal.key_id if principal.has_key else None,
            principal_id=None if principal.has_key else principal.id,
            roles=None if principal.has_key else sorted(principal.roles),
            digest=self.digest(cookie),
            created_at=now,
            seen_at=now,
            expires_at=expires_at if known.expires_at is None else min(expires_at, known.expires_at),
        )
        repository.forget_sessions(session, expired_before=now - KEPT_AFTER_EXPIRY)
        repository.add(session, row)
        return row, cookie

    def find(self, session: Session, cookie: str) -> Known:
        """Return whom a cookie authenticates.

        Raises:
            SessionRefused: The session is unknown, ended, expired or idle for too long, or its key has ended.
        """
        now = self._clock.now()
        found = repository.session_with_digest(
            session, self.digest(cookie), at=now, seen_after=now - self._idle
        )
        if found is None:
            raise SessionRefused
        row, key, held_until = found
        ends = row.expires_at
        if key is not None and key.expires_at is not None:
            ends = min(ends, key.expires_at)
        return Known(principal=_principal(row, key, held_until), expires_at=ends, session_id=row.id)

    def end(self, session: Session, cookie: str) -> None:
        """End the session of this cookie; ending it again changes nothing."""
        repository.end_session(session, self.digest(cookie), at=self._clock.now())

    def digest(self, cookie: str) -> bytes:
        """The digest under which a session is stored. The cookie may be any text, including invalid Unicode."""
        return hmac.digest(self._digest_key, cookie.encode("utf-8", "surrogateescape"), "sha256")

    def csrf_token(self, cookie: str) -> str:
        """The CSRF token of this session."""
        digest = hmac.digest(self._token_key, cookie.encode("utf-8", "surrogateescape"), "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")

    def proves(self, token: str, *, cookie: str) -> bool:
        """Whether the CSRF token belongs to the session, compared in constant time."""
        return digests_equal(
            self.csrf_token(cookie).encode("ascii"), token.encode("utf-8", "surrogateescape")
        )


def _principal(row: BrowserSession, key: ApiKey | None, held_until: datetime | None) -> Principal:
    if key is not None:
        return replace(principal_of(key, held_until=held_until), via=Via.SESSION)
    assert row.principal_id is not None, "the table's check: a session without a key has an account"
    return Principal(
        id=row.principal_id,
        key_id=row.principal_id,
        roles=frozenset(Role(role) for role in row.roles or ()),
        via=Via.SESSION,
        enrolment_id=row.principal_id,
        held_until=held_until,
    )
