"""Detection of weak secrets: examples from docs and tests, repetitions, words. No message shows a value."""

import stat
from collections.abc import Callable, Mapping
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

# Of 32 random bytes about 30 are distinct; fewer than 20 have negligible probability.
FEWEST_DISTINCT_BYTES: Final = 20
SHORTEST_PASSWORD: Final = 12
FEWEST_DISTINCT_CHARACTERS: Final = 6
# Docker mounts secrets here, readable only inside the container.
SECRETS_FOLDER: Final = Path("/run/secrets")
OPEN_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
# By digest, so a search of the sources for an example does not find it here.
_PUBLISHED_KEYS: Final = frozenset(
    {
        "1e3c24ca3816f8df3b1aff95a654a3c969f627479c66593210a0863c951e204a",
    }
)
_COMMON_PASSWORDS: Final = frozenset(
    {
        "admin",
        "adminadmin",
        "changeit",
        "changeme",
        "changethis",
        "example",
        "guest",
        "letmein",
        "minioadmin",
        "password",
        "passw0rd",
        "postgres",
        "postgresql",
        "qwertyuiop",
        "redis",
        "root",
        "secret",
        "supersecret",
        "test",
        "testtest",
        "understudy",
    }
)
_REMEDY: Final = "make one with: openssl rand -hex 24"


class WeakSecrets(ValueError):
    """Settings contain secrets that others know or can guess. The message names the settings, never a value."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class SecretFileUnusable(ValueError):
    """A secret's file is missing, empty, or readable by others."""


def read_secret_file(path: Path) -> str:
    """Read a secret from a file that only its owner may read, or that the container engine has mounted.

    Raises:
        SecretFileUnusable: It cannot be read, is empty, or others may read or write it.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise SecretFileUnusable("the file cannot be read") from None
    if not text:
        raise SecretFileUnusable("the file is empty")
    if mode & OPEN_TO_OTHERS and SECRETS_FOLDER not in path.resolve().parents:
        raise SecretFileUnusable("others may read the file; give it the mode 0600 or 0400")
    return text


def weakness_of_key(key: bytes) -> str | None:
    """Why a 256-bit key is weak, or None."""
    if sha256(key).hexdigest() in _PUBLISHED_KEYS:
        return "is a published example"
    steps = {(after - before) % 256 for before, after in pairwise(key)}
    repeated = any(key == (key[:length] * len(key))[: len(key)] for length in range(1, len(key) // 2 + 1))
    written = all(0x20 <= byte < 0x7F for byte in key)  # noqa: PLR2004 - the printable characters
    if len(set(key)) < FEWEST_DISTINCT_BYTES or len(steps) == 1 or repeated or written:
        return "is not random; make one with: openssl rand -hex 32"
    return None


def weakness_of_password(password: str, *, user: str = "") -> str | None:
    """Why a password between our own servers is weak, or None."""
    folded = password.casefold()
    if folded.strip("0123456789!._-") in _COMMON_PASSWORDS or (user and folded == user.casefold()):
        return f"has a default password; {_REMEDY}"
    if len(password) < SHORTEST_PASSWORD or len(set(password)) < FEWEST_DISTINCT_CHARACTERS:
        return f"has a password that can be guessed; {_REMEDY}"
    return None


def weakness_of_address(address: str) -> str | None:
    """Why a server's URL has a weak password although the server is reached over the network, or None.

    A Unix socket needs no password: the file system decides who may connect.
    """
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    hosts = [parts.hostname or "", *query.get("host", [])]
    if not any(host and not host.startswith(("/", "%2F", "%2f")) for host in hosts):
        return None
    password = unquote(parts.password or query.get("password", [""])[0])
    if not password:
        return f"has no password; {_REMEDY}"
    return weakness_of_password(password, user=unquote(parts.username or ""))


def weakness_of_store(environment: Mapping[str, str]) -> str | None:
    """Why the keys of an S3 store are weak, or None. Without keys in the environment the machine's identity is used."""
    password = environment.get("AWS_SECRET_ACCESS_KEY")
    if password is None:
        return None
    return weakness_of_password(password, user=environment.get("AWS_ACCESS_KEY_ID", ""))


Check = tuple[str, Callable[[], str | None]]


def require_strong(checks: list[Check]) -> None:
    """Refuse if any of the named secrets is weak.

    Args:
        checks: Names of settings, each with the function that finds a weakness.

    Raises:
        WeakSecrets: Names each weak setting and why.
    """
    found = [(name, check()) for name, check in checks]
    reasons = [f"{name} {weakness}" for name, weakness in found if weakness is not None]
    if reasons:
        raise WeakSecrets(reasons)
