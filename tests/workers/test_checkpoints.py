"""Sealed checkpoints in a store twin."""

from uuid import UUID, uuid4

import pytest

from core.data.objects import ObjectStore, open_store
from core.platform.stored_objects import checkpoint_key
from models.dp.errors import CheckpointLost
from workers.assignment import Checkpoints

KEY = bytes(range(32))


@pytest.fixture
def store() -> ObjectStore:
    return open_store("memory://")


def checkpoints(store: ObjectStore, job_id: UUID, fence: int, key: bytes = KEY) -> Checkpoints:
    return Checkpoints(store, job_id=job_id, fence=fence, randomness_key=key)


def test_an_attempt_inherits_the_newest_checkpoint_and_then_writes_its_own(store):
    job_id = uuid4()
    assert checkpoints(store, job_id, 1).load() is None
    checkpoints(store, job_id, 1).save(b"first")
    third = checkpoints(store, job_id, 3)
    assert third.load() == b"first"
    third.save(b"third")
    assert third.load() == b"third"
    assert not store.exists(checkpoint_key(job_id, 1)), "the one it replaces is deleted"
    third.save(b"later")
    assert checkpoints(store, job_id, 4).load() == b"later"


def test_an_attempt_never_reads_what_a_later_one_wrote(store):
    job_id = uuid4()
    checkpoints(store, job_id, 2).save(b"later")
    assert checkpoints(store, job_id, 1).load() is None


def test_nothing_of_the_state_can_be_read_in_the_store(store):
    job_id = uuid4()
    checkpoints(store, job_id, 1).save(b"a secret weight")
    assert b"secret" not in store.get_bytes(checkpoint_key(job_id, 1))


@pytest.mark.parametrize("harm", ["other key", "damaged", "moved from another job"])
def test_a_checkpoint_that_does_not_open_costs_time_only(store, harm):
    job_id, other = uuid4(), uuid4()
    checkpoints(store, job_id, 1).save(b"older")
    older = store.get_bytes(checkpoint_key(job_id, 1))
    if harm == "other key":
        checkpoints(store, job_id, 2, bytes(32)).save(b"newer")
    elif harm == "damaged":
        store.put_bytes(checkpoint_key(job_id, 2), older[:-1])
    else:
        checkpoints(store, other, 2).save(b"newer")
        store.put_bytes(checkpoint_key(job_id, 2), store.get_bytes(checkpoint_key(other, 2)))
    store.put_bytes(checkpoint_key(job_id, 1), older)
    assert checkpoints(store, job_id, 3).load() == b"older"


def test_of_a_federation_no_older_state_stands_in_for_a_damaged_one(store):
    """A stale worker may have kept what a board answered to it and to nobody else: a round would be released on both answers."""
    job_id = uuid4()
    checkpoints(store, job_id, 2).save(b"the answers that the next round was begun with")
    newest = checkpoint_key(job_id, 2)
    store.put_bytes(newest, store.get_bytes(newest)[:-1])
    checkpoints(store, job_id, 1).save(b"other answers")
    resumed = Checkpoints(store, job_id=job_id, fence=3, randomness_key=KEY, federated=True)
    with pytest.raises(CheckpointLost):
        resumed.load()
