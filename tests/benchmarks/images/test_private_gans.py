from dataclasses import replace

import numpy as np
import pytest

from benchmarks.images import private_gans
from benchmarks.images.baselines import METHODS, made_by
from benchmarks.images.private_gans import PRIVATE_GANS, split
from tests.benchmarks.images.test_score import small_set

SMALL = {
    "steps": 2, "expected_batch_size": 8, "critic_width": 16, "critic_layers": 1, "generator_width": 2,
    "generator_batch_size": 8, "latent_dimension": 2,
}  # fmt: skip


def test_public_images_leave_the_private_ones():
    images = small_set()
    rest, public = split(images, 20)
    assert len(rest.train) == 140
    assert np.array_equal(public.pixels, images.train.pixels[140:])
    assert np.array_equal(rest.train.pixels, images.train.pixels[:140])
    assert len(rest.private().pixels) == 140
    assert rest.test is images.test
    assert split(images, 0) == (images, None)


@pytest.mark.parametrize("name", PRIVATE_GANS)
def test_a_run_makes_images_and_says_what_it_spent(name, monkeypatch):
    monkeypatch.setattr(private_gans, "MADE", 30)
    fewer = {
        key: replace(method, public_images=min(method.public_images, 20))
        for key, method in PRIVATE_GANS.items()
    }
    monkeypatch.setattr("benchmarks.images.baselines.PRIVATE_GANS", fewer)
    made = made_by(name, small_set(), epsilon=4.0, seed=0, options=SMALL)
    assert made.pictures.pixels.shape == (30, 16, 16, 1)
    assert set(made.pictures.labels.tolist()) <= {0, 1, 2, 3}
    public = 20 if name == "ganobfuscator" else 0
    assert made.facts["public_images"] == public
    assert made.facts["steps"] == 2
    assert made.facts["expected_batch"] == 8
    assert 3.9 < made.facts["spent_epsilon"] <= 4.0


def test_the_tables_name_what_is_public():
    assert METHODS["ganobfuscator"].endswith("images declared public")
