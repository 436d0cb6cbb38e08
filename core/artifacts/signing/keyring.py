"""The service's signing key: made at first use and kept sealed under the master key. Public keys are kept for ever.

Every function works inside the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.artifacts.signing.signed import Signer
from core.clock import Clock
from core.data.master_keys import MasterKeys
from core.db.tables.signing_key import SigningKey


def signer(session: Session, *, master_keys: MasterKeys, clock: Clock) -> Signer:
    """Return a signer with the key in use. The first caller makes the key; concurrent first callers all get the same one.

    Raises:
        SealBroken: the stored key is sealed under another master key.
    """
    row = _in_use(session)
    if row is None:
        _make(session, master_keys=master_keys, at=clock.now())
        row = _in_use(session)
        assert row is not None, "made just now, by us or by whom the insert waited for"
    private = master_keys.unwrap(row.wrapped_private_key, context=wrapping_context(row.id))
    return Signer.of(Ed25519PrivateKey.from_private_bytes(private))


def retire(session: Session, *, clock: Clock) -> str | None:
    """Retire the key in use; the next signature makes a new one. Returns the id of the retired key, if there was one.

    What the key signed still verifies, because public keys are never removed.
    """
    row = session.scalar(select(SigningKey).where(SigningKey.retired_at.is_(None)).with_for_update())
    if row is None:
        return None
    row.retired_at = clock.now()
    session.flush()
    return row.id


def all_keys(session: Session) -> Sequence[SigningKey]:
    """Return every key that ever existed, oldest first."""
    return session.scalars(select(SigningKey).order_by(SigningKey.created_at, SigningKey.id)).all()


def public_keys(session: Session) -> Mapping[str, bytes]:
    """Return every public key by its id. Retired ones are included, so that old signatures stay verifiable."""
    return {row.id: row.public_key for row in all_keys(session)}


def wrapping_context(key_id: str) -> str:
    """Return the context that a sealed private key is bound to."""
    return f"signing-key:{key_id}"


def _in_use(session: Session) -> SigningKey | None:
    return session.scalar(
        select(SigningKey).where(SigningKey.retired_at.is_(None)).execution_options(populate_existing=True)
    )


def _make(session: Session, *, master_keys: MasterKeys, at: datetime) -> None:
    private = Ed25519PrivateKey.generate()
    made = Signer.of(private)
    wrapped = master_keys.wrap(private.private_bytes_raw(), context=wrapping_context(made.key_id))
    # A partial unique index allows one key in use. A concurrent insert waits for the first and then does nothing.
    session.execute(
        insert(SigningKey)
        .values(id=made.key_id, public_key=made.public_key, wrapped_private_key=wrapped, created_at=at)
        .on_conflict_do_nothing()
    )
