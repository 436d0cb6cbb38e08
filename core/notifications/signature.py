"""Webhook signatures of the Standard Webhooks specification (https://www.standardwebhooks.com, version 1).

HMAC-SHA256 covers id, timestamp and body, joined by dots. The header lists one signature for each valid
secret. The timestamp is the minute of sending: no notification has a finer time (core.jobs.coarse).
"""

import base64
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from uuid import UUID


def headers(event_id: UUID, body: bytes, *, secrets: Sequence[bytes], at: datetime) -> Mapping[str, str]:
    """The three headers that a receiver verifies.

    Args:
        event_id: Lets receivers recognise repeats; the same for every attempt.
        body: The exact bytes.
        secrets: At least one key.
        at: Time of sending.
    """
    name = f"msg_{event_id.hex}"
    time = int(at.timestamp()) // 60 * 60
    return {
        "webhook-id": name,
        "webhook-timestamp": str(time),
        "webhook-signature": " ".join(f"v1,{mark_of(secret, name, time, body)}" for secret in secrets),
    }


def mark_of(secret: bytes, name: str, time: int, body: bytes) -> str:
    """One signature, in base64."""
    signed = b".".join((name.encode(), str(time).encode(), body))
    return base64.b64encode(hmac.digest(secret, signed, sha256)).decode()
