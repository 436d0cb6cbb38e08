"""A mail server on the loopback address that keeps what it is sent: SMTP as far as a sender goes, with STARTTLS."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class Mailbox:
    """What came in, and how it behaves."""

    port: int
    received: list[EmailMessage] = field(default_factory=list)
    envelopes: list[tuple[str, str]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    refuses: bool = False
    tls: ssl.SSLContext | None = None

    def serve(self, connection: socket.socket) -> None:  # noqa: C901 - one branch for each word of SMTP
        def say(text: str) -> None:
            connection.sendall(text.encode() + b"\r\n")

        reader = connection.makefile("rb")
        say("220 mailbox")
        sender = ""
        while line := reader.readline().decode().strip():
            self.commands.append(line)
            word = line.split(" ")[0].upper()
            if word == "EHLO":
                say("250-mailbox")
                say(
                    "250 STARTTLS"
                    if self.tls and not isinstance(connection, ssl.SSLSocket)
                    else "250 AUTH PLAIN"
                )
            elif word == "STARTTLS" and self.tls:
                say("220 go on")
                connection = self.tls.wrap_socket(connection, server_side=True)
                reader = connection.makefile("rb")
            elif word == "MAIL":
                sender = line
                say("250 ok")
            elif word == "RCPT":
                self.envelopes.append((sender, line))
                say("550 nobody here" if self.refuses else "250 ok")
            elif word == "DATA":
                say("354 go on")
                body = b""
                while (part := reader.readline()) not in {b".\r\n", b""}:
                    body += part[1:] if part.startswith(b".") else part
                self.received.append(message_from_bytes(body, policy=policy.default))
                say("250 kept")
            elif word == "AUTH":
                say("235 welcome")
            elif word == "QUIT":
                say("221 bye")
                break
            else:
                say("250 ok")
        connection.close()


@contextmanager
def mailbox(tls: ssl.SSLContext | None = None) -> Iterator[Mailbox]:
    """A mail server for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Mailbox(server.getsockname()[1], tls=tls)

        def run() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                try:
                    found.serve(connection)
                except OSError:
                    connection.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=600)
