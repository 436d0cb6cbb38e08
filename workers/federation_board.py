"""The board of a federation as a member's worker sees it: it hands in the noisy state of each round, and reads those of the others.

The board's address comes from an order, so it is treated as a webhook's is: only the public internet and networks that the
operator allows, one checked address, no redirect, limits of time and size. Nothing that the board answers reaches a log.

How long a round takes depends on rows. So a state leaves only at an edge of the job (core.jobs.visible_progress).
"""

import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Timer
from typing import Any, Final

from core.clock import Clock, SystemClock
from core.data.boards import Board
from core.data.objects import is_out_of_memory
from core.jobs.visible_progress import Edges
from core.logs import get_logger
from core.plan.ordered_plan import OrderedPlan, federation_of
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.federation import shared_digest
from core.plan.several_owners.member_plan import MemberPlan
from core.platform.notifications.addresses import (
    Network,
    Resolve,
    Target,
    allowed_addresses,
    parse_target,
    resolve,
)
from core.platform.notifications.errors import TargetRefused
from core.platform.settings import Settings
from models.dp.errors import CheckpointLost, StateRefused
from workers.assignment import Assignment
from workers.child import AttemptEnded, ExitCode

CONNECT_SECONDS: Final = 10.0
WHOLE_SECONDS: Final = 120.0
"""Total time limit of one request, even if data keeps arriving."""
POLL_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 300.0
"""How long a board that does not answer is asked again before the attempt ends; the next attempt resumes."""
MOST_JSON_BYTES: Final = 1 << 20
_AGENT: Final = "understudy-member/1"
_OK, _WRITTEN, _REFUSED, _NOT_FOUND, _CONFLICT = 200, 204, 400, 404, 409
_STATE_GONE: Final = "federation-state-not-found"
_CUT_OFF: Final = "upload-interrupted"
_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


def board_of(settings: Settings, work: Assignment, plan: OrderedPlan) -> "FederationBoard | None":
    """The board of the plan's federation; None without one.

    Raises:
        AttemptEnded: Its address may not be called.
    """
    if not isinstance(plan, MemberPlan | ModelPlan) or plan.federation is None:
        return None
    if work.board is None:
        raise AttemptEnded(ExitCode.FEDERATION_DIFFERS)
    connection = BoardConnection(
        work.board, networks=settings.notify_networks, plain_allowed=settings.mode == "embedded"
    )
    edges = Edges(claimed_at=work.claim.claimed_at, seconds=settings.completion_seconds)
    counting = isinstance(plan, MemberPlan)
    begun = work.claim.stage is not None if counting else work.claim.steps_begun > 0
    return FederationBoard(connection, plan, begun=begun, edges=edges, clock=SystemClock())


@contextmanager
def exchanging() -> Iterator[None]:
    """Treat what other members hand in, and a round that cannot be resumed, as the federation's end for this job.

    Raises:
        AttemptEnded: The federation does not go on.
    """
    try:
        yield
    except StateRefused as refused:
        # Names are public, and no row of this member had a part in it.
        get_logger().error("federation-state-refused", member=refused.facts.get("member"))
        raise AttemptEnded(ExitCode.STATE_REFUSED) from None
    except CheckpointLost:
        raise AttemptEnded(ExitCode.CHECKPOINT_LOST) from None


class BoardSilent(Exception):
    """The board did not answer, or says that it cannot answer now."""


class BoardAnswer:
    """One answer; its body is at most one byte longer than asked for, and then cut off."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body

    def document(self) -> Mapping[str, Any]:
        """The JSON object in the body.

        Raises:
            AttemptEnded: There is none: it is no board.
        """
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise AttemptEnded(ExitCode.FEDERATION_DIFFERS)
        return document


class BoardConnection:
    """Requests to one board, each on a connection of its own.

    Args:
        networks: Networks beyond the public internet that the operator allows.
        plain_allowed: Whether http without TLS is accepted.
        tls: How certificates are verified; with the system's authorities by default.
    """

    def __init__(
        self,
        board: Board,
        *,
        networks: Sequence[Network],
        plain_allowed: bool,
        resolver: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        try:
            self._target = parse_target(board.url, plain_allowed=plain_allowed)
        except TargetRefused:
            raise AttemptEnded(ExitCode.FEDERATION_DIFFERS) from None
        if self._target.path != "/":
            raise AttemptEnded(ExitCode.FEDERATION_DIFFERS)
        self._token, self._networks, self._resolve, self._tls = board.token, networks, resolver, tls

    def ask(
        self, method: str, path: str, *, body: bytes = b"", most_bytes: int = MOST_JSON_BYTES
    ) -> BoardAnswer:
        """Send one request and read the answer, of which at most `most_bytes + 1` bytes are kept.

        Raises:
            BoardSilent: There is none, or it broke off.
            AttemptEnded: The board is at an address that the operator does not allow.
        """
        target = self._target
        with _silence():
            found = self._resolve(target.host, target.port)
        usable = allowed_addresses(found, self._networks)
        if not usable:
            raise AttemptEnded(ExitCode.FEDERATION_DIFFERS)
        with _silence():
            raw = socket.create_connection((usable[0], target.port), timeout=CONNECT_SECONDS)
        # Timeouts of single reads do not stop a board that answers one byte at a time.
        handle = raw.dup()
        guard = Timer(WHOLE_SECONDS, _break_off, [handle])
        guard.daemon = True
        guard.start()
        try:
            with closing(raw), _silence():
                return self._exchange(raw, target, method, path, body, most_bytes)
        finally:
            guard.cancel()
            handle.close()

    def _exchange(
        self, raw: socket.socket, target: Target, method: str, path: str, body: bytes, most_bytes: int
    ) -> BoardAnswer:
        raw.settimeout(WHOLE_SECONDS)
        connection = HTTPConnection(target.host, target.port)
        secured = self._secured(raw, target)
        connection.sock = secured
        headers = {
            "Host": target.host_header,
            "User-Agent": _AGENT,
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(len(body)),
        }
        with closing(secured):
            connection.request(method, path, body=body, headers=headers)
            with connection.getresponse() as response:
                return BoardAnswer(response.status, _read(response, most_bytes))

    def _secured(self, raw: socket.socket, target: Target) -> socket.socket:
        if not target.is_tls:
            return raw
        context = self._tls or ssl.create_default_context()
        return context.wrap_socket(raw, server_hostname=target.host)


class FederationBoard:
    """A `StateBoard` over a connection (models.exchange).

    Args:
        plan: This member's plan.
        begun: Whether an earlier attempt began a step, or to count.
        edges: When a state may leave.
    """

    def __init__(
        self,
        connection: BoardConnection,
        plan: MemberPlan | ModelPlan,
        *,
        begun: bool,
        edges: Edges,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        federation = federation_of(plan)
        assert federation is not None, "a plan of a federation"
        self._connection, self._plan, self._federation = connection, plan, federation
        self._begun = begun
        self._edges, self._clock, self._sleep, self._monotonic = edges, clock, sleep, monotonic
        self._path = f"/v1/federations/{federation.federation_id}"

    def require_same(self) -> None:
        """Require that the board has this plan, before a row is opened.

        Raises:
            AttemptEnded: It has another one, is over, or does not answer.
        """
        answer = self._asked("GET", f"{self._path}/membership")
        document = self._understood(answer, _OK).document()
        wanted = (shared_digest(self._plan.to_json()), self._federation.member)
        if (document.get("plan_sha256"), document.get("member")) != wanted:
            raise AttemptEnded(ExitCode.FEDERATION_DIFFERS)
        if document.get("state") not in {"open", "done"}:
            raise self._over(document)

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        """See `models.exchange.StateBoard`.

        Raises:
            AttemptEnded: The federation is over, the board does not answer, or answers something else.
            StateRefused: Another member's state is longer or shorter than the own one.
        """
        self._begun = True
        now = self._clock.now()
        self._sleep(max(0.0, (self._edges.next(now) - now).total_seconds()))
        path = f"{self._path}/rounds/{number}"
        self._understood(self._asked("PUT", path, body=state), _WRITTEN)
        while True:
            listed = self._understood(self._asked("GET", path), _OK).document()
            if listed.get("complete") is True:
                break
            self._sleep(POLL_SECONDS)
        return [
            state if place == self._federation.place else self._state(path, one.name, len(state))
            for place, one in enumerate(self._federation.members)
        ]

    def _state(self, path: str, member: str, length: int) -> bytes:
        """Another member's state: exactly as long as the own one, since names, shapes and types are the same.

        Raises:
            StateRefused: It is longer or shorter.
        """
        answer = self._asked("GET", f"{path}/{member}", most_bytes=length)
        if answer.status == _NOT_FOUND and answer.document().get("code") == _STATE_GONE:
            # The round was complete, so the analyst has ended the federation, or deleted what one that is done still kept.
            raise AttemptEnded(ExitCode.FEDERATION_ENDED)
        state = self._understood(answer, _OK).body
        if len(state) != length:
            raise StateRefused(member=member)
        return state

    def _asked(
        self, method: str, path: str, *, body: bytes = b"", most_bytes: int = MOST_JSON_BYTES
    ) -> BoardAnswer:
        """Ask until the board answers.

        Raises:
            AttemptEnded: It has been silent for too long.
        """
        until = self._monotonic() + SILENCE_SECONDS
        while True:
            with suppress(BoardSilent):
                answer = self._connection.ask(method, path, body=body, most_bytes=most_bytes)
                if not _is_transient(answer):
                    return answer
            if self._monotonic() >= until:
                raise AttemptEnded(ExitCode.MACHINERY)
            self._sleep(POLL_SECONDS)

    def _understood(self, answer: BoardAnswer, status: int) -> BoardAnswer:
        if answer.status == status:
            return answer
        raise self._over(answer.document() if answer.status == _CONFLICT else {})

    def _over(self, document: Mapping[str, Any]) -> AttemptEnded:
        """How an attempt ends at a board whose federation is over; `differs` if it is not over and still refuses.

        How long the own steps take depends on rows. So a member that has begun and is late itself is charged in full, as a training
        that takes too long is.
        """
        stated = document.get("facts")  # of a problem document; a membership states it itself
        facts = stated if isinstance(stated, dict) else document
        match facts.get("state"):
            case "failed" if self._begun and self._federation.member in str(facts.get("vanished")).split(
                ", "
            ):
                return AttemptEnded(ExitCode.DATA)
            case "failed":
                return AttemptEnded(ExitCode.MEMBER_VANISHED)
            case "ended":
                return AttemptEnded(ExitCode.FEDERATION_ENDED)
            case _:
                return AttemptEnded(ExitCode.FEDERATION_DIFFERS)


def _is_transient(answer: BoardAnswer) -> bool:
    """Whether the same request may be answered otherwise later: the board is away, or cut off a sending that took too long."""
    if answer.status == _REFUSED:
        with suppress(AttemptEnded):
            return answer.document().get("code") == _CUT_OFF
    return answer.status in _TRANSIENT


def _read(response: HTTPResponse, most_bytes: int) -> bytes:
    """The body, of which at most `most_bytes + 1` bytes are read.

    Raises:
        BoardSilent: It broke off.
    """
    body = response.read(most_bytes + 1)
    # `read` returns less than was announced if the connection ends; `length` is what is missing.
    if len(body) <= most_bytes and response.length:
        raise BoardSilent
    return body


@contextmanager
def _silence() -> Iterator[None]:
    """Treat failures of name, network and protocol as silence; a lack of memory may be the rows' doing and passes."""
    try:
        yield
    except (OSError, UnicodeError, HTTPException, ValueError) as error:
        if isinstance(error, OSError) and is_out_of_memory(error):
            raise
        raise BoardSilent from None


def _break_off(handle: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        handle.shutdown(socket.SHUT_RDWR)
