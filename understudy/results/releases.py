"""Releases as frozen values, and the check that their bundles pass before they are kept.

The clients return the releases of `understudy.client.handles` and `understudy.async_client.handles`: these facts, and methods.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from understudy.documents import Json, named
from understudy.errors import library_missing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """A published generator.

    Attributes:
        job_id: the job that made it.
        dataset_id: the dataset it is an understudy of.
    """

    id: str
    job_id: str
    dataset_id: str
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(**named(document, "id", "job_id", "dataset_id"), document=document)


class Keep(Protocol):
    """See `understudy.verifying.verification.keep_if_verified`."""

    def __call__(self, waiting: Path, target: Path, *, public_keys: Collection[bytes]) -> None:
        """Move a bundle to its place if everything holds, and delete it otherwise."""


def verifying_keeper() -> Keep:
    """Import the verifier; called before a download begins, because it needs an extra of the distribution.

    Raises:
        NotInstalled: if a library is not installed.
    """
    try:
        import cryptography  # noqa: F401 - only the signature, which is checked last, needs it

        from understudy.verifying.verification import keep_if_verified
    except ImportError as error:
        raise library_missing("verifying", error.name, extra="audit") from None
    return keep_if_verified
