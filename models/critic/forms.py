"""Selection of the closed form for each critic; each form is checked for placement invariance before it sees a row."""

from functools import singledispatch
from typing import Any, Protocol

from torch import Tensor, nn

from core.plan.options import IdpganOptions
from models.critic.clipped_form import ClippedForm
from models.critic.closed_form import ClosedForm
from models.critic.conv_form import ConvForm
from models.critic.conv_network import ConvCritic
from models.critic.label_form import LabelForm
from models.critic.label_network import LabelCritic
from models.critic.microbatch import cpu_microbatch_size
from models.critic.network import Critic
from models.critic.placement_invariance import (
    require_image_placement_invariance,
    require_placement_invariance,
)
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
    """Norms and clipped sums of per-example gradients; see `ClippedForm.sum_and_squares`."""

    def sum_and_squares(
        self, real: Tensor, fake: Tensor, mix: Tensor, partition: Partition, *, labels: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The clipped sum in flat layout and the (batch, blocks) squared norms, both float64."""
        ...


@singledispatch
def record_form(critic: PrivateNetwork, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    """The closed form for a critic on the CPU; the form reads the critic's weights at every call.

    Raises:
        UnevenRounding: this machine rounds a record differently by its place in a microbatch.
        TypeError: no closed form is known for such a critic.
    """
    del layout, gp_weight, max_batch
    raise TypeError(f"no closed form is known for a {type(critic).__name__}")


@record_form.register(Critic)
@record_form.register(ConvCritic)
def _(critic: Critic | ConvCritic, layout: Layout, *, gp_weight: float, max_batch: int) -> RecordForm:
    return checked_form(critic, layout, gp_weight=gp_weight, max_batch=max_batch)


def checked_form(
    critic: Critic | ConvCritic,
    layout: Layout,
    *,
    gp_weight: float,
    max_batch: int,
    microbatch_size: int | None = None,
    fixed: bool = False,
) -> ClippedForm[Any, Any]:
    """The closed form for a critic on its device, checked there for placement invariance.

    Args:
        critic: read at every call of the form.
        gp_weight: weight of the gradient penalty; a critic of labels has none.
        microbatch_size: records of a microbatch; the size for the CPU if None.

    Raises:
        UnevenRounding: the device rounds a record differently by its place in a microbatch.
    """
    weight = critic.linear_layers()[0].weight
    if not isinstance(critic, ConvCritic):
        inputs = weight.shape[1]
        size = microbatch_size or cpu_microbatch_size(max_batch, inputs)
        form = ClosedForm(
            critic, layout, gp_weight=gp_weight, max_batch=max_batch, microbatch_size=size, fixed=fixed
        )
        require_placement_invariance(form, inputs=inputs, dtype=weight.dtype)
        return form
    of_images: ConvForm | LabelForm
    if isinstance(critic, LabelCritic):
        of_images = LabelForm(
            critic, layout, max_batch=max_batch, microbatch_size=microbatch_size, fixed=fixed
        )
    else:
        of_images = ConvForm(
            critic,
            layout,
            gp_weight=gp_weight,
            max_batch=max_batch,
            microbatch_size=microbatch_size,
            fixed=fixed,
        )
    require_image_placement_invariance(
        of_images, image=critic.image, labelled=critic.classes > 0, dtype=weight.dtype
    )
    return of_images
