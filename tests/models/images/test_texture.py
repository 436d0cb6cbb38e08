"""Texture: of the stated deviation, independent between pixels and images, and left out where a critic would see it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import fft

from models.idpgan.synthesizer import IdpganSynthesizer
from models.images.generator import ImageGenerator
from models.images.mixture import plain_mixture
from models.images.texture import (
    TEXTURE_DRAWS,
    WHITE_TEXTURE,
    power_law_texture,
    texture_phases,
    white_texture,
)
from models.synthesizer import NullHost
from tests.models.idpgan.image_jobs import CLASSES, image_plan, small_images
from tests.models.tables import streams


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
    for texture in (falling, white_texture(9, 8)):
        made = ImageGenerator(replace(plain_mixture((9, 8, 1), 0), texture=texture), width=4, extra=0)
        made.initialise(streams())
        latent = torch.randn(20_000, made.latent_dimension, generator=torch.Generator().manual_seed(2))
        with torch.no_grad():
            images = made(latent, torch.zeros(20_000, 0))[:, 0].numpy() - 0.5
        seen = fft.dctn(images, axes=(1, 2), norm="ortho").std(axis=0)
        assert np.abs(seen - texture).max() < 0.03 * texture.max()
    assert images.std(axis=0) == pytest.approx(np.full((9, 8), WHITE_TEXTURE), rel=0.03)


def test_a_generator_of_the_anchor_alone_has_texture_and_one_with_a_critic_has_none():
    for options, expected in (({"critic": False}, WHITE_TEXTURE), ({}, 0.0)):
        made = IdpganSynthesizer().fit(
            small_images(), image_plan(epsilon=300.0, **options), streams(), NullHost()
        )
        start = made.latent_dimension - 2 - TEXTURE_DRAWS
        latent = torch.zeros(400, made.latent_dimension)
        latent[:, start : start + TEXTURE_DRAWS] = torch.randn(
            400, TEXTURE_DRAWS, generator=torch.Generator().manual_seed(2)
        )
        with torch.no_grad():
            images = made.network(latent, torch.eye(CLASSES)[torch.ones(400, dtype=torch.int64)]).flatten(1)
        inside = (images.mean(dim=0) > 0.2) & (images.mean(dim=0) < 0.8)
        assert inside.any()
        deviation = float(images[:, inside].std(dim=0).mean())
        assert abs(deviation - expected) < 0.1 * WHITE_TEXTURE
