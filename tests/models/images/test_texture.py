"""Texture: of the stated deviation, independent between pixels and images, and left out where a critic would see it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import fft

from core.plan.domain.images import ImageDomain
from models.idpgan.image_measurement import measure_images, ready
from models.images.generator import ImageGenerator
from models.images.mixture import plain_mixture
from models.images.texture import (
    power_law_texture,
    texture_phases,
)
from tests.models.coded_tables import streams
from tests.models.idpgan.image_jobs import image_plan
from tests.models.images.pictures import pictures


def test_waves_of_any_two_pixels_are_uncorrelated_and_of_variance_one_half():
    """For standard normal z, E sin(a.z) sin(b.z) = (exp(-|a - b|^2 / 2) - exp(-|a + b|^2 / 2)) / 2, exactly."""
    phases = texture_phases(3072)
    gram = phases.T @ phases
    squares = np.diag(gram)
    apart = squares[:, None] + squares[None, :] - 2.0 * gram
    together = squares[:, None] + squares[None, :] + 2.0 * gram
    products = (np.exp(-np.maximum(apart, 0.0) / 2.0) - np.exp(-together / 2.0)) / 2.0
    assert np.abs(np.diag(products) - 0.5).max() < 1e-6
    np.fill_diagonal(products, 0.0)
    assert np.abs(products).max() < 1e-4


def test_phases_are_the_same_on_every_machine():
    assert texture_phases(2)[0].tolist() == pytest.approx([14.300415740033559, -8.257427024795584], rel=1e-14)


def test_texture_continues_the_power_law_of_the_measured_rings():
    """Energies `5 k^-3` go on as `5 k^-3`, whatever the lowest rings hold, and nothing is added to what is known."""
    ring = np.maximum(np.arange(12)[:, None], np.arange(10)[None, :])
    energies = 5.0 * np.maximum(np.arange(8), 1.0) ** -3.0
    energies[:4] = 77.0
    made = power_law_texture(energies, 12, 10)
    assert (made[ring < 8] == 0.0).all()
    assert made[ring >= 8] ** 2 == pytest.approx(5.0 * ring[ring >= 8] ** -3.0)
    assert (power_law_texture(-energies, 12, 10) == 0.0).all(), "noise below zero is no texture"
    assert not power_law_texture(energies, 8, 8).any(), "nothing is missing"


def test_the_texture_of_a_generator_has_the_stated_deviations_by_frequency():
    falling = power_law_texture(0.02 * np.maximum(np.arange(4), 1.0) ** -3.0, 9, 8)
    for texture in (falling, np.full((9, 8), 0.1)):
        made = ImageGenerator(replace(plain_mixture((9, 8, 1), 0), texture=texture), width=4, extra=0)
        made.initialise(streams())
        latent = torch.randn(20_000, made.latent_dimension, generator=torch.Generator().manual_seed(2))
        with torch.no_grad():
            images = made(latent, torch.zeros(20_000, 0))[:, 0].numpy() - 0.5
        seen = fft.dctn(images, axes=(1, 2), norm="ortho").std(axis=0)
        assert np.abs(seen - texture).max() < 0.03 * texture.max()
    assert images.std(axis=0) == pytest.approx(np.full((9, 8), 0.1), rel=0.03)


@pytest.mark.parametrize(("options", "textured"), [({"critic": False}, True), ({}, False)])
def test_a_generator_of_the_anchor_alone_has_texture_and_one_with_a_critic_of_images_has_none(
    options, textured
):
    """The images are larger than the measured frequencies."""
    shape = (16, 12, 1)
    large = ImageDomain(height=16, width=12, channels=1, labels=("a", "b", "c"), privacy_unit=None)
    plan = image_plan(large, epsilon=300.0, **options)
    measured = measure_images(pictures(count=40, shape=shape), plan, streams())
    start = ready(measured, plan, shape=shape, classes=3)
    assert start.generator.textured == textured
