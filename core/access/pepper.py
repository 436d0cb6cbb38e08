"""The pepper of the API keys' digests: a secret of its own, kept sealed, so that it outlives every master key.

The first release derived it from the master key. That value is kept: it is sealed under the present master key the
first time a process asks for it, and from then on a rotation only seals it anew. No key has to be made again.
"""

from typing import Final

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.access.keys import pepper_from
from core.clock import Clock
from core.db.tables.service_secret import ServiceSecret
from core.storage.master_keys import MasterKeys

NAME: Final = "api-key-pepper"


def kept_pepper(session: Session, *, master_keys: MasterKeys, clock: Clock) -> bytes:
    """The pepper, kept from now on if it was not. Of several first callers all get the same.

    Raises:
        SealBroken: it is sealed under a master key that is not at hand.
    """
    wrapped = _stored(session)
    if wrapped is None:
        # Where a rotation has begun before anything was kept, the digests are of the key before it.
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
        assert wrapped is not None, "kept just now, by us or by whom the insert waited for"
    return master_keys.unwrap(wrapped, context=wrapping_context(NAME))


def wrapping_context(name: str) -> str:
    """What a sealed secret of the service is bound to."""
    return f"service-secret:{name}"


def _stored(session: Session) -> bytes | None:
    return session.scalar(select(ServiceSecret.wrapped).where(ServiceSecret.name == NAME))
