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
from models.dp.errors import ModuleUnsuitable, RecordsMixed

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
        ModuleUnsuitable: a parameter has no gradient for each record, or the module draws random numbers.
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
        self._require_gradients(width)
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

    def _require_gradients(self, width: int) -> None:
        """Check on public records that the gradients of the records add up to that of the batch, and are the same again."""
        places = torch.arange(BATCH)
        rows = torch.outer(places.double() + 1.0, torch.arange(1, width + 1).double()).sin()
        try:
            self._differentiate(rows, places % 2)
        except Exception:  # noqa: BLE001 - a module may raise anything
            raise ModuleUnsuitable from None
        for parameter in self._parameters:
            own, whole = getattr(parameter, "grad_sample", None), parameter.grad
            if not isinstance(own, Tensor) or len(own) != BATCH or whole is None:
                raise ModuleUnsuitable
            if not torch.allclose(own.sum(dim=0), whole, rtol=1e-6, atol=1e-6 * float(whole.abs().max())):
                raise ModuleUnsuitable(
                    "A parameter is used elsewhere than in its own layer, where its gradient for each record is not seen."
                )
        first = self._gradients(rows, places % 2).clone()
        if not torch.equal(first, self._gradients(rows, places % 2)):
            raise ModuleUnsuitable("The module answers a record differently each time, as dropout does.")

    def _gradients(self, rows: Tensor, labels: Tensor) -> Tensor:
        """(size, coordinates) gradients of every place."""
        self._differentiate(rows, labels)
        return torch.cat([one.grad_sample.flatten(1) for one in self._parameters], dim=1).double()

    @torch.enable_grad()
    def _differentiate(self, rows: Tensor, labels: Tensor) -> None:
        self._module.zero_grad()
        # Hooks of a first layer that has parameters fire as documented only if its input has a gradient, which nobody reads.
        loss = cross_entropy(self._module(rows.detach().requires_grad_()), labels, reduction="sum")
        torch.autograd.backward(loss)
