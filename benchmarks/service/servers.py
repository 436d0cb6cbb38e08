"""Real servers for the benchmarks of the service: a Postgres from the wheel, migrated, and uvicorn as in production.

Everything listens on the loopback interface or a unix socket in a temporary folder, and is stopped at the end.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from migrations.upgrade import upgrade_to_head
from understudy.embedded.leftovers import socket_folder
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.supervisor import free_port

HERE = Path(__file__).parents[2]
START_SECONDS = 60.0


@dataclass(frozen=True)
class Stack:
    """A migrated database and a folder, for servers to work on.

    Args:
        folder: Temporary.
        database_url: SQLAlchemy URL.
        master_key: Hexadecimal digits, fresh.
        storage_url: Of the object store.
    """

    folder: Path
    database_url: str
    master_key: str
    storage_url: str = "memory://"

    @property
    def conninfo(self) -> str:
        """The address as psycopg takes it."""
        return self.database_url.replace("postgresql+psycopg", "postgresql")

    def environment(self) -> dict[str, str]:
        """Environment of the API."""
        return dict(os.environ) | {
            "UNDERSTUDY_MODE": "embedded",
            "UNDERSTUDY_DATABASE_URL": self.database_url,
            "UNDERSTUDY_BROKER_URL": "memory://",
            "UNDERSTUDY_STORAGE_URL": self.storage_url,
            "UNDERSTUDY_SCRATCH_FOLDER": str(self.folder),
            "UNDERSTUDY_MASTER_KEY": self.master_key,
            "BARE_DATABASE": self.conninfo,
            # One key asks for everybody here.
            "UNDERSTUDY_REQUESTS_PER_MINUTE": "6000000",
            "PYTHONUTF8": "1",
        }


@contextmanager
def stack(*, keeps_objects: bool = False) -> Iterator[Stack]:
    """A Postgres with its usual durability, at the newest migration; objects in its folder, or in each process's memory."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        server = PostgresServer(
            folder / "postgres", run_folder=socket_folder(folder), log=folder / "postgres.log"
        )
        server.start()
        try:
            upgrade_to_head(server.url())
            yield Stack(
                folder=folder, database_url=server.url(), master_key=secrets.token_hex(32),
                storage_url=(folder / "objects").as_uri() if keeps_objects else "memory://",
            )  # fmt: skip
        finally:
            server.stop()


@dataclass(frozen=True)
class Served:
    """A running uvicorn.

    Args:
        port: On 127.0.0.1.
        process_id: Of its first process; workers are its children.
    """

    port: int
    process_id: int

    def resident_bytes(self) -> int:
        """Memory of all its processes, what they share counted once for each."""
        return sum(1024 * int(_status(process_id)["VmRSS"].split()[0]) for process_id in self._family())

    def threads(self) -> int:
        """Threads of all its processes."""
        return sum(int(_status(process_id)["Threads"]) for process_id in self._family())

    def processor_seconds(self) -> float:
        """Time that all its processes have computed, in the kernel too."""
        ticks = 0
        for process_id in self._family():
            fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _family(self) -> list[int]:
        found = [self.process_id]
        for process_id in found:  # grows while it is read
            children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
            found += [int(child) for child in children.split()]
        return found


def _status(process_id: int) -> dict[str, str]:
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@contextmanager
def served(
    application: str, environment: Mapping[str, str], *, workers: int, log: Path, probe: str = "/v1/health"
) -> Iterator[Served]:
    """Serve an application with the command of the API's image.

    Args:
        application: `module:name`.
        environment: Of the process.
        workers: Processes that serve.
        log: Where its output goes.
        probe: A path that answers once the server is up.

    Raises:
        RuntimeError: It did not come up.
    """
    port = free_port(0)
    words = [sys.executable, "-m", "uvicorn", application, "--host", "127.0.0.1", "--port", str(port)]
    quiet = ["--no-access-log", "--no-server-header", "--log-level", "warning", "--workers", str(workers)]
    quiet += ["--http", "service.edge.http_protocol:DeadlineProtocol"]
    with (
        log.open("ab") as output,
        subprocess.Popen([*words, *quiet], env=dict(environment), cwd=HERE, stdout=output, stderr=output) as process,
    ):  # fmt: skip
        try:
            _await_answer(port, probe, process)
            yield Served(port, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def _await_answer(port: int, path: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                if b" 200 " in connection.recv(4096):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError("the server did not come up; see its log")
