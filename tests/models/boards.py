"""A board of a federation in memory, and what one member sees of it."""

import threading
from collections.abc import Callable, Sequence

Lie = Callable[[int, bytes], bytes]
"""What the board hands out for a state of a round."""


class MemoryBoard:
    """Keeps what every member handed in, as the service's board does.

    Args:
        members: how many there are.
    """

    def __init__(self, members: int) -> None:
        self.states: dict[tuple[int, int], bytes] = {}
        self._members = members
        self._changed = threading.Condition()

    def put(self, place: int, number: int, state: bytes) -> None:
        with self._changed:
            assert self.states.setdefault((number, place), state) == state, "a state is written once"
            self._changed.notify_all()

    def all_of(self, number: int) -> list[bytes]:
        wanted = [(number, place) for place in range(self._members)]
        with self._changed:
            assert self._changed.wait_for(lambda: all(one in self.states for one in wanted), timeout=60)
            return [self.states[one] for one in wanted]


class MemberBoard:
    """One member's view of the board, which hands out what `lie` makes of the states."""

    def __init__(self, board: MemoryBoard, place: int, lie: Lie = lambda _, state: state) -> None:
        self._board, self._place, self._lie = board, place, lie

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        self._board.put(self._place, number, state)
        return [self._lie(number, one) for one in self._board.all_of(number)]
