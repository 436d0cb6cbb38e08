"""An owner of a federation that is played: a process of its own, which speaks the board's interface and keeps to no rule.

`python -m tests.faults.played_owner WORDS`, with the token of its member in the environment. It has no row. What it hands in is
the state of another member, copied, and what its actions make of that. Every answer of the board is a line of JSON.
"""

import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import urlsplit

TOKEN: Final = "PLAYED_OWNER_TOKEN"
PATIENCE_SECONDS: Final = 120.0
POLL_SECONDS: Final = 0.05
TOO_MUCH: Final = 2**26
MOST_COUNT: Final = 2**53
"""Largest count that a member takes from another one."""
_FLOATS: Final = {"F64": ("<d", 1e300), "F32": ("<f", 1e38)}
_NOTHING: Final = struct.pack("<d", float("nan"))


class BoardIsOver(Exception):
    """The board hands out nothing more."""


@dataclass(frozen=True)
class Words:
    """Arguments of a played owner.

    Attributes:
        url: of the board's service.
        federation_id: of the federation.
        copied: the member whose states are copied.
        rounds: of the plan.
        first: the round with which it begins.
        actions: what it does in a round, in this order; it copies where none is named.
    """

    url: str
    federation_id: str
    copied: str
    rounds: int
    first: int = 0
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)


def floats_replaced(state: bytes, *, finite: bool) -> bytes:
    """Return a state of weights with other numbers, none of them finite or all of them enormous."""
    length = int.from_bytes(state[:8], "little")
    made, begin = bytearray(state), 8 + length
    for name, tensor in json.loads(state[8:begin]).items():
        if name != "__metadata__" and tensor["dtype"] in _FLOATS:
            form, enormous = _FLOATS[tensor["dtype"]]
            first, last = tensor["data_offsets"]
            one = struct.pack(form, enormous if finite else float("nan"))
            made[begin + first : begin + last] = one * ((last - first) // len(one))
    return bytes(made)


def counts_replaced(state: bytes, *, allowed: bool) -> bytes:
    """Return as many counts, the largest that are taken with alternating signs, or larger ones."""
    cells = len(state) // 8
    return struct.pack(
        f"<{cells}q", *((-1) ** place * MOST_COUNT if allowed else MOST_COUNT + 1 for place in range(cells))
    )


def is_of_weights(state: bytes) -> bool:
    """Whether a state is one of weights: a header in JSON comes first."""
    return state[8:9] == b"{"


def wrong(state: bytes) -> bytes:
    """Return what is no state of the round although it is as long."""
    return (
        floats_replaced(state, finite=False)
        if is_of_weights(state)
        else counts_replaced(state, allowed=False)
    )


def absurd(state: bytes) -> bytes:
    """Return numbers that no honest member has, and that every member takes."""
    return (
        floats_replaced(state, finite=True) if is_of_weights(state) else counts_replaced(state, allowed=True)
    )


CHANGES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "copy": lambda state: state,
    "again": lambda state: state,
    "other": lambda state: state[:-8] + _NOTHING,
    "short": lambda state: state[:-8],
    "longer": lambda state: state + bytes(8),
    "garbage": lambda state: b"no state" * (len(state) // 8),
    "wrong": wrong,
    "absurd": absurd,
    "too much": lambda _: bytes(TOO_MUCH),
}
"""State that an action hands in for the open round, made from another member's state."""


class PlayedOwner:
    """One owner.

    Args:
        words: what it does.
        token: of its member.
    """

    def __init__(self, words: Words, token: str) -> None:
        self._words, self._token = words, token
        self._path = f"/v1/federations/{words.federation_id}"

    def play(self) -> None:
        """Go through the rounds."""
        for number in range(self._words.first, self._words.rounds):
            for action in self._words.actions.get(str(number), ["copy"]):
                self._do(action, number)

    def _do(self, action: str, number: int) -> None:
        if action == "stop":
            self._stop(number)
        elif action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "half":
            self._send_in_halves(number)
        elif action == "ahead":
            self._tell(action, number, *self._asked("PUT", f"rounds/{number + 1}", b"ahead"))
        elif action == "earlier":
            self._tell(action, number, *self._asked("PUT", f"rounds/{number - 1}", b"another state"))
        elif action == "replay":
            self._tell(action, number, *self._asked("PUT", f"rounds/{number - 1}", self._copied(number - 1)))
        elif action == "stranger":
            answer = self._asked("PUT", f"rounds/{number}", b"x", token=f"uf_{'0' * 8}_{'a' * 43}")
            self._tell(action, number, *answer)
        else:
            content = CHANGES[action](self._copied(number))
            self._tell(action, number, *self._asked("PUT", f"rounds/{number}", content))

    def _stop(self, number: int) -> None:
        """Freeze, until somebody wakes this process."""
        self._tell("stop", number, 0, b"{}")
        os.kill(os.getpid(), signal.SIGSTOP)

    def _send_in_halves(self, number: int) -> None:
        """Freeze in the middle of sending; the other half follows if somebody wakes this process."""
        content = self._copied(number)
        address = urlsplit(self._words.url)
        assert address.hostname is not None
        with socket.create_connection((address.hostname, address.port or 80)) as connection:
            head = (
                f"PUT {self._path}/rounds/{number} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: close\r\n"
                f"Authorization: Bearer {self._token}\r\nContent-Length: {len(content)}\r\n\r\n"
            )
            connection.sendall(head.encode() + content[: len(content) // 2])
            self._stop(number)
            connection.sendall(content[len(content) // 2 :])
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        status = int(answer.split(b" ", 2)[1])
        self._tell("half", number, status, answer.partition(b"\r\n\r\n")[2])

    def _copied(self, number: int) -> bytes:
        """The other member's state of a round, once it is there.

        Raises:
            BoardIsOver: It will never be there.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            status, body = self._asked("GET", f"rounds/{number}/{self._words.copied}")
            if status == 200:
                return body
            if status == 409:
                self._tell("look", number, status, body)
                raise BoardIsOver
            time.sleep(POLL_SECONDS)
        raise TimeoutError

    def _asked(
        self, method: str, path: str, body: bytes = b"", *, token: str | None = None
    ) -> tuple[int, bytes]:
        """One answer; status 0 if the board is away."""
        address = urlsplit(self._words.url)
        assert address.hostname is not None
        headers = {"Authorization": f"Bearer {token or self._token}", "Content-Length": str(len(body))}
        with closing(HTTPConnection(address.hostname, address.port, timeout=30)) as connection:
            try:
                connection.request(method, f"{self._path}/{path}", body=body, headers=headers)
                response = connection.getresponse()
                return response.status, response.read()
            except OSError:
                return 0, b"{}"

    def _tell(self, action: str, number: int, status: int, body: bytes) -> None:
        document: Any = json.loads(body or b"{}")
        told = {"action": action, "round": number, "status": status, "code": document.get("code")}
        print(json.dumps(told), flush=True)


def main(words: str) -> int:
    """Play until the last round, or until the board is over."""
    try:
        PlayedOwner(Words(**json.loads(words)), os.environ[TOKEN]).play()
    except BoardIsOver:
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
