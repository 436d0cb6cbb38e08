"""Sums and noise lie on the stated public grid, the certificate states the grid that is used, and rounding is paid for."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models.classifier.features import Batch, features_of, labels_of
from models.classifier.private_training import PrivateClassifier, initial_network
from models.dp.clipping import Layout, each_block_alone
from models.dp.noise import GRID_BITS, NoisyMean, grid_of, noise_plan
from models.grids import noise_grid
from models.labels import noisy_label_distribution
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from models.tables.anchor import FIRST_ROUND, GRID, SECOND_ROUND
from tests.models.classifier.small import TABLE, plan_of, table
from tests.models.coded_tables import small_table
from tests.models.dp.plans import small_plan
from tests.models.dp.test_private_step import cells, critic_of, fakes
from tests.privacy.laws.listening import Listener
from tests.privacy.laws.planned import KEY, run_job

OPTIONS = {
    "flat": {},
    "rows": {"grouping": "rows"},
    "falling noise": {"schedule": "exponential", "schedule_decay": 2.0, "schedule_period": 20, "schedule_end": 0.1},
    "acts": {"acts": True},
}  # fmt: skip


def whole(values: torch.Tensor, grid: float) -> bool:
    return torch.equal((values / grid).round(), values / grid)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_private_step_releases_multiples_of_the_grid_that_the_certificate_states(options: str) -> None:
    """A float64 critic and a divisor of 16 keep every bit of the release."""
    plan, listener = small_plan(**OPTIONS[options]), Listener()
    stated = noise_grid(plan)["critic"]
    private = PrivateCritic(critic_of(torch.float64), plan, KeyedStreams(KEY, releases=listener))
    for step in range(plan.steps):
        bits = [each["bits_below_noise"] for each in stated if each["first_step"] <= step][-1]
        layout = private.layout
        private.step(step, cells(20, step), fakes(20, step, torch.float64))
        release = listener.heard[int(Purpose.GRADIENT_NOISE), step]
        stds = [std for piece, std in release.exact]
        assert len(stds) == layout.blocks, "these blocks are one piece each"
        for part, std in zip(torch.split(release.noisy[0], list(layout.sizes)), stds, strict=True):
            grid = grid_of(std, bits)
            assert math.frexp(grid)[0] == 0.5
            assert std * 2.0 ** -(bits + 1) < grid <= std * 2.0**-bits
            assert whole(part * plan.expected_batch_size, grid)
            assert not whole(part * plan.expected_batch_size, 2 * grid), "not a coarser one"


@pytest.mark.parametrize("divisor", [None, 64.0], ids=["alone", "of one owner"])
def test_a_private_classifiers_step_keeps_twenty_bits_of_its_noise(divisor: float | None) -> None:
    """Its state is float64, and a member of a federation hands it in: finer bits would tell which numbers a float64 of the noise has."""
    plan, listener, records = plan_of(TABLE, expected_batch_size=64), Listener(), table()
    features, labels = features_of(records, plan), labels_of(records)
    private = PrivateClassifier(
        plan, initial_network(records, plan, features, None, KeyedStreams(KEY)), width=features.width
    )
    private.step(
        0,
        Batch(features, labels, np.arange(40)),
        KeyedStreams(KEY, releases=listener),
        divisor=divisor,
    )
    ((_, std), *more), noisy = (
        listener.heard[int(Purpose.GRADIENT_NOISE), 0].exact,
        listener.heard[int(Purpose.GRADIENT_NOISE), 0].noisy[0],
    )
    assert not more
    assert noisy.dtype == torch.float64
    coarse = grid_of(std, 20)
    assert std * 2.0**-21 < coarse <= std * 2.0**-20
    assert whole(noisy * 64, coarse)
    assert not whole(noisy * 64, 2 * coarse)


def test_a_coarse_release_is_the_fine_one_rounded_down() -> None:
    layout = Layout(shapes=((3, 40), (1, 7)), grouping="flat")
    plan = noise_plan(
        each_block_alone(layout.sizes, (1.0,) * layout.blocks), noise_multiplier=5.0, max_batch=50
    )
    total = torch.from_numpy(np.random.default_rng(0).normal(0.0, 3.0, layout.coordinates))
    fine, coarse = torch.empty_like(total), torch.empty_like(total)
    for rounded_down, into in ((False, fine), (True, coarse)):
        mean = NoisyMean(layout, coarse=rounded_down)
        drawn = mean.draw(plan, KeyedStreams(KEY).reader(Purpose.GRADIENT_NOISE, 0))
        mean.write(total.clone(), plan, drawn, divisor=1.0, into=into)
    lost = fine - coarse
    assert bool((lost >= 0).all())
    assert bool((lost > 0).any())
    assert float(lost.max()) < max(plan.stds) * 2.0**-20


def test_the_anchors_release_lies_on_the_grid_that_the_certificate_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = run_job(monkeypatch, critic=False)
    assert noise_grid(job.plan)["anchor"] == GRID == 2.0**-20
    for step in (FIRST_ROUND, SECOND_ROUND):
        released = job.listener.heard[int(Purpose.ANCHOR_NOISE), step].noisy
        assert all(whole(values, GRID) for values in released)
        assert not all(whole(values, 2 * GRID) for values in released)


def test_histograms_lie_on_the_grid_that_the_certificate_states(monkeypatch: pytest.MonkeyPatch) -> None:
    job = run_job(monkeypatch, acts=True, acts_interval=4)
    assert job.plan.acts is not None
    grid = grid_of(job.plan.acts.noise_multiplier, noise_grid(job.plan)["histograms"])
    releases = [r for (purpose, _), r in job.listener.heard.items() if purpose == Purpose.ACTS_NOISE]
    assert len(releases) == 3
    assert all(whole(release.noisy[0], grid) for release in releases)
    assert not all(whole(release.noisy[0], 2 * grid) for release in releases)


def test_counts_of_labels_are_on_the_grid_that_the_certificate_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, listener = run_job(monkeypatch, anchor=False), Listener()
    assert job.plan.label_histogram is not None
    noisy_label_distribution(small_table(), job.plan.label_histogram, KeyedStreams(KEY, releases=listener))
    release = listener.heard[int(Purpose.LABEL_NOISE), 0]
    assert whole(release.noisy[0], noise_grid(job.plan)["label_counts"])
    assert release.exact[0][0].dtype == torch.int64


def rounded(total: torch.Tensor, layout: Layout, plan) -> torch.Tensor:
    """The sum as it is released where the noise happens to be zero."""
    into = torch.empty_like(total)
    NoisyMean(layout).write(total.clone(), plan, torch.zeros_like(total), divisor=1, into=into)
    return into


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    sigma=st.floats(0.3, 3e3),
    width=st.integers(1, 3000),
    threshold=st.floats(1e-3, 1e3),
    cap=st.integers(1, 10_000),
)
def test_rounding_the_sum_is_paid_for_by_the_noise(
    sigma: float, width: int, threshold: float, cap: int
) -> None:
    """The worst neighbours: the record moves every coordinate alike, and rounding moves each one step further."""
    layout = Layout(shapes=((1, width),), grouping="flat")
    d = layout.coordinates
    plan = noise_plan(each_block_alone(layout.sizes, (threshold,)), noise_multiplier=sigma, max_batch=cap)
    grid = plan.grids[0]
    move = threshold / math.sqrt(d)  # of norm c in all
    steps = math.ceil(move / grid)
    low = (0.5 - 1e-4) * grid  # rounds down, and up once moved
    without = torch.full((d,), low, dtype=torch.float64)
    moved = rounded(without + max(move, (steps - 1 + 2e-4) * grid), layout, plan) - rounded(
        without, layout, plan
    )
    assert float(moved.norm()) / plan.stds[0] <= (1 / sigma) * (1 + 1e-12)


def test_without_payment_rounding_would_move_neighbours_too_far() -> None:
    """Power of the test above: with the bare formula's noise the same neighbours are further apart than 1 / sigma."""
    d, sigma = 3001, 3000.0
    bare = sigma * 1.0
    grid = grid_of(bare, GRID_BITS)
    move = 1 / math.sqrt(d)
    steps = math.floor(move / grid) + 1
    assert math.sqrt(d) * steps * grid / bare > (1 / sigma) * (1 + 1e-8)


def test_more_noise_than_the_grid_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        noise_plan(each_block_alone((10**8,), (1.0,)), noise_multiplier=1e7, max_batch=1)


def test_rounding_to_the_grid_is_to_the_nearest_and_even_in_both_directions() -> None:
    layout = Layout(shapes=((1, 2999),), grouping="flat")
    plan = noise_plan(each_block_alone(layout.sizes, (1.0,)), noise_multiplier=1.0, max_batch=64)
    total = torch.linspace(-3.0, 3.0, 3000, dtype=torch.float64)
    gap = (rounded(total, layout, plan) - total) / plan.grids[0]
    assert float(gap.abs().max()) <= 0.5
    assert abs(float(gap.mean())) < 5.0 / math.sqrt(12 * 3000)
    assert np.unique(gap.numpy()).size > 100
