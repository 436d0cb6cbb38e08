"""The critic of labels: its closed form against automatic differentiation, record by record."""

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from models.critic.convolution import Convolution
from models.critic.label_form import LabelForm
from models.critic.label_network import LabelCritic
from models.critic.layer_sums import Materialised, Products
from models.critic.network import LeakyReLU
from models.critic.placement_invariance import require_image_placement_invariance
from models.dp.clipping import ClipRule, Layout, Partition, each_block_alone
from models.randomness import Purpose
from tests.models.critic.conv_cases import STREAMS, Images, images_of, layout_of

GROUPINGS = ("flat", "layers", "rows")
SHAPES = {
    "odd sides": ((2, 9, 7), (16, 32), Convolution()),
    "one layer": ((1, 5, 6), (16,), Convolution(kernel=3, stride=1, padding=1)),
    "few positions": ((1, 12, 12), (16, 32, 48), Convolution()),
}


def critic_of(
    image: tuple[int, int, int],
    widths: tuple[int, ...],
    *,
    classes: int = 4,
    convolution: Convolution | None = None,
    dtype: torch.dtype = torch.float64,
) -> LabelCritic:
    critic = LabelCritic(
        image=image, widths=widths, classes=classes, convolution=convolution, activation=LeakyReLU()
    )
    critic.initialise(STREAMS)
    for index, layer in enumerate(critic.linear_layers()):
        layer.bias.data.copy_(STREAMS.torch_normals(Purpose.TEST, index, layer.out_features) * 0.3)
    return critic.to(dtype).requires_grad_(requires_grad=False)


def gradients_of(critic: LabelCritic, batch: Images) -> Tensor:
    """(batch, coordinates) float64 gradients of the cross entropy, in flat layout."""
    parameters = {name: value.detach() for name, value in critic.named_parameters()}

    def loss(given: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return -functional_call(critic, given, (image[None], label[None])).squeeze(0)

    made = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, batch.real, batch.labels)
    layers = range(len(critic.linear_layers()))
    ordered = [made[f"layers.{layer}.{part}"] for part in ("weight", "bias") for layer in layers]
    return torch.cat([part.flatten(1) for part in ordered], dim=1).double()


def clipped_sum(gradients: Tensor, layout: Layout, partition: Partition) -> Tensor:
    squares = torch.stack([gradients[:, piece].square().sum(dim=1) for piece in layout.slices()], dim=1)
    factors = ClipRule(partition, max_batch=100, terms=1).factors(squares)
    return (gradients * torch.repeat_interleave(factors, torch.tensor(layout.sizes), dim=1)).sum(dim=0)


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [0, 1, 70])
def test_equal_to_automatic_differentiation(grouping: str, shape: str, count: int) -> None:
    image, widths, convolution = SHAPES[shape]
    critic = critic_of(image, widths, convolution=convolution)
    layout = layout_of(critic, grouping)
    form, batch = LabelForm(critic, layout, max_batch=100), images_of(critic, count)
    expected = gradients_of(critic, batch) if count else torch.zeros(0, layout.coordinates)
    for threshold in (0.2, 1e6):
        partition = each_block_alone(layout.sizes, [threshold] * layout.blocks)
        total, squares = form.sum_and_squares(*batch.parts, partition, labels=batch.labels)
        theirs = clipped_sum(expected.double(), layout, partition)
        torch.testing.assert_close(total, theirs, rtol=1e-5, atol=1e-6 * float(theirs.norm()) + 1e-12)
        for block, piece in enumerate(layout.slices()):
            norms = expected[:, piece].double().square().sum(dim=1)
            assert bool((squares[:, block] >= norms * (1.0 - 1e-12)).all())
            torch.testing.assert_close(squares[:, block], norms, rtol=1e-4, atol=1e-12)


def test_both_kinds_of_layers_are_compared() -> None:
    image, widths, convolution = SHAPES["few positions"]
    critic = critic_of(image, widths, convolution=convolution)
    # private: both ways give the same sums, so which was taken shows nowhere
    kinds = {type(part) for part in LabelForm(critic, layout_of(critic, "flat"), max_batch=100)._sums}
    assert kinds == {Materialised, Products}


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), 1e300])
def test_a_bad_record_contributes_nothing(poison: float) -> None:
    critic = critic_of((1, 12, 12), (16, 32, 48), dtype=torch.float32)
    layout = layout_of(critic, "rows")
    form = LabelForm(critic, layout, max_batch=100)
    partition = each_block_alone(layout.sizes, [0.5] * layout.blocks)
    batch, keep = images_of(critic, 6), torch.tensor([0, 1, 3, 4, 5])
    kept = batch.of(keep)
    without = form.clipped_sum(*kept.parts, partition, labels=kept.labels).clone()
    batch.real[2, 0, 4, 7] = torch.tensor(poison, dtype=torch.float64).float()
    total, squares = form.sum_and_squares(*batch.parts, partition, labels=batch.labels)
    assert torch.isfinite(squares).all(dim=1).tolist() == [True, True, False, True, True, True]
    torch.testing.assert_close(total, without, rtol=1e-12, atol=1e-12)


def test_a_record_is_the_same_to_the_bit_in_every_batch() -> None:
    critic = critic_of((1, 28, 28), (16, 32), classes=10, dtype=torch.float32)
    layout = layout_of(critic, "layers")
    form = LabelForm(critic, layout, max_batch=200)
    require_image_placement_invariance(form, image=critic.image, labelled=True, dtype=torch.float32)
    partition = each_block_alone(layout.sizes, [0.1] * layout.blocks)
    batch = images_of(critic, 67)
    whole = form.sum_and_squares(*batch.parts, partition, labels=batch.labels)[1].clone()
    for first in (1, 30, 66):
        some = batch.of(torch.arange(first, 67))
        alone = form.sum_and_squares(*some.parts, partition, labels=some.labels)[1]
        assert torch.equal(alone, whole[first:])


def test_probabilities_of_all_labels_add_up_to_one() -> None:
    critic = critic_of((3, 8, 8), (16,), classes=5)
    images = images_of(critic, 7).real
    scores = torch.stack([critic(images, torch.full((7,), label)) for label in range(5)], dim=1)
    torch.testing.assert_close(scores.exp().sum(dim=1), torch.ones(7, dtype=torch.float64))
