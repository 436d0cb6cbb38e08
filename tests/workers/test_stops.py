"""A worker that is asked to stop, by real signals to real celery processes: no attempt is counted, nothing is charged twice."""

import signal
import time

import pytest

from core.jobs.queue import CeleryQueue
from core.ledger.reservation import EntryKind
from core.platform.settings import Settings
from tests.workers.processes import below, is_gone, runner_below, start_upkeep, start_worker
from tests.workers.support import CANARY, Workshop, small_plan
from tests.workers.test_training_child import forget_marks

ATTEMPTS = 2
PATIENCE = 800.0
LOOK_SECONDS = 0.1
"""Each look is a query of the job; pre-training takes seconds."""
GRACE_SECONDS = 30.0
"""What docker-compose.yml gives a worker."""


@pytest.fixture
def busy(settings: Settings) -> Settings:
    """A lease that no stop waits for. Nothing waits for the upkeep but a job that goes back to the queue."""
    return settings.model_copy(
        update={"lease_seconds": 600.0, "heartbeat_seconds": 1.0, "upkeep_seconds": 1.0}
    )


@pytest.mark.system
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT], ids=["SIGTERM", "SIGQUIT"])
def test_polite_restarts_cost_neither_the_job_nor_its_budget(busy, tmp_path, number):
    """The worker is stopped once more than a job has attempts."""
    busy = busy.model_copy(update={"job_attempts": ATTEMPTS})
    log = tmp_path / "worker.log"
    queue = CeleryQueue(busy.broker_url)
    workshop = Workshop(busy, queue=queue)
    job_id = workshop.order(small_plan(pretraining_steps=800))
    upkeep = start_upkeep(busy, log)
    worker = start_worker(busy, log)

    def wait_for(condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"{what}\n{log.read_text()}"
            time.sleep(LOOK_SECONDS)

    try:
        for fence in range(1, ATTEMPTS + 2):
            wait_for(
                lambda fence=fence: (
                    (workshop.job(job_id).fence, workshop.job(job_id).stage) == (fence, "pretrain")
                ),
                f"attempt {fence} never began to pretrain",
            )
            wait_for(lambda worker=worker: runner_below(worker.pid) is not None, "there is no training child")
            processes = below(worker.pid)
            worker.send_signal(number)
            worker.wait(GRACE_SECONDS)
            job = workshop.job(job_id)
            assert (job.state, job.fence, job.attempts, job.steps_begun) == ("queued", fence, 0, 0)
            assert all(is_gone(pid) for pid in processes), "a process is left"
            forget_marks(workshop, job_id)
            worker = start_worker(busy, log)
        wait_for(lambda: workshop.job(job_id).finished_at is not None, "the job never ended")
        assert workshop.job(job_id).state == "succeeded", log.read_text()
        assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
        assert "workers-fell-silent" not in log.read_text()
        assert CANARY not in log.read_text()
    finally:
        for process in (worker, upkeep):
            process.kill()
            process.wait()
        workshop.close()
        queue.close()
