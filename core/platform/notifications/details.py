"""The sealed part of an endpoint: its address and its signing secrets.

The code that confirms an e-mail address is derived from the secret and therefore not stored.
"""

import base64
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Self
from uuid import UUID

from core.data.master_keys import MasterKeys

SECRET_BYTES: Final = 32
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix that the specification prescribes
CODE_TRIES: Final = 5
"""How often a code may be guessed."""
CODE_LIFETIME: Final = timedelta(hours=24)
"""How long a code confirms."""
_CODE_BYTES: Final = 5
_PURPOSE: Final = b"understudy/confirm-address/1"


def wrapping_context(endpoint_id: UUID) -> str:
    """The context that sealed details are bound to."""
    return f"notification-endpoint:{endpoint_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """The sealed part of an endpoint.

    Args:
        target: A webhook URL (https://...) or an e-mail address.
        secret: The signing key, from which the confirmation code is also derived.
        previous: The key before a rotation, if any.
        previous_until: Until when messages are also signed with the previous key.
    """

    target: str = field(repr=False)
    secret: bytes = field(repr=False)
    previous: bytes | None = field(default=None, repr=False)
    previous_until: datetime | None = None

    def secrets_at(self, at: datetime) -> tuple[bytes, ...]:
        """The keys that sign at a moment, newest first."""
        if self.previous is None or self.previous_until is None or self.previous_until <= at:
            return (self.secret,)
        return (self.secret, self.previous)

    def seal(self, master_keys: MasterKeys, endpoint_id: UUID) -> bytes:
        """Seal the details for the database, bound to the endpoint."""
        document = {
            "target": self.target,
            "secret": self.secret.hex(),
            "previous": None if self.previous is None else self.previous.hex(),
            "previous_until": None if self.previous_until is None else self.previous_until.isoformat(),
        }
        return master_keys.wrap(json.dumps(document).encode(), context=wrapping_context(endpoint_id))

    @classmethod
    def open(cls, wrapped: bytes, master_keys: MasterKeys, endpoint_id: UUID) -> Self:
        """Open sealed details.

        Raises:
            SealBroken: Sealed under a key that is not available, for another endpoint, or tampered with.
        """
        document = json.loads(master_keys.unwrap(wrapped, context=wrapping_context(endpoint_id)))
        previous, until = document["previous"], document["previous_until"]
        return cls(
            target=document["target"],
            secret=bytes.fromhex(document["secret"]),
            previous=None if previous is None else bytes.fromhex(previous),
            previous_until=None if until is None else datetime.fromisoformat(until),
        )


def shown_secret(secret: bytes) -> str:
    """A secret in the textual form of the Standard Webhooks specification."""
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def code_of(secret: bytes) -> str:
    """Eight letters and digits, 40 bits: five guesses succeed with probability 5 in 1.1e12."""
    return base64.b32encode(hmac.digest(secret, _PURPOSE, sha256)[:_CODE_BYTES]).decode()


def code_matches(code: str, *, secret: bytes) -> bool:
    """Whether a code is right, ignoring spaces and case."""
    plain = "".join(code.split()).replace("-", "").upper()
    return hmac.compare_digest(plain.encode(), code_of(secret).encode())
