"""What verifies a bundle before it is kept; imported late, because it needs an extra of the distribution."""

from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from understudy.errors import NotInstalled


class Keep(Protocol):
    """See `understudy.verifying.verification.keep_if_verified`."""

    def __call__(self, waiting: Path, target: Path, *, public_keys: Collection[bytes]) -> None:
        """Move a bundle to its place if everything holds, and delete it otherwise."""


def verifying_keeper() -> Keep:
    """Give what keeps only bundles that hold; asked for before anything is downloaded.

    Raises:
        NotInstalled: a library is not installed.
    """
    try:
        import cryptography  # noqa: F401 - the signature needs it, when everything else was computed

        from understudy.verifying.verification import keep_if_verified
    except ImportError as error:
        message = f"verifying needs {error.name}: pip install 'understudy[audit]'"
        raise NotInstalled(message) from None
    return keep_if_verified
