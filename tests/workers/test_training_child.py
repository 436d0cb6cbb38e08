"""The training child itself: to its end, killed and resumed, without its lease, and failing among the rows."""

import errno
import os
import re
import time
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from core.artifacts.bundle import unpack
from core.data.errors import StorageUnavailable
from core.data.failure_notes import failure_note_key, read_failure_note
from core.db.tables import Dataset, Job
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.reservation import EntryKind
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.platform.stored_objects import bundle_key, checkpoint_key, release_id_of
from models.devices.errors import DeviceDiffers, OtherDevice
from models.dp.errors import ModuleUnsuitable, RecordsMixed, UnevenRounding
from tests.workers.support import CANARY, DOCUMENT, Workshop, environment_of, small_plan
from workers import training_child
from workers.child import AttemptEnded, Child, ExitCode, child_environment, runner_command
from workers.training_child import attempt

LONG = 240.0


def start(workshop: Workshop, job_id: UUID, fence: int) -> Child:
    environment = child_environment(environment_of(workshop.settings), threads=1)
    return Child(runner_command(job_id, fence, work="train"), environment)


def wait_for(condition, *, seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_a_job_becomes_a_release(workshop, capfd, tmp_path):
    job_id = workshop.order()
    workshop.train(job_id, in_child=True)
    job, release = workshop.job(job_id), workshop.release(job_id)
    assert release is not None, capfd.readouterr()
    assert job.state == "succeeded"
    assert release.id == release_id_of(job_id)
    assert release.certificate["job_id"] == str(job_id)
    assert release.certificate["issued_at"] == job.created_at.isoformat()
    assert release.certificate["plan_digest"] == job.plan_digest
    assert release.certificate["epsilon"]["reported"] <= 2.0
    assert release.certificate["generator_check"]["draws"] == 5000, "its own draws were looked at"
    packed = workshop.store.get_bytes(release.bundle_key)
    assert unpack(packed).certificate == release.certificate
    workshop.verified(packed, tmp_path / "bundle.zip")
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert job.sealed_randomness_key is None, "the randomness key is destroyed"
    assert job.steps_begun == small_plan().steps
    assert not workshop.store.exists(checkpoint_key(job_id, 1)), "checkpoints are deleted"


def test_a_job_without_critic_holds_no_rows_in_memory(workshop, monkeypatch):
    """It counts them shard by shard, and its release is the one that a table in memory gives."""
    spec = SynthesisSpec(synthesizer="idpgan", options={"pretraining_steps": 20, "generator_width": 16})
    plan = make_plan(
        spec=spec,
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=300,
        domain=TableDomain.from_json(DOCUMENT),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    key = bytes(range(32))
    made = []
    for streamed in (True, False):
        job_id = workshop.order(plan, randomness=key, job_id=UUID(int=streamed))
        workshop.claim(job_id)
        with monkeypatch.context() as patch:
            if streamed:
                patch.setattr(training_child, "coded_table", lambda *_: pytest.fail("the rows are in memory"))
            else:
                patch.setattr(Plan, "only_counts", property(lambda _plan: False))
            attempt(
                workshop.settings, database=workshop.database, store=workshop.store, job_id=job_id, fence=1
            )
        made.append(unpack(workshop.store.get_bytes(bundle_key(job_id, 1))))
    streamed_bundle, held = made
    assert (streamed_bundle.weights, streamed_bundle.counts) == (held.weights, held.counts)


FORGOTTEN = "export"


def forget_marks(workshop: Workshop, job_id: UUID) -> None:
    """So that the first mark of the next attempt can be seen; what it has begun stays in `steps_begun`."""
    with workshop.database.transaction() as session:
        session.get_one(Job, job_id).stage = FORGOTTEN


@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.long)])
def test_killed_at_random_moments_and_resumed_it_leaves_the_same_bytes(workshop, kills):
    """The first attempt runs undisturbed, here, but is never published; the children must stage exactly its bundle."""
    workshop.settings = workshop.settings.model_copy(update={"lease_seconds": 0.01})
    plan = small_plan(steps=160)
    job_id = workshop.order(plan)
    workshop.claim(job_id)
    attempt(workshop.settings, database=workshop.database, store=workshop.store, job_id=job_id, fence=1)
    undisturbed = workshop.store.get_bytes(bundle_key(job_id, 1))
    workshop.store.delete(checkpoint_key(job_id, 1))

    # Not of the last steps: on a busy machine the training would end before whoever watches it has looked.
    moments = np.sort(np.random.default_rng().uniform(0.05, 0.7, size=kills))
    for fence, moment in enumerate([*moments, 2.0], start=2):
        forget_marks(workshop, job_id)
        time.sleep(0.02)
        assert workshop.claim(job_id).fence == fence
        child = start(workshop, job_id, fence)
        wait_for(lambda: workshop.job(job_id).stage != FORGOTTEN)
        assert (workshop.job(job_id).stage == "measure") <= (fence == 2), f"not resumed; killed at {moments}"
        if moment > 1:
            assert child.wait(LONG) == ExitCode.DONE
            break
        wait_for(lambda: workshop.job(job_id).stage == "train")
        while workshop.job(job_id).step < moment * plan.steps:
            time.sleep(0.02)
        while not workshop.store.exists(checkpoint_key(job_id, fence)):
            time.sleep(0.02)
        assert child.kill() == -9, f"it had ended before it was killed at {moments}"
    assert workshop.store.get_bytes(bundle_key(job_id, 2 + kills)) == undisturbed, f"killed at {moments}"
    assert not workshop.store.exists(checkpoint_key(job_id, 2)), "older attempts' checkpoints are gone"
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]


def refusal(workshop: Workshop, job_id: UUID, fence: int) -> ExitCode:
    """How an attempt ends that must not get far; run in this process."""
    with pytest.raises(AttemptEnded) as ended:
        attempt(
            workshop.settings,
            database=workshop.database,
            store=workshop.store,
            job_id=job_id,
            fence=fence,
        )
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        *((device, ExitCode.MACHINERY) for device in (OtherDevice, DeviceDiffers, UnevenRounding)),
        *((module, ExitCode.MODULE_REFUSED) for module in (RecordsMixed, ModuleUnsuitable)),
    ],
)
def test_what_public_numbers_reveal_before_a_step_is_no_failure_of_the_rows(
    workshop, monkeypatch, error, code
):
    def refused(*_, **__):
        raise error

    # private: plants a failure in the middle of the child
    monkeypatch.setattr(training_child, "_trained", refused)
    job_id = workshop.order()
    workshop.claim(job_id)
    assert refusal(workshop, job_id, 1) is code
    assert not workshop.store.exists(failure_note_key(job_id, 1)), "rows had no part in it"


@pytest.mark.parametrize("name", training_child.IMPORTED_LATE)
def test_a_library_that_is_missing_ends_it_before_rows_are_open(workshop, monkeypatch, name):
    monkeypatch.setattr(training_child, "find_spec", lambda asked: None if asked == name else object())
    monkeypatch.setattr(training_child, "attempt", lambda *_, **__: pytest.fail("rows could be opened"))
    with pytest.raises(ModuleNotFoundError, match=name):
        training_child.run(
            workshop.settings, database=workshop.database, store=workshop.store, claimed=UUID(int=0), fence=1
        )


def test_without_its_lease_it_neither_opens_rows_nor_writes(workshop):
    job_id = workshop.order()
    workshop.claim(job_id)
    with workshop.database.transaction() as session:
        session.get_one(Job, job_id).fence = 2
    assert refusal(workshop, job_id, 1) is ExitCode.LEASE_LOST
    assert not workshop.store.exists(bundle_key(job_id, 1))
    assert not workshop.store.exists(checkpoint_key(job_id, 1))


def test_a_lease_lost_on_the_way_ends_it_and_its_checkpoints_do_not_count(workshop):
    workshop.settings = workshop.settings.model_copy(update={"lease_seconds": 0.01})
    job_id = workshop.order(small_plan(steps=3000))
    workshop.claim(job_id)
    zombie = start(workshop, job_id, 1)
    wait_for(lambda: workshop.job(job_id).stage == "train")
    workshop.claim(job_id)
    forget_marks(workshop, job_id)
    assert zombie.wait(LONG) == ExitCode.LEASE_LOST
    assert workshop.job(job_id).stage == FORGOTTEN, "it wrote no progress"
    assert not workshop.store.exists(checkpoint_key(job_id, 2)), "it wrote under its own fence only"
    assert not workshop.store.exists(bundle_key(job_id, 1))


def test_missing_rows_are_a_failure_of_the_machinery(workshop):
    job_id = workshop.order()
    workshop.claim(job_id)
    with workshop.database.read_only() as session:
        rows_key = session.get_one(Dataset, workshop.dataset_id).rows_key
    assert rows_key is not None
    workshop.store.delete(rows_key)
    assert refusal(workshop, job_id, 1) is ExitCode.MACHINERY
    assert workshop.job(job_id).stage is None, "nothing private had begun"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOMEM, "Cannot allocate memory"), OSError("IOError of a library"), MemoryError()]
)
def test_rows_that_cannot_be_coded_are_no_failure_of_the_machinery(workshop, monkeypatch, error):
    def full(*_):
        raise error

    monkeypatch.setattr(training_child, "coded_table", full)
    job_id = workshop.order()
    workshop.claim(job_id)
    assert refusal(workshop, job_id, 1) is ExitCode.DATA


def test_a_store_that_fails_while_rows_are_read_is_the_machinerys_failure(workshop, monkeypatch):
    def away(*_):
        raise StorageUnavailable

    monkeypatch.setattr(training_child, "coded_table", away)
    job_id = workshop.order()
    workshop.claim(job_id)
    assert refusal(workshop, job_id, 1) is ExitCode.MACHINERY


def test_a_failure_among_the_rows_is_visible_to_their_owner_only(workshop, capfd):
    job_id = workshop.order()
    workshop.claim(job_id)
    with workshop.database.read_only() as session:
        rows_key = session.get_one(Dataset, workshop.dataset_id).rows_key
    assert rows_key is not None
    workshop.store_rows(rows_key, colours=[None])
    assert start(workshop, job_id, 1).wait(LONG) == ExitCode.DATA
    told = "".join(capfd.readouterr())
    assert "attempt-stopped" not in told, "when it failed is for the parent to tell, at an edge"
    for secret in (CANARY, "colour", "no code for a missing value", "Traceback", "DomainMismatch"):
        assert secret not in told
    note = read_failure_note(workshop.store, job_id=job_id, fence=1, data_key=workshop.data_key)
    assert "no code for a missing value" in note
    sealed = workshop.store.get_bytes(failure_note_key(job_id, 1))
    assert "DomainMismatch" in note
    assert b"missing value" not in sealed


def test_its_secrets_cannot_be_read_from_outside_and_what_libraries_print_leads_nowhere(workshop):
    job_id = workshop.order(small_plan(steps=3000))
    workshop.claim(job_id)
    child = start(workshop, job_id, 1)
    try:
        wait_for(lambda: workshop.job(job_id).stage == "train")
        targets = {str(Path(f"/proc/{child.pid}/fd/{number}").readlink()) for number in (0, 1, 2)}
        assert targets == {os.devnull}
        limits = Path(f"/proc/{child.pid}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits)
        data = re.search(r"Max data size +(\d+) ", limits)
        assert data is not None
        assert int(data[1]) == workshop.settings.training_memory_bytes
        assert child.resident_bytes() > 2**20
    finally:
        child.kill()
