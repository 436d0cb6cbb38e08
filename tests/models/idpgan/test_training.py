import dataclasses

import numpy as np
import pytest
import torch

from core.plan.options import ABLATIONS
from models.dp.errors import BatchOverCap
from models.encoding import PrivateTable
from models.idpgan import pace
from models.idpgan.refinement import Refinement
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost
from tests.cases import daily
from tests.models.coded_tables import KEY, small_table, streams, without_unit
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes, small_plan
from tests.privacy.seam import Recorder, Replayer

VARIANTS = {
    "both": {},
    "anchor": {"critic": False},
    "critic": {"anchor": False},
    "mixture and critic": {"generator": "mixture"},
    "mixture of a critic": {"generator": "mixture", "anchor": False},
    "adaptive": {"critic_steps": "adaptive"},
    "acts+wc": ABLATIONS["acts+wc"] | {"acts_interval": 4},
}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def fit(table, plan, host=None, key=0, listening=None):
    keyed = streams(key) if listening is None else KeyedStreams(KEY, releases=listening)
    return IdpganSynthesizer().fit(table, plan, keyed, host or NullHost())


@pytest.mark.parametrize(
    "variant", daily(VARIANTS, some=["both", "anchor", "critic", "acts+wc", "mixture and critic"])
)
def test_a_training_killed_at_any_checkpoint_resumes_to_the_same_bytes(variant):
    table = small_table()
    plan = small_plan(table, **VARIANTS[variant])
    undisturbed = StubbornHost()
    expected = generator_bytes(fit(table, plan, undisturbed))
    assert generator_bytes(fit(table, plan)) == expected, "checkpoints change nothing"
    for cut in range(0, undisturbed.saved, 3):
        dying = StubbornHost(kill_at=cut)
        with pytest.raises(Killed):
            fit(table, plan, dying)
        assert generator_bytes(fit(table, plan, StubbornHost(dying.state))) == expected


def test_the_adaptive_pace_hears_the_critic_during_training(monkeypatch):
    moves = []
    refine = Refinement.refine

    def noting(self, step, critic, *, progress):
        moves.append(step)
        return refine(self, step, critic, progress=progress)

    monkeypatch.setattr(Refinement, "refine", noting)
    monkeypatch.setattr(pace, "GRACE", 0)
    monkeypatch.setattr(
        pace, "ENOUGH", 1.0
    )  # whatever the critic does is too little: a rung after every move
    table = small_table()
    fit(table, small_plan(table, anchor=False, steps=40, critic_steps="adaptive"))
    assert moves == [1, 6, 16, 36]


def test_a_job_delivered_twice_gives_the_same_bytes_and_another_key_does_not():
    table = small_table()
    plan = small_plan(table)
    assert generator_bytes(fit(table, plan)) == generator_bytes(fit(table, plan))
    assert generator_bytes(fit(table, plan)) != generator_bytes(fit(table, plan, key=1))


@pytest.mark.parametrize("name", ABLATIONS)
def test_each_ablation_of_the_paper_is_a_configuration(name):
    table = small_table()
    trained = fit(
        table, small_plan(table, **ABLATIONS[name] | ({"acts_interval": 4} if "acts" in name else {}))
    )
    logits = trained.network(torch.zeros(3, 4), torch.eye(2)[[0, 1, 1]])
    assert logits.shape == (3, table.cells)
    assert torch.isfinite(logits).all()


@pytest.mark.parametrize("variant", ["both", "anchor", "critic"])
@pytest.mark.parametrize("target", [True, False])
def test_every_variant_gives_a_generator_of_the_tables_shape(variant, target):
    table = small_table(target=target)
    trained = fit(table, small_plan(table, **VARIANTS[variant]))
    assert trained.label_index == table.target_index
    if target:
        assert trained.label_probabilities is not None
        assert trained.label_probabilities.sum() == pytest.approx(1.0)
        assert (trained.label_probabilities > 0).all()
    else:
        assert trained.label_probabilities is None
    classes = 2 if target else 0
    assert trained.network(torch.zeros(5, 4), torch.zeros(5, classes)).shape == (5, table.cells)


def marks(table, plan):
    host = StubbornHost()
    fit(table, plan, host)
    return host.marks


def test_marks_go_before_private_rows_cover_every_step_and_end_at_the_plan():
    table = small_table()
    plan = small_plan(table, steps=60, pretraining_steps=3)
    made = marks(table, plan)
    assert made[0] == ("measure", 1, 1)
    assert [mark for mark in made if mark[0] == "train"] == [
        ("train", 25, 60),
        ("train", 50, 60),
        ("train", 60, 60),
    ]
    assert made[-1] == ("export", 1, 1)


def test_a_mark_that_refuses_keeps_the_training_from_private_rows():
    class Refusing(NullHost):
        def advance(self, *, stage, step, total):
            raise Killed

    class Untouchable(PrivateTable):
        __slots__ = ()

    table = small_table()
    unreadable = Untouchable(
        codes=table.codes,
        unit_of_record=table.unit_of_record,
        cardinalities=table.cardinalities,
        target_index=2,
    )
    plan = small_plan(table)
    object.__setattr__(unreadable, "codes", None)
    with pytest.raises(Killed):
        fit(unreadable, plan, Refusing())


def test_control_flow_and_checkpoint_sizes_are_the_same_on_a_neighbour_and_on_an_empty_table():
    """Where the noisy counts of columns are the same: they tell the groups, and so the size of the network."""
    table = small_table(units=300)
    empty = dataclasses.replace(
        table, codes=np.zeros((0, 4), dtype=np.int16), unit_of_record=np.zeros(0, dtype=np.int64)
    )
    plan = small_plan(table)
    seen = []
    recorder = Recorder()
    fit(table, plan, listening=recorder)
    for rows in (table, without_unit(table, 7), empty):
        sizes: list[int] = []

        class Weighing(StubbornHost):
            def save_checkpoint(self, state, sizes=sizes):
                super().save_checkpoint(state)
                sizes.append(len(state))

        host = Weighing()
        trained = fit(rows, plan, host, listening=Replayer(recorder))
        seen.append((host.marks, len(sizes), len(generator_bytes(trained))))
    assert seen[0] == seen[1] == seen[2]


def test_a_batch_above_the_public_cap_fails_with_a_constant_message():
    table = small_table(records=4000)
    plan = dataclasses.replace(small_plan(table), max_sampled_batch=1)
    with pytest.raises(BatchOverCap) as failure:
        fit(table, plan)
    assert not any(digit.isdigit() for digit in failure.value.detail)


def test_the_generator_learns_the_dependence_from_the_anchor():
    table = small_table(records=4000)
    plan = dataclasses.replace(
        small_plan(table, critic=False, pretraining_steps=400, epsilon=20.0, generator_learning_rate=0.01),
        declared_size=4000,
    )
    trained = fit(table, plan)
    latent = streams().torch_normals(99, 0, (4000, 4))
    shares = [
        torch.softmax(trained.network(latent, torch.eye(2)[[label] * 4000])[:, :3], dim=1).mean(dim=0)
        for label in (0, 1)
    ]
    real = [np.bincount(table.codes[table.codes[:, 2] == label, 0], minlength=3) for label in (0, 1)]
    for made, counts in zip(shares, real, strict=True):
        assert np.abs(made.detach().numpy() - counts / counts.sum()).max() < 0.05
