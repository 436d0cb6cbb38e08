"""A counter whose shards are counted by whoever is free; the training itself is always one of them.

The training shows a round's questions, sends messages that ask for help, and counts the shards that nobody has handed
over, one after the other. Helpers pick such a shard at random (workers.counting_runner). Nobody waits for anybody and
nothing is locked: a shard that a helper lost, or two count at the same time, costs time only, because its counts are
exact and the same whoever makes them. Without helpers the training counts everything.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from core.domain.forbidden import forbidden_pairs
from core.domain.table import TableDomain
from models.coding import codes_alone, ordered_columns
from models.counting.question import CountQuestion, Counts
from models.counting.streamed import add_counts, count_shard
from models.counting.units import RowShards, Weights, record_weights
from models.encoding import Forbidden
from workers.attempt import machinery
from workers.count_board import CountBoard, Round


class CutShards(RowShards, Protocol):
    """Stored rows in parts that every reader cuts alike."""

    @property
    def shard_bytes(self) -> int:
        """Stored bytes of a part, at least."""
        ...

    @property
    def cut(self) -> str:
        """Where the parts begin and end."""
        ...


class SharedCounter:
    """Answers from stored rows with help; see `models.counting.question.Counter`.

    Args:
        shards: The stored rows.
        domain: The declared domain.
        key: Tells units apart; of the job.
        bound: How many records of a unit count, each fully; None: all count, and one together at most.
        board: Where questions and counts are exchanged.
        call: Sends a message that asks for help, and says whether it was sent.
        helpers: How many messages to send for a round.
    """

    def __init__(
        self,
        shards: CutShards,
        domain: TableDomain,
        *,
        key: bytes,
        bound: int | None,
        board: CountBoard,
        call: Callable[[], bool],
        helpers: int,
    ) -> None:
        self.cardinalities = domain.cardinalities
        self.target_index = domain.target_index
        self.ordered, self.alone = ordered_columns(domain), codes_alone(domain)
        self.forbidden: Forbidden = partial(forbidden_pairs, domain)
        self.most_records = bound or 1
        self._shards = shards
        self._domain = domain
        self._key = key
        self._bound = bound
        self._board = board
        self._call = call
        self._helpers = helpers
        self._rounds = 0
        self._weights: list[Weights] | None = None

    def count(self, questions: Sequence[CountQuestion]) -> list[Counts]:
        """Count the records of every cell of every table."""
        self._weigh()
        self._rounds += 1
        asked = Round(
            number=self._rounds,
            shards=len(self._shards),
            shard_bytes=self._shards.shard_bytes,
            cut=self._shards.cut,
            weighted=self._weights is not None,
            questions=tuple(questions),
        )
        with machinery():
            self._board.ask(asked)
        for _ in range(min(self._helpers, len(self._shards) - 1)):
            if not self._call():
                break  # a line in the log for every further shard would tell how many there are
        sums = [np.zeros(question.shape, np.int64) for question in questions]
        for shard in range(len(self._shards)):
            with machinery():
                part = self._board.counts(asked, shard)
            add_counts(sums, self._counted(questions, shard) if part is None else part)
        with machinery():
            self._board.clear()
        return sums

    def _counted(self, questions: Sequence[CountQuestion], shard: int) -> list[Counts]:
        weights = None if self._weights is None else self._weights[shard]
        return count_shard(self._shards.read(shard), self._domain, questions, weights)

    def _weigh(self) -> None:
        """Find out once what every record counts, and leave it for the helpers."""
        unit = self._domain.privacy_unit
        if unit is None or self._weights is not None:
            return
        self._weights = record_weights(self._shards, unit, key=self._key, bound=self._bound)
        with machinery():
            for shard, weights in enumerate(self._weights):
                self._board.put_weights(shard, weights)
