"""Weight clustering (WC): blocks of weights with similar clipping thresholds are clipped and noised as one group.

DBSCAN (Ester et al. 1996, scikit-learn) runs on the logarithms of noisy thresholds, so the clusters are post-processing,
and with this noise allocation their number costs nothing. Biases stay one group of their own. The paper leaves DBSCAN's
outliers in no cluster, which would let their coordinates out unclipped; here every outlier is a group of its own.
"""

import numpy as np
import torch
from torch import Tensor


def cluster_blocks(thresholds: Tensor, *, radius: float, min_blocks: int) -> tuple[int, ...]:
    """The group of every block, numbered in order of first appearance.

    Args:
        thresholds: (blocks,) positive; the last block holds the biases.
        radius: DBSCAN's radius on natural logarithms.
        min_blocks: DBSCAN's least number of neighbours of a core block, itself included.
    """
    from sklearn.cluster import DBSCAN

    weights = thresholds[:-1].log().numpy().reshape(-1, 1)
    found: list[int] = DBSCAN(eps=radius, min_samples=min_blocks).fit_predict(weights).tolist()
    outlier = max(found, default=-1) + 1
    labels = []
    for label in (*found, -1):
        labels.append(outlier if label < 0 else label)
        outlier += label < 0
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return tuple(numbers[label] for label in labels)


def merged_thresholds(thresholds: Tensor, group_of_block: tuple[int, ...]) -> tuple[float, ...]:
    """The threshold of every group: the norm it has if every block is at its own threshold."""
    groups = max(group_of_block) + 1
    squares = torch.zeros(groups, dtype=torch.float64).index_add_(
        0, torch.tensor(group_of_block), thresholds.square()
    )
    return tuple(np.sqrt(squares.numpy()).tolist())
