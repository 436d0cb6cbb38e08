"""Stacks and owners of a round of the drill of consortiums, the strike, and the end."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, LiteralString

import numpy as np
import psycopg

from tests.faults.consortium import PATIENCE_SECONDS, Federation, Member
from tests.faults.errand import OwnersOrder
from tests.faults.faults import NothingToHit
from tests.faults.federated_checks import federation_violations, sums_violations
from tests.faults.processes import kill_all, wait_until
from tests.faults.stack import Stack
from tests.system.processes import Process

SUCCEEDED: Final = frozenset({"succeeded"})
CANCELLED: Final = frozenset({"cancelled"})
CHARGED: Final = frozenset({"training-failed"})
VICTIM_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Scene:
    """Stacks, owners and randomness of a round.

    Attributes:
        stacks: by the owner's name; the board is that of north.
        folder: for files.
        rows: the table of every owner.
        draw: the random numbers of this round.
        seen: every member that joined, with its federation.
        orders: every order over several datasets of one service.
    """

    stacks: Mapping[str, Stack]
    folder: Path
    rows: Path
    draw: np.random.Generator
    seen: list[tuple[Federation, Member]]
    orders: list[OwnersOrder]

    @property
    def board(self) -> Stack:
        """The stack of north."""
        return self.stacks["north"]

    def kind(self) -> str:
        """Draw the kind of the training: a model or a generator."""
        return str(self.draw.choice(["model", "generator"]))

    def number_below(self, count: int) -> int:
        """Draw a round."""
        return int(self.draw.integers(count))

    def one_of(self, words: Sequence[str]) -> str:
        """Draw a word."""
        return words[int(self.draw.integers(len(words)))]

    @contextmanager
    def member(
        self, federation: Federation, name: str = "north", *, at_once: bool = True
    ) -> Iterator[Member]:
        """An owner with a service of its own that joins."""
        member = Member(self.stacks[name], self.rows, federation, name, joins_at_once=at_once)
        member.start()
        self.seen.append((federation, member))
        try:
            yield member
        finally:
            member.give_up()

    @contextmanager
    def both(self, federation: Federation) -> Iterator[dict[str, Member]]:
        """Both owners join."""
        with ExitStack() as members:
            yield {name: members.enter_context(self.member(federation, name)) for name in self.stacks}


def ended(
    federation: Federation, *members: tuple[Member, frozenset[str]], state: str, vanished: str | None = None
) -> list[str]:
    """Wait for the ends, and look for what does not hold."""
    found = []
    for member, _ in members:
        member.await_end()
        if member.problem is not None:
            found.append(f"{member.name}: {member.problem}")
    return found + federation_violations(federation, members, state=state, vanished=vanished)


def succeeded(federation: Federation, *members: Member) -> list[str]:
    """Wait for a release of every member, and look for what does not hold."""
    found = ended(federation, *((one, SUCCEEDED) for one in members), state="done")
    if not found and federation.kind == "generator":
        found += [each for one in members for each in sums_violations(federation.last_states(), one)]
    return found


def hit(stack: Stack, what: str) -> None:
    """kill -9 of a process of a stack, or of everything that its supervisor looks after.

    Raises:
        NothingToHit: it is not there.
    """
    found: dict[str, Callable[[], Process | None]] = {
        "training child": stack.runner,
        "pool process": stack.pool,
        "worker": lambda: stack.process("worker"),
        "api": lambda: stack.process("api"),
        "postgres": lambda: stack.process("postgres"),
        "redis": lambda: stack.process("redis"),
    }
    if what == "everything":
        kill_all(one for one in stack.family() if one.pid != stack.pid)
        return
    if not wait_until(found[what], seconds=VICTIM_SECONDS):
        raise NothingToHit
    kill_all(one for one in [found[what]()] if one is not None)


def held(
    scene: Scene,
    row: LiteralString,
    values: Sequence[object],
    *,
    waiting: LiteralString,
    action: Callable[[], object],
    blow: Callable[[], object],
) -> None:
    """Lock a row, do something that has to wait for it, and strike: while it waits, or just after it was let on.

    Args:
        scene: with the board, whose database it is.
        row: the query that locks.
        values: of its parameters.
        waiting: the table that the waiting transaction names.
        action: leads to the wait.
        blow: the fault.
    """
    waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
    early = scene.draw.random() < 0.5
    with scene.board.connected() as connection:
        connection.execute("BEGIN")
        connection.execute(row, values)
        action()
        assert wait_until(lambda: scene.board.ask(waits, f"%{waiting}%"), seconds=PATIENCE_SECONDS), (
            "nobody waits"
        )
        time.sleep(float(scene.draw.uniform(0, 0.3)))
        if early:
            blow()
        with suppress(psycopg.OperationalError):  # the blow was to the server of this connection
            connection.execute("ROLLBACK")
    if not early:
        blow()
