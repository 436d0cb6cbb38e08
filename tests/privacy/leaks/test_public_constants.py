"""Batch divisor, number of steps, delta: public constants of the plan, whatever the table holds and however many rows."""

import numpy as np
import pytest

from models.idpgan.training import Training
from tests.privacy.leaks.short_job import OPTIONS, plan, random_codes, train
from tests.privacy.seam import Recorder, Replayer

SIZES = (0, 57, 400)


def test_a_table_of_any_size_is_trained_with_the_same_steps_marks_and_shapes():
    """Where the noisy counts are the same: they tell the groups, and so the size of the network."""
    recorder = Recorder()
    train(random_codes(SIZES[-1]), releases=recorder)
    told = [train(random_codes(size), releases=Replayer(recorder)) for size in SIZES]
    assert all(host.heard == told[0][0].heard for host, _ in told)
    assert told[0][0].heard[-1] == ("export", 1, 1)
    assert [step for step in told[0][0].heard if step[0] == "train"] == [
        ("train", OPTIONS["steps"], OPTIONS["steps"])
    ]
    assert len({tuple(map(len, host.states)) for host, _ in told}) == 1, "states are as long as each other"
    assert (
        len({tuple(tensor.shape for tensor in made.network.state_dict().values()) for _, made in told}) == 1
    )


def test_steps_that_follow_the_table_would_be_noticed(monkeypatch):
    """An epoch: as many steps as the table has batches."""

    def epochs(self, first):
        for step in range(first, min(OPTIONS["steps"], -(-len(self._table.codes) // 40))):
            self._host.advance(stage="train", step=step + 1, total=OPTIONS["steps"])
            self._private_step(step)
            self._keep(pretrained=OPTIONS["pretraining_steps"], trained=step + 1)

    # private: plants epochs over the rows in the loop of steps
    monkeypatch.setattr(Training, "_train", epochs)
    with pytest.raises(AssertionError):
        test_a_table_of_any_size_is_trained_with_the_same_steps_marks_and_shapes()


def test_the_plan_knows_the_declared_size_and_no_other():
    assert plan().sampling_rate == OPTIONS["expected_batch_size"] / plan().declared_size
    assert plan().guarantee.delta == 1e-6
    assert not np.isclose(plan().sampling_rate, OPTIONS["expected_batch_size"] / SIZES[2])
