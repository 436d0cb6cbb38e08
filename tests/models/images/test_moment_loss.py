"""The loss is zero where a batch has the released statistics, and its gradient leads there."""

import numpy as np
import pytest
import torch

from models.encoding import PrivateImages
from models.images.anchor import noisy_image_moments
from models.images.generator import ImageGenerator
from models.images.mixture import mixture_of
from models.images.moment_loss import ImageMomentLoss
from models.randomness import KeyedStreams
from tests.models.images.pictures import SHAPE, pictures, small_plan

STREAMS = KeyedStreams(bytes(range(32)))


def exact_plan():
    tiny = 1e-6
    return small_plan(
        means_noise_multiplier=tiny,
        basis_noise_multiplier=tiny,
        cells_noise_multiplier=tiny,
        moments_noise_multiplier=tiny,
    )


def as_batch(images: PrivateImages) -> tuple[torch.Tensor, torch.Tensor]:
    pixels = torch.from_numpy(images.pixels.transpose(0, 3, 1, 2).astype(np.float32) / 255)
    label = torch.nn.functional.one_hot(
        torch.from_numpy(images.labels.astype(np.int64)), max(images.classes, 1)
    )
    return pixels, label.float()[:, : images.classes]


@pytest.mark.parametrize(("classes", "shape"), [(3, SHAPE), (0, SHAPE), (3, (6, 8, 3))])
def test_the_private_images_themselves_have_no_loss(classes, shape):
    images = pictures(count=600, classes=classes, shape=shape)
    plan = exact_plan()
    loss = ImageMomentLoss(noisy_image_moments(images, plan, STREAMS), plan, shape)
    pixels, label = as_batch(images)
    assert loss(pixels, label) < 1e-2
    others = as_batch(pictures(count=600, classes=classes, shape=shape, seed=1))
    of_others = float(loss(*others))
    assert 0.2 < of_others < 3.0, "images of the same distribution differ by sampling: about one"
    assert loss(1.0 - pixels, label) > 20.0 * of_others
    assert loss(pixels.mean(dim=0, keepdim=True).expand_as(pixels), label) > 3.0 * of_others


def test_noise_makes_the_loss_forgiving():
    images = pictures(count=600)
    pixels, label = as_batch(images)
    wrong = (pixels * 0.8).clamp(0, 1)
    made = {}
    for noise in (1e-6, 5.0):
        plan = small_plan(means_noise_multiplier=noise, moments_noise_multiplier=noise)
        made[noise] = float(
            ImageMomentLoss(noisy_image_moments(images, plan, STREAMS), plan, SHAPE)(wrong, label)
        )
    assert made[5.0] < 0.5 * made[1e-6]


def test_a_class_that_a_batch_lacks_does_not_count():
    images = pictures(count=600)
    plan = exact_plan()
    loss = ImageMomentLoss(noisy_image_moments(images, plan, STREAMS), plan, SHAPE)
    pixels, label = as_batch(images)
    chosen = images.labels != 1
    assert loss(pixels[chosen], label[chosen]) < 1e-2


def test_a_generator_learns_from_it():
    images = pictures(count=600)
    plan = small_plan(means_noise_multiplier=0.1, moments_noise_multiplier=0.1, basis_noise_multiplier=0.1)
    moments = noisy_image_moments(images, plan, STREAMS)
    loss = ImageMomentLoss(moments, plan, SHAPE)
    generator = ImageGenerator(mixture_of(moments, plan, SHAPE), width=8, extra=4)
    generator.initialise(STREAMS)
    adam = torch.optim.Adam(generator.parameters(), lr=2e-3)
    made = torch.Generator().manual_seed(0)
    label = torch.eye(3)[torch.arange(150) % 3]
    losses = []
    for _ in range(20):
        value = loss(generator(torch.randn(150, generator.latent_dimension, generator=made), label), label)
        adam.zero_grad()
        torch.autograd.backward(value)
        adam.step()
        losses.append(float(value.detach()))
    assert all(np.isfinite(losses))
    assert np.mean(losses[-5:]) < 0.9 * np.mean(losses[:5])
