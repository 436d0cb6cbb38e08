"""Owner reports, which the API calls sealed reports, as frozen values; ``document`` is the whole answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from understudy.documents import Json, named, take
from understudy.errors import UnderstudyError

FAILED_MARK: Final = b'<meta name="understudy-report" content="failed">'


class ReportNotMade(UnderstudyError):
    """An owner report could not be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReport:
    """A report that compares a release with the real rows. For the owner only: NOT differentially private.

    Attributes:
        target: the column that is predicted from the others.
        state: ``queued``, ``running``, ``made`` or ``failed``.
    """

    id: str
    release_id: str
    target: str
    state: str
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        return cls(**named(document, "id", "release_id", "target", "state"), document=document)

    @property
    def ended(self) -> bool:
        """Whether its state is final."""
        return self.state in {"made", "failed"}

    def require_made(self) -> None:
        """Check that there is a file.

        Raises:
            ReportNotMade: if its attempts are used up.
        """
        if self.state == "failed":
            message = f"owner report {self.id} could not be made; order another, or ask the operator"
            raise ReportNotMade(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReportSummary:
    """An owner report in a few sentences. For the owner only: NOT differentially private.

    Attributes:
        sentences: how far columns and pairs are from the real rows, and what can be learnt.
        look_at: what stands out; empty if nothing does.
    """

    sentences: tuple[str, ...]
    look_at: tuple[str, ...]
    document: Json

    @classmethod
    def from_json(cls, document: Json) -> Self:
        """Read the answer."""
        sentences, look_at = take(document, "sentences", "look_at")
        return cls(sentences=tuple(sentences), look_at=tuple(look_at), document=document)


def kept_private(file: Path) -> Path:
    """Make a file readable by this user only, and check that it holds a report.

    Raises:
        ReportNotMade: if it holds the account of a failure instead, which is for the owner alone, too.
    """
    file.chmod(0o600)
    with file.open("rb") as content:
        head = content.read(4096)
    if FAILED_MARK in head:
        message = f"the report failed among the rows; {file} says why, for you alone"
        raise ReportNotMade(message)
    return file
