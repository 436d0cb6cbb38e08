"""The critic of DPACGAN on tables: one score of being real and, beside it, a classifier of the target.

The target's cells of a record are its label and no input: a classifier that is told the label has nothing to learn.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.baselines.auxiliary_form import AuxiliaryForm, require_even
from models.critic.convolution import Geometry
from models.critic.forms import RecordForm, record_form
from models.critic.network import Critic, zero_layer
from models.dp.clipping import Layout, Partition
from models.encoding import block_starts


class TableAuxiliaryCritic(Critic):
    """The product's critic of tables under another last layer: row 0 says "real", row `1 + y` says "label y".

    Args:
        cardinalities: of the columns.
        target_index: the column that is classified.
        widths: units of the hidden layers.
    """

    geometries: Sequence[Geometry] = ()

    def __init__(self, *, cardinalities: tuple[int, ...], target_index: int, widths: tuple[int, ...]) -> None:
        labels = cardinalities[target_index]
        super().__init__(inputs=sum(cardinalities) - labels, widths=widths)
        self.layers[-1] = zero_layer(widths[-1], 1 + labels)
        self.cardinalities = cardinalities
        self._first = int(block_starts(cardinalities)[target_index])
        self._labels = labels

    def parted(self, records: Tensor) -> tuple[Tensor, Tensor]:
        """The cells of (batch, cells) records without the target's, and the target's."""
        end = self._first + self._labels
        return torch.cat([records[:, : self._first], records[:, end:]], dim=1), records[:, self._first : end]

    def layered(self, rest: Tensor, /) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and outputs, before the activation, of every layer; see `AuxiliaryCritic.layered`.

        Args:
            rest: (batch, inputs) cells without the target's.
        """
        first, *others = self.linear_layers()
        inputs, outputs = [rest], [first(rest)]
        for layer in others:
            inputs.append(self.activation(outputs[-1]))
            outputs.append(layer(inputs[-1]))
        return inputs, outputs

    def forward(self, x: Tensor) -> Tensor:
        """`log P(real | x) + log P(y | x)` (batch,) of one-hot records (batch, cells), whose target is `y`."""
        rest, target = self.parted(x)
        logits = self.layered(rest)[1][-1]
        answered = (functional.log_softmax(logits[:, 1:], dim=1) * target).sum(dim=1)
        return functional.logsigmoid(logits[:, 0]) + answered


class TableAuxiliaryForm(AuxiliaryForm):
    """The clipped sum of one auxiliary critic of tables; a generated row has a label of its own.

    Args:
        critic: read at every call; never changed here.
    """

    def __init__(self, critic: TableAuxiliaryCritic, layout: Layout, *, max_batch: int) -> None:
        super().__init__(critic, layout, max_batch=max_batch)
        self._table_critic = critic

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """See `AuxiliaryForm.sum_and_squares`; rows carry their labels.

        Args:
            real: (batch, columns) int64 cells, one a column.
            fake: (batch, cells) one-hot.
        """
        assert labels is None, "the label is a column"
        cells = torch.zeros(len(real), sum(self._table_critic.cardinalities)).scatter_(1, real, 1.0)
        (rest, target), (made, answered) = (self._table_critic.parted(rows) for rows in (cells, fake))
        of_both = torch.stack([target.argmax(dim=1), answered.argmax(dim=1)], dim=1)
        return super().sum_and_squares(rest, made, mix, partition, labels=of_both)


@record_form.register
def _(critic: TableAuxiliaryCritic, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    del gp_weight  # the method has no gradient penalty
    form = TableAuxiliaryForm(critic, layout, max_batch=max_batch)
    require_even(form, image=(critic.linear_layers()[0].in_features,))
    return form
