"""The format of API keys, and the keyed digest that is all the database stores.

A key is ``us_`` + 8 hexadecimal digits (the prefix: names the key in lists, finds its row) + ``_`` + 43
characters of URL-safe base64 (256 random bits). The secret has full entropy, so a keyed hash suffices: a slow
password hash protects guessable secrets and would cost every request tens of milliseconds.
"""

import base64
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SECRET_BYTES = 32
PREFIX_BYTES = 4

_SHAPE = re.compile(r"us_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_ENROLMENT_SHAPE = re.compile(r"ue_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_FEDERATION_SHAPE = re.compile(r"uf_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_LINK_SHAPE = re.compile(r"ul_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")

Entropy = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class KeyText:
    """A well-formed key, enrolment token or link token in plain text; never stored, never logged."""

    text: str

    def __repr__(self) -> str:
        return f"KeyText({self.text[:11]}_...)"

    @property
    def prefix(self) -> str:
        """The eight public digits that find the row."""
        return self.text[3:11]


def make_key(entropy: Entropy) -> KeyText:
    """Make a fresh key from ``entropy``, the operating system's random bytes (``os.urandom``)."""
    return _make("us", entropy)


def make_enrolment_token(entropy: Entropy) -> KeyText:
    """Make an enrolment token: as long and as random as a key, but not accepted as one."""
    return _make("ue", entropy)


def parse_enrolment_token(text: str) -> KeyText | None:
    """Parse an enrolment token; None if the text is malformed."""
    return KeyText(text) if _ENROLMENT_SHAPE.fullmatch(text) else None


def parse_link_token(text: str) -> KeyText | None:
    """Parse the token of a sign-in link, made by the embedded stack's supervisor; None if the text is malformed."""
    return KeyText(text) if _LINK_SHAPE.fullmatch(text) else None


def make_federation_token(entropy: Entropy) -> KeyText:
    """Make a token of a federation's member: as long and as random as a key, but not accepted as one."""
    return _make("uf", entropy)


def parse_federation_token(text: str) -> KeyText | None:
    """Parse a token of a federation's member; None if the text is malformed."""
    return KeyText(text) if _FEDERATION_SHAPE.fullmatch(text) else None


def parse_key(text: str) -> KeyText | None:
    """Parse a key; None if the text is malformed."""
    return KeyText(text) if _SHAPE.fullmatch(text) else None


def pepper_from(master_key: bytes) -> bytes:
    """Derive the 32-byte key of the digests from the service's master key (HKDF-SHA256, RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"api-keys").derive(master_key)


def digest_of(key: KeyText, *, pepper: bytes) -> bytes:
    """The keyed digest that is stored: HMAC-SHA256(pepper, key), 32 bytes.

    The pepper is not stored in the clear in the database, so a stolen table can be neither used nor searched.
    """
    return hmac.digest(pepper, key.text.encode("ascii"), "sha256")


def digests_equal(stored: bytes, presented: bytes) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(stored, presented)


def subkey_of(pepper: bytes, purpose: bytes) -> bytes:
    """Derive the 32-byte key of another kind of digest: a digest of one kind never matches one of another."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(pepper)


def _make(kind: str, entropy: Entropy) -> KeyText:
    secret = base64.urlsafe_b64encode(entropy(SECRET_BYTES)).rstrip(b"=").decode("ascii")
    return KeyText(f"{kind}_{entropy(PREFIX_BYTES).hex()}_{secret}")
