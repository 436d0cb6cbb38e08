"""A generator without a network: a mixture of product distributions, fitted to the noisy counts in seconds.

Every component has its own distribution of each column, over groups of codes (`models.tables.code_groups`), and all components have the same weight.
The two-way shares of the mixture are the mean over the components of products of their distributions, so its distance to the counts is known exactly:
no batch is drawn, and a fit takes a few hundred steps. Vietri et al. 2022 (arXiv 2209.07400) fit such mixtures to measured marginals.

Where all combinations of codes were counted, the components are not fitted but written down: each takes an equal part of the distribution of the
combinations, in an order in which neighbours differ in one column. A part along one column is a product of distributions exactly; of a part
along several it takes the one line that has most of it, so that no combination is drawn whose share is zero.

It is sampled like a network: the latent number chooses the component, with the probability that the component has given the label.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.plan.defaults import MOST_LOGITS
from core.plan.options import IdpganOptions
from models.devices.placement import move_tensors
from models.idpgan.generator import probabilities
from models.idpgan.grouped_logits import GroupedLogits
from models.idpgan.learner import Learner, cosine
from models.idpgan.prepared_counts import Anchor
from models.randomness import KeyedStreams, Purpose
from models.tables.code_groups import Groups, group_counts

COMPONENTS: Final = (200, 1600)
"""The fewest and the most."""
UNITS_OF_COMPONENT: Final = 5
"""Declared units for each component in between: more than rows to draw leave some out by chance (docs/rules-study.md)."""
WIDE_CELLS: Final = 512
COMPONENTS_OF_WIDE: Final = 800
"""The most of tables with more groups than `WIDE_CELLS`: a step multiplies the components with the square of the groups."""
LATENT_DIMENSION: Final = 1
COMPONENTS_OF_COMBINATION: Final = 4
"""The most for each combination of groups (docs/rules-study.md)."""
JITTER: Final = 0.7
"""Standard deviation of the logits of the components at the start, around those of the noisy shares."""
LEARNING_RATE: Final = 0.15
BETAS: Final = (0.9, 0.95)
_WARM_UP_STEPS: Final = 10
_LEAST: Final = 1e-12
"""Probability of a code that a component of combinations does not have."""
_ROOT_HALF: Final = math.sqrt(0.5)


def components_wanted(groups: Sequence[Groups], *, declared_size: int, combinations: bool = False) -> int:
    """Return the number of components of a mixture.

    Args:
        combinations: whether all combinations of codes were counted; their distribution takes the most components.
    """
    fewest, most = COMPONENTS
    if combinations:
        return most
    most = most if sum(group_counts(groups)) <= WIDE_CELLS else COMPONENTS_OF_WIDE
    most = min(most, COMPONENTS_OF_COMBINATION * math.prod(group_counts(groups)))
    return min(max(declared_size // UNITS_OF_COMPONENT, fewest), most)


class Mixture(GroupedLogits):
    """(latent, label one-hot) to the logits of every column's codes.

    Args:
        groups: of every column (codes,) the group of each code. Those of the target are its codes.
        target_index: the column that is given, or None.
    """

    def __init__(self, *, groups: Sequence[Groups], target_index: int | None, components: int) -> None:
        super().__init__(groups, target_index)
        self.by_group = len(self.group_of_code) > MOST_LOGITS
        self.logits = nn.Parameter(torch.zeros(components, self.group_cells))

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, 1) and (rows, classes) to logits (rows, cells), of wide tables to logits of groups (rows, group cells)."""
        uniform = 0.5 * (1.0 + torch.erf(latent * _ROOT_HALF))
        sums = label @ self.component_sums() if self.classes else self.component_sums()
        component = (sums < uniform).sum(dim=1).clamp(max=len(self.logits) - 1)
        grouped = self.logits[component]
        if self.classes:
            stop = self.label_start + self.classes
            grouped = self.with_label(grouped[:, : self.label_start], label, grouped[:, stop:])
        return grouped if self.by_group else self.spread(grouped)

    def distributions(self) -> Tensor:
        """(components, group cells) probabilities of every column's groups."""
        return probabilities(self.logits, self.group_counts)

    def component_sums(self) -> Tensor:
        """(classes, components) running sums of the probability of every component given the label; (1, components) without one."""
        if not self.classes:
            even = torch.full((1, len(self.logits)), 1.0 / len(self.logits), device=self.logits.device)
            return torch.cumsum(even, dim=1)
        weights = self.distributions()[:, self.label_start : self.label_start + self.classes].T
        sums = torch.cumsum(weights.double(), dim=1)
        return (sums / sums[:, -1:]).float()

    def initialise(self, streams: KeyedStreams, columns: Sequence[npt.NDArray[np.float64]]) -> None:
        """Start every component near the columns' shares, and keep those of codes within their groups.

        Args:
            columns: of every column (codes,) noisy shares.
        """
        jitter = streams.torch_normals(Purpose.GENERATOR_INIT, 0, tuple(self.logits.shape))
        with torch.no_grad():
            self.logits.copy_(torch.from_numpy(np.log(self.keep_shares(columns))) + JITTER * jitter)

    def represent(self, distribution: npt.NDArray[np.float64]) -> None:
        """Set the components so that their mean is a distribution of all combinations of codes, but for parts along several columns.

        Args:
            distribution: one axis a column, whose groups are its codes.
        """
        cells = _in_turns(distribution.shape)
        shares = distribution[tuple(cells.T)]
        ends = np.cumsum(shares) / shares.sum()
        edges = np.linspace(0.0, 1.0, len(self.logits) + 1)
        overlaps = np.minimum(edges[1:, None], ends) - np.maximum(edges[:-1, None], np.append(0.0, ends[:-1]))
        parts = np.maximum(overlaps, 0.0)
        at_code = [
            np.eye(codes)[of_column] for codes, of_column in zip(distribution.shape, cells.T, strict=True)
        ]
        along = sum((np.count_nonzero(parts @ each, axis=1) > 1).astype(int) for each in at_code)
        several = np.flatnonzero(along > 1)
        line = np.arange(len(cells)) // distribution.shape[-1]
        most = (parts[several] @ np.eye(line[-1] + 1)[line]).argmax(axis=1)
        parts[several] *= most[:, None] == line
        parts /= parts.sum(axis=1, keepdims=True)
        distributions = [parts @ each for each in at_code]
        with torch.no_grad():
            self.logits.copy_(
                torch.from_numpy(np.log(np.maximum(np.concatenate(distributions, axis=1), _LEAST)))
            )


def _in_turns(codes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return all combinations of codes, each different from the one before in one column by one; (combinations, columns)."""
    cells = np.zeros((1, 0), dtype=np.int64)
    for number in reversed(codes):
        ways = [cells if code % 2 == 0 else cells[::-1] for code in range(number)]
        first = np.repeat(np.arange(number), len(cells))
        cells = np.column_stack([first, np.concatenate(ways)])
    return cells


class MixtureFit(Learner):
    """A mixture, initialised, with its optimiser and exponential average, fitted to noisy counts. Reads no private row."""

    latent_dimension = LATENT_DIMENSION

    def __init__(self, *, mixture: Mixture, options: IdpganOptions, anchor: Anchor) -> None:
        super().__init__(mixture, options, learning_rate=LEARNING_RATE, betas=BETAS)
        self._mixture, self._anchor = mixture, anchor

    def move(self, device: torch.device) -> None:
        """See `Learner.move`."""
        super().move(device)
        move_tensors(self._anchor.loss, device)

    def pretrain(self, step: int) -> None:
        """One step towards the noisy counts."""
        self._update(distance(self._mixture, self._anchor), fit_rate(step, self._options.pretraining_steps))


def distance(mixture: Mixture, anchor: Anchor) -> Tensor:
    """The distance of the mixture's counts to the noisy ones, a scalar."""
    distributions, even = mixture.distributions(), 1.0 / len(mixture.logits)
    if anchor.layout.by_class:
        first = mixture.label_start
        slices = [(distributions, distributions[:, first + label] * even) for label in range(mixture.classes)]
    else:
        slices = [(distributions, torch.full((len(distributions),), even, device=distributions.device))]
    return anchor.loss(slices)


def fit_rate(step: int, steps: int) -> float:
    """The share of the learning rate at a step of a fit."""
    return min(1.0, (step + 1) / _WARM_UP_STEPS) * cosine(step / steps)
