"""Postgres that is hung and not dead: every process of a server is stopped, and goes on later."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.embedded.postgres import PostgresServer


def _family(pid: int) -> list[int]:
    """A process and its descendants. A server forks, so it is asked again until nobody is new."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


@contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """Stop every process of the server for the length of the block: sockets stay open, and nobody answers."""
    assert server.child is not None
    held: list[int] = []
    try:
        while new := [pid for pid in _family(server.child.pid) if pid not in held]:
            for pid in new:
                held.append(pid)
                # One that served a connection may have ended since it was listed.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in reversed(held):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
