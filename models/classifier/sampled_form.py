"""Clipped sums of per-example gradients of any torch module, which opacus' `GradSampleModule` materialises.

Sampler, clipping rule, keyed noise, divisor and optimiser are those of the closed forms; opacus supplies the gradients of the
cross entropy alone. Modules that mix the records of a batch, such as batch normalisation, or keep something of them in a buffer are
refused by trial: opacus validates only layers that have weights.
"""

from collections.abc import Sequence
from typing import Any, Final

import torch
from opacus.grad_sample import GradSampleModule
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from models.classifier.even_batches import EvenBatches
from models.classifier.features import Batch
from models.critic.conv_form import counted, squared_norms
from models.dp.clipping import ClipRule, Partition
from models.dp.errors import RecordsMixed

BATCH: Final = 32
"""Records whose gradients are held at a time."""


class SampledForm:
    """The sum for one module in float64.

    Args:
        module: rows (n, width) to logits (n, classes).
        ordered: its parameters in the order of the coordinates.
        width: numbers of a record.
        partition: one block and its clipping norm.
        max_batch: public cap on the records of one Poisson batch, for the rounding allowance.

    Raises:
        UnevenRounding: this machine rounds a record differently by its place.
        RecordsMixed: the module mixes the records of a batch, or keeps something of them.
    """

    def __init__(
        self,
        module: nn.Module,
        ordered: Sequence[nn.Parameter],
        *,
        width: int,
        partition: Partition,
        max_batch: int,
    ) -> None:
        try:  # opacus refuses layers with weights and buffers, such as batch normalisation, and nothing else
            self._module: Any = GradSampleModule(module, batch_first=True, loss_reduction="sum", strict=True)
        except NotImplementedError:
            raise RecordsMixed from None
        self._parameters: list[Any] = list(ordered)
        self._rule = ClipRule(partition, max_batch=max_batch, terms=1)
        self._batches = EvenBatches(BATCH, width)
        before = [value.clone() for value in self._kept()]
        self._batches.require_alike(lambda rows, labels: [self._gradients(rows, labels)])
        if not all(torch.equal(value, other) for value, other in zip(self._kept(), before, strict=True)):
            raise RecordsMixed

    def clipped_sum(self, batch: Batch) -> Tensor:
        """(coordinates,) float64; see `models.classifier.dense_form.DenseForm.clipped_sum`."""
        total = torch.zeros(sum(one.numel() for one in self._parameters), dtype=torch.float64)
        for some, own, present, _ in self._batches.of(batch):
            gradients = self._gradients(some, own)
            clips = self._rule.factors(squared_norms(gradients)[:, None]) * present[:, None]
            total += (counted(gradients, clips[:, 0].eq(0.0)) * clips).sum(dim=0)
        return total

    def close(self) -> None:
        """Remove opacus' hooks from the module, and the gradients it keeps."""
        self._module.to_standard_module()
        for parameter in self._parameters:
            parameter.grad = None

    def _kept(self) -> list[Tensor]:
        """Everything that leaves with the module: parameters and buffers."""
        return [*self._module.parameters(), *self._module.buffers()]

    @torch.enable_grad()
    def _gradients(self, rows: Tensor, labels: Tensor) -> Tensor:
        """(size, coordinates) gradients of every place."""
        self._module.zero_grad()
        # Hooks of a first layer that has parameters fire as documented only if its input has a gradient, which nobody reads.
        loss = cross_entropy(self._module(rows.detach().requires_grad_()), labels, reduction="sum")
        torch.autograd.backward(loss)
        return torch.cat([one.grad_sample.flatten(1) for one in self._parameters], dim=1).double()
