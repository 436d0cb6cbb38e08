"""The rounds in which the members of a federation add their noisy counts, and what makes each of them durable.

    mark         the round begins; durable before a row is counted for it
    count        the own rows exactly, and the whole noise that the own ledger is charged for
    checkpoint   the own noisy counts; durable before they leave
    exchange     whole numbers of the public grid; every member adds all of them
    checkpoint   the sums; durable before the next round is counted

The questions of a round follow from the sums of the rounds before. A resumed member finds what it handed in and hands in the same bytes again:
another kind of processor may round the sums to other groups, and the counts of two groupings under one noise differ by rows alone. If the sums
of an earlier round are lost, the job ends: the board might hand out other counts of it, and the next round would be released twice.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from core.plan.several_owners.federation import Federation
from models.checkpoint import pack, unpack
from models.dp.count_noise import GRID
from models.dp.errors import CheckpointLost, StateRefused
from models.exchange import StateBoard, round_streams, state_of
from models.randomness import KeyedStreams
from models.synthesizer import TrainingHost

MOST_COUNT: Final = 2**53
"""Largest count that is taken from another member, in units of the grid: the sum of a cell over 32 members stays far below 2^63."""
_MEASURE: Final = "measure"
_ROUNDS: Final = "rounds"
_OWN: Final = "own"

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class CountRounds:
    """A `TrainingHost` that keeps the sums of every round, and the `CountExchange` that makes them.

    Args:
        stage: of the last durable mark of earlier attempts; None before the first.
        step: of that mark.
    """

    def __init__(
        self,
        host: TrainingHost,
        board: StateBoard,
        federation: Federation,
        *,
        rounds: int,
        stage: str | None = None,
        step: int = 0,
    ) -> None:
        self._host, self._board, self._federation, self._rounds = host, board, federation, rounds
        self._begun = step if stage == _MEASURE else 0 if stage is None else rounds
        self._sums: list[Integers] = []
        self._own: bytes | None = None

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Mark progress; counting is marked by rounds, and never behind a round that has begun."""
        if stage == _MEASURE:
            step, total = min(len(self._sums) + 1, self._rounds), self._rounds
        self._host.advance(stage=stage, step=step, total=total)

    def load_checkpoint(self) -> bytes | None:
        """Return the state of the training behind the rounds; the sums of rounds are kept here.

        Raises:
            CheckpointLost: a later round has begun than the sums lead to, and its questions are lost.
        """
        state = self._host.load_checkpoint()
        if state is not None:
            tensors, facts = unpack(state)
            if _ROUNDS not in facts:
                return state
            self._sums = [tensors[str(number)].numpy() for number in range(int(facts[_ROUNDS]))]
            self._own = tensors[_OWN].numpy().astype("<i8").tobytes() if _OWN in tensors else None
        if self._begun > len(self._sums) + 1:
            raise CheckpointLost
        return None

    def checkpoint_due(self) -> bool:
        """See `TrainingHost`."""
        return self._host.checkpoint_due()

    def save_checkpoint(self, state: bytes) -> None:
        """See `TrainingHost`."""
        self._host.save_checkpoint(state)

    def summed(self, number: int, streams: KeyedStreams, counted: Callable[[KeyedStreams], Floats]) -> Floats:
        """See `models.exchange.CountExchange`.

        Raises:
            StateRefused: another member's counts are not as many, or larger than any counts are.
        """
        if number == len(self._sums):
            self.advance(stage=_MEASURE, step=number + 1, total=self._rounds)
            own = self._own or self._released(number, streams, counted)
            self._sums.append(self._added(own, self._board.exchange(number, own)))
            self._own = None
            self._keep({})
        return np.multiply(self._sums[number], GRID, dtype=np.float64)

    def _released(
        self, number: int, streams: KeyedStreams, counted: Callable[[KeyedStreams], Floats]
    ) -> bytes:
        """Release the own counts of a round, durably before they leave."""
        begun = b"".join(one.tobytes() for one in self._sums)
        own = packed_counts(counted(round_streams(streams, number, begun)))
        self._keep({_OWN: torch.from_numpy(_counts_in(own))})
        return own

    def _keep(self, own: dict[str, torch.Tensor]) -> None:
        """Save the sums of all rounds, and own counts that are about to be handed in."""
        sums = {str(place): torch.from_numpy(one) for place, one in enumerate(self._sums)}
        self._host.save_checkpoint(pack(sums | own, {_ROUNDS: len(self._sums)}))

    def _added(self, own: bytes, answers: Sequence[bytes]) -> Integers:
        counts = []
        for place, answer in enumerate(answers):
            with state_of(self._federation, place):
                counts.append(
                    _counts_in(own)
                    if place == self._federation.place
                    else opened_counts(answer, length=len(own))
                )
        return reduce(np.add, counts)


def packed_counts(counts: Floats) -> bytes:
    """Return noisy counts, which are on the grid, as whole numbers of it: eight bytes each, little endian."""
    return np.rint(counts / GRID).astype("<i8").tobytes()


def opened_counts(content: bytes, *, length: int) -> Integers:
    """Read another member's counts, which nobody vouches for.

    Args:
        content: as `packed_counts` makes it.
        length: of the own ones.

    Raises:
        StateRefused: there are more or fewer, or one is larger than any count is.
    """
    if len(content) != length:
        raise StateRefused
    counts = _counts_in(content)
    if len(counts) and not -MOST_COUNT <= int(counts.min()) <= int(counts.max()) <= MOST_COUNT:
        raise StateRefused
    return counts


def _counts_in(content: bytes) -> Integers:
    return np.frombuffer(content, "<i8").astype(np.int64)
