"""The master key, and the previous one while a rotation is under way.

Everything the master key seals (data keys of datasets, signing keys, the service's secrets) carries a mark of the key
it is sealed under: 4 bytes that name the form and 8 bytes of the key's fingerprint. So a service that holds both keys
opens either, a rotation finds what it has still to do, and a row says by itself which key it needs. What was sealed
before there were marks is tried with every key at hand: the seal is authenticated, so a wrong key never opens it.
"""

from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.storage import sealing
from core.storage.errors import SealBroken

_FORM: Final = b"UMK1"
_FINGERPRINT_BYTES: Final = 8
MARK_BYTES: Final = len(_FORM) + _FINGERPRINT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKeys:
    """The keys a process holds.

    Args:
        current: Seals, and opens what is marked with it.
        previous: Opens only; None outside a rotation.
    """

    current: bytes = field(repr=False)
    previous: bytes | None = field(default=None, repr=False)

    @property
    def mark(self) -> bytes:
        """What everything sealed under the current key begins with."""
        return _mark_of(self.current)

    def wrap(self, secret: bytes, *, context: str) -> bytes:
        """Seal a key or secret under the current master key, bound to what it is for."""
        return self.mark + sealing.wrap(self.current, secret, context=context)

    def unwrap(self, wrapped: bytes, *, context: str) -> bytes:
        """What ``wrap`` sealed, under whichever of the keys.

        Raises:
            SealBroken: sealed under a key that is not at hand, for another context, or changed.
        """
        candidates = [key for key in (self.current, self.previous) if key is not None]
        for key in candidates:
            if wrapped.startswith(_mark_of(key)):
                return sealing.unwrap(key, wrapped[MARK_BYTES:], context=context)
        for key in candidates:
            try:
                return sealing.unwrap(key, wrapped, context=context)
            except SealBroken:
                continue
        raise SealBroken

    def is_current(self, wrapped: bytes) -> bool:
        """Whether something is marked as sealed under the current key."""
        return wrapped.startswith(self.mark)


def _mark_of(key: bytes) -> bytes:
    # Derived, so that the fingerprint of a key tells nothing about what else is derived from it.
    return _FORM + HKDF(SHA256(), _FINGERPRINT_BYTES, None, b"understudy/master-key-mark/1").derive(key)
