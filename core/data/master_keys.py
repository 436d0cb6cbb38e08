"""The master key, and the previous one while a rotation is under way.

Everything the master key seals (data keys of datasets, signing keys, the service's secrets) is marked with
the key it is sealed under: 4 bytes for the format and 8 bytes of the key's fingerprint. A service with both
keys opens either, a rotation finds its remaining work, and every row shows which key it needs. Secrets sealed
before marks existed are tried with every available key: the seal is authenticated, so a wrong key never opens
it.
"""

from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.data import sealing
from core.data.errors import SealBroken

_FORM: Final = b"UMK1"
_FINGERPRINT_BYTES: Final = 8
MARK_BYTES: Final = len(_FORM) + _FINGERPRINT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKeys:
    """The keys a process holds.

    Args:
        current: Seals and opens.
        previous: Only opens; None outside a rotation.
    """

    current: bytes = field(repr=False)
    previous: bytes | None = field(default=None, repr=False)

    @property
    def mark(self) -> bytes:
        """The prefix of everything sealed under the current key."""
        return _mark_of(self.current)

    def wrap(self, secret: bytes, *, context: str) -> bytes:
        """Seal a key or secret under the current master key, bound to its purpose."""
        return self.mark + sealing.wrap(self.current, secret, context=context)

    def unwrap(self, wrapped: bytes, *, context: str) -> bytes:
        """Open what ``wrap`` sealed, under either key.

        Raises:
            SealBroken: sealed under a key that is not available, for another context, or changed.
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
    # Derived separately: the fingerprint of a key reveals nothing about other keys derived from it.
    return _FORM + HKDF(SHA256(), _FINGERPRINT_BYTES, None, b"understudy/master-key-mark/1").derive(key)
