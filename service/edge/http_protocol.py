"""uvicorn's HTTP/1.1 protocol with a deadline for heads: ``uvicorn --http service.edge.http_protocol:DeadlineProtocol``.

uvicorn ends idle connections between requests, but waits for ever for a head that has begun, or never begins. A few
hundred callers who send a byte now and then would hold all its connections. Bodies have deadlines of their own
(body_limit, body_stream).
"""

import asyncio
import socket
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS: Final = 15.0


class DeadlineProtocol(H11Protocol):
    """Closes a connection whose request's head is not complete in time."""

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the parent
        """Expect a head from now on."""
        # Several workers share a socket that was opened without naming its protocol, so that asyncio does not know to
        # do this. Head and body of an answer are two packets: the second would wait 40 ms for the first's receipt.
        connection = transport.get_extra_info("socket")
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Take in bytes; a head that began with them must end in time, one that ended with them has."""
        super().data_received(data)
        if _is_answered(self.cycle):
            self._expect_head()
        else:
            self._forget_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        # A request that was pipelined behind the last one is being served by now.
        if _is_answered(self.cycle) and not self.transport.is_closing():
            self.transport.close()


def _is_answered(cycle: RequestResponseCycle | None) -> bool:
    """Whether nothing is being served; there is no cycle before the first request."""
    return cycle is None or cycle.response_complete
