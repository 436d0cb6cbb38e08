"""Pictures whose label a critic of labels says."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

from models.bundle import export_onnx
from models.critic.label_network import LabelCritic
from models.idpgan.synthesizer import IdpganSynthesizer
from models.images.generator import ImageGenerator
from models.images.label_rejection import AnsweredImages
from models.images.likelihood_rejection import DRAWS, ChosenImages, kept_copy
from models.images.mixture import plain_mixture
from models.synthesizer import NullHost, TrainedImageGenerator
from tests.models.coded_tables import streams
from tests.models.idpgan.image_jobs import domain, image_plan, small_images
from tests.models.images.test_chosen import CLASSES, SIDE, bright_is_one


class Shade(nn.Module):
    """A picture of one shade: the first number of the latent vector, and a tenth more where it is drawn for label 1."""

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        shade = latent[:, 0] + 0.1 * label[:, 1]
        return shade[:, None, None, None].expand(-1, 1, SIDE, SIDE)


def answered_shade(
    shades: list[float], label: int, *, coins: list[float], distribution: tuple[float, float] = (0.5, 0.5)
) -> float:
    network = AnsweredImages(Shade(), bright_is_one(), distribution=np.array(distribution), draw_dimension=2)
    latent = torch.tensor(list(zip(shades, coins, strict=True))).reshape(1, -1)
    return float(network(latent, torch.eye(CLASSES)[[label]]).detach().unique())


LOW, HIGH = -1.0, 1.0
"""Coins that draw label 0 and label 1 of an even distribution."""


def test_the_first_draw_that_the_critic_takes_for_the_label_is_taken_whatever_it_was_drawn_for():
    assert DRAWS == 4
    shades = [0.1, 0.7, 0.9, 0.8]
    assert answered_shade(shades, 1, coins=[HIGH, LOW, HIGH, LOW]) == pytest.approx(0.7)
    assert answered_shade(shades, 1, coins=[HIGH, HIGH, HIGH, LOW]) == pytest.approx(0.8)
    assert answered_shade(shades, 0, coins=[HIGH, LOW, LOW, LOW]) == pytest.approx(0.2)


def test_the_last_draw_is_of_the_label_that_is_wanted():
    assert answered_shade([0.1, 0.1, 0.1, 0.8], 1, coins=[LOW] * 4) == pytest.approx(0.9)
    assert answered_shade([0.9, 0.9, 0.9, 0.2], 0, coins=[HIGH] * 4) == pytest.approx(0.2)


def test_where_the_critic_takes_none_for_it_the_nearest_is_taken():
    assert answered_shade([0.8, 0.7, 0.9, 0.95], 0, coins=[LOW] * 4) == pytest.approx(0.7)


def test_labels_are_drawn_by_the_distribution():
    network = AnsweredImages(Shade(), bright_is_one(), distribution=np.array([0.8, 0.2]), draw_dimension=2)
    latent = torch.zeros(20_000, DRAWS * 2)
    # All draws look like label 1, so the first is taken, and its tenth more says what it was drawn for.
    latent[:, ::2] = 0.7
    latent[:, 1::2] = torch.randn(20_000, DRAWS, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        shades = network(latent, torch.eye(CLASSES)[[1]].expand(20_000, -1))[:, 0, 0, 0]
    # Six deviations: a false alarm in 10^8 for a random seed; the seed is fixed.
    assert abs(float((shades > 0.75).float().mean()) - 0.2) < 6 * (0.16 / 20_000) ** 0.5


def test_a_bundle_draws_the_same_pictures():
    critic = LabelCritic(image=(1, SIDE, SIDE), widths=(16,), classes=CLASSES).initialise(streams())
    generator = ImageGenerator(plain_mixture((SIDE, SIDE, 1), CLASSES), width=4, extra=2)
    generator.initialise(streams())
    nn.init.normal_(generator.leave.weight, generator=torch.Generator().manual_seed(3))
    network = AnsweredImages(
        generator, kept_copy(critic), distribution=np.full(2, 0.5), draw_dimension=generator.latent_dimension
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


def test_two_labels_are_answered_and_three_are_chosen():
    asked = {"critic_asks": "labels", "pretraining_steps": 3}
    two = replace(domain(), labels=("a", "b"))
    images = small_images()
    few = replace(images, labels=images.labels % 2, classes=2)
    for declared, given, expected in ((two, few, AnsweredImages), (domain(), images, ChosenImages)):
        made = IdpganSynthesizer().fit(given, image_plan(declared, **asked), streams(), NullHost())
        assert isinstance(made.network, expected)
        assert made.latent_dimension == made.network.latent_dimension
