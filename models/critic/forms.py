"""Which closed form serves which critic, made ready for private training."""

from functools import singledispatch
from typing import Protocol

from torch import Tensor, nn

from core.synthesis.options import IdpganOptions
from models.critic.chunks import chunk_of
from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ConvForm
from models.critic.conv_network import ConvCritic
from models.critic.evenness import require_even_images, require_even_rounding
from models.critic.label_form import LabelForm
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.dp.clipping import Layout, Partition


class PrivateNetwork(Protocol):
    """A critic that can be trained privately: its parameters are matrices and biases, layer by layer."""

    def linear_layers(self) -> tuple[nn.Linear, ...]:
        """The layers' matrices and biases, from the input upwards."""
        ...

    def public_groups(self, options: IdpganOptions) -> int:
        """The number of groups that a plan of these options counts on."""
        ...


class RecordForm(Protocol):
    """Norms and clipped sums of per-record gradients; see `ClosedForm.sum_and_squares` and `ConvForm.sum_and_squares`."""

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum in flat layout and the (batch, blocks) squared norms, both float64."""
        ...


@singledispatch
def record_form(critic: PrivateNetwork, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    """The closed form for a critic, tried on this machine.

    Args:
        critic: read at every call of the form.
        layout: public blocks of its coordinates.
        gp_weight: weight of the gradient penalty.
        max_batch: public cap on the records of one batch.

    Raises:
        UnevenRounding: this machine cannot keep one record from moving the others' gradients.
        TypeError: no closed form is known for such a critic.
    """
    del layout, gp_weight, max_batch
    raise TypeError(f"no closed form is known for a {type(critic).__name__}")


@record_form.register
def _(critic: Critic, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    first = critic.linear_layers()[0]
    at_once = chunk_of(max_batch, first.in_features)
    form = ClosedForm(critic, layout, gp_weight=gp_weight, max_batch=max_batch, at_once=at_once)
    require_even_rounding(form, inputs=first.in_features, dtype=first.weight.dtype)
    return form


@record_form.register
def _(critic: ConvCritic, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    form = ConvForm(critic, layout, gp_weight=gp_weight, max_batch=max_batch)
    dtype = critic.linear_layers()[0].weight.dtype
    require_even_images(form, image=critic.image, labelled=critic.classes > 0, dtype=dtype)
    return form


@record_form.register
def _(critic: LabelCritic, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    del gp_weight  # nothing lies between a record and its label
    form = LabelForm(critic, layout, max_batch=max_batch)
    dtype = critic.linear_layers()[0].weight.dtype
    require_even_images(form, image=critic.image, labelled=True, dtype=dtype)
    return form
