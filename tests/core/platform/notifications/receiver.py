"""A receiver of webhooks on the loopback address: real connections, real bytes."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Receiver:
    """What came in, and what is answered."""

    port: int
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answer: bytes = b"HTTP/1.1 204 No Content\r\n\r\n"
    behave: Callable[[socket.socket], None] | None = None

    def url(self, path: str = "/hook", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            line = reader.readline()
            headers = {":request": line.decode().strip()}
            while (text := reader.readline().decode().strip()) != "":
                name, _, value = text.partition(": ")
                headers[name.lower()] = value
            body = reader.read(int(headers.get("content-length", 0)))
            self.received.append((headers, body))
            if self.behave is not None:
                self.behave(connection)
            else:
                connection.sendall(self.answer)


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Receiver(server.getsockname()[1])

        def run() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                try:
                    found.serve(tls.wrap_socket(connection, server_side=True) if tls else connection)
                except OSError:
                    connection.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=600)
