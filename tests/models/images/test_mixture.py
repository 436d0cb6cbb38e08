"""What is made of the noisy moments: without noise, the moments themselves; with much noise, something safe."""

import dataclasses

import numpy as np
import pytest
from scipy import fft

from core.dp.guarantee import PrivacyGuarantee
from core.plan.images.anchor import image_anchor_plan
from models.encoding import PrivateImages
from models.images.anchor import noisy_image_moments
from models.images.basis import class_means, class_sizes, ring_energies, variances
from models.images.mixture import mixture_of, positive, shrunk
from models.randomness import KeyedStreams
from tests.models.images.pictures import SHAPE, WAYS, pictures, small_plan

STREAMS = KeyedStreams(bytes(range(32)))
EXACT = {
    "means_noise_multiplier": 1e-6,
    "basis_noise_multiplier": 1e-6,
    "cells_noise_multiplier": 1e-6,
    "moments_noise_multiplier": 1e-6,
    "image_norm": 100.0,
    "residual_norm": 100.0,
    "cell_norm": 100.0,
}


def by_class(images: PrivateImages, kind: int) -> np.ndarray:
    return images.pixels[images.labels == kind].reshape(-1, 72) / 255


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_without_noise_and_clipping_it_has_the_moments_of_every_class(cells, way):
    images = pictures(count=3000)
    plan = small_plan(**EXACT, **WAYS[way], cells=cells, rounds=int(cells > 1), dimensions=24)
    mixture = mixture_of(noisy_image_moments(images, plan, STREAMS), plan, SHAPE)
    assert mixture.distribution == pytest.approx(np.bincount(images.labels) / 3000, abs=1e-4)
    assert np.abs(mixture.basis.T @ mixture.basis - np.eye(mixture.basis.shape[1])).max() < 1e-2
    for kind in range(3):
        real = by_class(images, kind)
        assert np.abs(mixture.means[kind] - real.mean(axis=0)).max() < 1e-3
        basis = mixture.basis[:, :24]
        covariances = np.einsum("kij,klj->kil", mixture.factors[kind], mixture.factors[kind])
        weights, centres = mixture.weights[kind], mixture.centres[kind]
        assert np.abs(weights @ centres).max() < 0.02
        total = np.einsum("k,kij->ij", weights, covariances + centres[:, :, None] * centres[:, None, :])
        plain = np.cov((real @ basis).T)
        assert np.linalg.norm(total - plain) < 0.05 * np.linalg.norm(plain)


@pytest.mark.parametrize("pixels", [20, 128, 235])
def test_bright_and_dark_images_keep_their_brightness(pixels):
    """Real sets have white, grey and black backgrounds; the rule's clipping norm may favour none of them."""
    images = pictures(count=2000)
    images = dataclasses.replace(images, pixels=np.full_like(images.pixels, pixels))
    guarantee = PrivacyGuarantee(epsilon=10.0, delta=1e-6)
    plan = image_anchor_plan(guarantee, share=1.0, declared_size=2000, shape=SHAPE, classes=3)
    means = class_means(noisy_image_moments(images, plan, STREAMS).means, plan, SHAPE)
    assert means.mean() == pytest.approx(pixels / 255, abs=0.01)


def test_means_of_noise_are_smoothed_to_almost_nothing():
    images = pictures(count=60)
    plan = small_plan(means_noise_multiplier=400.0)
    moments = noisy_image_moments(images, plan, STREAMS)
    rough = moments.means.sums / class_sizes(moments.means, plan)[:, None]
    smooth = class_means(moments.means, plan, SHAPE)
    assert smooth.min() >= 0.0
    assert smooth.max() <= 1.0
    assert smooth.reshape(3, -1).std(axis=1).mean() < 0.7 * rough.std(axis=1).mean()


def test_variances_are_those_of_residuals_less_the_noise():
    images = pictures(count=4000)
    made = {}
    for noise in (1e-6, 20.0):
        plan = small_plan(**(EXACT | {"basis_noise_multiplier": noise, "residual_norm": 3.0}))
        moments = noisy_image_moments(images, plan, STREAMS)
        made[noise] = variances(moments.basis, moments.means, plan)
    real = [by_class(images, kind) for kind in range(3)]
    within = sum(((each - each.mean(axis=0)) ** 2).sum() for each in real) / 4000
    assert 0.3 * within < made[1e-6].sum() <= within
    assert (np.diff(made[20.0]) <= 1e-12).all()
    assert made[20.0].sum() == pytest.approx(made[1e-6].sum(), rel=0.35)


def test_ring_energies_are_those_of_residuals_and_noise_does_not_lift_them():
    images = pictures(count=4000)
    plan = small_plan(**EXACT)
    moments = noisy_image_moments(images, plan, STREAMS)
    seen = ring_energies(moments.basis, moments.means, plan)
    residuals = (
        images.pixels[..., 0] / 255
        - np.stack([images.pixels[images.labels == kind, ..., 0].mean(axis=0) / 255 for kind in range(3)])[
            images.labels
        ]
    )
    energies = (fft.dctn(residuals, axes=(1, 2), norm="ortho") ** 2).mean(axis=0)
    ring = np.maximum(np.arange(9)[:, None], np.arange(8)[None, :])
    for number in range(plan.frequencies):
        assert seen[number] == pytest.approx(energies[ring == number].mean(), rel=0.01)
    noisy = noisy_image_moments(images, small_plan(**(EXACT | {"basis_noise_multiplier": 0.01})), STREAMS)
    lifted = ring_energies(noisy.basis, noisy.means, plan) - seen
    std = 0.01 * plan.basis_sensitivity / 4000
    # Six deviations of the widest: the first ring is one number.
    assert np.abs(lifted).max() < 6 * std
    assert np.abs(lifted).max() > 0.0


def test_shrinking_keeps_all_without_noise_and_nothing_under_much():
    rng = np.random.default_rng(0)
    base = np.diag(rng.uniform(0.5, 2.0, 8))
    other = rng.normal(size=(8, 8))
    seen = base + 0.3 * (other + other.T)
    assert np.abs(shrunk(seen, base, 1e-9) - seen).max() < 1e-6
    drawn = 50.0 * rng.normal(size=(8, 8))
    noise = np.triu(drawn, 1) / np.sqrt(2)
    noisy = base + noise + noise.T + np.diag(drawn.diagonal())
    left = np.linalg.norm(shrunk(noisy, base, 50.0) - base)
    assert left < 0.2 * np.linalg.norm(noisy - base)
    between = shrunk(seen, base, 0.3)
    assert np.linalg.norm(between - base) < np.linalg.norm(seen - base)


def test_a_covariance_becomes_positive():
    made = positive(np.diag([2.0, -1.0, 0.5]))
    assert np.linalg.eigvalsh(made).min() == pytest.approx(1e-4)
    assert made[0, 0] == pytest.approx(2.0)
