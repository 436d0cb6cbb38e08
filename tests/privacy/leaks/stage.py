"""One whole deployment: API, database, files, scratch, and a worker's real training children; one table in it.

Two stages are set up with neighbouring tables and told the same things at the same moments of one clock that stands still
between them. What happens on one: rows are uploaded; one job trains to its release; another fails among the rows and says
everything it can about them; a third is cancelled; budget is asked for; a utility report is measured of the release, and a sealed one made, which on one stage fails among the rows. On the stage with the canaries the first training is
shot down on its way and resumed.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import structlog
from fastapi.testclient import TestClient
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from core import tracing
from core.clock import FixedClock
from core.data.objects import open_store
from core.db.session import Database
from core.ledger.audit_log import link_waiting
from core.logs import configure_logs
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role
from core.platform.notifications.attempts import DELIVERED
from core.platform.notifications.dispatch import Dispatcher
from core.platform.notifications.messages import Batch
from core.platform.settings import Settings
from service.app import create_app
from tests.memory_queue import MemoryQueue
from tests.privacy.leaks.canaries import in_bytes
from tests.privacy.leaks.table import DECLARED_SIZE, DOMAIN, REFUSED_LINE
from tests.service.matrix import FEDERATION
from tests.service.world import NOON, Caller, World
from tests.workers.support import SMALL, environment_of
from workers.child import ExitCode
from workers.owner_reports import OwnerReporter
from workers.training import Trainer

LOOK_SECONDS = 0.2
OPTIONS = SMALL | {"steps": 40, "pretraining_steps": 20}
_SHOT_DOWN = """
import faulthandler, os, signal, sys
from workers import assignment, runner
faulthandler.enable()
kept = assignment.JobHost.save_checkpoint
def kept_and_shot(self, state):
    kept(self, state)
    os.kill(os.getpid(), signal.SIGSEGV)
assignment.JobHost.save_checkpoint = kept_and_shot
sys.exit(runner.main(sys.argv[1:]))
"""
_FAILING = """
import logging, os, sys, warnings
import pyarrow as pa
from workers import runner, training_child
def tells_all(batches, domain):
    rows = pa.Table.from_batches(list(batches))
    text = f"{rows.slice(0, 3).to_pylist()} of {len(rows)}, {len(rows):,}, {len(rows):x} rows"
    print(text, flush=True)
    print(text, file=sys.stderr, flush=True)
    os.write(1, text.encode()), os.write(2, text.encode())
    logging.getLogger("numpy").error(text)
    warnings.warn(text)
    raise ValueError(text)
training_child.coded_table = tells_all
sys.exit(runner.main(sys.argv[1:]))
"""
_FAILING_REPORT = _FAILING.replace("training_child", "owner_report_child").replace(
    "coded_table", "coded_rows"
)
_FEW_TREES = """
import sys
from models.reports import public_side
from workers import runner
public_side.TREES = 2
sys.exit(runner.main(sys.argv[1:]))
"""
_SMALL_REPORT = """
import sys
from core.artifacts.reports import owner_contents
from workers import runner
owner_contents.SYNTHETIC_ROWS = owner_contents.LEARNING_ROWS = 200
sys.exit(runner.main(sys.argv[1:]))
"""


@dataclass
class Stage:
    """The deployment, and what there is to look at."""

    world: World
    settings: Settings
    folder: Path
    auditor: Caller
    colleague: Caller  # another analyst, who is no member
    exported: InMemorySpanExporter
    tracer: tracing.Tracer
    watches: list["Watch"] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    told: list[bytes] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @contextmanager
    def observed(self) -> Iterator[None]:
        """While this lasts, what is printed and logged goes to the log, and every file is looked at."""
        watch = Watch(self.folder / "objects", self.folder / "scratch", self.folder / "tmp")
        with captured(self.log), temporary_files_in(self.folder / "tmp"), watch:
            yield
        self.watches.append(watch)

    def train(self, job_id: str, script: str | None = None) -> None:
        """One attempt; the clock goes on by its last wait only."""
        clock = self.world.clock

        def sleep(seconds: float) -> None:
            clock.advance(seconds=seconds)

        words: dict[str, Any] = {}
        if script is not None:
            words["command"] = lambda job, fence: [
                sys.executable, "-c", script, str(job), str(fence), "--parent", str(os.getpid()), "--work", "train",
            ]  # fmt: skip
        Trainer(
            self.settings,
            database=self.world.database,
            store=self.world.store,
            queue=self.world.queue,
            clock=clock,
            environment=environment_of(self.settings) | {"PYTHONFAULTHANDLER": "1"},
            tracer=self.tracer,
            sleep=sleep,
            **words,
        ).train(UUID(job_id))

    def sealed(self, release_id: str, script: str) -> str:
        """an owner report, made by a child that runs a script. Returns its id."""
        world, clock = self.world, self.world.clock
        answer = world.owner.post(f"/v1/releases/{release_id}/sealed-reports", {})
        assert answer.status_code == 202, answer.text
        report_id = str(answer.json()["id"])
        OwnerReporter(
            self.settings,
            database=world.database,
            store=world.store,
            queue=world.queue,
            clock=clock,
            environment=environment_of(self.settings) | {"PYTHONFAULTHANDLER": "1"},
            command=lambda report, fence: [
                sys.executable, "-c", script, str(report), str(fence), "--parent", str(os.getpid()), "--work", "compare",
            ],
            sleep=lambda seconds: clock.advance(seconds=seconds),
        ).report(UUID(report_id))  # fmt: skip
        return report_id

    def play(self, rows: bytes, *, shot_down: bool) -> None:
        """Everything that happens on a stage."""
        world = self.world
        dataset_id = world.declare(domain=DOMAIN, declared_size=DECLARED_SIZE, name="admissions")
        answer = world.upload(dataset_id, rows)
        assert answer.status_code == 201, answer.text
        world.clock.advance(seconds=1)  # datasets of the same moment are listed in any order
        waiting = world.declare(domain=DOMAIN, declared_size=DECLARED_SIZE, name="readmissions")
        answer = world.upload(waiting, rows + REFUSED_LINE * (rows.count(b"\n") // 20))
        assert answer.json()["waiting"], "its rows wait for their owner, and to everybody else there are none"
        world.set_budget(dataset_id, epsilon=6.0)
        hook = {"channel": "webhook", "target": "https://example.org/hook"}
        endpoint = world.analyst.post("/v1/notifications/endpoints", hook).json()
        orders = []
        for number in range(3):
            orders.append(world.order(dataset_id, options=OPTIONS, key=str(number)).json()["id"])
            world.clock.advance(seconds=1)
        job_id, failed, cancelled = orders
        begun = world.clock.now()
        if shot_down:
            self.train(job_id, _SHOT_DOWN)
            world.clock.at = begun
        self.train(job_id)
        # The same end by another way: how an attempt failed among the rows is told nowhere.
        self.train(failed, _FAILING if shot_down else f"raise SystemExit({int(ExitCode.DATA)})")
        assert world.analyst.post(f"/v1/jobs/{cancelled}/cancel").status_code == 200
        asked = world.analyst.post(
            f"/v1/datasets/{dataset_id}/budget-requests", {"epsilon": 0.5, "delta": 1e-6, "purpose": "a test"}
        ).json()
        world.clock.advance(seconds=60)
        link_waiting(world.database)
        view = world.analyst.get(f"/v1/jobs/{job_id}").json()
        assert view["state"] == "succeeded", self.log.read_text()
        measuring, charged = self.measured(dataset_id, str(view["release_id"]))
        # One fails among the rows and tells all, the other is made: to everybody but the owner they are alike.
        sealed = self.sealed(str(view["release_id"]), _FAILING_REPORT if shot_down else _SMALL_REPORT)
        grants = world.analyst.get(f"/v1/datasets/{dataset_id}/grants").json()["items"]
        self.told = notified(self.settings, world)
        self.ids = {
            "endpoint_id": endpoint["id"],
            "dataset_id": dataset_id, "waiting": waiting, "job_id": job_id, "failed": failed, "cancelled": cancelled,
            "release_id": str(view["release_id"]), "sealed_report_id": sealed, "measuring": measuring, "charged_report_id": charged, "request_id": asked["id"], "grant_id": grants[0]["id"],
            "principal_id": str(world.analyst.principal_id), "number": "1", "member": "a",
            "federation_id": world.analyst.post("/v1/federations", FEDERATION).json()["id"],
        }  # fmt: skip

    def measured(self, dataset_id: str, release_id: str) -> tuple[str, str]:
        """A utility report about the release. Returns the ids of its job and of the report."""
        world = self.world
        report = {"release_id": release_id}
        answer = world.order(dataset_id, key="report", epsilon=0.3, options={}, report=report)
        assert answer.status_code == 202, answer.text
        self.train(answer.json()["id"], _FEW_TREES)
        view = world.analyst.get(f"/v1/jobs/{answer.json()['id']}").json()
        assert view["state"] == "succeeded", self.log.read_text()
        return str(view["id"]), str(view["report_id"])


@dataclass
class Receiver:
    """Takes whatever is sent."""

    bodies: list[bytes] = field(default_factory=list)

    def send(self, batch: Batch, *, at: datetime) -> list[str]:
        self.bodies += [message.body for message in batch.messages]
        return [DELIVERED] * len(batch.messages)


def notified(settings: Settings, world: World) -> list[bytes]:
    """What a receiver of the analyst's notifications was sent, in its order."""
    receiver = Receiver()
    dispatcher = Dispatcher(
        world.database,
        master_keys=settings.master_keys,
        clock=world.clock,
        transports={"webhook": receiver},
        entropy=os.urandom,
        digest=timedelta(hours=1),
        retention=timedelta(days=30),
    )
    dispatcher.round()
    dispatcher.close()
    return receiver.bodies


class Watch:
    """Looks at every file below folders, and at this process's deleted ones, while things happen.

    Args:
        folders: Where to look.
    """

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._known: set[tuple[str, int, int]] = set()
        self.found: list[tuple[str, str]] = []
        self.names: set[str] = set()
        self.seen = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(LOOK_SECONDS):
            self.look_once()

    def look_once(self) -> None:
        """Look at everything that has changed since the last look."""
        for path in self._files():
            self._look_at(path)

    def _files(self) -> Iterator[Path]:
        for folder in self._folders:
            yield from (path for path in folder.rglob("*") if path.is_file())
        for link in Path("/proc/self/fd").iterdir():
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if any(target.startswith(str(folder)) for folder in self._folders) and target.endswith(
                "(deleted)"
            ):
                yield link

    def _look_at(self, path: Path) -> None:
        try:
            about = path.stat()
            mark = (str(about.st_ino), about.st_size, about.st_mtime_ns)
            if mark in self._known:
                return
            content = path.read_bytes()
        except OSError:
            return
        self._known.add(mark)
        self.names.add(path.name)
        self.seen += 1
        self.found += [(path.name, hit) for hit in in_bytes(content)]


@contextmanager
def captured(log: Path) -> Iterator[None]:
    """Everything that this process and its children print or log goes to one file."""
    printed = sys.stdout, sys.stderr
    kept = os.dup(1), os.dup(2)
    with log.open("a", buffering=1) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = file
        configure_logs(role="api")
        try:
            yield
        finally:
            sys.stdout, sys.stderr = printed
            structlog.reset_defaults()
            for number, former in enumerate(kept, start=1):
                os.dup2(former, number)
                os.close(former)


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """What Python and its children call the folder of temporary files."""
    kept, tempfile.tempdir = tempfile.tempdir, str(folder)
    former = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = kept
        if former is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = former


@contextmanager
def set_up(folder: Path, servers: Mapping[str, str]) -> Iterator[Stage]:
    """An empty stage.

    Args:
        folder: Where its files lie.
        servers: The settings that name the servers, `database_url` and `broker_url`.
    """
    for name in ("objects", "scratch", "tmp"):
        (folder / name).mkdir()
    settings = Settings.model_validate(
        {
            **servers,
            "mode": "embedded",
            "storage_url": (folder / "objects").as_uri(),
            "scratch_folder": folder / "scratch",
            "master_key": "0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdeffedcba9876543210",
            "checkpoint_seconds": 0.01,
        }
    )
    exported = InMemorySpanExporter()
    provider = tracing.provider_of("test")
    provider.add_span_processor(SimpleSpanProcessor(exported))
    tracer = provider.get_tracer(tracing.NAME)
    clock, queue, store = FixedClock(NOON), MemoryQueue(), open_store(settings.storage_url)
    directory = KeyDirectory(pepper=pepper_from(settings.master_key_bytes), clock=clock, entropy=os.urandom)
    database = Database(settings.database_url, pool_size=4, max_overflow=20)
    app = create_app(settings, database=database, queue=queue, store=store, clock=clock, tracer=tracer)
    with TestClient(app) as client:

        def caller(name: str, role: Role) -> Caller:
            with database.transaction() as session:
                row, key = directory.issue(session, name=name, roles=[role])
            clock.advance(seconds=1)  # so that lists by time have one order only
            return Caller(client, key.text, row.principal_id)

        world = World(
            app=app, client=client, database=database, queue=queue, store=store, clock=clock, directory=directory,
            owner=caller("owner", Role.OWNER), analyst=caller("analyst", Role.ANALYST),
            admin=caller("admin", Role.ADMIN), stranger=caller("stranger", Role.OWNER),
        )  # fmt: skip
        yield Stage(
            world=world, settings=settings, folder=folder, exported=exported, tracer=tracer,
            auditor=caller("auditor", Role.AUDITOR), colleague=caller("colleague", Role.ANALYST),
        )  # fmt: skip
    database.close()
