import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.datasets import HERE
from benchmarks.images import rule_without_privacy as module
from benchmarks.images.datasets import Pictures
from benchmarks.images.idpgan import plan_of
from benchmarks.images.rule_without_privacy import rule_settings, rule_without_privacy
from benchmarks.images.wasserstein_gan import Settings
from core.plan.domain.images import ImageDomain
from tests.benchmarks.images.test_score import small_set

DECLARED = 60_000


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_settings_are_those_of_the_rule_whatever_is_spent(epsilon):
    domain = ImageDomain.from_json(json.loads((HERE / "domains" / "mnist.json").read_text()))
    blank = Pictures(pixels=np.zeros((DECLARED, 1, 1, 1), np.uint8), labels=np.zeros(DECLARED, np.int16))
    images = replace(small_set(), domain=domain, train=blank)
    assert rule_settings(plan_of(images, epsilon=epsilon, options={"anchor": False})) == Settings(
        generator_steps=8000,
        critic_steps=1,
        batch=300,
        generator_batch=64,
        learning_rate=1e-3,
        generator_rate=2e-3,
        first_decay=0.5,
        falling=True,
        ema_decay=0.995,
    )


@pytest.mark.long
def test_it_learns_where_each_class_is_bright(monkeypatch):
    monkeypatch.setattr(module, "MADE", 40)
    options = {
        "steps": 300, "expected_batch_size": 32, "generator_batch_size": 16, "generator_width": 8, "ema_decay": 0.9,
    }  # fmt: skip
    made = rule_without_privacy(small_set(), seed=0, options=options)
    corners = np.stack(
        [made.pixels[:, d : d + 8, r : r + 8].mean(axis=(1, 2, 3)) for d in (0, 8) for r in (0, 8)], axis=1
    )
    assert (corners.argmax(axis=1) == made.labels).mean() > 0.9


def test_the_same_seed_gives_the_same_images(monkeypatch):
    monkeypatch.setattr(module, "MADE", 4)
    options = {"steps": 2, "expected_batch_size": 8, "generator_width": 4}
    first, again, other = (
        rule_without_privacy(small_set(), seed=seed, options=options) for seed in (0, 0, 1)
    )
    assert np.array_equal(first.pixels, again.pixels)
    assert not np.array_equal(first.pixels, other.pixels)
