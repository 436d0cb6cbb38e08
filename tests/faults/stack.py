"""One embedded stack under fire: started, killed and started again over one data folder."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, LiteralString

import psycopg

from core.data.objects import ObjectStore, open_store
from core.db.session import Database
from core.jobs.queue import CeleryQueue
from tests.faults.processes import (
    MARK,
    ROLES,
    kill_all,
    live,
    marked,
    pool_of,
    role,
    runner_of,
    wait_until,
)
from tests.system.processes import Process
from understudy.connection import Connection
from understudy.embedded import roles
from understudy.embedded.child import Child
from understudy.embedded.folder import DataFolder
from understudy.embedded.identity import AS_IS, launcher_prefix
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.redis import RedisServer
from understudy.embedded.supervisor import answers, free_port

LEASE_SECONDS = 3.0
START_SECONDS = 120.0
STOP_SECONDS = 90.0
SETTINGS = {
    "UNDERSTUDY_COMPLETION_SECONDS": "0.2",
    "UNDERSTUDY_LEASE_SECONDS": str(LEASE_SECONDS),
    "UNDERSTUDY_HEARTBEAT_SECONDS": "0.3",
    "UNDERSTUDY_CHECKPOINT_SECONDS": "0.2",
    "UNDERSTUDY_UPKEEP_SECONDS": "1.5",
    "UNDERSTUDY_JOB_ATTEMPTS": "40",
    "UNDERSTUDY_TRAINING_THREADS": "1",
    "UNDERSTUDY_REPORT_SLOT_SECONDS": "0.2",
    # The drill orders the reports that it disturbs.
    "UNDERSTUDY_OWNER_REPORTS": "ordered",
    "UNDERSTUDY_UPLOAD_PART_BYTES": "1000",
    "UNDERSTUDY_NOTIFY_NETWORKS": '["127.0.0.0/8"]',
    "UNDERSTUDY_QUOTA_NOTIFICATION_ENDPOINTS": "1000",
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}


class StackDown(Exception):
    """The supervisor did not start; its words say why."""


class Stack:
    """The processes of one data folder.

    Args:
        folder: the data folder, made where missing.
        entropy: `known`, by which jobs of one plan on the same rows leave the same bytes; or `drawn`, as in use.
    """

    def __init__(self, folder: Path, *, entropy: Literal["known", "drawn"] = "known") -> None:
        self._entropy = entropy
        self.folder = DataFolder.prepare(folder)
        self.mark = f"{os.getpid()}-{self.folder.path}"
        self.port = free_port(0)
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("UNDERSTUDY_")
        } | {**SETTINGS, MARK: self.mark}
        self.said: list[str] = []
        self.rivals: list[Child] = []
        self._process: subprocess.Popen[str] | None = None
        self._asking: psycopg.Connection[tuple[object, ...]] | None = None

    @property
    def pid(self) -> int:
        """Process id of the supervisor."""
        assert self._process is not None, "the stack was never started"
        return self._process.pid

    def start(self) -> None:
        """Start the supervisor and wait until the API answers.

        Raises:
            StackDown: it did not start.
        """
        self.launch()
        self.await_start()

    def launch(self) -> None:
        """Start the supervisor. It ends with the thread that does this."""
        where = [str(self.folder.path), str(self.port)]
        words = [sys.executable, "-m", "tests.faults.supervised", *where, self._entropy]
        self._process = process = subprocess.Popen(
            [*launcher_prefix(death_signal=signal.SIGTERM, identity=AS_IS), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=[process], daemon=True).start()

    def await_start(self) -> None:
        """Wait until the API of a launched supervisor answers.

        Raises:
            StackDown: it did not start.
        """
        process = self._process
        assert process is not None
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            raise StackDown("\n".join(self.said[-20:]))
        assert json.loads(line)["url"].endswith(f":{self.port}")

    def _listen(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        with process.stderr:
            self.said.extend(line.rstrip("\n") for line in process.stderr)

    def stop(self) -> None:
        """Ask the supervisor to stop everything, and wait."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=STOP_SECONDS)
        self._close()

    def crash(self) -> None:
        """kill -9 the supervisor, and nobody else."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._close()

    def crash_everything(self) -> None:
        """kill -9 every process, first the supervisor: no server can write its state down."""
        family = self.family()
        self.crash()
        kill_all(family)
        self.end_rivals()

    def _close(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.stdout.close()

    def end(self) -> None:
        """Leave nothing behind, whatever state things are in."""
        if self._asking is not None:
            self._asking.close()
        if self._process is not None and self._process.poll() is None:
            for process in self.family():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGCONT)
            self.stop()
        self.end_rivals()
        kill_all(marked(self.mark))

    def family(self) -> list[Process]:
        """Everything that runs below the supervisor."""
        return live(self.pid)

    def process(self, name: str) -> Process | None:
        """The process of a role."""
        return role(self.family(), name)

    def pool(self) -> Process | None:
        """The process of the worker that claims, beats and publishes."""
        return self._pool("worker")

    def reports_pool(self) -> Process | None:
        """The same of the worker of reports."""
        return self._pool("reports")

    def _pool(self, name: str) -> Process | None:
        worker = self.process(name)
        return worker and pool_of(worker)

    def runner(self, *, work: str = "train") -> Process | None:
        """The child that does this kind of work, if there is one."""
        worker = self.process("reports" if work == "compare" else "worker")
        return worker and runner_of(worker, work=work)

    def healthy(self) -> bool:
        """Whether every role runs and the API answers."""
        family = self.family()
        return all(role(family, name) for name in ROLES) and self.pool() is not None and answers(self.port)

    def await_health(self) -> bool:
        """Wait for it."""
        return wait_until(self.healthy, seconds=START_SECONDS, look_seconds=0.2)

    def orphans(self) -> list[Process]:
        """Marked processes that neither the supervisor nor this drill looks after."""
        known = {self.pid, *(process.pid for process in self.family())}
        for rival in self.rivals:
            known |= {rival.pid, *(process.pid for process in live(rival.pid))}
        return [process for process in marked(self.mark) if process.pid not in known and process.lives()]

    def start_rival(self) -> Child:
        """Start a second worker beside the supervisor's; it dies with this process."""
        environment = roles.role_environment(
            self.folder, database_url=self.database_url, broker_url=self.redis.broker_url, port=self.port
        )
        command = roles.worker(self.folder, environment | self.environment)
        self.rivals.append(Child(command))
        return self.rivals[-1]

    def end_rivals(self) -> None:
        """Stop the second workers."""
        while self.rivals:
            rival = self.rivals.pop()
            family = live(rival.pid)
            rival.stop()
            kill_all(family)

    @property
    def connection(self) -> Connection:
        """Address and keys; the port stays the same over all starts."""
        return Connection(f"http://{roles.HOST}:{self.port}", self.folder.keys())

    @property
    def postgres(self) -> PostgresServer:
        """Where the database is; not started through this value."""
        return PostgresServer(
            self.folder.path / "postgres", run_folder=self.folder.run_folder, log=self.folder.log("postgres")
        )

    @property
    def redis(self) -> RedisServer:
        """Where the broker is; not started through this value."""
        return RedisServer(
            self.folder.path / "redis", run_folder=self.folder.run_folder, log=self.folder.log("redis")
        )

    @property
    def database_url(self) -> str:
        """Address of the database."""
        return self.postgres.url()

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Transactions for the checks."""
        database = Database(self.database_url, pool_size=1, max_overflow=1)
        try:
            yield database
        finally:
            database.close()

    def ask(self, query: LiteralString, *arguments: object) -> tuple[object, ...] | None:
        """The first row of an answer. Drills ask up to 200 times a second, so the connection is kept while the server lives."""
        if self._asking is not None and not self._asking.closed:
            try:
                return self._asking.execute(query, arguments).fetchone()
            except psycopg.OperationalError:
                self._asking.close()  # it was to a server that is gone
        self._asking = psycopg.connect(self._address, autocommit=True, connect_timeout=5)
        return self._asking.execute(query, arguments).fetchone()

    @contextmanager
    def connected(self) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
        """A bare connection, for looking and for holding locks."""
        with psycopg.connect(self._address, autocommit=True, connect_timeout=5) as connection:
            yield connection

    @property
    def _address(self) -> str:
        return self.database_url.replace("postgresql+psycopg", "postgresql")

    @contextmanager
    def queue(self) -> Iterator[CeleryQueue]:
        """The broker, as a sender sees it."""
        queue = CeleryQueue(self.redis.broker_url)
        try:
            yield queue
        finally:
            queue.close()

    @property
    def objects(self) -> Path:
        """The folder of the object store."""
        return self.folder.path / "objects"

    @property
    def store(self) -> ObjectStore:
        """The object store."""
        return open_store(self.objects.as_uri())
