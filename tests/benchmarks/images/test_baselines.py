import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.images import baselines
from benchmarks.images.baselines import mean_embedding, wgan_gp
from benchmarks.images.drawing import drawn
from tests.benchmarks.images.test_score import small_set


@pytest.fixture(autouse=True)
def _few_images(monkeypatch):
    monkeypatch.setattr(baselines, "MADE", 50)
    monkeypatch.setattr(baselines, "WATCHED", 20)


class Stripes(nn.Module):
    """An image whose brightness is its label over ten."""

    def forward(self, latent, label):
        return (label.argmax(dim=1) / 10.0)[:, None, None, None].expand(-1, 1, 16, 16) + 0.0 * latent.sum()


def test_images_are_drawn_with_the_distribution_of_the_labels_and_carry_their_own():
    made = drawn(Stripes(), np.array([0.0, 0.5, 0.0, 0.5]), small_set(), seed=0, latent=3, count=400)
    assert np.array_equal(made.pixels[:, 0, 0, 0], np.rint(made.labels * 25.5).astype(np.uint8))
    # Standard deviation 10; the seed is fixed.
    assert np.bincount(made.labels, minlength=4) == pytest.approx([0, 200, 0, 200], abs=50)
    assert not np.array_equal(made.labels, np.sort(made.labels))


def test_a_mean_embedding_makes_images_of_the_declared_shape_and_repeatably():
    options = {"frequencies": 10, "steps": 2, "batch": 8, "width": 2}
    first, again, other = (
        mean_embedding(small_set(), epsilon=1.0, seed=seed, options=options) for seed in (0, 0, 1)
    )
    assert first.pixels.shape == (50, 16, 16, 1)
    assert np.array_equal(first.pixels, again.pixels)
    assert not np.array_equal(first.pixels, other.pixels)


def test_a_gan_without_privacy_is_watched_in_development_only(monkeypatch):
    points = []

    class Watched:
        def __init__(self, images, name):
            assert images.development

        def point(self, step, draw):
            points.append((step, len(draw())))

        def measure(self, step, draw):
            points.append(("end", step, len(draw())))

        def keep(self):
            points.append("kept")

    monkeypatch.setattr(baselines, "Curve", Watched)
    options = {"generator_steps": 2, "critic_steps": 1, "batch": 4, "watch_every": 1}
    made = wgan_gp(small_set(), seed=0, options=options)
    assert made.pixels.shape == (50, 16, 16, 1)
    assert points == []
    wgan_gp(small_set(development=True), seed=0, options=options)
    assert points == [(1, 20), (2, 20), ("end", 2, 20), "kept"]
    assert torch.is_grad_enabled()
