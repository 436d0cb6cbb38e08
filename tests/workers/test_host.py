"""The host of an attempt: durable marks, cancel, lost lease, missing parts."""

import errno

import pytest
from obstore.exceptions import GenericError

from core.data.errors import ObjectMissing, SealBroken
from core.data.objects import open_store
from core.db.session import Database
from core.db.tables import Job
from models.release_recorder import CertificateRecorder
from workers.assignment import Checkpoints, JobHost
from workers.child import AttemptEnded, ExitCode, machinery

STEPS = 60


@pytest.fixture
def seconds():
    return [0.0]


def host(workshop, job_id, seconds, *, database=None, federated=False):
    claim = workshop.claim(job_id)
    return JobHost(
        claim,
        database=database or workshop.database,
        checkpoints=Checkpoints(
            open_store("memory://"),
            job_id=job_id,
            fence=claim.fence,
            randomness_key=bytes(32),
            federated=federated,
        ),
        record=CertificateRecorder(claim.plan),
        checkpoint_seconds=30.0,
        monotonic=lambda: seconds[0],
    )


def code_of(action) -> ExitCode:
    with pytest.raises(AttemptEnded) as ended:
        action()
    return ended.value.code


def test_a_mark_is_committed_when_advance_returns(workshop, seconds):
    job_id = workshop.order()
    host(workshop, job_id, seconds).advance(stage="train", step=25, total=STEPS)
    job = workshop.job(job_id)
    assert (job.stage, job.step, job.total_steps, job.steps_begun) == ("train", 25, STEPS, 25)


def test_marks_of_a_resumed_attempt_do_not_lower_what_has_begun(workshop, seconds):
    job_id = workshop.order()
    mine = host(workshop, job_id, seconds)
    mine.advance(stage="train", step=50, total=STEPS)
    mine.advance(stage="train", step=25, total=STEPS)
    assert workshop.job(job_id).steps_begun == 50


def test_a_cancelled_attempt_stops_at_its_next_mark_which_stays_written(workshop, seconds):
    job_id = workshop.order()
    mine = host(workshop, job_id, seconds)
    workshop.cancel(job_id)
    assert code_of(lambda: mine.advance(stage="train", step=25, total=STEPS)) is ExitCode.CANCELLED
    assert workshop.job(job_id).steps_begun == 25, "rounded up to the last durable mark"


def test_an_attempt_without_its_lease_stops_at_its_next_mark(workshop, seconds):
    job_id = workshop.order()
    mine = host(workshop, job_id, seconds)
    with workshop.database.transaction() as session:
        session.get_one(Job, job_id).fence += 1
    assert code_of(lambda: mine.advance(stage="train", step=25, total=STEPS)) is ExitCode.LEASE_LOST
    assert workshop.job(job_id).steps_begun == 0


def test_a_database_that_is_away_is_machinery(workshop, seconds):
    job_id = workshop.order()
    mine = host(workshop, job_id, seconds, database=Database("postgresql://nobody@127.0.0.1:1/none"))
    assert code_of(lambda: mine.advance(stage="train", step=25, total=STEPS)) is ExitCode.MACHINERY


def test_a_checkpoint_is_due_when_the_last_one_is_old(workshop, seconds):
    mine = host(workshop, workshop.order(), seconds)
    assert mine.load_checkpoint() is None
    assert not mine.checkpoint_due()
    seconds[0] = 30.0
    assert mine.checkpoint_due()
    mine.save_checkpoint(b"state")
    assert not mine.checkpoint_due()
    assert mine.load_checkpoint() == b"state"


def test_a_stale_attempt_of_a_federation_saves_nothing(workshop, seconds):
    """Where the newest checkpoint is lost, a job would go on from it, with what a dishonest board answered to it alone."""
    job_id = workshop.order()
    mine = host(workshop, job_id, seconds, federated=True)
    mine.save_checkpoint(b"state")
    with workshop.database.transaction() as session:
        session.get_one(Job, job_id).fence += 1
    assert code_of(lambda: mine.save_checkpoint(b"other answers")) is ExitCode.LEASE_LOST
    assert mine.load_checkpoint() == b"state"


@pytest.mark.parametrize(
    "error", [GenericError("x"), ObjectMissing(), ConnectionResetError(), TimeoutError()]
)
def test_failures_of_store_and_network_are_machinery(error):
    def fail():
        with machinery():
            raise error

    assert code_of(fail) is ExitCode.MACHINERY


@pytest.mark.parametrize(
    "error",
    [SealBroken(), ValueError("x"), MemoryError(), OSError(errno.ENOMEM, "no memory"), ZeroDivisionError()],
)
def test_anything_else_passes_through_because_rows_may_have_caused_it(error):
    with pytest.raises(type(error)), machinery():
        raise error
