"""uvicorn's HTTP/1.1 protocol with a deadline for request heads and a single body length.

``uvicorn --http service.edge.http_protocol:DeadlineProtocol``.

uvicorn closes idle connections between requests, but waits forever for an incomplete or missing head. A few hundred
clients that send a byte now and then (slowloris) would hold all its connections. Bodies have their own deadlines
(body_limit, body_stream).

A request with both Content-Length and Transfer-Encoding has two lengths. h11 uses the latter; a proxy in front that uses
the former treats the rest as another request (request smuggling), so such a request is refused.
"""

import asyncio
import json
import socket
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from service.edge.security_headers import HEADERS
from service.problem import MEDIA_TYPE, MalformedRequest, document_of

HEAD_SECONDS: Final = 15.0
LONGEST_HEAD_BYTES: Final = 16 * 1024

_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})


class OneLength(h11.Connection):
    """Refuses a request that states the length of its body twice."""

    refused = False
    """Whether a request was refused for this reason."""

    def next_event(self) -> Any:  # noqa: ANN401 - an event or one of two sentinels, as in the parent
        """The client's next event.

        Raises:
            h11.RemoteProtocolError: The input is not HTTP, or has two lengths.
        """
        event = super().next_event()
        if isinstance(event, h11.Request) and {name for name, _ in event.headers} >= _LENGTHS:
            self.refused = True
            raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding")
        return event


class DeadlineProtocol(H11Protocol):
    """Closes a connection whose request head is not complete in time."""

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as in the parent
        super().__init__(*arguments, **options)
        self.conn: OneLength = OneLength(
            h11.SERVER, self.config.h11_max_incomplete_event_size or LONGEST_HEAD_BYTES
        )

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the parent
        """Start the deadline for the first head."""
        # Set TCP_NODELAY: asyncio does not recognise TCP on a socket shared by several workers that was opened without a
        # protocol number. Head and body of a response are two packets, and the second would wait 40 ms for the ACK.
        connection = transport.get_extra_info("socket")
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Process bytes: a head that starts with them gets a deadline, a head that they complete loses it."""
        super().data_received(data)
        if _is_answered(self.cycle):
            self._expect_head()
        else:
            self._forget_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._forget_deadline()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - as in the parent
        """Answer invalid HTTP, or a request with two lengths, with a problem document, and close the connection."""
        problem = MalformedRequest(
            "A request must have Content-Length or Transfer-Encoding, not both."
            if self.conn.refused
            else "The request is not valid HTTP/1.1.",
            remedy="Send a request that conforms to RFC 9112.",
        )
        body = json.dumps(document_of(problem)).encode()
        headers = {
            "Content-Type": MEDIA_TYPE,
            "Content-Length": str(len(body)),
            "Connection": "close",
            **HEADERS,
        }
        head = h11.Response(status_code=problem.status, reason=b"Bad Request", headers=list(headers.items()))
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self._give_up)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        # A request pipelined behind the last one may already be in progress.
        if _is_answered(self.cycle) and not self.transport.is_closing():
            self.transport.close()


def _is_answered(cycle: RequestResponseCycle | None) -> bool:
    """Whether no request is in progress; there is no cycle before the first request."""
    return cycle is None or cycle.response_complete
