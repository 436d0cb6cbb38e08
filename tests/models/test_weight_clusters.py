import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from models.dp.clipping import Partition
from models.weight_clusters import cluster_blocks, merged_thresholds


def test_like_thresholds_form_a_cluster_and_outliers_groups_of_their_own() -> None:
    thresholds = torch.tensor([1.0, 1.1, 50.0, 0.9, 20.0, 21.0, 19.0, 0.001, 1.0], dtype=torch.float64)
    groups = cluster_blocks(thresholds, radius=0.2, min_blocks=3)
    assert groups == (
        0,
        0,
        1,
        0,
        2,
        2,
        2,
        3,
        4,
    )  # the last block, of biases, stays alone even at a like threshold


def test_a_threshold_of_a_cluster_is_the_root_of_the_sum_of_squares() -> None:
    thresholds = torch.tensor([3.0, 1.0, 4.0], dtype=torch.float64)
    assert merged_thresholds(thresholds, (0, 1, 0)) == pytest.approx((5.0, 1.0))


@settings(max_examples=60, deadline=None)
@given(
    logs=st.lists(st.floats(-20, 20), min_size=2, max_size=40),
    radius=st.floats(0.01, 5.0),
    least=st.integers(1, 6),
)
def test_the_partition_is_total_whatever_the_thresholds(logs: list[float], radius: float, least: int) -> None:
    thresholds = torch.tensor(logs, dtype=torch.float64).exp()
    groups = cluster_blocks(thresholds, radius=radius, min_blocks=least)
    partition = Partition(
        sizes=(1,) * len(logs), group_of_block=groups, thresholds=merged_thresholds(thresholds, groups)
    )
    assert sum(partition.dimensions) == len(logs)
    assert groups.count(groups[-1]) == 1
    total = sum(c**2 for c in partition.thresholds)
    assert total == pytest.approx(float(thresholds.square().sum()), rel=1e-9)
