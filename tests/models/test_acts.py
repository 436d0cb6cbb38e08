import math

import pytest
import torch
from scipy import stats

from core.plan.stages import ActsPlan
from models.acts import AdaptiveThresholds
from models.randomness import KeyedStreams

STREAMS = KeyedStreams(bytes(range(32)))
PLAN = ActsPlan(
    interval=5, groups=2, noise_multiplier=3.0, lowest_edge=0.5, edge_ratio=2.0, bins=4
)  # 0.5 1 2 4 8


def acts(smoothing: float = 0.5) -> AdaptiveThresholds:
    return AdaptiveThresholds(PLAN, smoothing=smoothing)


def squares(*norms: tuple[float, float]) -> torch.Tensor:
    return torch.tensor(norms, dtype=torch.float64).reshape(-1, 2).square()


def test_edges_are_public_and_geometric() -> None:
    assert acts().edges.tolist() == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_every_norm_falls_into_one_bin_of_every_histogram() -> None:
    counts = acts().counts(squares((0.0, 0.4), (0.6, 0.5), (1.5, 7.9), (100.0, 8.0), (3.0, 1e100)))
    assert counts.tolist() == [[1, 1, 1, 1, 0, 1], [1, 1, 0, 0, 1, 2]]


def test_a_record_without_a_finite_norm_counts_nowhere() -> None:
    assert acts().counts(squares((math.nan, 1.0), (1.0, math.inf))).sum() == 0
    assert acts().counts(squares()).shape == (2, 6)


def test_one_record_moves_the_stack_by_the_root_of_h() -> None:
    many = squares((0.1, 3.0), (0.7, 9.0), (2.2, 0.2))
    for extreme in ((0.0, 0.0), (1e12, 1e-12), (0.7, 0.7), (math.nan, 0.0)):
        more = torch.cat([many, squares(extreme)])
        assert float((acts().counts(more) - acts().counts(many)).norm()) <= math.sqrt(PLAN.groups)


def test_noise_of_the_histograms() -> None:
    # False alarm 1e-6. 12 cells over 2,000 steps.
    exact = acts().counts(squares((0.6, 3.0)))
    drawn = torch.stack([acts().release(squares((0.6, 3.0)), STREAMS, step) for step in range(2000)]) - exact
    assert stats.kstest((drawn / PLAN.noise_multiplier).numpy().ravel(), "norm").pvalue > 1e-6
    assert torch.equal(acts().release(squares(), STREAMS, 7), acts().release(squares(), STREAMS, 7))


def test_the_upper_edge_of_the_fullest_bin_is_averaged_in_and_clamped() -> None:
    noisy = torch.tensor([[0.0, 0.1, 9.0, 0.0, 0.0, 0.0], [-1.0, -2.0, -3.0, -4.0, -5.0, -0.5]])
    start = torch.tensor([1.0, 1.0], dtype=torch.float64)
    assert acts().update(start, noisy).tolist() == [1.5, 4.5]  # bins [1, 2) and overflow
    assert acts(0.0).update(start, noisy).tolist() == [2.0, 8.0]
    under = torch.tensor([[5.0, 0, 0, 0, 0, 0]] * 2)
    assert acts().update(torch.tensor([0.1, 1e9], dtype=torch.float64), under).tolist() == [0.5, 8.0]


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_smoothing_is_a_weight(smoothing: float) -> None:
    with pytest.raises(ValueError, match="smoothing"):
        acts(smoothing)
