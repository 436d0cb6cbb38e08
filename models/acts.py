"""ACTS: adaptive clipping thresholds from noisy histograms of gradient norms, on a public grid of bins.

The paper's bin edges followed the batch maximum and so revealed it. These are geometric and public, with an underflow and
an overflow bin. Every public block has one histogram; a record adds one to one bin of each, so the stack of `H` has L2
sensitivity `sqrt(H)` under add-or-remove-one, which the plan charges jointly with the gradient (shared design, section 3).
"""

import math

import torch
from torch import Tensor

from core.plan.stages import ActsPlan
from models.dp.noise import GRID_BITS, rounded_sum_with_noise
from models.randomness import KeyedStreams, Purpose


class AdaptiveThresholds:
    """Histograms and the thresholds that follow from them.

    Args:
        smoothing: weight of the former threshold in the exponential average, in [0, 1).
    """

    def __init__(self, plan: ActsPlan, *, smoothing: float) -> None:
        if not 0.0 <= smoothing < 1.0:
            raise ValueError("the smoothing weight lies in [0, 1)")
        self._plan = plan
        self._smoothing = smoothing
        exponents = torch.arange(plan.bins + 1, dtype=torch.float64)
        self.edges = plan.lowest_edge * torch.pow(
            torch.tensor(plan.edge_ratio, dtype=torch.float64), exponents
        )

    def counts(self, squares: Tensor) -> Tensor:
        """(blocks, bins + 2) float64 exact histograms of (batch, blocks) squared norms; private until noised.

        A record with a norm that is not finite is not counted, as it is not in the sum.
        """
        assert squares.shape[1] == self._plan.groups
        good = squares[torch.isfinite(squares).all(dim=1)]
        bins = torch.bucketize(good.sqrt(), self.edges, right=True)
        width = self._plan.bins + 2
        flat = bins + width * torch.arange(self._plan.groups)
        return torch.bincount(flat.reshape(-1), minlength=width * self._plan.groups).view(-1, width).double()

    def release(self, squares: Tensor, streams: KeyedStreams, step: int) -> Tensor:
        """(blocks, bins + 2) noisy histograms, on the noise's grid."""
        exact = self.counts(squares)
        std = self._plan.noise_multiplier
        # A record adds one to one bin of each histogram.
        stated = math.sqrt(self._plan.groups) / std
        streams.releases.exact(Purpose.ACTS_NOISE, step, [(exact, std)], sensitivity=stated)
        reader = streams.reader(Purpose.ACTS_NOISE, step)
        noisy = rounded_sum_with_noise(exact, [std] * self._plan.groups, reader, bits=GRID_BITS)
        streams.releases.noisy(Purpose.ACTS_NOISE, step, noisy)
        return noisy

    def update(self, thresholds: Tensor, noisy: Tensor) -> Tensor:
        """New thresholds (blocks,) from noisy histograms: post-processing.

        The upper edge of the fullest noisy bin (of the underflow bin: the lowest edge; of the overflow bin: the
        highest), averaged with the former threshold and clamped to the public edges.
        """
        upper = self.edges[noisy.argmax(dim=1).clamp_(max=self._plan.bins)]
        smoothed = self._smoothing * thresholds + (1.0 - self._smoothing) * upper
        return smoothed.clamp_(self.edges[0], self.edges[-1])
