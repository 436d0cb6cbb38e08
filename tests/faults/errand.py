"""What a drill disturbs: one small publication over HTTP, by a person who tries again until it is done."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import psycopg

from tests.faults.stack import Stack
from understudy.client import Client
from understudy.client.handles import Job
from understudy.errors import Conflict, ServiceFailed, ServiceUnreachable
from understudy.exchange import Repetitions
from understudy.grant_requests import introduce

Result = TypeVar("Result")

ROWS: Final = 240
PATIENCE_SECONDS: Final = 800.0
PAUSE_SECONDS: Final = 0.1
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


def write_rows(path: Path) -> Path:
    """Write the simulated table: the same rows every time."""
    colours = ("red", "green", "blue")
    lines = [f"{row % 10},{colours[row * 7 % 3]},{int(row % 10 > 5)}" for row in range(ROWS)]
    path.write_text("age,colour,sick\n" + "\n".join(lines) + "\n")
    return path


class Errand(threading.Thread):
    """Declare, upload, set the budget, order, and wait; each step again until the service has taken it.

    Attributes:
        at: the step, one of MOMENTS.
        dataset_id: once declared.
        job_id: once ordered.
        job: the last answer about the job.
        problem: why it was given up.
        broken: the steps at which the service said that it broke, and not that something is away.
    """

    def __init__(self, stack: Stack, rows: Path, *, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._stack = stack
        self._rows = rows
        self._deadline = time.monotonic() + PATIENCE_SECONDS
        self.at = ""
        self.dataset_id: str | None = None
        self.job_id: str | None = None
        self.job: Job | None = None
        self.problem: str | None = None
        self.broken: list[str] = []

    def run(self) -> None:
        """Do it all; whatever went wrong is in `problem`."""
        try:
            self._publish()
        except Exception as error:  # noqa: BLE001 - the drill reports it as a violation of its round
            self.problem = f"{self.at}: {type(error).__name__}: {error}"

    def _client(self, role: str) -> Client:
        connection = self._stack.connection
        return Client(connection.url, key=connection.keys[role], repetitions=Repetitions(attempts=1))

    def _publish(self) -> None:
        with (
            self._client("owner") as owner,
            self._client("admin") as admin,
            self._client("analyst") as analyst,
        ):
            self.at = "declare"
            dataset = self._insist(
                lambda: owner.declare_dataset(name=self.name, domain=DOMAIN, declared_size=ROWS)
            )
            self.dataset_id = dataset.id
            self.at = "upload"
            self._insist(lambda: self._upload(owner, dataset.id))
            self.at = "budget"
            self._insist(lambda: introduce(owner, analyst, dataset))
            self._insist(lambda: admin.set_budget(dataset.id, epsilon=CAP[0], delta=CAP[1]))
            self.at = "grant"
            grant = self._insist(lambda: self._grant(admin, analyst, dataset.id))
            self.at = "order"
            key = uuid4().hex
            job = self._insist(
                lambda: analyst.order_job(dataset.id, **TERMS, grant_id=grant, idempotency_key=key)
            )
            self.job_id, self.job, self.at = job.id, job, "queued"
            while not self.job.ended:
                time.sleep(PAUSE_SECONDS)
                self.job = self._insist(lambda: analyst.read_job(job.id))
            self.at = "ended"

    def _upload(self, owner: Client, dataset_id: str) -> None:
        try:
            owner.upload_rows(dataset_id, self._rows)
        except Conflict as refused:
            # An upload whose answer was lost may have been taken.
            if refused.code != UPLOADED:
                raise

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

    def moment(self) -> tuple[int, float]:
        """How far it is: the place in MOMENTS, and the share of the training's steps that has begun."""
        if self.at not in MOMENTS:
            return (len(MOMENTS) if self.at == "ended" else -1), 0.0
        if self.at != "queued":
            return MOMENTS.index(self.at), 0.0
        try:
            with self._stack.connected() as connection:
                row = connection.execute(
                    "SELECT state, stage, step FROM jobs WHERE id = %s", [self.job_id]
                ).fetchone()
        except psycopg.Error:
            return MOMENTS.index("queued"), 0.0
        assert row is not None, "an accepted order is gone"
        state, stage, step = row
        if state in {"succeeded", "failed", "cancelled"}:
            return len(MOMENTS), 1.0
        where = str(stage) if stage else "queued"
        return MOMENTS.index(where), int(str(step)) / STEPS if where == "train" else 0.0
