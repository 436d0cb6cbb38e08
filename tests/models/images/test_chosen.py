"""Pictures that a critic of labels agrees with."""

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from models.bundle import export_onnx
from models.critic.label_network import LabelCritic
from models.idpgan.label_warm_up import warm_up
from models.images.generator import ImageGenerator
from models.images.likelihood_rejection import DRAWS, ChosenImages, kept_copy
from models.images.mixture import plain_mixture
from models.synthesizer import TrainedImageGenerator
from tests.models.coded_tables import streams

SIDE, CLASSES = 8, 2


class Shade(nn.Module):
    """A picture of one shade, the first number of the latent vector; the second is the coin of the choice."""

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        del label
        return latent[:, :1, None, None].expand(-1, 1, SIDE, SIDE)


def bright_is_one() -> LabelCritic:
    """Says label 1 with more certainty the brighter a picture is, from one half on."""
    critic = LabelCritic(image=(1, SIDE, SIDE), widths=(16,), classes=CLASSES)
    first, last = critic.linear_layers()
    with torch.no_grad():
        first.weight[0] = 1.0 / 16.0
        last.weight.view(CLASSES, -1, 16)[1, 5, 0] = 12.0
    return critic.requires_grad_(requires_grad=False)


def chosen_shades(
    shades: list[float], label: int, *, before: LabelCritic | None = None, coin: float = 0.0
) -> float:
    """The shade taken; a coin of 0.0 asks for a quotient of one half."""
    undecided = LabelCritic(image=(1, SIDE, SIDE), widths=(16,), classes=CLASSES)
    network = ChosenImages(Shade(), bright_is_one(), before or undecided, draw_dimension=2)
    latent = torch.tensor([[shade, coin] for shade in shades]).reshape(1, -1)
    return float(network(latent, torch.eye(CLASSES)[[label]]).detach().unique())


def test_the_first_draw_that_passes_is_taken():
    """The critic is undecided at 0.5; a label has lost half of its probability beyond 0.25 on one side, 0.55 on the other, about."""
    shades = [0.1, 0.6, 0.95, 0.3]
    assert len(shades) == DRAWS
    assert chosen_shades(shades, 1) == pytest.approx(0.6)
    assert chosen_shades(shades, 0) == pytest.approx(0.1)
    assert chosen_shades([0.95, 0.9, 0.2, 0.1], 0) == pytest.approx(0.2)


def test_where_none_passes_the_best_is_taken():
    assert chosen_shades([0.1, 0.02, 0.12, 0.05], 1) == pytest.approx(0.12)
    assert chosen_shades([0.99, 0.95, 0.92, 0.97], 0) == pytest.approx(0.92)


def test_what_the_critic_knew_before_real_images_decides_nothing():
    """It doubts all dark pictures of label 1, and did before: the first passes."""
    assert chosen_shades([0.1, 0.2, 0.95, 0.3], 1, before=bright_is_one()) == pytest.approx(0.1)


def test_an_easy_coin_lets_pass_what_a_hard_one_does_not():
    assert chosen_shades([0.1, 0.9, 0.2, 0.3], 1, coin=-3.0) == pytest.approx(0.1)
    assert chosen_shades([0.1, 0.9, 0.2, 0.3], 1, coin=3.0) == pytest.approx(0.9)


def test_a_bundle_draws_the_same_pictures():
    critic = LabelCritic(image=(1, SIDE, SIDE), widths=(16, 32), classes=CLASSES).initialise(streams())
    generator = ImageGenerator(plain_mixture((SIDE, SIDE, 1), CLASSES), width=4, extra=2)
    generator.initialise(streams())
    nn.init.normal_(generator.leave.weight, generator=torch.Generator().manual_seed(3))
    before = LabelCritic(image=(1, SIDE, SIDE), widths=(16, 32), classes=CLASSES).initialise(
        streams(), step=1
    )
    network = ChosenImages(
        generator, kept_copy(critic), kept_copy(before), draw_dimension=generator.latent_dimension
    )
    made = TrainedImageGenerator(
        network=network.eval(),
        latent_dimension=network.latent_dimension,
        shape=(1, SIDE, SIDE),
        label_probabilities=np.full(CLASSES, 0.5),
    )
    session = onnxruntime.InferenceSession(export_onnx(made))
    latent = torch.randn(23, made.latent_dimension, generator=torch.Generator().manual_seed(4))
    label = torch.eye(CLASSES)[torch.arange(23) % CLASSES]
    (drawn,) = session.run(None, {"latent": latent.numpy(), "label": label.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(drawn, network(latent, label).numpy(), atol=1e-5)


def test_a_critic_learns_from_pictures_of_the_anchor_what_the_labels_are():
    mixture = plain_mixture((SIDE, SIDE, 1), CLASSES)
    mixture.means[1] = 0.7
    generator = ImageGenerator(mixture, width=4, extra=2)
    generator.initialise(streams())
    critic = LabelCritic(image=(1, SIDE, SIDE), widths=(16,), classes=CLASSES).initialise(streams())
    memory = [value.data_ptr() for value in critic.parameters()]
    warm_up(critic, generator, np.array([0.5, 0.5]), streams(), steps=60)
    shades = torch.tensor([0.5, 0.7])[:, None, None, None].expand(-1, 1, SIDE, SIDE)
    with torch.no_grad():
        assert critic.logits(shades).argmax(dim=1).tolist() == [0, 1]
    assert [value.data_ptr() for value in critic.parameters()] == memory
