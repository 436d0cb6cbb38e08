"""A graphical model as the network of a bundle: one draw of it for each latent vector, by ancestral sampling.

A junction tree gives an order of the columns in which every column depends on few that come before it, its parents. The
network turns latent numbers into uniforms by the normal distribution function and draws the columns in this order, each by
inversion of its distribution given its parents' codes. A column that others depend on is output as logits of the drawn code alone. A
column that nothing depends on is output as the logarithm of its distribution, and the sampler draws it. So codes that are drawn
from the softmax of the logits, as from any generator's, have exactly the model's joint distribution, up to the digits of float32.
The target, if there is one, comes first and is given.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

EXCLUDED = -200.0
"""Logit of an impossible code: its exponential is zero in float32."""
ALMOST_ONE = 1.0 - 2.0**-24
"""Largest uniform number: a code of probability zero is never drawn."""

Floats = npt.NDArray[np.float64]
Clique = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Conditional:
    """The distribution of a column given its parents.

    Args:
        parents: columns that come before it.
        distribution: (codes of all parents, codes) probabilities; the last parent's code changes fastest.
    """

    column: int
    parents: tuple[int, ...]
    distribution: Floats


def conditionals(
    nodes: Mapping[frozenset[int], tuple[Clique, Floats]],
    edges: Sequence[tuple[frozenset[int], frozenset[int]]],
    cardinalities: Sequence[int],
    target_index: int | None,
) -> list[Conditional]:
    """The distributions of all columns in an order of ancestral sampling, the target first.

    Args:
        nodes: axes and counts of every maximal clique of the junction forest.
        edges: of the junction forest.
        target_index: the column that comes first, or None.
    """
    beside: dict[frozenset[int], list[frozenset[int]]] = {node: [] for node in nodes}
    for one, other in edges:
        beside[one].append(other)
        beside[other].append(one)
    found: list[Conditional] = []
    placed: set[int] = set()
    seen: set[frozenset[int]] = set()
    for start in sorted(nodes, key=lambda node: (target_index not in node, sorted(node))):
        waiting = [start] if start not in seen else []
        seen.add(start)
        while waiting:
            node = waiting.pop(0)
            found += _of_node(nodes[node], placed, cardinalities, target_index)
            placed |= node
            following = sorted((other for other in beside[node] if other not in seen), key=sorted)
            seen.update(following)
            waiting += following
    return found


def _of_node(
    node: tuple[Clique, Floats], placed: set[int], cardinalities: Sequence[int], target_index: int | None
) -> Iterator[Conditional]:
    """The columns of a node that are not placed yet, each given those of the node before it."""
    axes, counts = node
    given = sorted(column for column in axes if column in placed)
    for column in sorted(set(axes) - placed, key=lambda one: (one != target_index, one)):
        # A column of one code carries no information.
        parents = [one for one in given if cardinalities[one] > 1]
        yield Conditional(
            column=column,
            parents=tuple(parents),
            distribution=_distribution(counts, axes, parents, column, cardinalities),
        )
        given.append(column)


def _distribution(
    counts: Floats, axes: Clique, parents: Sequence[int], column: int, cardinalities: Sequence[int]
) -> Floats:
    wanted = [*parents, column]
    kept = [axis for axis in axes if axis in wanted]
    summed = counts.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in wanted))
    table = np.maximum(np.transpose(summed, [kept.index(axis) for axis in wanted]), 0.0)
    rows = table.reshape(-1, cardinalities[column])
    whole = rows.sum(axis=0)
    alone = whole / whole.sum() if whole.sum() > 0 else np.full(len(whole), 1.0 / len(whole))
    totals = rows.sum(axis=1, keepdims=True)
    # Codes of parents that do not occur in the model: any distribution will do.
    distribution: Floats = np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), alone)
    return distribution


class AncestralNetwork(nn.Module):
    """(latent, label one-hot) to the logits of every column's codes; see the module.

    Args:
        distributions: of all columns, in order.
        target_index: the column that is given, or None.
    """

    def __init__(
        self, distributions: Sequence[Conditional], cardinalities: tuple[int, ...], target_index: int | None
    ) -> None:
        super().__init__()
        self.cardinalities, self.target_index = cardinalities, target_index
        self.parents = {one.column: one.parents for one in distributions}
        self.order = tuple(one.column for one in distributions)
        inner = {parent for one in distributions for parent in one.parents}
        self.inner = tuple(column for column in self.order if column in inner and column != target_index)
        """Columns that the network draws itself; of the others it outputs the distribution."""
        for one in distributions:
            if one.column == target_index:
                continue
            self.register_buffer(f"column_{one.column}", torch.from_numpy(_stored(one, one.column in inner)))

    @property
    def latent_dimension(self) -> int:
        """One number for every column that the network draws, and one at least."""
        return max(1, len(self.inner))

    @property
    def classes(self) -> int:
        """Codes of the target; 0 without."""
        return 0 if self.target_index is None else self.cardinalities[self.target_index]

    def strides(self, column: int) -> tuple[tuple[int, int], ...]:
        """The parents of a column, each with what its code counts in the number of the distribution's row."""
        parents = self.parents[column]
        sizes = [self.cardinalities[parent] for parent in parents]
        return tuple((parent, math.prod(sizes[place + 1 :])) for place, parent in enumerate(parents))

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to logits (rows, cells)."""
        uniforms = (0.5 + 0.5 * torch.erf(latent * math.sqrt(0.5))).clamp(max=ALMOST_ONE)
        codes: dict[int, Tensor] = {}
        logits: dict[int, Tensor] = {}
        for column in self.order:
            if column == self.target_index:
                codes[column] = label.argmax(dim=1)
                logits[column] = (1.0 - label) * EXCLUDED
                continue
            place = torch.zeros(len(latent), dtype=torch.int64)
            for parent, stride in self.strides(column):
                place = place + codes[parent] * stride
            stored = self.get_buffer(f"column_{column}")[place]
            if column not in self.inner:
                logits[column] = stored
                continue
            uniform = uniforms[:, self.inner.index(column)]
            codes[column] = (stored <= uniform[:, None]).sum(dim=1)
            one_hot = nn.functional.one_hot(codes[column], self.cardinalities[column])
            logits[column] = (1.0 - one_hot) * EXCLUDED
        return torch.cat([logits[column].float() for column in range(len(self.cardinalities))], dim=1)


def _stored(conditional: Conditional, inner: bool) -> npt.NDArray[np.float32]:  # noqa: FBT001
    """(rows, codes - 1) running sums of a distribution that the network draws from, or (rows, codes) logarithms of one that leaves."""
    distribution = conditional.distribution
    if inner:
        sums = np.cumsum(distribution, axis=1)
        return np.ascontiguousarray((sums / sums[:, -1:])[:, :-1], dtype=np.float32)
    with np.errstate(divide="ignore"):
        return np.ascontiguousarray(np.maximum(np.log(distribution), EXCLUDED), dtype=np.float32)
