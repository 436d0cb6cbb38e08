"""Smoothing of the noisy counts of a column."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import multivariate_normal

from models.tables.estimation.smoothing import (
    CHANGES,
    FEWEST_OF_BLOCKS,
    MOST_CODES,
    CodeOrder,
    mean_of_blocks,
    mean_of_scales,
    mean_of_segments,
)

STD = 20.0
SCALES = (0.0, 0.5, 1.0, 2.0, 4.0)
"""Of counts of at most four standard deviations."""


def _enumerated(counts: np.ndarray) -> np.ndarray:
    """The posterior mean by going through all segmentations, probabilities of a change and scales of each segment."""
    codes, weight, mean = len(counts), 0.0, np.zeros(len(counts))
    for change, cuts in itertools.product(CHANGES, itertools.product([False, True], repeat=codes - 1)):
        stops = [place + 1 for place, cut in enumerate(cuts) if cut] + [codes]
        segments = list(zip([0, *stops[:-1]], stops, strict=True))
        prior = change ** len(segments) * (1 - change) ** (codes - len(segments))
        for scales in itertools.product(SCALES, repeat=len(segments)):
            covariance = np.zeros((codes, codes))
            for (first, stop), scale in zip(segments, scales, strict=True):
                covariance[first:stop, first:stop] = (scale * STD) ** 2
            with_noise = covariance + STD**2 * np.eye(codes)
            share = prior * len(SCALES) ** -len(segments)
            share *= multivariate_normal.pdf(counts, cov=with_noise)
            weight += share
            mean += share * (covariance @ np.linalg.solve(with_noise, counts))
    return mean / weight


def smoothed_by(order: CodeOrder, counts: npt.NDArray[np.float64], std: float) -> npt.NDArray[np.float64]:
    smoother = order.smoother([counts], np.array([std]), total=float(counts.sum()))
    return smoother.smoothed(0, counts, std)


def test_the_mean_of_segments_is_that_of_all_segmentations() -> None:
    counts = np.array([3.0, 78.0, 64.0, -22.0])
    assert mean_of_segments(counts, STD) == pytest.approx(_enumerated(counts), rel=1e-9)


@pytest.mark.parametrize("codes", [3, 40, 300])
def test_the_mean_of_segments_turns_with_the_order_of_the_codes(codes: int) -> None:
    counts = np.random.default_rng(codes).normal(30.0, 40.0, codes)
    turned = mean_of_segments(counts[::-1], STD)[::-1]
    assert mean_of_segments(counts, STD) == pytest.approx(turned, abs=1e-6)


def test_counts_that_only_noise_tells_apart_become_alike() -> None:
    errors = []
    for seed in range(20):
        counts = 15.0 + np.random.default_rng(seed).normal(0.0, STD, 32)
        errors.append(np.abs([mean_of_segments(counts, STD) - 15.0, counts - 15.0]).mean(axis=1))
    smoothed, raw = np.mean(errors, axis=0)
    assert smoothed < raw / 2


def test_a_heap_between_rare_codes_stays() -> None:
    levels = np.zeros(41)
    levels[17] = 600.0
    counts = levels + np.random.default_rng(3).normal(0.0, STD, len(levels))
    smoothed = mean_of_segments(counts, STD)
    assert smoothed[17] == pytest.approx(600.0, abs=3 * STD)
    assert np.abs(np.delete(smoothed, 17)).mean() < STD / 4


def test_rare_codes_without_an_order_fall_to_their_level_and_common_ones_stay() -> None:
    levels = np.where(np.arange(60) < 3, 900.0, 4.0)
    counts = levels + np.random.default_rng(5).normal(0.0, STD, len(levels))
    smoothed = mean_of_scales(counts, STD)
    assert smoothed[:3] == pytest.approx(counts[:3], rel=0.01)
    assert np.abs(smoothed[3:] - 4.0).mean() < np.abs(counts[3:] - 4.0).mean() / 2


def test_rare_codes_of_one_chapter_keep_what_they_have_together() -> None:
    rng, chapters = np.random.default_rng(6), np.repeat(np.arange(20), 100)
    levels = rng.dirichlet(np.full(20, 0.5))[chapters] * 60.0
    errors = np.zeros((3, 2))
    for _ in range(10):
        counts = levels + rng.normal(0.0, STD, len(levels))
        for place, made in enumerate((mean_of_blocks(counts, STD), mean_of_scales(counts, STD), counts)):
            off = made - levels
            errors[place] += np.abs(off).mean(), np.abs(np.bincount(chapters, weights=off)).mean()
    (blocks, of_chapters), (scales, of_taken), (raw, _) = errors
    assert blocks < scales < raw / 2
    assert of_chapters < 0.7 * of_taken


def test_blocks_of_codes_that_are_not_alike_gain_and_lose_next_to_nothing() -> None:
    rng = np.random.default_rng(8)
    levels = 4000.0 / rng.permutation(np.arange(1.0, 2001.0))
    errors = np.zeros(2)
    for _ in range(10):
        counts = levels + rng.normal(0.0, STD, len(levels))
        errors += [np.abs(made(counts, STD) - levels).sum() for made in (mean_of_blocks, mean_of_scales)]
    assert errors[0] < 1.02 * errors[1]


def test_few_codes_have_no_blocks() -> None:
    counts = np.random.default_rng(10).normal(5.0, STD, FEWEST_OF_BLOCKS - 1)
    assert (mean_of_blocks(counts, STD) == mean_of_scales(counts, STD)).all()


def test_codes_without_an_order_are_smoothed_however_many_they_are() -> None:
    counts = np.random.default_rng(12).normal(2.0, STD, MOST_CODES + 1)
    smoothed = smoothed_by(CodeOrder(ordered=(False,), alone=((),)), counts, STD)
    assert np.abs(smoothed - 2.0).mean() < np.abs(counts - 2.0).mean() / 3


def test_codes_without_a_place_in_the_order_keep_their_counts() -> None:
    counts = np.random.default_rng(7).normal(10.0, STD, 12)
    order = CodeOrder(ordered=(True,), alone=((0, 11),))
    smoothed = smoothed_by(order, counts, STD)
    assert (smoothed[[0, 11]] == counts[[0, 11]]).all()
    assert not np.isclose(smoothed[1:11], counts[1:11]).any()


@pytest.mark.parametrize("ordered", [False, True])
def test_counts_far_above_the_noise_are_left_nearly_as_they_are(ordered: bool) -> None:
    counts = np.random.default_rng(9).normal(3000.0, 900.0, 25)
    smoothed = smoothed_by(CodeOrder(ordered=(ordered,), alone=((),)), counts, 1.0)
    assert np.abs(smoothed - counts).max() < 0.1


@pytest.mark.parametrize("codes", [1, 2, MOST_CODES + 1])
def test_columns_of_too_few_or_too_many_codes_are_left_as_they_are(codes: int) -> None:
    counts = np.random.default_rng(11).normal(5.0, STD, codes)
    assert smoothed_by(CodeOrder(ordered=(True,), alone=((),)), counts, STD) is counts


def test_smoothing_pays_where_noise_is_large_and_costs_next_to_nothing_where_it_is_small() -> None:
    rng, codes = np.random.default_rng(13), np.arange(40)
    levels = 8000.0 * np.exp(-0.5 * ((codes - 14.0) / 7.0) ** 2)
    levels *= 8000.0 / levels.sum()
    order = CodeOrder(ordered=(True,), alone=((),))
    for std, most in ((300.0, 0.7), (60.0, 1.0), (5.0, 1.01)):
        errors = np.zeros(2)
        for _ in range(30):
            counts = levels + rng.normal(0.0, std, len(levels))
            errors += [np.abs(smoothed_by(order, counts, std) - levels).sum(), np.abs(counts - levels).sum()]
        assert errors[0] < most * errors[1], f"noise of {std}"
        assert math.isfinite(errors[0])
