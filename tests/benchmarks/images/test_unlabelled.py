from dataclasses import replace

import numpy as np

from benchmarks.images.idpgan import plan_of
from benchmarks.images.unlabelled import SIDE, TINTS, made_of, tinted, without_labels
from tests.benchmarks.images.pictures import squares
from tests.benchmarks.images.test_score import small_set


def test_a_set_without_labels_declares_none_and_holds_none() -> None:
    unlabelled = without_labels(small_set())
    assert unlabelled.domain.labels == ()
    assert unlabelled.private().classes == 0
    assert not unlabelled.train.labels.any()
    assert np.array_equal(unlabelled.train.pixels, small_set().train.pixels)


def test_images_are_made_with_and_without_a_critic_that_asks_real() -> None:
    unlabelled = without_labels(small_set())
    pictures = []
    for options in ({"critic": False}, {"critic": True, "steps": 2}):
        plan = plan_of(unlabelled, epsilon=4.0, options=options)
        assert plan.idpgan_options.critic_asks == "real"
        assert plan.steps == options.get("steps", 0)
        made = made_of(unlabelled, plan, seed=0, count=6)
        assert made.pixels.shape == (6, 16, 16, 1)
        pictures.append(made.pixels)
    assert not np.array_equal(*pictures)


def test_a_tint_keeps_the_place_and_colours_each_picture_by_itself() -> None:
    grey = squares(5)
    white = replace(grey, pixels=np.full_like(grey.pixels, 255))
    coloured = tinted(white, seed=0)
    assert coloured.pixels.shape == (5, SIDE, SIDE, 3)
    assert np.array_equal(coloured.pixels.min(axis=(1, 2)), coloured.pixels.max(axis=(1, 2)))
    shares = coloured.pixels[:, 0, 0] / 255
    assert len(np.unique(shares, axis=0)) == 5
    low, high = np.array(TINTS).T
    assert (shares >= low - 0.01).all()
    assert (shares <= high + 0.01).all()
