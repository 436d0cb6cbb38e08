"""Pictures that a critic of labels agrees with."""

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from models.bundle import export_onnx
from models.critic.label_network import LabelCritic
from models.idpgan.label_warm_up import warm_up
from models.images.chosen import DRAWS, ChosenImages, kept_copy
from models.images.generator import ImageGenerator
from models.images.plain import plain_mixture
from models.synthesizer import TrainedImageGenerator
from tests.models.tables import streams

SIDE, CLASSES = 8, 2


class Shade(nn.Module):
    """A picture of one shade, the first number of the latent vector; its label is not looked at."""

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        del label
        return latent[:, :1, None, None].expand(-1, 1, SIDE, SIDE)


def bright_is_one() -> LabelCritic:
    """Says label 1 with more certainty the brighter a picture is, from one half on."""
    critic = LabelCritic(image=(1, SIDE, SIDE), widths=(16,), classes=CLASSES)
    first, last = critic.linear_layers()
    with torch.no_grad():
        first.weight[0] = 1.0 / 16.0
        last.weight.view(CLASSES, -1, 16)[1, 5, 0] = 4.0
    return critic.requires_grad_(requires_grad=False)


def chosen_shades(shades: list[float], label: int) -> float:
    network = ChosenImages(Shade(), bright_is_one(), draw_dimension=1)
    one_hot = torch.eye(CLASSES)[[label]]
    return float(network(torch.tensor([shades]), one_hot).unique())


def test_the_first_draw_that_is_called_by_its_label_is_taken():
    shades = [0.1, 0.6, 0.95, 0.3]
    assert len(shades) == DRAWS
    assert chosen_shades(shades, 1) == pytest.approx(0.6)
    assert chosen_shades(shades, 0) == pytest.approx(0.1)
    assert chosen_shades([0.9, 0.8, 0.2, 0.1], 0) == pytest.approx(0.2)


def test_where_none_is_the_likeliest_is_taken():
    assert chosen_shades([0.1, 0.2, 0.45, 0.3], 1) == pytest.approx(0.45)
    assert chosen_shades([0.9, 0.7, 0.6, 0.8], 0) == pytest.approx(0.6)


def test_a_bundle_draws_the_same_pictures():
    critic = LabelCritic(image=(1, SIDE, SIDE), widths=(16, 32), classes=CLASSES).initialise(streams())
    generator = ImageGenerator(plain_mixture((SIDE, SIDE, 1), CLASSES), width=4, extra=2)
    generator.initialise(streams())
    nn.init.normal_(generator.leave.weight, generator=torch.Generator().manual_seed(3))
    network = ChosenImages(generator, kept_copy(critic), draw_dimension=generator.latent_dimension)
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
