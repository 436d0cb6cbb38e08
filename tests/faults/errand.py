"""What a drill disturbs: a small publication, an upload in parts, an owner report and a delivery, over HTTP.

Each is the errand of a person who tries again until it is done.
"""

import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

import psycopg

from tests.core.platform.notifications.receiver import Receiver, receiving
from tests.faults.processes import wait_until
from tests.faults.stack import Stack
from understudy.client import Client
from understudy.client.handles import Job
from understudy.errors import Conflict, Refused, ServiceFailed, ServiceUnreachable
from understudy.http.exchange import Repetitions
from understudy.publishing.grant_requests import introduce

Result = TypeVar("Result")

ROWS: Final = 240
PATIENCE_SECONDS: Final = 800.0
CONCLUSION_SECONDS: Final = 600.0
PAUSE_SECONDS: Final = 0.1
"""Between a request and its repetition."""
LOOK_SECONDS: Final = 0.3
"""Between two requests for the state of the service; each takes processor time from what is disturbed."""
CAP: Final = (1.5, 4e-6)
STEPS: Final = 300
TERMS: Final[dict[str, Any]] = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "synthesizer": "idpgan",
    "options": {
        "steps": STEPS,
        "pretraining_steps": 50,
        "expected_batch_size": 32,
        "critic_width": 16,
        "critic_layers": 1,
        "critic_steps": 2,
        "generator_width": 16,
        "generator_blocks": 1,
        "generator_batch_size": 32,
        "latent_dimension": 8,
    },
}
STEPS_OF_A_ROUND: Final = 10
"""Steps of a model of several owners between two averages of its weights."""
DOMAIN: Final[dict[str, Any]] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9},
        {"name": "colour", "kind": "categorical", "categories": ["red", "green", "blue"]},
        {"name": "sick", "kind": "boolean", "true": "1", "false": "0"},
    ],
}
REQUESTS: Final = ("declare", "upload", "budget", "grant", "order")
MOMENTS: Final = (*REQUESTS, "queued", "measure", "pretrain", "train", "export")
"""What a person or the worker is at; a fault waits for one of them."""

UPLOADED: Final = "rows-already-stored"
TESTED: Final = "tested-just-now"


def write_rows(path: Path) -> Path:
    """Write the simulated table: the same rows every time."""
    colours = ("red", "green", "blue")
    lines = [f"{row % 10},{colours[row * 7 % 3]},{int(row % 10 > 5)}" for row in range(ROWS)]
    path.write_text("age,colour,sick\n" + "\n".join(lines) + "\n")
    return path


class Errand(ABC, threading.Thread):
    """A thread that makes its requests again until the service has taken them.

    Attributes:
        at: the step.
        problem: why it was given up.
        broken: the steps at which the service said that it broke, and not that something is away.
    """

    def __init__(self, stack: Stack, *, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._stack = stack
        self._deadline = time.monotonic() + PATIENCE_SECONDS
        self.at = ""
        self.problem: str | None = None
        self.broken: list[str] = []

    def run(self) -> None:
        """Do it all; whatever went wrong is in `problem`."""
        try:
            self._do()
        except Exception as error:  # noqa: BLE001 - the drill reports it as a violation of its round
            self.problem = f"{self.at}: {type(error).__name__}: {error}"

    @abstractmethod
    def _do(self) -> None:
        """Make the requests."""

    def concluded(self) -> list[str]:
        """Wait for the end. Returns what went wrong."""
        self.join(CONCLUSION_SECONDS)
        if self.is_alive():
            return [f"{self.name} never ended; it is at {self.at}"]
        return [] if self.problem is None else [f"{self.name} failed at {self.problem}"]

    def _client(self, role: str) -> Client:
        connection = self._stack.connection
        return Client(connection.url, key=connection.keys[role], repetitions=Repetitions(attempts=1))

    def _insist(self, call: Callable[[], Result]) -> Result:
        """Ask again while the service is away or says that it failed; a refusal is final."""
        while True:
            try:
                return call()
            except (ServiceUnreachable, ServiceFailed) as failure:
                if time.monotonic() > self._deadline:
                    raise
                if isinstance(failure, ServiceFailed) and failure.code == "internal-error":
                    self.broken.append(self.at)
            time.sleep(PAUSE_SECONDS)

    def _upload(self, owner: Client, dataset_id: str, rows: Path, **options: Any) -> None:
        try:
            owner.upload_rows(dataset_id, rows, **options)
        except Conflict as refused:
            # An upload whose answer was lost may have been taken.
            if refused.code != UPLOADED:
                raise


class Publication(Errand):
    """Declare, upload, set the budget, order, and wait.

    Attributes:
        at: the step, one of MOMENTS.
        dataset_id: once declared.
        job_id: once ordered.
        job: the last answer about the job.
    """

    def __init__(self, stack: Stack, rows: Path, *, name: str) -> None:
        super().__init__(stack, name=name)
        self._rows = rows
        self.dataset_id: str | None = None
        self.job_id: str | None = None
        self.job: Job | None = None

    def _do(self) -> None:
        with (
            self._client("owner") as owner,
            self._client("admin") as admin,
            self._client("analyst") as analyst,
        ):
            self.dataset_id, grant = self._ready(owner, admin, analyst)
            self.at = "order"
            key = uuid4().hex
            dataset_id = self.dataset_id
            job = self._insist(
                lambda: analyst.order_job(dataset_id, **TERMS, grant_id=grant, idempotency_key=key)
            )
            self._follow(analyst, job)

    def _ready(
        self, owner: Client, admin: Client, analyst: Client, *, declared_size: int = ROWS
    ) -> tuple[str, str]:
        """Bring a dataset as far as a grant on it. Returns the ids of both."""
        self.at = "declare"
        dataset = self._insist(
            lambda: owner.declare_dataset(name=self.name, domain=DOMAIN, declared_size=declared_size)
        )
        self.dataset_id = dataset.id
        self.at = "upload"
        self._insist(lambda: self._upload(owner, dataset.id, self._rows))
        self.at = "budget"
        self._insist(lambda: introduce(owner, analyst, dataset))
        self._insist(lambda: admin.set_budget(dataset.id, epsilon=CAP[0], delta=CAP[1]))
        self.at = "grant"
        return dataset.id, self._insist(lambda: self._grant(admin, analyst, dataset.id))

    def _follow(self, analyst: Client, job: Job) -> None:
        """Wait for the end of the job."""
        self.job_id, self.job, self.at = job.id, job, "queued"
        while not self.job.ended:
            time.sleep(LOOK_SECONDS)
            self.job = self._insist(lambda: analyst.read_job(job.id))
        self.at = "ended"

    def _grant(self, admin: Client, analyst: Client, dataset_id: str) -> str:
        """Find the grant, or the request for it, or file one; what an earlier try has done is found again."""
        for grant in analyst.governance.list_grants(dataset_id):
            return grant.id
        requests = analyst.governance.list_requests(state="open")
        request = next((each for each in requests if each.dataset_id == dataset_id), None)
        if request is None:
            request = analyst.governance.file_request(
                dataset_id, epsilon=CAP[0], delta=CAP[1], purpose="a drill"
            )
        approved = admin.governance.approve_request(request.id)
        assert approved.grant is not None, "an approved request has a grant"
        return approved.grant.id

    def cancel(self) -> None:
        """Be the person who changed their mind."""
        with self._client("analyst") as analyst:
            job_id = self.job_id
            assert job_id is not None
            try:
                self._insist(lambda: analyst.cancel_job(job_id))
            except Conflict as refused:
                if refused.code != "job-ended":
                    raise

    def moment(self) -> tuple[int, float]:
        """How far it is: the place in MOMENTS, and the share of the training's steps that has begun."""
        if self.at not in MOMENTS:
            return (len(MOMENTS) if self.at == "ended" else -1), 0.0
        if self.at != "queued":
            return MOMENTS.index(self.at), 0.0
        try:
            row = self._stack.ask("SELECT state, stage, step FROM jobs WHERE id = %s", self.job_id)
        except psycopg.Error:
            return MOMENTS.index("queued"), 0.0
        assert row is not None, "an accepted order is gone"
        state, stage, step = row
        if state in {"succeeded", "failed", "cancelled"}:
            return len(MOMENTS), 1.0
        where = str(stage) if stage else "queued"
        return MOMENTS.index(where), int(str(step)) / STEPS if where == "train" else 0.0


class OwnersOrder(Publication):
    """One model over the datasets of several owners of one service, each with a ledger of its own.

    Args:
        stack: where.
        rows: the table of every owner.
        name: of the datasets.
        sizes: what each owner declares as its size.
        steps: of the model, of which ten are a round of averaging.

    Attributes:
        datasets: in the order of the request, once each has a grant.
        grants: on them.
        hold: the order is given when it is set.
        refused: the code of a refusal.
    """

    def __init__(
        self,
        stack: Stack,
        rows: Path,
        *,
        name: str,
        sizes: Sequence[int],
        steps: int,
    ) -> None:
        super().__init__(stack, rows, name=name)
        self._sizes, self._steps = sizes, steps
        self.datasets: list[str] = []
        self.grants: list[str] = []
        self.hold = threading.Event()
        self.refused: str | None = None

    def _do(self) -> None:
        with (
            self._client("owner") as owner,
            self._client("admin") as admin,
            self._client("analyst") as analyst,
        ):
            for size in self._sizes:
                dataset_id, grant = self._ready(owner, admin, analyst, declared_size=size)
                self.datasets.append(dataset_id)
                self.grants.append(grant)
            self.at = "order"
            assert self.hold.wait(CONCLUSION_SECONDS)
            key = uuid4().hex
            first, *further = self.datasets
            terms = {"steps": self._steps, "averaging_rounds": self._steps // STEPS_OF_A_ROUND}
            try:
                job = self._insist(
                    lambda: analyst.order_job(
                        first, further=further, epsilon=1.0, delta=1e-6, model=terms, idempotency_key=key
                    )
                )
            except Refused as refused:
                self.refused, self.at = refused.code, "ended"
                return
            self._follow(analyst, job)

    def await_datasets(self) -> None:
        """Wait until everything but the order is done."""
        assert wait_until(lambda: self.at == "order" or not self.is_alive(), seconds=CONCLUSION_SECONDS)
        assert self.problem is None, self.problem

    def populations(self) -> list[UUID]:
        """Of the datasets, in the order in which ledgers are locked."""
        with self._stack.connected() as connection:
            rows = connection.execute(
                "SELECT population_id FROM datasets WHERE id::text = ANY(%s) ORDER BY population_id",
                [self.datasets],
            ).fetchall()
        return [UUID(str(row[0])) for row in rows]

    def is_ordered(self) -> bool:
        """Whether the job exists."""
        # The first owner of a plan is the first by its population, whoever the request names first.
        row = self._stack.ask("SELECT id FROM jobs WHERE dataset_id::text = ANY(%s)", self.datasets)
        self.job_id = None if row is None else str(row[0])
        return row is not None


class PartsUpload(Errand):
    """Declare a dataset, wait until its row is held, and upload the rows in parts.

    Attributes:
        dataset_id: once declared.
        begin: set it to have the upload begin.
    """

    def __init__(self, stack: Stack, folder: Path) -> None:
        super().__init__(stack, name="an upload in parts")
        self._rows = write_rows(folder / "rows.csv")
        self.dataset_id: str | None = None
        self.begin = threading.Event()

    def _do(self) -> None:
        with self._client("owner") as owner:
            self.at = "declare"
            dataset = self._insist(
                lambda: owner.declare_dataset(name=self.name, domain=DOMAIN, declared_size=ROWS)
            )
            self.dataset_id = dataset.id
            self.begin.wait(PATIENCE_SECONDS)
            self.at = "upload"
            self._insist(lambda: self._upload(owner, dataset.id, self._rows, resumable_from=1))
            self.at = "ended"


class ReportOrder(Errand):
    """Order an owner report, and wait until it is made."""

    def __init__(self, stack: Stack, *, release_id: str, target: str) -> None:
        super().__init__(stack, name="an owner report")
        self._release_id = release_id
        self._target = target

    def _do(self) -> None:
        with self._client("owner") as owner:
            self.at = "order"
            report = self._insist(lambda: owner.reports.order(self._release_id, target=self._target))
            report_id = report.id
            while not report.ended:
                self.at = report.state
                time.sleep(LOOK_SECONDS)
                report = self._insist(lambda: owner.reports.read(report_id))
            report.require_made()


class WebhookTest(Errand):
    """Register a webhook, ask for a test message, and wait until it is delivered.

    The receiver gives the first message no answer until `let_go` is set.

    Attributes:
        held: set while the first message waits for its answer.
        let_go: set it to break the first message's connection off.
    """

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack, name="a delivery")
        self.held, self.let_go = threading.Event(), threading.Event()

    def _do(self) -> None:
        with receiving() as receiver, self._client("owner") as owner:
            receiver.behave = partial(self._behave, receiver)
            self.at = "register"
            hook = self._insist(
                lambda: owner.notifications.add_webhook(receiver.url(), kinds=["budget-request.expired"])
            )
            self.at = "test"
            try:
                self._insist(lambda: owner.notifications.send_test(hook["id"]))
            except Refused as refused:
                # A test whose answer was lost may have been taken.
                if refused.code != TESTED:
                    raise
            self.at = "deliver"
            while time.monotonic() < self._deadline:
                deliveries = self._insist(lambda: list(owner.notifications.list_deliveries(hook["id"])))
                if all(one["state"] != "waiting" for one in deliveries):
                    break
                time.sleep(LOOK_SECONDS)
            self.at = "remove"
            self._insist(lambda: owner.notifications.remove(hook["id"]))
            self.at = "compare"
            sent = {(head["webhook-id"], body) for head, body in receiver.received}
            assert len(receiver.received) > 1, "the message was not sent again"
            assert len(sent) == 1, "another message was sent again"

    def _behave(self, receiver: Receiver, connection: socket.socket) -> None:
        if self.let_go.is_set():
            connection.sendall(receiver.answer)
        else:
            self.held.set()
            self.let_go.wait(PATIENCE_SECONDS)
