"""One job through a whole deployment in one process: API, database, broker, object store, worker, training child.

Everything runs the code that runs in production: requests go through the API's own stack, orders through the ledger, the
message lies in a real redis, the worker's task claims, supervises, certifies and publishes, and its child is
`workers.runner.main` with its own connection and store. Four things stand in for the machine: fresh randomness is a
fixed stream, the clock stands still, the child is called instead of started (and is killed by an exception that nothing
catches), and what ties a process to its parent is left out.
"""

import contextvars
import hashlib
import io
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
import structlog
import torch
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi.testclient import TestClient
from sqlalchemy import event

from core.artifacts.signing import keyring
from core.clock import FixedClock
from core.data.objects import ObjectStore, open_store
from core.db.session import Database
from core.jobs import claims
from core.jobs.queue import CeleryQueue
from core.logs import configure_logs
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role
from core.platform.settings import Settings, read_settings
from models import bundle
from models.randomness import KeyedStreams
from models.releases import ReleaseRecorder
from service.app import create_app
from service.uploads import endpoints
from tests.privacy.replay.broker import Broker
from tests.privacy.replay.evidence import (
    SEALED_ROWS,
    Evidence,
    digest,
    every_row,
    masked_log,
)
from tests.privacy.replay.exporting import Exporter, one_product
from tests.privacy.replay.listening import Both
from tests.service.world import NOON, Caller, World
from tests.workers.support import environment_of
from workers import assignment, attempts, runner, training, training_child

KILLED: Final = -9
GO_BETWEENS: Final = {"uuid", "random", "secrets", "kombu.utils.uuid"}


class Killed(BaseException):
    """The child was killed: nothing in it catches this."""


class FrozenEntropy:
    """The operating system's random bytes, the same in every run.

    SHA-256 of who asks and for the how manieth time, so that what a library draws once in the life of a process, on
    its first use, moves nobody else's numbers.
    """

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    def __call__(self, count: int) -> bytes:
        who = asking()
        self._calls[who] += 1
        named = f"{who}/{self._calls[who]}"
        pieces = (hashlib.sha256(f"{named}/{n}".encode()).digest() for n in range(count // 32 + 1))
        return b"".join(pieces)[:count]


def asking() -> str:
    """Module and function that want random bytes, whichever way they ask for them."""
    # private: the standard library's only cheap view of a caller
    frame = sys._getframe(2)
    while frame.f_globals["__name__"] in GO_BETWEENS and frame.f_back is not None:
        frame = frame.f_back
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_name}"


class FrozenSigningKey:
    """In the place of the class of signing keys: makes them of frozen bytes."""

    from_private_bytes = Ed25519PrivateKey.from_private_bytes

    @staticmethod
    def generate() -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(os.urandom(32))


@dataclass(frozen=True)
class Place:
    """Where one job runs: settings over a database, a broker and folders of its own."""

    settings: Settings
    broker: Broker


@dataclass
class Child:
    """The training child, in this process; as `workers.child.Child`."""

    command: Sequence[str]
    environment: Any
    pid: int = 0
    code: int | None = None

    def wait(self, seconds: float) -> int | None:
        if self.code is None:
            try:
                context = contextvars.copy_context()
                self.code = int(context.run(runner.main, [*self.command[3:]]))
            except Killed:
                self.code = KILLED
        return self.code

    def resident_bytes(self) -> int:
        return 0

    def kill(self) -> int:
        assert self.code is not None
        return self.code


class Deployment:
    """A running deployment that writes down what it leaves.

    Args:
        place: Where it runs.
        releases: Listens at the seam.
        export: Makes a generator's network.
        kill_at: Numbers of the checkpoints, counted over all attempts, at which the child dies before it has saved.
    """

    def __init__(
        self,
        place: Place,
        releases: ReleaseRecorder,
        *,
        export: Exporter = one_product,
        kill_at: Sequence[int] = (),
    ) -> None:
        self.place, self.evidence, self.clock = place, Evidence(), FixedClock(NOON)
        self._releases, self._export, self._kill_at, self._saves = releases, export, kill_at, 0
        self._printed = io.StringIO()
        self.world: World

    @contextmanager
    def running(self) -> Iterator["Deployment"]:
        """Everything is up; on leaving, what was printed and stored is added to the evidence."""
        settings = self.place.settings
        deterministic = torch.get_deterministic_debug_mode()
        with pytest.MonkeyPatch.context() as patch:
            self._freeze(patch)
            self._watch(patch)
            database = Database(settings.database_url, pool_size=4, max_overflow=4)
            queue, store = CeleryQueue(settings.broker_url), open_store(settings.storage_url)
            entropy = os.urandom
            try:
                app = create_app(
                    settings, database=database, queue=queue, store=store, clock=self.clock, entropy=entropy
                )
                pepper = pepper_from(settings.master_key_bytes)
                directory = KeyDirectory(pepper=pepper, clock=self.clock, entropy=entropy)
                with TestClient(app) as client:
                    callers = {}
                    for name, role in ROLES.items():
                        with database.transaction() as session:
                            row, key = directory.issue(session, name=name, roles=[role])
                        callers[name] = Caller(client, key.text, row.principal_id)
                    self.world = World(
                        app=app, client=client, database=database, queue=queue, store=store,  # type: ignore[arg-type]
                        clock=self.clock, directory=directory, **callers,
                    )  # fmt: skip
                    yield self
                self.evidence.names = sorted(found.key for found in store.list(""))
            finally:
                queue.close()
                database.close()
                read_settings.cache_clear()
                structlog.reset_defaults()
                torch.set_deterministic_debug_mode(deterministic)
        self.evidence.logs = masked_log(self._printed.getvalue())

    def snapshot(self, moment: str) -> None:
        """Keep every row of the database."""
        self.evidence.tables[moment] = every_row(self.world.database)

    def work(self) -> None:
        """Deliver messages to a worker until there are none, as after each crash."""
        attempt = 0
        while (message := self.place.broker.take()) is not None:
            attempt += 1
            self.evidence.messages.append(message.content)
            contextvars.Context().run(self._serve, message.job_id)
            self.snapshot(f"attempt {attempt}")

    def _serve(self, job_id: UUID) -> None:
        configure_logs(role="worker")
        settings, world = self.place.settings, self.world
        trainer = training.Trainer(
            settings, database=world.database, store=world.store, queue=world.queue, clock=self.clock,
            environment=environment_of(settings), sleep=lambda seconds: self.clock.advance(seconds=seconds),
        )  # fmt: skip
        trainer.train(job_id)

    def _freeze(self, patch: pytest.MonkeyPatch) -> None:
        """Put fixed stand-ins in the place of the machine's randomness and of its processes."""
        entropy = FrozenEntropy()
        patch.setattr(os, "urandom", entropy)
        # private: the standard library's own source of entropy, repeated for a replay
        patch.setattr(random, "_urandom", entropy)
        patch.setattr(keyring, "Ed25519PrivateKey", FrozenSigningKey)
        patch.setattr("sys.stdout", self._printed)
        patch.setattr("sys.stderr", self._printed)
        for name, value in environment_of(self.place.settings).items():
            patch.setenv(name, value)
        read_settings.cache_clear()
        configure_logs(role="api")
        patch.setattr(attempts, "Child", Child)
        patch.setattr(runner, "die_with_parent", lambda parent: None)
        patch.setattr(runner, "close_side_doors", lambda: None)
        patch.setattr(training_child, "limit_memory", lambda limit: None)
        # How often a client asks while rows are taken in depends on the machine's load alone; here it asks once.
        patch.setattr(endpoints, "PATIENCE_SECONDS", 600.0)
        patch.setattr(runner, "fall_silent", lambda: self._printed)
        patch.setattr(torch, "set_num_interop_threads", lambda count: None)
        patch.setattr(bundle, "export_onnx", self._export)

    def _watch(self, patch: pytest.MonkeyPatch) -> None:
        """Listen at the seam, at marks, at the object store and at the database."""

        def heard(key: bytes, *, releases: ReleaseRecorder | None = None) -> KeyedStreams:
            return KeyedStreams(key, releases=Both(self._releases, releases))

        patch.setattr(training_child, "KeyedStreams", heard)
        patch.setattr(claims, "advance", self._marking(claims.advance))
        patch.setattr(assignment.Checkpoints, "save", self._dying(assignment.Checkpoints.save))
        for name in ("put_bytes", "put_file", "delete"):
            patch.setattr(ObjectStore, name, self._storing(name, getattr(ObjectStore, name)))
        patch.setattr(Database, "__init__", self._overheard(Database.__init__))

    def _marking(self, advance: Callable[..., bool]) -> Callable[..., bool]:
        def marked(session: Any, claim: Any, *, stage: str, step: int, total: int, **more: Any) -> bool:
            self.evidence.marks.append((stage, step, total))
            return advance(session, claim, stage=stage, step=step, total=total, **more)

        return marked

    def _dying(self, save: Callable[..., None]) -> Callable[..., None]:
        def saved(kept: assignment.Checkpoints, state: bytes) -> None:
            self._saves += 1
            if self._saves in self._kill_at:
                raise Killed
            save(kept, state)

        return saved

    def _storing(self, name: str, change: Callable[..., None]) -> Callable[..., None]:
        def stored(store: ObjectStore, key: str, *content: Any) -> None:
            change(store, key, *content)
            seen = "sealed rows" if content and key.startswith(SEALED_ROWS) else ""
            if content and not seen:
                whole = content[0].read_bytes() if isinstance(content[0], Path) else content[0]
                seen = digest(whole)
            self.evidence.objects.append((name, key, seen))

        return stored

    def _overheard(self, init: Callable[..., None]) -> Callable[..., None]:
        def opened(database: Database, *words: Any, **options: Any) -> None:
            init(database, *words, **options)
            event.listen(database.engine, "before_cursor_execute", self._statement)

        return opened

    def _statement(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not statement.lstrip().upper().startswith("SELECT"):
            self.evidence.writes.append(statement)


ROLES = {"owner": Role.OWNER, "analyst": Role.ANALYST, "admin": Role.ADMIN, "stranger": Role.OWNER}
