"""Exchange between the members of a federation through its board, round by round, and the randomness of a round.

Everything that a member hands in has the noise that its ledger is charged for. What it is handed may be anything.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from core.plan.several_owners.federation import Federation
from models.dp.errors import StateRefused
from models.randomness import KEY_BYTES, KeyedStreams, Purpose

_PUBLIC_START: Final = b"understudy/federation-start/1\n"
_ROUND: Final = b"understudy/federation-round/1\n"
Floats = npt.NDArray[np.float64]


class StateBoard(Protocol):
    """Where the noisy states of a round are exchanged between services."""

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        """Hand in the own state of a round, wait for all others, and return every member's, the own one in its place.

        Args:
            number: of the round, from 0.
            state: the own state. A resumed training hands in the same bytes again.
        """
        ...


class CountExchange(Protocol):
    """Adds the noisy counts of all members."""

    def summed(self, number: int, streams: KeyedStreams, counted: Callable[[KeyedStreams], Floats]) -> Floats:
        """Return the sums over all members, in records.

        Args:
            number: of the round, from 0.
            counted: releases the own counts of the round with the noise of given streams: (cells,) in records, on the grid.
        """
        ...


@contextmanager
def state_of(federation: Federation, place: int) -> Iterator[None]:
    """Name the member whose state is being read where it is refused: who runs a consortium has to know whom to ask.

    Raises:
        StateRefused: with the name of the member.
    """
    try:
        yield
    except StateRefused:
        raise StateRefused(member=federation.members[place].name) from None


def public_streams(federation: Federation) -> KeyedStreams:
    """Return streams that everybody can compute, for what all members begin with. They draw no noise."""
    return KeyedStreams(hashlib.sha256(_PUBLIC_START + federation.federation_id.encode()).digest())


def round_streams(streams: KeyedStreams, number: int, begun: bytes) -> KeyedStreams:
    """Return the coins and the noise of one round in a federation, keyed by what the round begins with.

    A resumed training begins the round with the same state and replays it to the byte. From another state, which a dishonest board
    may try to bring about, the same noise is never drawn again: a difference of two uploads would be free of it.

    Args:
        number: of the round, from 0.
        begun: the state that all earlier rounds gave.
    """
    secret = streams.bytes(Purpose.FEDERATION_KEY, number, KEY_BYTES)
    digest = hashlib.sha256(begun).digest()
    return KeyedStreams(hashlib.sha256(_ROUND + secret + digest).digest(), releases=streams.releases)
