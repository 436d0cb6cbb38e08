"""The board of a job's federation, and the token for it: sealed with the job, destroyed when the job ends."""

import json
from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

from core.data.sealing import open_bytes, seal_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Where a member exchanges its states.

    Attributes:
        url: The origin of the board's service.
        token: Of the member.
    """

    url: str
    token: str = field(repr=False)

    def seal(self, data_key: bytes, job_id: UUID) -> bytes:
        """Seal it under the data key of the job's dataset, bound to the job."""
        document = json.dumps({"url": self.url, "token": self.token})
        return seal_bytes(data_key, document.encode(), context=_context(job_id))

    @classmethod
    def open(cls, sealed: bytes, data_key: bytes, job_id: UUID) -> Self:
        """Open what `seal` made.

        Raises:
            SealBroken: It was sealed for another job or under another key, or is damaged.
        """
        return cls(**json.loads(open_bytes(data_key, sealed, context=_context(job_id))))


def _context(job_id: UUID) -> str:
    return f"federation:{job_id}"
