"""kill -9 of the training child, of the worker, and of both, with real Celery, redis and Postgres."""

import os
import signal
import time
from uuid import uuid4

import numpy as np
import pytest
from psycopg import sql

from core.artifacts.bundle import unpack
from core.jobs.queue import CeleryQueue
from core.ledger.reservation import EntryKind
from core.platform.stored_objects import checkpoint_key
from tests.conftest import checked_settings, execute
from tests.memory_queue import MemoryQueue
from tests.workers.conftest import SHORT
from tests.workers.processes import below, is_gone, runner_below, start_upkeep, start_worker
from tests.workers.support import CANARY, Workshop, small_plan

PATIENCE = 800.0
RANDOMNESS = bytes(range(1, 33))


class Site:
    """A workshop with one worker and one upkeep around it."""

    def __init__(self, settings, folder):
        self.settings = settings = settings.model_copy(update={"upkeep_seconds": 0.5})
        self.log = folder / "worker.log"
        self.queue = CeleryQueue(settings.broker_url)
        self.workshop = Workshop(settings, queue=self.queue)
        self.worker = start_worker(settings, self.log)
        self.upkeep = start_upkeep(settings, self.log)

    def close(self):
        for process in (self.worker, self.upkeep):
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.workshop.close()
        self.queue.close()

    def train_here(self, plan):
        """Train a job in this process; the worker is not told of it."""
        queue, self.workshop.queue = self.workshop.queue, MemoryQueue()
        job_id = self.workshop.order(plan, randomness=RANDOMNESS)
        self.workshop.train(job_id)
        self.workshop.queue = queue
        return job_id

    def wait_for(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"{what}\n{self.log.read_text()}"
            time.sleep(0.05)  # a look is a query

    def wait_for_end(self, job_id):
        self.wait_for(lambda: self.workshop.job(job_id).finished_at is not None, "the job never ended")
        return self.workshop.job(job_id)

    def wait_for_step(self, job_id, fence, step):
        """Until an attempt has marked a step in training and kept a checkpoint."""

        def there():
            job = self.workshop.job(job_id)
            assert job.finished_at is None, f"it ended before it could be killed\n{self.log.read_text()}"
            return (job.fence, job.stage) == (fence, "train") and job.step >= step

        self.wait_for(there, f"attempt {fence} never came to step {step}")
        key = checkpoint_key(job_id, fence)
        self.wait_for(lambda: self.workshop.store.exists(key), "it kept no checkpoint")

    def kill_worker(self):
        """kill -9 the worker; what hangs below it must die by itself."""
        orphans = below(self.worker.pid)
        assert len(orphans) >= 2, "a pool process and a training child"
        self.worker.kill()
        self.worker.wait()
        self.wait_for(lambda: all(is_gone(pid) for pid in orphans), "an orphan is left")


def require_same(site, undisturbed, job_id, *, fence, killed_at):
    """A job that was killed ends, in its last attempt, with the bytes of the undisturbed one, and is charged once."""
    workshop = site.workshop
    job = site.wait_for_end(job_id)
    assert job.state == "succeeded", (killed_at, site.log.read_text())
    assert job.fence == fence
    bundles = []
    for each in (undisturbed, job_id):
        release = workshop.release(each)
        assert release is not None
        bundles.append(unpack(workshop.store.get_bytes(release.bundle_key)))
    assert bundles[0].weights == bundles[1].weights, f"killed at {killed_at}"
    assert bundles[0].network == bundles[1].network, f"killed at {killed_at}"
    assert bundles[0].manifest == bundles[1].manifest, f"killed at {killed_at}"
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert job.sealed_randomness_key is None
    # The worker deletes them after its commit, which is seen above.
    kept = [checkpoint_key(job_id, each) for each in range(1, fence + 1)]
    site.wait_for(lambda: not any(map(workshop.store.exists, kept)), "a checkpoint outlived its job")
    log = site.log.read_text()
    assert CANARY not in log
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def site(postgres_server, migrated_template, redis_server, tmp_path_factory):
    """One for all tests: every one has jobs of its own, and leaves a worker that is at rest."""
    folder, name = tmp_path_factory.mktemp("site"), f"site_{uuid4().hex}"
    copied = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    execute(postgres_server, copied.format(sql.Identifier(name), sql.Identifier(migrated_template)))
    for each in ("objects", "scratch"):
        (folder / each).mkdir()
    redis_server.flush()
    places = {
        "database_url": postgres_server.url(name),
        "broker_url": redis_server.broker_url,
        "storage_url": (folder / "objects").as_uri(),
        "scratch_folder": folder / "scratch",
    }
    site = Site(checked_settings().model_copy(update=SHORT | places), folder)
    yield site
    site.close()


@pytest.mark.system
def test_a_killed_worker_changes_neither_the_generator_nor_the_charge(site):
    """The daily form of the test below: one kill, of the worker with its child, at a random moment.

    The undisturbed job is trained in this process.
    """
    workshop = site.workshop
    plan = small_plan(steps=120)
    undisturbed = site.train_here(plan)
    job_id = workshop.order(plan, randomness=RANDOMNESS)
    step = int(np.random.default_rng().integers(0, 80))
    site.wait_for_step(job_id, 1, step)
    site.kill_worker()
    site.worker = start_worker(site.settings, site.log)
    require_same(site, undisturbed, job_id, fence=2, killed_at=[step])
    assert workshop.movements(job_id) == workshop.movements(undisturbed), "charged alike"


@pytest.mark.system
@pytest.mark.long
def test_kills_at_random_moments_change_neither_the_generator_nor_the_charge(site):
    workshop = site.workshop
    plan = small_plan(steps=300)
    undisturbed = workshop.order(plan, randomness=RANDOMNESS)
    assert site.wait_for_end(undisturbed).state == "succeeded", site.log.read_text()

    job_id = workshop.order(plan, randomness=RANDOMNESS)
    steps = sorted(int(step) for step in np.random.default_rng().integers(0, 260, size=3))
    site.wait_for_step(job_id, 1, steps[0])
    child = runner_below(site.worker.pid)
    assert child is not None
    os.kill(child, signal.SIGKILL)

    site.wait_for_step(job_id, 2, steps[1])
    site.kill_worker()
    site.worker = start_worker(site.settings, site.log)

    site.wait_for_step(job_id, 3, steps[2])
    child = runner_below(site.worker.pid)
    assert child is not None
    os.kill(child, signal.SIGKILL)
    site.worker.kill()
    site.worker.wait()
    site.worker = start_worker(site.settings, site.log)

    require_same(site, undisturbed, job_id, fence=4, killed_at=steps)


@pytest.mark.system
def test_a_person_cancels_a_training_that_was_delivered_twice(site):
    workshop = site.workshop
    job_id = workshop.order(small_plan(steps=3000))
    site.queue.enqueue_training(job_id)
    site.wait_for_step(job_id, 1, 25)
    workshop.cancel(job_id)
    assert site.wait_for_end(job_id).state == "cancelled"
    site.wait_for(
        lambda: any(
            "claim-refused" in line and str(job_id) in line for line in site.log.read_text().splitlines()
        ),
        "the second delivery was not refused",
    )
    job = workshop.job(job_id)
    assert job.attempts == 1
    assert 25 <= job.steps_begun < 3000
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    plan = small_plan(steps=3000)
    assert workshop.reservation(job_id).in_force.rdp_micros < workshop.reservation(job_id).reserved.rdp_micros
    assert plan.executed(job.steps_begun) != plan.mechanism
