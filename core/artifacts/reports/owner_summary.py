"""An owner report in a few sentences. NOT differentially private: the report's file carries them, sealed like the rest of it."""

import json
import re
from dataclasses import asdict, dataclass
from html import unescape
from typing import Final, Self

FAILED: Final = "The report could not be made. Its file says why."
_META: Final = re.compile(rb'<meta name="understudy-summary" content="([^"]*)">')


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSummary:
    """The summary that the owner reads first.

    Attributes:
        sentences: the figures: columns, pairs, learning.
        look_at: what stands out, one sentence each; empty if nothing does.
    """

    sentences: tuple[str, ...] = ()
    look_at: tuple[str, ...] = ()

    @classmethod
    def of_failure(cls) -> Self:
        """The summary of a file that explains why there is no report."""
        return cls(look_at=(FAILED,))

    @classmethod
    def read(cls, html: bytes) -> Self:
        """Read the summary that `text` put into a file; an empty one if the file is older."""
        found = _META.search(html)
        if found is None:
            return cls()
        known = json.loads(unescape(found[1].decode()))
        return cls(sentences=tuple(known["sentences"]), look_at=tuple(known["look_at"]))

    @property
    def text(self) -> str:
        """The content of the file's meta element, before it is escaped."""
        return json.dumps(asdict(self), ensure_ascii=False)
