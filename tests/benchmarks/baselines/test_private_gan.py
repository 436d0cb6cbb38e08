"""The private networks of the paper's comparison, whole trainings: what is released, what moves it, what sets the threshold."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from benchmarks.baselines.private_gan import PrivateGan
from benchmarks.baselines.public_threshold import HIGHEST, PublicImages
from models.encoding import PrivateImages
from models.randomness import KeyedStreams
from models.synthesizer import NullHost
from tests.benchmarks.baselines.whole_trainings import (
    METHODS,
    OURS,
    require_noise_of_the_threshold,
    require_releases_alone,
)
from tests.models.idpgan.image_jobs import CLASSES, SIDE, image_plan, small_images, with_one_more
from tests.models.idpgan.jobs import generator_bytes
from tests.privacy.seam import Recorder, Replayer

KEY = bytes(32)


def public_images(seed=1, count=9):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (count, SIDE, SIDE, 1)).astype(np.uint8)
    return PublicImages(pixels=pixels, labels=(np.arange(count) % CLASSES).astype(np.int16), interval=2)


def plan_of(**options):
    return image_plan(anchor=False, critic_steps=1, **options)


def trained(name, images, plan, *, listener=None, key=KEY, public=None):
    auxiliary, wants_public = METHODS[name]
    given = (public or public_images()) if wants_public else None
    streams = KeyedStreams(key, releases=listener)
    training = PrivateGan(images, plan, streams, NullHost(), auxiliary=auxiliary, public=given)
    return training, training.run()


@pytest.mark.parametrize("name", METHODS)
def test_a_unit_more_moves_every_release_by_no_more_than_the_plan_pays_and_nothing_else(name):
    images = small_images()
    white = with_one_more(images, np.full((3, SIDE, SIDE, 1), 255), 1)
    require_releases_alone(partial(trained, name), plan_of(), images, white)


@pytest.mark.parametrize("name", OURS)
def test_the_noise_is_the_plans_multiplier_of_the_threshold_in_force(name):
    plan = plan_of(clipping_norm=0.3)
    require_noise_of_the_threshold(partial(trained, name), plan, small_images(), fixed=0.3)


@pytest.mark.parametrize("name", ["GANobfuscator", "DPACGAN, public threshold"])
def test_the_threshold_is_made_of_public_images_alone(name):
    plan, recorder = plan_of(), Recorder()
    training, _ = trained(name, small_images(), plan, listener=recorder)
    assert len(training.thresholds) == 3
    assert len(set(training.thresholds)) == 3, "it follows the critic"
    rng = np.random.default_rng(5)
    shape = small_images().pixels.shape
    replaced = PrivateImages(
        pixels=rng.integers(0, 256, shape).astype(np.uint8),
        labels=rng.integers(0, CLASSES, shape[0]).astype(np.int16),
        unit_of_record=small_images().unit_of_record,
        classes=CLASSES,
    )
    assert trained(name, replaced, plan, listener=Replayer(recorder))[0].thresholds == training.thresholds
    before_releases = trained(name, replaced, plan)[0].thresholds
    assert before_releases[0] == training.thresholds[0], (
        "before the first release nothing private can be known"
    )
    assert before_releases[1:] != training.thresholds[1:], (
        "later it follows the noisy weights, which were put back above"
    )
    others = trained(name, small_images(), plan, public=public_images(2))[0].thresholds
    assert not set(others) & set(training.thresholds)


def test_power_a_threshold_from_private_images_would_be_noticed():
    plan, images = plan_of(), small_images()
    darker = replace(images, pixels=images.pixels // 2)
    firsts = set()
    for private in (images, darker):
        leaked = PublicImages(pixels=private.pixels, labels=private.labels, interval=2)
        firsts.add(trained("GANobfuscator", private, plan, public=leaked)[0].thresholds[0])
    assert len(firsts) == 2, "though nothing had been released when the first threshold was set"


def test_a_threshold_is_finite_whatever_became_of_the_critic():
    plan = plan_of(critic_learning_rate=1e8)
    thresholds = trained("GANobfuscator", small_images(), plan)[0].thresholds
    assert len(thresholds) == 3
    assert all(0.0 < threshold[0] <= HIGHEST for threshold in thresholds)
    with pytest.raises(AssertionError, match="needs images"):
        replace(public_images(), pixels=np.zeros((0, SIDE, SIDE, 1), np.uint8), labels=np.zeros(0, np.int16))


@pytest.mark.parametrize("name", OURS)
def test_a_key_decides_everything(name):
    plan = plan_of()
    first, again, other = (
        generator_bytes(trained(name, small_images(), plan, key=key)[1]) for key in (KEY, KEY, b"k" * 32)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", OURS)
def test_with_little_noise_the_critic_learns_and_the_generator_makes_images(name):
    plan = plan_of(
        epsilon=1e4, steps=40, expected_batch_size=30, clipping_norm=5.0, critic_learning_rate=1e-2
    )
    images = small_images()
    training, made = trained(name, images, plan)
    real = torch.from_numpy(images.pixels.transpose(0, 3, 1, 2).astype(np.float32)) / 255.0
    labels = torch.from_numpy(images.labels.astype(np.int64))
    latent = torch.zeros(len(real), made.latent_dimension)
    grey = torch.full_like(real, 0.5)
    with torch.no_grad():
        drawn = made.network(latent, torch.eye(CLASSES)[labels])
        # private: the critic is private, so a training hands out the generator alone
        critic = training._network
        gap = critic(real, labels).mean() - critic(1.0 - real, labels).mean()
        if METHODS[name][0]:
            said = critic.layered(real)[1][-1][:, 1:].argmax(dim=1)
            assert (said == labels).float().mean() > 0.8, "a third by chance"
    assert drawn.shape == real.shape
    assert float(gap) > 0.1
    # An untrained generator draws grey.
    assert float((drawn - grey).abs().max()) > 0.02
