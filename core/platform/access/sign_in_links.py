"""Sign-in links: a token that signs the one person of an embedded stack in, once and within minutes.

`understudy up` and `understudy sign-in` print the link. Its token is in the URL's fragment, which browsers do not
send, so no server, proxy or log sees it until the page posts it. The database holds a keyed digest.
"""

import hmac
from datetime import timedelta
from typing import Final
from uuid import uuid4

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.sign_in_link import SignInLink
from core.platform.access import repository
from core.platform.access.directory import Known, principal_of
from core.platform.access.errors import LinkRefused
from core.platform.access.keys import KeyText, parse_link_token, subkey_of

LIFETIME: Final = timedelta(minutes=10)


class SignInLinks:
    """Register and take links inside the caller's transaction.

    Args:
        pepper: The key of the API keys' digests; the key for links is derived from it.
    """

    def __init__(self, *, pepper: bytes, clock: Clock) -> None:
        self._digest_key = subkey_of(pepper, b"sign-in-links")
        self._clock = clock

    def register(self, session: Session, token: KeyText, *, known: Known) -> SignInLink:
        """Let a token open one session with the rights of a key, and forget links that have ended."""
        now = self._clock.now()
        repository.forget_links(session, expired_before=now)
        row = SignInLink(
            id=uuid4(),
            key_id=known.principal.key_id,
            digest=self._digest(token),
            created_at=now,
            expires_at=now + LIFETIME,
        )
        repository.add(session, row)
        return row

    def take(self, session: Session, text: str) -> Known:
        """Use up a link. Of two transactions that take the same link, one is refused.

        Raises:
            LinkRefused: Malformed, unknown, used or expired, or its key has ended.
        """
        now = self._clock.now()
        token = parse_link_token(text)
        key_id = None if token is None else repository.take_link(session, self._digest(token), at=now)
        found = None if key_id is None else repository.live_key(session, key_id, at=now)
        if found is None:
            raise LinkRefused
        row, held_until = found
        return Known(principal=principal_of(row, held_until=held_until), expires_at=row.expires_at)

    def _digest(self, token: KeyText) -> bytes:
        return hmac.digest(self._digest_key, token.text.encode("ascii"), "sha256")
