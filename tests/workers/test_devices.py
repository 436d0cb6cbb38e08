"""Workers of two kinds of device beside each other: jobs resume on their own kind, and move only before they began."""

import subprocess
from datetime import UTC, datetime

import pytest
import torch
from celery import Celery

from core.clock import FixedClock
from core.jobs import endings
from core.jobs.queue import ANY_DEVICE_QUEUE, REPORTS_QUEUE, TRAINING_QUEUES
from core.jobs.turns import next_in_turn
from core.platform import gpus
from core.platform.gpus import Gpu
from core.platform.health.signs import give_sign
from core.platform.stored_objects import bundle_key
from models.devices.errors import OtherDevice
from models.devices.placement import HOST, Placement
from tests.gpu.places import data_parallel_over
from tests.workers.support import Workshop, small_plan
from workers import app
from workers.assignment import JobHost
from workers.child import AttemptEnded
from workers.training_child import attempt, precise_enough
from workers.upkeep import Upkeep

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACES = {"cpu": HOST, "gpu": data_parallel_over(torch.device("cpu"))}
"""The path of GPUs, on the CPU: its checkpoints name another kind of device than the CPU's own."""


class Stopped(BaseException):
    """The worker is stopped after a checkpoint."""


@pytest.fixture
def workshop(settings):
    workshop = Workshop(settings, clock=FixedClock(NOON))
    yield workshop
    workshop.close()


@pytest.fixture
def _stopped_after_every_checkpoint(monkeypatch):
    saved, seen = JobHost.save_checkpoint, set()

    def stop(host, state):
        saved(host, state)
        # A training on devices saves the state that it resumed from once more before its first private step.
        if state not in seen:
            seen.add(state)
            raise Stopped

    monkeypatch.setattr(JobHost, "checkpoint_due", lambda _: True)
    monkeypatch.setattr(JobHost, "save_checkpoint", stop)


def turn(workshop, device):
    """Claim the job whose turn it is at a worker of a kind."""
    with workshop.database.read_only() as session:
        job_id = next_in_turn(session, now=NOON, devices=[device])
    return None if job_id is None else workshop.claim(job_id, devices=[device])


def attempted(workshop, claim, place):
    """Run an attempt in this process. Returns whether it came to its end; a stopped one is handed back."""
    try:
        attempt(
            workshop.settings, database=workshop.database, store=workshop.store,
            job_id=claim.job_id, fence=claim.fence, placement=PLACES[place],
        )  # fmt: skip
    except Stopped:
        with workshop.database.transaction() as session:
            endings.hand_back(session, claim, clock=workshop.clock, queue=workshop.queue)
        return False
    return True


@pytest.mark.usefixtures("_stopped_after_every_checkpoint")
def test_jobs_that_are_resumed_again_and_again_stay_on_their_kind_of_device(workshop):
    plan = small_plan(steps=2, pretraining_steps=1)
    jobs = {device: workshop.order(plan, device=device) for device in ("gpu", "cpu")}
    attempts: dict[str, list[bool]] = {device: [] for device in PLACES}
    for _ in range(6):
        for device, ends in attempts.items():
            claim = turn(workshop, device)
            assert (claim is None) == (True in ends)
            if claim is not None:
                assert claim.job_id == jobs[device]
                ends.append(attempted(workshop, claim, device))
    for device, ends in attempts.items():
        assert ends == [False] * (len(ends) - 1) + [True]
        assert len(ends) > 2
        assert workshop.store.exists(bundle_key(jobs[device], len(ends)))
    # Without the queues the other worker would take the job, and end its attempt.
    for device, other in (("cpu", "gpu"), ("gpu", "cpu")):
        held = workshop.order(plan, device=device)
        assert not attempted(workshop, workshop.claim(held), device)
        with pytest.raises(AttemptEnded) as ended:
            attempted(workshop, workshop.claim(held), other)
        assert isinstance(ended.value.__cause__, OtherDevice)


def test_upkeep_moves_a_job_when_the_workers_of_its_kind_are_gone(workshop):
    keeper = Upkeep(
        workshop.settings, database=workshop.database, store=workshop.store, queue=workshop.queue, clock=workshop.clock
    )  # fmt: skip
    job_id = workshop.order(device="gpu", wish="auto")
    for serves, found, moves in (
        (["gpu"], (), 0),
        (None, [Gpu(index=0, used_bytes=0, total_bytes=1)], 0),
        (["cpu"], (), 1),
    ):
        with workshop.database.transaction() as session:
            give_sign(session, name="a", role="worker", at=NOON, gpus=found, serves=serves)
        assert keeper.move_unserved() == moves
    assert workshop.job(job_id).device == "cpu"
    assert workshop.queue.sent_to[-1] == (job_id, "cpu")


@pytest.mark.parametrize(
    ("named", "wish", "sees", "served"),
    [
        ([], "auto", False, ("cpu",)),
        ([], "auto", True, ("cpu", "gpu")),
        ([], "cpu", True, ("cpu",)),
        (["celery", "train.cpu"], "auto", True, ("cpu",)),
        (["train.gpu"], "auto", True, ("gpu",)),
        (["train.gpu"], "auto", False, None),
        (["reports"], "auto", True, ()),
    ],
)
def test_a_worker_serves_what_its_machine_has(worker_environment, monkeypatch, named, wish, sees, served):
    monkeypatch.setattr(app, "torch_sees_gpu", lambda: sees)
    monkeypatch.setattr(app, "read_settings", lambda: type("Set", (), {"training_device": wish}))
    celery = Celery(set_as_current=False)
    celery.amqp.queues.select(named)
    instance = type("Worker", (), {"app": celery})
    if served is None:
        with pytest.raises(SystemExit, match=r"train\.gpu"):
            app.choose_queues(instance=instance)
        return
    app.choose_queues(instance=instance)
    assert app.served_kinds(celery) == served
    expected = {TRAINING_QUEUES[kind] for kind in served} | (
        {ANY_DEVICE_QUEUE} if "train.gpu" not in named else set()
    )
    assert set(celery.amqp.queues.consume_from) == (expected if served else {REPORTS_QUEUE})


def test_torch_is_asked_only_where_the_driver_lists_a_gpu(monkeypatch):
    gpu = Gpu(index=0, used_bytes=0, total_bytes=1)
    assert not gpus.torch_sees_gpu(tuple)
    for status in (0, 1):
        monkeypatch.setattr(
            gpus.subprocess,
            "run",
            lambda words, status=status, **_: subprocess.CompletedProcess(words, status),
        )
        assert gpus.torch_sees_gpu(lambda: (gpu,)) is (status == 0)


def test_a_critic_without_an_anchor_has_exact_products_on_a_gpu():
    gpu = Placement(data_parallel=True)
    alone, anchored = small_plan(anchor=False), small_plan()
    assert precise_enough(gpu, alone).precision == "float32"
    assert precise_enough(gpu, anchored) is gpu
    coarse = Placement(data_parallel=True, precision="bf16")
    assert precise_enough(coarse, alone) is coarse, "bfloat16 is chosen by the operator"
