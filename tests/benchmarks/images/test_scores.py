import math

import numpy as np
import pytest
from scipy.special import expit

from benchmarks.images.intervals import interval
from benchmarks.images.scores import (
    frechet_distance,
    gaussian_distance,
    inception_score,
    jensen_shannon_bound,
    sliced_wasserstein,
    symmetrised_kl,
)


def fresh():
    return np.random.default_rng(0)


def test_inception_score_of_certain_and_balanced_answers_is_the_number_of_classes():
    assert inception_score(np.eye(10)[np.arange(50) % 10]) == pytest.approx(10.0)
    assert inception_score(np.eye(10)[np.arange(52) % 4]) == pytest.approx(4.0)


def test_inception_score_of_answers_that_are_all_alike_is_one():
    assert inception_score(np.full((20, 10), 0.1)) == pytest.approx(1.0)
    assert inception_score(np.eye(10)[np.zeros(20, dtype=int)]) == pytest.approx(1.0)


def test_inception_score_by_hand():
    # Marginal (1/2, 1/2): each row's divergence is log 2 - h(0.9).
    entropy = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert inception_score(np.array([[0.9, 0.1], [0.1, 0.9]])) == pytest.approx(2.0 / math.exp(entropy))


def test_distance_of_normal_distributions_with_commuting_covariances_is_known():
    rng = fresh()
    # sum (m - n)^2 + sum (sqrt a - sqrt b)^2 for diagonal covariances in any common basis.
    basis, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    a, b = np.array([1.0, 4.0, 0.0, 9.0]), np.array([4.0, 1.0, 0.25, 9.0])
    mean, other = np.array([1.0, 0, 0, 2]), np.array([0.0, 0, 3, 2])
    found = gaussian_distance(mean, (basis * a) @ basis.T, other, (basis * b) @ basis.T)
    assert found == pytest.approx(10.0 + 1.0 + 1.0 + 0.25, abs=1e-9)


def test_distance_of_normal_distributions_agrees_with_the_general_matrix_root():
    rng = fresh()
    first, second = rng.standard_normal((2, 5, 5))
    a, b = first @ first.T + np.eye(5), second @ second.T + np.eye(5)
    # tr (A^(1/2) B A^(1/2))^(1/2) is the sum of the roots of the eigenvalues of A B.
    cross = np.sqrt(np.linalg.eigvals(a @ b).real).sum()
    expected = np.trace(a) + np.trace(b) - 2 * cross
    assert gaussian_distance(np.zeros(5), a, np.zeros(5), b) == pytest.approx(expected)
    assert gaussian_distance(np.zeros(5), b, np.zeros(5), a) == pytest.approx(expected)


def test_frechet_distance_of_a_set_to_itself_is_zero_and_of_a_shifted_one_the_squared_shift():
    rng = fresh()
    features = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6))
    assert frechet_distance(features, features) == pytest.approx(0.0, abs=1e-9)
    shift = np.array([3.0, 4, 0, 0, 0, 0])
    assert frechet_distance(features, features + shift) == pytest.approx(25.0)
    assert frechet_distance(features[:, :1], 3.0 * features[:, :1]) == pytest.approx(
        4.0 * (features[:, 0].mean() ** 2 + features[:, 0].var(ddof=1))
    )


def test_frechet_distance_of_samples_approaches_that_of_their_distributions():
    rng = fresh()
    first = rng.standard_normal((20_000, 2))
    second = rng.standard_normal((20_000, 2)) * np.array([2.0, 1.0]) + np.array([0.0, 1.0])
    # 1 + (2 - 1)^2; the estimate's standard deviation is below 0.03, so 0.2 is 6 of them.
    assert frechet_distance(first, second) == pytest.approx(2.0, abs=0.2)


def test_the_paper_s_score_is_half_the_symmetrised_divergence_from_a_fair_coin():
    log_odds = np.array([0.0, 1.0, -2.0, 5.0])
    p = expit(log_odds)
    forward = p * np.log(2 * p) + (1 - p) * np.log(2 * (1 - p))
    backward = -0.5 * np.log(2 * p) - 0.5 * np.log(2 * (1 - p))
    assert symmetrised_kl(log_odds) == pytest.approx(np.mean(forward + backward) / 2)
    assert symmetrised_kl(np.zeros(3)) == 0.0
    assert symmetrised_kl(np.array([1e6])) == pytest.approx(
        1e6 / 4
    )  # no bound, unlike a Jensen-Shannon divergence


def test_the_jensen_shannon_bound_is_exact_for_the_best_discriminator():
    assert jensen_shannon_bound(np.zeros(5), np.zeros(5)) == pytest.approx(0.0)
    assert jensen_shannon_bound(np.full(5, 800.0), np.full(5, -800.0)) == pytest.approx(math.log(2))
    # Two distributions on {0, 1}: real (3/4, 1/4), made (1/4, 3/4); the best log-odds are log 3 and -log 3.
    real, made = math.log(3) * np.array([1, 1, 1, -1.0]), math.log(3) * np.array([1, -1, -1, -1.0])
    middle = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert jensen_shannon_bound(real, made) == pytest.approx(middle)


def test_sliced_distance_of_a_shift_is_the_mean_projection_of_the_shift():
    rng = fresh()
    points = rng.standard_normal((50, 3))
    assert sliced_wasserstein(points, points[::-1]) == pytest.approx(0.0, abs=1e-12)
    # E|u . c| = |c| / 2 in three dimensions; the standard deviation over 4,000 directions is 0.0046 |c|.
    found = sliced_wasserstein(points, points + np.array([0.0, 3.0, 4.0]), directions=4000)
    assert found == pytest.approx(2.5, abs=0.12)
    assert sliced_wasserstein(points, 2.0 * points) == pytest.approx(sliced_wasserstein(2.0 * points, points))


def test_sliced_distance_in_one_dimension_is_exact():
    assert sliced_wasserstein(np.array([[0.0], [1.0]]), np.array([[3.0], [0.0]])) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="equal shape"):
        sliced_wasserstein(np.zeros((2, 1)), np.zeros((3, 1)))


def test_intervals_are_student_s():
    found = interval([1.0, 2.0, 3.0])
    # t_(2, 0.975) = 4.302653
    assert (found.mean, found.seeds) == (2.0, 3)
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert found.text(2) == "2.00 ± 2.48"
    assert interval([0.961]).text(1, percent=True) == "96.1 %"
    assert interval([0.961]).half_width is None


def test_intervals_cover_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((2000, 3))
    covered = [abs(found.mean) <= found.half_width for found in map(interval, draws.tolist())]
    # Standard deviation 0.0049; 5 of them; the seed is fixed.
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)
