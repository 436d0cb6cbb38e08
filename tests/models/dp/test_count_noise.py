"""Released counts do not tell neighbours apart by the steps of float64, however large the noise is."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from core.plan.stages import AnchorPlan, anchor_plan
from models.dp.count_noise import COARSE_BITS, FINE_UP_TO, GRID, on_grid, release_counts, without_low_bits
from models.randomness import Purpose
from models.reports.utility import with_noise
from models.tables.anchor import MomentLayout, noisy_columns, noisy_moments
from models.tables.screening import noisy_distances
from tests.models.coded_tables import small_table, streams

DRAWS = 40_000
PRESENT = 349_525 * GRID
"""What a person with three records adds to a cell."""
MUCH = 1.37 * 2.0**30


def apart(absent: np.ndarray, present: np.ndarray, std: float) -> float:
    """The largest difference of two releases in the share of odd multiples of any power of two below the noise, in its deviations."""
    lowest, highest = round(math.log2(GRID)), math.floor(math.log2(std)) - 10
    shares = [
        np.array([np.mean(np.floor(counts / 2.0**bit) % 2 == 1) for bit in range(lowest, highest)])
        for counts in (absent, present)
    ]
    return float(np.abs(shares[0] - shares[1]).max() / math.sqrt(0.5 / DRAWS))


@pytest.mark.parametrize("std", [1.37 * 2.0**bits for bits in (12, 27, 30, 33, 36)])
def test_no_low_bit_of_a_released_count_knows_a_person(std: float) -> None:
    absent, present = (
        release_counts(np.full(DRAWS, exact), std, streams(key), Purpose.LEARNING_NOISE, 0, sensitivity=1.0)
        for key, exact in enumerate((0.0, PRESENT))
    )
    assert apart(absent, present, std) < 7


@pytest.mark.parametrize("bits", [30, 33, 36])
def test_the_low_bits_of_large_noise_would_know_the_person(bits: int) -> None:
    std = 1.37 * 2.0**bits
    absent, present = (
        exact + on_grid(streams(key).normals(Purpose.LEARNING_NOISE, 0, DRAWS) * std)
        for key, exact in enumerate((0.0, PRESENT))
    )
    assert apart(absent, present, std) > 7


def test_counts_are_rounded_down_by_a_small_part_of_their_noise_and_others_stay() -> None:
    stds = np.array([1.0, FINE_UP_TO / 2, np.nextafter(FINE_UP_TO, 0), FINE_UP_TO, 3e9, 1e13])
    noisy = on_grid(streams().normals(Purpose.LEARNING_NOISE, 0, (200, len(stds))) * stds)
    lost = noisy - without_low_bits(noisy, stds)
    assert not lost[:, :3].any()
    assert (lost >= 0).all()
    assert (lost < stds * 2.0**-COARSE_BITS).all()
    assert (lost[:, 4:] > 0).any(axis=0).all()


def kept_bits(counts: np.ndarray, stds: np.ndarray | float) -> bool:
    """Whether counts are multiples of their step, and some are no multiples of a much coarser one."""
    steps = 2.0 ** (np.floor(np.log2(stds)) - COARSE_BITS)
    multiples = counts / steps
    return bool((multiples == np.floor(multiples)).all() and (multiples % 2**12 != 0).any())


def plan_of(*, screening: float = 0.0, combinations: bool = False) -> AnchorPlan:
    return anchor_plan(
        4, diagonal_weight=1.5, noise_multiplier=MUCH, screening_share=screening, combinations=combinations
    )


@pytest.mark.parametrize("chosen", ["pairs", "by class", "combinations"])
def test_counts_of_a_table_with_much_noise_keep_no_low_bits(chosen: str) -> None:
    table, plan = small_table(units=90), plan_of(combinations=chosen == "combinations")
    columns = np.concatenate(noisy_columns(table, plan, streams()))
    assert kept_bits(columns, MUCH), "noise of columns is no smaller"
    layout = MomentLayout(
        cardinalities=table.cardinalities,
        target_index=table.target_index,
        by_class=chosen == "by class",
        combinations=chosen == "combinations",
    )
    moments = noisy_moments(table, layout, plan, streams())
    if moments.combinations is not None:
        (weight,) = layout.weights.values()
        assert kept_bits(moments.combinations, plan.noise_std / weight)
        return
    counted = np.triu(layout.counted)
    assert kept_bits(moments.pairs[:, counted], (plan.noise_std / layout.pair_weights)[counted])
    if layout.by_class:
        assert kept_bits(moments.ones, plan.noise_std / layout.one_weights)


def test_distances_with_much_noise_keep_no_low_bits() -> None:
    table, plan = small_table(units=90), plan_of(screening=0.1)
    distributions = [np.full(codes, 1 / codes) for codes in table.cardinalities]
    groups = tuple(np.arange(codes) for codes in table.cardinalities)
    assert kept_bits(noisy_distances(table, distributions, groups, plan, streams(), size=90.0), MUCH)


def test_terms_of_a_report_with_much_noise_keep_no_low_bits() -> None:
    stds = {"columns": MUCH, "pairs": 3 * MUCH}
    exact = {"columns": np.full(4, PRESENT), "pairs": np.full(6, PRESENT)}
    plan = SimpleNamespace(noise_stds=stds, terms={kind: len(values) for kind, values in exact.items()})
    noisy = with_noise(exact, plan, streams())  # type: ignore[arg-type]
    assert all(kept_bits(noisy[kind], stds[kind]) for kind in stds)
