"""The faults of a drill. Each is done to a running stack at a moment, and may leave something to be made good later.

A fault returns what has to be done once the job has ended, such as waking a frozen worker; None if nothing. What it does
returns what it found wrong.
"""

import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np

from tests.faults.errand import (
    MOMENTS,
    ROWS,
    OwnersOrder,
    PartsUpload,
    Publication,
    ReportOrder,
    WebhookTest,
    write_rows,
)
from tests.faults.owners_checks import order_violations
from tests.faults.processes import (
    kill_all,
    limit_files,
    live,
    looks,
    send,
    wait_until,
)
from tests.faults.stack import LEASE_SECONDS, Stack
from tests.system.processes import Process

PATIENCE_SECONDS: Final = 120.0
TRAINING: Final = MOMENTS.index("train")
BROKER_KEYS: Final = b"celery unacked unacked_index unacked_mutex"
ATTEMPT_BEGUN: Final = ("measure", "pretrain", "train")
UNREPORTED: Final = """
SELECT releases.id, columns.name
FROM releases JOIN jobs ON jobs.id = releases.job_id, unnest(ARRAY['age', 'colour', 'sick']) AS columns (name)
WHERE jobs.plan ->> 'kind' IS DISTINCT FROM 'model' AND NOT EXISTS (
    SELECT 1 FROM sealed_reports AS made WHERE made.release_id = releases.id AND made.target = columns.name
) ORDER BY releases.created_at, columns.name LIMIT 1
"""
"""A release of rows, not of a model, and a column of it on which there is no report yet."""
ANY_TIME: Final = ("upload", "grant", "order", "queued", "measure", "pretrain", "train", "train", "export")


@dataclass(frozen=True)
class Scene:
    """What a fault is done to.

    Attributes:
        stack: the stack.
        errand: the publication under way.
        folder: for files.
        draw: the random numbers of this round.
    """

    stack: Stack
    errand: Publication
    folder: Path
    draw: np.random.Generator

    def fence(self) -> int:
        """How often the job was claimed."""
        row = self.stack.ask("SELECT fence FROM jobs WHERE id = %s", self.errand.job_id)
        assert row is not None, "an accepted order is gone"
        return int(str(row[0]))


Afterwards = Callable[[], list[str] | None] | None
Action = Callable[[Scene], Afterwards]


class NothingToHit(Exception):
    """The victim was not there: the round counts, the fault does not."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    Attributes:
        action: does it.
        moments: when it may be done.
        ends: states in which the disturbed job may end.
        beside: whether it disturbs an errand of its own beside the publication, and so is never too late.
    """

    action: Action
    moments: tuple[str, ...] = ANY_TIME
    ends: frozenset[str] = frozenset({"succeeded"})
    beside: bool = False


def _kill(process: Process | None) -> None:
    if process is None or not send(process, signal.SIGKILL):
        raise NothingToHit


def kill_role(name: str) -> Action:
    """kill -9 of the first process of a role; what hangs below it must end by itself."""

    def action(scene: Scene) -> None:
        _kill(scene.stack.process(name))

    return action


def kill_pool(scene: Scene) -> None:
    """kill -9 of the process that claims and beats; the worker above it lives on."""
    _kill(scene.stack.pool())


def kill_child(scene: Scene) -> None:
    """kill -9 of the process that trains."""
    wait_until(lambda: scene.stack.runner() or scene.errand.at == "ended", seconds=PATIENCE_SECONDS)
    _kill(scene.stack.runner())


def kill_backend(scene: Scene) -> None:
    """kill -9 of one of Postgres's own processes: the server ends every session and recovers."""
    server = scene.stack.process("postgres")
    below = live(server.pid) if server else []
    if not below:
        raise NothingToHit
    _kill(below[int(scene.draw.integers(len(below)))])


def kill_supervisor(scene: Scene) -> None:
    """kill -9 of the supervisor, and a new one at once, while the old roles still die."""
    scene.stack.crash()
    scene.stack.start()


def kill_everything(scene: Scene) -> None:
    """kill -9 of every process at once, then a new start."""
    scene.stack.crash_everything()
    scene.stack.start()


def restart(scene: Scene) -> None:
    """A polite stop in the middle of things, then a new start."""
    scene.stack.stop()
    scene.stack.start()


def drop_messages(scene: Scene) -> None:
    """The broker forgets its messages, or everything, its bindings too."""
    if scene.draw.random() < 0.5:
        scene.stack.redis.flush()
    else:
        # private: the embedded broker offers no command that loses messages
        scene.stack.redis._ask(b"DEL " + BROKER_KEYS)


def double_messages(scene: Scene) -> Afterwards:
    """The job is announced several times, and half the time to two workers."""
    if scene.errand.job_id is None:
        raise NothingToHit
    if scene.draw.random() < 0.5:
        scene.stack.start_rival()
    _announce(scene)
    return scene.stack.end_rivals


def _announce(scene: Scene) -> None:
    with scene.stack.queue() as queue:
        for _ in range(int(scene.draw.integers(2, 6))):
            queue.enqueue_training(UUID(scene.errand.job_id))


def freeze(*, whole: bool) -> Action:
    """Stop a worker past its lease, let another take the job over, and wake the first one.

    Args:
        whole: freeze everything of the worker, as a machine that hangs; else only the process that beats, while the
            training below it goes on.
    """

    def action(scene: Scene) -> Afterwards:
        stack = scene.stack
        wait_until(lambda: stack.runner() or scene.errand.at == "ended", seconds=PATIENCE_SECONDS)
        worker, pool, runner = stack.process("worker"), stack.pool(), stack.runner()
        if worker is None or pool is None or runner is None:
            raise NothingToHit
        fence = scene.fence()
        frozen = [worker, pool, runner] if whole else [pool]
        for process in frozen:
            send(process, signal.SIGSTOP)
        stack.start_rival()

        def thaw() -> list[str]:
            for process in frozen:
                send(process, signal.SIGCONT)
            ended = wait_until(lambda: not runner.lives(), seconds=PATIENCE_SECONDS)
            stack.end_rivals()
            return [] if ended else ["a worker that lost its lease never ended its training"]

        if scene.draw.random() < 0.5:
            return thaw
        overtaken = wait_until(
            lambda: scene.errand.at == "ended" or scene.fence() > fence, seconds=PATIENCE_SECONDS
        )
        # Both now believe that the job is theirs.
        for process in frozen:
            send(process, signal.SIGCONT)
        if not overtaken:
            thaw()
            raise NothingToHit
        return thaw

    return action


def freeze_joint(scene: Scene) -> Afterwards:
    """Stop the worker that trains over the rows of two owners, past its lease; both ledgers must agree at the end."""
    stack = scene.stack
    stack.await_health()
    folder = Path(tempfile.mkdtemp(dir=scene.folder))
    joint = OwnersOrder(
        stack,
        write_rows(folder / "rows.csv"),
        name="a training of two owners",
        sizes=(ROWS, ROWS),
        steps=3000,
    )
    joint.start()
    joint.hold.set()
    wait_until(lambda: joint.moment()[0] >= TRAINING or not joint.is_alive(), seconds=PATIENCE_SECONDS)
    thaw: Afterwards = None

    def concluded() -> list[str]:
        found = joint.concluded()
        found += (thaw() if thaw is not None else None) or []
        return found + order_violations(stack, joint.datasets, frozenset({"succeeded"}))

    try:
        thaw = freeze(whole=True)(replace(scene, errand=joint))
    except NothingToHit:
        # On a slow machine the fault may time out while the order still trains, and later rounds must not find it.
        if found := concluded():
            return lambda: found
        raise
    return concluded


def delay_heartbeats(scene: Scene) -> None:
    """Hold the job's row for longer than the lease: beats, marks and claims all wait for it."""
    with scene.stack.connected() as connection, connection.transaction():
        connection.execute("SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", [scene.errand.job_id])
        time.sleep(LEASE_SECONDS * float(scene.draw.uniform(1.1, 1.6)))


def fill_disk(scene: Scene) -> None:
    """For a while no process of the stack can write beyond a few kilobytes of any file: every write can fail."""
    stack = scene.stack
    limit = int(scene.draw.choice([0, 4096, 65536]))
    for _ in looks(float(scene.draw.uniform(0.5, 2.5))):
        limit_files(stack.family(), limit)
    # What was born under the limit keeps it, so it is lifted until nobody new is found.
    for _ in looks(0.5):
        limit_files(stack.family(), -1)


def cancel(scene: Scene) -> None:
    """A person cancels while the worker is killed."""
    if scene.errand.job_id is None:
        raise NothingToHit
    worker = scene.stack.process("worker")
    if scene.draw.random() < 0.5 and worker is not None:
        kill_all([worker])
    scene.errand.cancel()


def interrupt_upload(scene: Scene) -> Afterwards:
    """kill -9 of the API while it takes in rows that came in parts: a lock holds the intake before its end."""
    stack = scene.stack
    stack.await_health()
    upload = PartsUpload(stack, Path(tempfile.mkdtemp(dir=scene.folder)))
    upload.start()
    wait_until(lambda: upload.dataset_id or not upload.is_alive(), seconds=PATIENCE_SECONDS)
    with stack.connected() as connection, connection.transaction():
        # No foreign key waits for this lock, but whoever attaches rows does.
        connection.execute("SELECT 1 FROM datasets WHERE id = %s FOR NO KEY UPDATE", [upload.dataset_id])
        upload.begin.set()
        wait_until(lambda: _is_taken_in(stack, upload.dataset_id), seconds=PATIENCE_SECONDS)
        _kill(stack.process("api"))
    return upload.concluded


def kill_report(scene: Scene) -> Afterwards:
    """kill -9 of the process that makes an owner report, or of the one that watches it."""
    stack = scene.stack
    stack.await_health()
    with stack.connected() as connection:
        free = connection.execute(UNREPORTED).fetchone()
    if free is None:
        raise NothingToHit
    report = ReportOrder(stack, release_id=str(free[0]), target=str(free[1]))
    report.start()
    wait_until(lambda: stack.runner(work="compare") or not report.is_alive(), seconds=PATIENCE_SECONDS)
    _kill(stack.runner(work="compare") if scene.draw.random() < 0.5 else stack.reports_pool())
    return report.concluded


def kill_delivery(scene: Scene) -> Afterwards:
    """kill -9 of upkeep while the receiver of a webhook has the message and has not answered."""
    scene.stack.await_health()
    delivery = WebhookTest(scene.stack)
    delivery.start()
    wait_until(lambda: delivery.held.is_set() or not delivery.is_alive(), seconds=PATIENCE_SECONDS)
    _kill(scene.stack.process("upkeep"))
    delivery.let_go.set()
    return delivery.concluded


def _is_taken_in(stack: Stack, dataset_id: str | None) -> bool:
    sought = "SELECT 1 FROM uploads WHERE dataset_id = %s AND state = 'completing'"
    return stack.ask(sought, dataset_id) is not None


FAULTS: Final[Mapping[str, Fault]] = {
    "kill worker": Fault(kill_role("worker")),
    "kill pool process": Fault(kill_pool),
    "kill training child": Fault(kill_child, ATTEMPT_BEGUN),
    "kill redis": Fault(kill_role("redis")),
    "kill postgres": Fault(kill_role("postgres")),
    "kill postgres backend": Fault(kill_backend),
    "kill api": Fault(kill_role("api")),
    "kill upkeep": Fault(kill_role("upkeep")),
    "kill supervisor": Fault(kill_supervisor),
    "kill everything": Fault(kill_everything),
    "restart": Fault(restart),
    "drop messages": Fault(drop_messages),
    "double messages": Fault(double_messages, ("queued", *ATTEMPT_BEGUN, "export")),
    "frozen task": Fault(freeze(whole=False), ATTEMPT_BEGUN),
    "frozen worker": Fault(freeze(whole=True), ATTEMPT_BEGUN),
    "frozen worker of two owners": Fault(freeze_joint, beside=True),
    "late heartbeats": Fault(delay_heartbeats, ATTEMPT_BEGUN),
    "full disk": Fault(fill_disk),
    "cancel": Fault(cancel, ("queued", *ATTEMPT_BEGUN, "export"), frozenset({"succeeded", "cancelled"})),
    "interrupted upload": Fault(interrupt_upload, beside=True),
    "killed report": Fault(kill_report, beside=True),
    "killed delivery": Fault(kill_delivery, beside=True),
}
