"""The pepper of the API keys' digests: a separate secret, stored sealed, that survives rotation of the master key.

The first release derived the pepper from the master key. That value is kept: the first process that asks for
it seals it under the present master key, and a rotation only re-seals it. No API key has to be replaced.
"""

from typing import Final

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.clock import Clock
from core.data.master_keys import MasterKeys
from core.db.tables.service_secret import ServiceSecret
from core.platform.access.keys import pepper_from

NAME: Final = "api-key-pepper"


def kept_pepper(session: Session, *, master_keys: MasterKeys, clock: Clock) -> bytes:
    """Return the pepper, storing it on first use. Concurrent first callers all get the same one.

    Raises:
        SealBroken: It is sealed under a master key that is not available.
    """
    wrapped = _stored(session)
    if wrapped is None:
        # If a rotation began before anything was stored, the digests were made with the previous key.
        pepper = pepper_from(master_keys.previous or master_keys.current)
        session.execute(
            insert(ServiceSecret)
            .values(
                name=NAME,
                wrapped=master_keys.wrap(pepper, context=wrapping_context(NAME)),
                created_at=clock.now(),
            )
            .on_conflict_do_nothing()
        )
        wrapped = _stored(session)
        assert wrapped is not None, "just stored, by this transaction or by the one the insert waited for"
    return master_keys.unwrap(wrapped, context=wrapping_context(NAME))


def wrapping_context(name: str) -> str:
    """The context that a sealed secret of the service is bound to."""
    return f"service-secret:{name}"


def _stored(session: Session) -> bytes | None:
    return session.scalar(select(ServiceSecret.wrapped).where(ServiceSecret.name == NAME))
