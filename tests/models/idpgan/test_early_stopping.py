"""Early stopping ends training where only noise is left to learn, and resumes to the same bytes."""

import itertools

import numpy as np
import pytest
import torch

from core.synthesis.stages import AnchorPlan, anchor_sensitivity
from models.anchor import MomentLayout, noisy_moments
from models.encoding import PrivateTable
from models.idpgan.early_stopping import FIRST_EVALUATION, PATIENCE, SHRINKAGE_STEPS, EarlyStopping
from models.idpgan.labels import stratified_batch
from models.idpgan.moment_loss import MomentLoss
from models.idpgan.noise_split import SPLIT_RATIO, split_noise
from models.idpgan.synthesizer import IdpganSynthesizer
from models.idpgan.targets import moment_targets
from models.synthesizer import NullHost, TrainedGenerator
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes, small_plan
from tests.models.tables import small_table, streams

WIDE = (9, 8, 2)


def independent(*, records: int) -> PrivateTable:
    """Columns that know nothing of each other: whatever pairs say beyond them is noise."""
    rng = np.random.default_rng(5)
    codes = np.stack([rng.choice(size, records, p=skewed(size)) for size in WIDE], axis=1)
    return PrivateTable(
        codes=codes.astype(np.int16), unit_of_record=np.arange(records), cardinalities=WIDE, target_index=2
    )


def skewed(size: int) -> np.ndarray:
    shares = 2.0 ** -np.arange(size)
    return np.asarray(shares / shares.sum())


def anchor(columns: int) -> AnchorPlan:
    return AnchorPlan(
        noise_multiplier=2.0,
        sensitivity=anchor_sensitivity(columns, diagonal_weight=1.5),
        diagonal_weight=1.5,
    )


@pytest.mark.parametrize("by_class", [True, False])
def test_training_and_validation_counts_are_independent_with_the_stated_noise(by_class: bool):
    table = independent(records=300)
    layout, plan = MomentLayout(cardinalities=WIDE, target_index=2, by_class=by_class), anchor(3)
    released = noisy_moments(table, layout, plan, streams())
    training, validation = split_noise(released, layout, plan, streams())
    weight = SPLIT_RATIO**2
    for name in ("pairs", "ones", "classes"):
        whole, first, second = (
            getattr(moments, name) for moments in (released, training.moments, validation.moments)
        )
        np.testing.assert_allclose((first + weight * second) / (1 + weight), whole, atol=1e-9)
    for part in (training, validation):
        assert np.array_equal(part.moments.pairs, part.moments.pairs.transpose(0, 2, 1))
        for block in layout.blocks:
            assert not part.moments.pairs[:, block, block].any()

    exact = 0.5 * released.pairs  # any fixed counts will do: what is added to them is looked at
    first_noise, second_noise = [], []
    for key in range(400):
        drawn = np.random.default_rng(key).normal(0, plan.noise_std / layout.cell_weights, exact.shape)
        upper = np.triu(np.ones(exact.shape[1:]), 1) * (exact != 0)
        noisy = type(released)(
            pairs=exact + drawn * upper + (drawn * upper).transpose(0, 2, 1),
            ones=released.ones,
            classes=released.classes,
        )
        parts = split_noise(noisy, layout, plan, streams(key))
        cells = upper.astype(bool)
        for part, noise in zip(parts, (first_noise, second_noise), strict=True):
            noise.append(((part.moments.pairs - exact) * layout.cell_weights)[cells])
    one, two = np.concatenate(first_noise), np.concatenate(second_noise)
    assert one.std() == pytest.approx(training.anchor.noise_std, rel=0.02)
    assert two.std() == pytest.approx(validation.anchor.noise_std, rel=0.02)
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(len(one))


def test_an_improvement_is_the_difference_of_two_squared_distances():
    table = small_table(records=500)
    layout = MomentLayout(cardinalities=table.cardinalities, target_index=2, by_class=False)
    targets = moment_targets(noisy_moments(table, layout, anchor(4), streams()), layout, anchor(4))
    loss, batch = MomentLoss(layout, targets), stratified_batch(None, 64)
    rng = torch.Generator().manual_seed(0)
    first, second = (
        torch.cat(
            [torch.softmax(torch.randn(64, size, generator=rng), dim=1) for size in table.cardinalities],
            dim=1,
        )
        for _ in range(2)
    )

    def missed(shares: torch.Tensor) -> tuple[float, np.ndarray]:
        made = shares.double().numpy()
        pairs = made.T @ made / 64
        total, kept = 0.0, []
        for i, j in itertools.combinations(layout.blocks, 2):
            standard = (pairs[i, j] - targets.pairs[0][i, j]) / targets.pair_std[i, j]
            total += float((standard**2).sum())
            kept.append((pairs[i, j] / targets.pair_std[i, j]).ravel())
        return total, np.concatenate(kept)

    (before, was), (after, became) = missed(first), missed(second)
    decrease, deviation = loss.improvement(first, second, batch)
    assert decrease == pytest.approx(before - after, rel=1e-4)
    assert deviation == pytest.approx(2 * np.linalg.norm(became - was), rel=1e-4)


def test_evaluations_grow_by_a_constant_ratio():
    evaluations = [step for step in range(1, 4001) if EarlyStopping.evaluates_at(step)]
    assert evaluations[0] == FIRST_EVALUATION
    ratios = [later / earlier for earlier, later in itertools.pairwise(evaluations)]
    assert min(ratios) > 1.35
    assert max(ratios) < 1.45


def test_training_stops_without_improvement_and_the_best_state_cools_down():
    stopping = EarlyStopping(total=4000)
    best = {"weight": torch.ones(2)}
    stopping.record(50, best, improvement=0.0, deviation=0.0)
    best["weight"].zero_()
    assert stopping.best["weight"].tolist() == [1.0, 1.0], "the state is a copy"
    for number in range(PATIENCE):
        assert not stopping.stops(60 + number)
        stopping.record(60 + number, best, improvement=1.0, deviation=1.5)
    assert stopping.stops(63)
    assert not stopping.finished(63)

    again = EarlyStopping(total=4000)
    again.restore(stopping.tensors())
    assert (again.best_step, again.without_improvement) == (50, PATIENCE)
    assert again.begin_cooldown(63)["weight"].tolist() == [1.0, 1.0]
    assert again.cooldown_steps == round(50 / 4)
    assert [again.shrinks(63 + step) for step in (11, 12)] == [False, True]
    assert [again.finished(63 + 12 + step) for step in (SHRINKAGE_STEPS - 1, SHRINKAGE_STEPS)] == [
        False,
        True,
    ]


@pytest.mark.parametrize("total", [1, 3, 10, 60, 4000])
def test_training_without_a_stop_leaves_the_last_fifth_for_cooldown_and_shrinkage(total: int):
    stopping = EarlyStopping(total=total)
    ended = next(step for step in range(total + 1) if stopping.stops(step))
    assert stopping.begin_cooldown(ended) == {}
    assert ended + stopping.cooldown_steps + stopping.shrinkage_steps == total
    assert stopping.cooldown_steps >= stopping.shrinkage_steps
    assert stopping.finished(total)
    assert not stopping.finished(total - 1)


def noisy_plan(table: PrivateTable):
    return small_plan(table, critic=False, epsilon=0.3, pretraining_steps=600, generator_learning_rate=0.002)


def fit(table: PrivateTable, host=None) -> TrainedGenerator:
    return IdpganSynthesizer().fit(table, noisy_plan(table), streams(), host or NullHost())


def distance(trained: TrainedGenerator, table: PrivateTable) -> float:
    """Mean total variation of the pairs of columns."""
    labels = np.random.default_rng(0).choice(2, 4000, p=trained.label_probabilities)
    latent = streams().torch_normals(99, 0, (4000, 4))
    with torch.no_grad():
        logits = trained.network(latent, torch.eye(2)[labels])
    blocks = [
        torch.softmax(block, dim=1).double().numpy() for block in torch.split(logits, list(WIDE), dim=1)
    ]
    found = []
    for i, j in itertools.combinations(range(3), 2):
        exact = np.zeros((WIDE[i], WIDE[j]))
        np.add.at(exact, (table.codes[:, i], table.codes[:, j]), 1 / len(table.codes))
        found.append(0.5 * np.abs(blocks[i].T @ blocks[j] / 4000 - exact).sum())
    return float(np.mean(found))


def test_a_table_of_independent_columns_stops_early_and_nearer_to_the_truth(monkeypatch):
    table = independent(records=400)
    host = StubbornHost()
    stopped = distance(fit(table, host), table)
    record = EarlyStopping.record

    def always_better(self, step, state, *, improvement, deviation):
        record(self, step, state, improvement=1.0, deviation=0.0)

    monkeypatch.setattr(EarlyStopping, "record", always_better)
    patient = StubbornHost()
    whole = distance(fit(table, patient), table)

    assert host.saved < 100 + SHRINKAGE_STEPS + PATIENCE * 100
    assert patient.saved == 600
    assert stopped < 0.75 * whole


def test_training_killed_in_any_part_resumes_to_the_same_bytes():
    table = independent(records=400)
    undisturbed = StubbornHost()
    expected = generator_bytes(fit(table, undisturbed))
    for cut in (
        FIRST_EVALUATION - 2,
        FIRST_EVALUATION - 1,
        FIRST_EVALUATION + 30,
        undisturbed.saved - SHRINKAGE_STEPS - 3,
        undisturbed.saved - SHRINKAGE_STEPS,
        undisturbed.saved - SHRINKAGE_STEPS + 1,
        undisturbed.saved - 1,
    ):
        dying = StubbornHost(kill_at=cut)
        with pytest.raises(Killed):
            fit(table, dying)
        assert generator_bytes(fit(table, StubbornHost(dying.state))) == expected, cut
