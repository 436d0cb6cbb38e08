"""Clipped sums of per-example gradients of linear layers, without storing a gradient (Goodfellow 2015, "ghost norms").

With p the softmax of the logits and e the label's unit vector, the cross entropy of a record has the cotangent `p - e` at its
logits. With delta_l the cotangent at the outputs of layer l and a_{l-1} the layer's inputs, the gradient is the outer product

    dW_l = delta_l a_{l-1}^T,   db_l = delta_l,   so |g|^2 = sum over l of |delta_l|^2 (|a_{l-1}|^2 + 1)

Everything is float64.
"""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from models.classifier.even_batches import EvenBatches
from models.classifier.features import Batch
from models.classifier.networks import DenseClassifier
from models.critic.conv_form import counted, one_hot, squared_norms
from models.dp.clipping import CANCELLATION_SHARE, ClipRule, Layout, Partition

BATCH: Final = 128
"""Records of one product."""


class DenseForm:
    """The closed form of one classifier of linear layers.

    Args:
        network: read at every call.
        layout: of its coordinates: one block.
        width: numbers of a record.
        partition: the block and its clipping norm.
        max_batch: public cap on the records of one Poisson batch, for the rounding allowance.

    Raises:
        UnevenRounding: this machine rounds a record differently by its place.
    """

    def __init__(
        self, network: DenseClassifier, layout: Layout, *, width: int, partition: Partition, max_batch: int
    ) -> None:
        self._network, self._layout = network, layout
        self._rule = ClipRule(partition, max_batch=max_batch, terms=1)
        self._batches = EvenBatches(BATCH, width)
        self._total = torch.zeros(layout.coordinates, dtype=torch.float64)
        self._batches.require_alike(lambda rows, labels: self._alone(*self._factors(rows, labels)))

    @torch.no_grad()
    def clipped_sum(self, batch: Batch) -> Tensor:
        """(coordinates,) float64 sum of the records' clipped gradients; valid until the next call."""
        total, shapes = self._total.zero_(), self._layout.shapes
        sizes = [outputs * inputs for outputs, inputs in shapes]
        pieces = torch.split(total, [*sizes, *(outputs for outputs, _ in shapes)])
        for some, own, present, _ in self._batches.of(batch):
            lefts, rights = self._factors(some, own)
            clips = self._rule.factors(self._squares(lefts, rights))[:, :1] * present[:, None]
            spoiled = clips[:, 0].eq(0.0)
            for layer, (left, right) in enumerate(zip(lefts, rights, strict=True)):
                clipped = counted(left, spoiled) * clips
                pieces[layer].view(shapes[layer]).addmm_(clipped.T, counted(right, spoiled))
                pieces[len(shapes) + layer].add_(clipped.sum(dim=0))
        return total

    def close(self) -> None:
        """Nothing is left in the network."""

    def _factors(self, rows: Tensor, labels: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Cotangents (n, outputs) and inputs (n, inputs) of every layer."""
        layers = self._network.linear_layers()
        *hidden, last = layers
        rights = [self._network.inputs(rows)]
        for layer in hidden:
            rights.append(torch.relu(torch.addmm(layer.bias, rights[-1], layer.weight.T)))
        logits = torch.addmm(last.bias, rights[-1], last.weight.T)
        lefts = [torch.softmax(logits, dim=1) - one_hot(labels, last.out_features, torch.float64)]
        for layer, value in zip(layers[:0:-1], rights[:0:-1], strict=True):
            lefts.insert(0, (lefts[0] @ layer.weight) * (value > 0))
        return lefts, rights

    @staticmethod
    def _squares(lefts: Sequence[Tensor], rights: Sequence[Tensor]) -> Tensor:
        """(n, 1) upper bounds of squared norms of whole gradients."""
        squares = sum(
            squared_norms(left) * (squared_norms(right) + 1.0)
            for left, right in zip(lefts, rights, strict=True)
        )
        return torch.as_tensor(squares * (1.0 + CANCELLATION_SHARE))[:, None]

    def _alone(self, lefts: list[Tensor], rights: list[Tensor]) -> list[Tensor]:
        return [*lefts, *rights, self._squares(lefts, rights)]
