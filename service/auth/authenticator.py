"""Authenticates callers by API key, by bearer token of an identity provider, or by browser session."""

from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.session import Database
from core.platform.access.directory import KeyDirectory, Known
from core.platform.access.errors import KeyRefused
from core.platform.access.keys import KeyText, parse_key
from core.platform.access.last_use import LastUse
from core.platform.access.recent import Recent
from core.platform.access.roles import Principal
from core.platform.access.sessions import BrowserSessions
from service.auth.tokens import Tokens, looks_like_token


@dataclass(frozen=True, slots=True)
class Proof:
    """Unverified credentials: a key, a token, or a session cookie, which browsers send by themselves."""

    text: str = field(repr=False)
    is_cookie: bool = False


class Authenticator:
    """Maps credentials to a principal with one indexed select, or with none if the result is cached.

    Args:
        database: Source of transactions; each ends before the answer.
        tokens: Verifier of bearer tokens; None without an identity provider.
    """

    def __init__(
        self,
        database: Database,
        *,
        keys: KeyDirectory,
        sessions: BrowserSessions,
        tokens: Tokens | None,
        clock: Clock,
    ) -> None:
        self._database = database
        self._keys = keys
        self._sessions = sessions
        self._tokens = tokens
        self._recent = Recent(clock=clock)
        self._last_use = LastUse(database, clock=clock)

    def recall(self, proof: Proof) -> Principal | None:
        """The cached principal, if there is one and no use has to be recorded. Never blocks."""
        digest = self._digest(proof)
        known = None if digest is None else self._recent.find(digest)
        return None if known is None or self._last_use.is_due(known) else known.principal

    def recognise(self, proof: Proof) -> Principal:
        """Authenticate, querying the database or the identity provider if necessary.

        Raises:
            KeyRefused: Malformed, unknown, expired or revoked.
            SessionRefused: Unknown, ended, expired or idle for too long.
            TokenRefused: Not a valid token for this service.
            IssuerUnavailable: The provider's keys are not available.
        """
        digest = self._digest(proof)
        if digest is None:
            return self._by_token(proof)
        known = self._known(digest, proof)
        self._last_use.note(known)
        return known.principal

    def confirm(self, proof: Proof) -> Principal:
        """Authenticate again without counting as a use: an open stream must not keep a session from timing out.

        Raises:
            KeyRefused, SessionRefused, TokenRefused, IssuerUnavailable: As ``recognise``.
        """
        digest = self._digest(proof)
        return self._by_token(proof) if digest is None else self._known(digest, proof).principal

    def forget(self, key_id: UUID) -> None:
        """Drop this key and its sessions from the cache."""
        self._recent.forget(key_id)

    def _digest(self, proof: Proof) -> bytes | None:
        if proof.is_cookie:
            return self._sessions.digest(proof.text)
        key = parse_key(proof.text)
        return None if key is None else self._keys.digest(key)

    def _known(self, digest: bytes, proof: Proof) -> Known:
        known = self._recent.find(digest)
        if known is None:
            with self._database.read_only() as session:
                known = self._find(session, proof)
            self._recent.keep(digest, known)
        return known

    def _find(self, session: Session, proof: Proof) -> Known:
        if proof.is_cookie:
            return self._sessions.find(session, proof.text)
        return self._keys.find(session, KeyText(proof.text))

    def _by_token(self, proof: Proof) -> Principal:
        if self._tokens is None or not looks_like_token(proof.text):
            raise KeyRefused
        return self._tokens.verify(proof.text)
