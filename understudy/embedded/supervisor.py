"""The supervisor: starts the stack in order, restarts a role that dies, stops the stack in reverse order.

Order of start: postgres, redis, migrations, keys, API, worker, reports, upkeep. Every child dies with this process, even
when it is killed with -9 (the kernel's death signal); what a crash leaves is repaired at the next start.
"""

import contextlib
import http.client
import os
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from understudy.embedded import roles
from understudy.embedded.child import Child, Command, log_tail
from understudy.embedded.errors import EmbeddedError, EmbeddedUnavailable, ServerFailed
from understudy.embedded.folder import DataFolder
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.redis import RedisServer

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
STEADY_SECONDS = 60.0
API_START_SECONDS = 300.0
LOOK_SECONDS = 0.2
# Below Linux's default ip_local_port_range: an outgoing connection never takes the port of a server that restarts.
LASTING_PORTS = range(20_000, 32_768)
PORT_SECONDS = 5.0
"""How long a wanted port may be taken: the API of a supervisor that was killed dies a moment after it."""

Notice = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Watched:
    """One long-running role.

    Attributes:
        start: starts it and gives its child.
        child: the running child, if any.
        delay_seconds: pause before the next restart; doubles with each quick death.
        due: monotonic time of the next restart, or None while it runs.
    """

    name: str
    start: Callable[[], Child]
    child: Child | None = None
    delay_seconds: float = FIRST_DELAY_SECONDS
    due: float | None = None


@dataclass(slots=True)
class Supervisor:
    """Runs one embedded stack over one data folder.

    Attributes:
        port: port of the API; 0 chooses a free one.
        notice: receives progress messages.
        parent: process id of the parent whose death stops the stack, or None.
        with_link: make a sign-in link valid at the start.
        link: the address that signs in, once the API answers; None without `with_link`.
    """

    folder: DataFolder
    port: int = 0
    notice: Notice = print
    parent: int | None = None
    with_link: bool = False
    link: str | None = field(default=None, init=False)
    stopping: bool = field(default=False, init=False)
    _watched: list[Watched] = field(default_factory=list, init=False)

    @property
    def url(self) -> str:
        """Address of the API."""
        return f"http://{roles.HOST}:{self.port}"

    def run(self, *, announce: Callable[["Supervisor"], None]) -> None:
        """Start everything, stay until ``stopping`` is set (by a signal handler) or the parent dies, stop everything.

        `announce` is called once, when the API answers.

        Raises:
            EmbeddedError: if the stack cannot start; what had started is stopped first.
        """
        lock = self.folder.lock()
        try:
            self._start()
            if not self.stopping:
                self.folder.announce(self.url)
                announce(self)
            while not self.stopping:
                self._look_after()
                time.sleep(LOOK_SECONDS)
                # A process whose parent dies is given another one.
                self.stopping |= self.parent not in {None, os.getppid()}
        finally:
            self.folder.withdraw()
            self._stop()
            lock.release()

    def _start(self) -> None:
        self.folder.clear_scratch()
        self.port = free_port(self.port)
        run_folder = self.folder.run_folder
        postgres = PostgresServer(
            self.folder.path / "postgres", run_folder=run_folder, log=self.folder.log("postgres")
        )
        redis = RedisServer(self.folder.path / "redis", run_folder=run_folder, log=self.folder.log("redis"))
        self._watch("postgres", postgres.start)
        self._watch("redis", redis.start)
        self.folder.keys()
        environment = roles.role_environment(
            self.folder, database_url=postgres.url(), broker_url=redis.broker_url, port=self.port
        )
        self._run_once(roles.migrations(self.folder, environment))
        with self.folder.new_link() if self.with_link else nullcontext() as token:
            self._run_once(roles.provision(self.folder, environment))
        self.link = None if token is None else roles.link_address(self.url, token)
        for role in (roles.api, roles.worker, roles.reports, roles.upkeep):
            if not self.stopping:
                command = role(self.folder, environment)
                self._watch(command.name, lambda command=command: Child(command))  # type: ignore[misc]
        self._await_api()

    def _watch(self, name: str, start: Callable[[], Child]) -> None:
        watched = Watched(name=name, start=start)
        watched.child = start()
        self._watched.append(watched)

    def _run_once(self, command: Command) -> None:
        if self.stopping:
            return
        child = Child(command)
        while child.exit_status is None and not self.stopping:
            time.sleep(0.02)
        if child.stop() != 0 and not self.stopping:
            message = f"{command.name} failed; the end of its log says:\n{log_tail(command.log)}"
            raise ServerFailed(message)

    def _await_api(self) -> None:
        deadline = time.monotonic() + API_START_SECONDS
        while not self.stopping and not answers(self.port):
            api = next(watched.child for watched in self._watched if watched.name == "api")
            require_starting(api, self.folder.log("api"), late=time.monotonic() > deadline)
            time.sleep(0.05)

    def _look_after(self) -> None:
        """Restart each role that died, once its pause is over."""
        now = time.monotonic()
        for watched in self._watched:
            child = watched.child
            if child is not None and child.exit_status is not None:
                child.kill_group()
                if now - child.started_seconds > STEADY_SECONDS:
                    watched.delay_seconds = FIRST_DELAY_SECONDS
                self._postpone(watched, f"ended with status {child.exit_status}")
            elif child is None and watched.due is not None and now >= watched.due:
                self._restart(watched)

    def _restart(self, watched: Watched) -> None:
        try:
            watched.child = watched.start()
        except (EmbeddedError, OSError) as error:
            self._postpone(watched, f"did not start: {error}")
        else:
            watched.due = None
            self.notice(f"{watched.name} was started again")

    def _postpone(self, watched: Watched, what: str) -> None:
        watched.child = None
        watched.due = time.monotonic() + watched.delay_seconds
        self.notice(
            f"{watched.name} {what}; starting it again in {watched.delay_seconds:g} s "
            f"(log: {self.folder.log(watched.name)})"
        )
        watched.delay_seconds = min(2 * watched.delay_seconds, LONGEST_DELAY_SECONDS)

    def _stop(self) -> None:
        """Stop the roles in reverse order of their start: first those that use others."""
        while self._watched:
            child = self._watched.pop().child
            if child is not None:
                child.stop()


def require_starting(api: Child | None, log: Path, *, late: bool) -> None:
    """Refuse to wait any longer for an API that ended (None), or that had `API_START_SECONDS` to answer.

    Raises:
        ServerFailed: it ended, or is late; the message says which.
    """
    if api is None or api.exit_status is not None:
        message = f"the API did not start; the end of its log says:\n{log_tail(log)}"
        raise ServerFailed(message)
    if late:
        message = (
            f"the API runs and did not answer within {API_START_SECONDS:g} seconds: the machine is busy. Run the command again, and what"
            f" was started goes on; the log is {log}"
        )
        raise ServerFailed(message)


def free_port(port: int) -> int:
    """Return a free port of the loopback interface: the wanted one, or any of ``LASTING_PORTS`` for 0.

    Raises:
        EmbeddedUnavailable: if the wanted port stays taken for `PORT_SECONDS`.
    """
    if port == 0:
        for each in secrets.SystemRandom().sample(LASTING_PORTS, 100):
            if is_free(each):
                return each
        raise EmbeddedUnavailable("no free port was found")
    deadline = time.monotonic() + PORT_SECONDS
    while not is_free(port):
        if time.monotonic() > deadline:
            raise EmbeddedUnavailable(f"port {port} is in use; choose another with --port")
        time.sleep(LOOK_SECONDS)
    return port


def is_free(port: int) -> bool:
    """Return whether a server could listen on a port of the loopback interface."""
    with contextlib.closing(socket.socket()) as probe:
        # As servers do, so that connections of a former run in TIME_WAIT do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((roles.HOST, port))
        except OSError:
            return False
        return True


def answers(port: int) -> bool:
    """Return whether the API on a port of the loopback interface answers that it is ready."""
    connection = http.client.HTTPConnection(roles.HOST, port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
