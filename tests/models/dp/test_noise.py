import math

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from scipy import stats

from models.dp.clipping import Layout, Partition, each_block_alone
from models.dp.noise import (
    GRID_BITS,
    NoisyMean,
    grid_bits,
    grid_of,
    group_noise_stds,
    noise_plan,
    rounded_sum_with_noise,
)
from models.randomness import KeyedStreams, Purpose

STREAMS = KeyedStreams(bytes(range(32)))
LAYOUT = Layout(shapes=((300, 200), (1, 300)), grouping="layers")

groups = st.lists(st.tuples(st.floats(1e-6, 1e6), st.integers(1, 10**7)), min_size=1, max_size=40)


def partition_of(drawn: list[tuple[float, int]]) -> Partition:
    return each_block_alone([d for _, d in drawn], [c for c, _ in drawn])


@settings(max_examples=200, deadline=None)
@given(drawn=groups, sigma=st.floats(0.01, 100.0))
def test_the_stack_is_one_mechanism_whatever_k_is(drawn: list[tuple[float, int]], sigma: float) -> None:
    partition = partition_of(drawn)
    stds = group_noise_stds(sigma, partition)
    whitened = math.fsum((c / s) ** 2 for c, s in zip(partition.thresholds, stds, strict=True))
    assert whitened == pytest.approx(1 / sigma**2, rel=1e-12)
    assert all(s >= sigma * c * (1 - 1e-12) for c, s in zip(partition.thresholds, stds, strict=True))


@settings(max_examples=100, deadline=None)
@given(drawn=groups, shift=st.lists(st.floats(0.5, 2.0), min_size=40, max_size=40))
def test_no_other_allocation_has_less_energy(drawn: list[tuple[float, int]], shift: list[float]) -> None:
    partition = partition_of(drawn)
    thresholds, dims = partition.thresholds, partition.dimensions
    best = group_noise_stds(1.0, partition)
    other = [s * f for s, f in zip(best, shift, strict=False)]
    scale = math.sqrt(math.fsum((c / s) ** 2 for c, s in zip(thresholds, other, strict=True)))
    energy = math.fsum(d * s**2 for d, s in zip(dims, best, strict=True))
    assert energy <= math.fsum(d * (s * scale) ** 2 for d, s in zip(dims, other, strict=True)) * (1 + 1e-9)


def test_one_group_is_plain_clipping() -> None:
    assert group_noise_stds(3.0, each_block_alone((1000,), (0.5,))) == pytest.approx((1.5,), rel=1e-14)


@given(std=st.floats(1e-30, 1e30))
def test_the_grid_is_a_power_of_two_far_below_the_noise(std: float) -> None:
    grid = grid_of(std, GRID_BITS)
    assert math.frexp(grid)[0] == 0.5
    assert std * 2.0 ** -(GRID_BITS + 1) <= grid <= std * 2.0**-GRID_BITS


@settings(deadline=None)
@given(sigma=st.floats(0.01, 100.0), cap=st.integers(1, 200_000), drawn=groups)
def test_sums_are_exact_integers_on_the_grid(sigma: float, cap: int, drawn: list[tuple[float, int]]) -> None:
    partition = partition_of(drawn)
    try:
        plan = noise_plan(partition, noise_multiplier=sigma, max_batch=cap)
    except ValueError:
        assert cap / sigma > 2**29
        return
    assert grid_bits(sigma, cap) <= GRID_BITS
    for c, std, grid in zip(partition.thresholds, plan.stds, plan.grids, strict=True):
        assert cap * c / grid < 2**52
        assert 10 * std / grid < 2**52


def test_a_hopeless_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        grid_bits(1e-6, 2**20)


def released(step: int, total: torch.Tensor, divisor: int) -> tuple[torch.Tensor, Partition]:
    partition = Partition(sizes=LAYOUT.sizes, group_of_block=(0, 1, 0), thresholds=(2.0, 0.01))
    plan = noise_plan(partition, noise_multiplier=1.5, max_batch=1000)
    into = torch.empty(LAYOUT.coordinates, dtype=torch.float64)
    reader = STREAMS.reader(Purpose.GRADIENT_NOISE, step)
    mean = NoisyMean(LAYOUT)
    mean.write(total.clone(), plan, mean.draw(plan, reader), divisor=divisor, into=into)
    return into, partition


def test_noise_distribution_per_group() -> None:
    # False alarm: 8 tests at 1e-7. Power: the first group has 60,301 coordinates, so a std off by 2 % is seen.
    total = torch.linspace(-50.0, 50.0, LAYOUT.coordinates, dtype=torch.float64)
    partition = released(0, total, 64)[1]
    stds = group_noise_stds(1.5, partition)
    block = torch.repeat_interleave(torch.tensor([0, 1, 0]), torch.tensor(LAYOUT.sizes))
    noises = []
    for step in (0, 1):
        noise = released(step, total, 64)[0] * 64 - total
        noises.append(noise)
        for group in (0, 1):
            part = (noise[block == group] / stds[group]).numpy()
            assert stats.kstest(part, "norm").pvalue > 1e-7
            chi = float((part**2).sum())
            distribution = stats.chi2(part.size)
            assert distribution.ppf(5e-8) < chi < distribution.isf(5e-8)
    correlation = float(torch.corrcoef(torch.stack(noises))[0, 1])
    assert abs(correlation) < 5.5 / math.sqrt(LAYOUT.coordinates)


def test_releases_lie_on_the_grid() -> None:
    total = torch.full((LAYOUT.coordinates,), 1 / 3, dtype=torch.float64)
    values, partition = released(3, total, 64)  # a divisor that is a power of two keeps them exact
    plan = noise_plan(partition, noise_multiplier=1.5, max_batch=1000)
    for piece, grid in zip(LAYOUT.slices(), plan.grids, strict=True):
        steps = values[piece] * 64 / grid
        assert bool((steps == steps.round()).all())


def test_the_divisor_is_the_public_one() -> None:
    total = torch.ones(LAYOUT.coordinates, dtype=torch.float64)
    assert torch.equal(released(4, total, 32)[0], 2 * released(4, total, 64)[0])


def test_rows_with_noise_on_their_grids() -> None:
    values = torch.arange(60_000, dtype=torch.float64).view(3, 20_000)
    stds = [1.0, 10.0, 100.0]
    noisy = rounded_sum_with_noise(values, stds, STREAMS.reader(Purpose.ACTS_NOISE, 0), bits=GRID_BITS)
    for row, std in enumerate(stds):
        part = ((noisy - values)[row] / std).numpy()
        assert stats.kstest(part, "norm").pvalue > 1e-7
        steps = noisy[row] / grid_of(std, GRID_BITS)
        assert bool((steps == steps.round()).all())
