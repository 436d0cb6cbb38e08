"""The releases at their seam: stated sensitivity, distribution of the noise, replay, empty data."""

import dataclasses
import hashlib
import math

import numpy as np
import pytest
import torch

from core.dp.mechanism import leaves
from models.images.anchor import noisy_image_moments
from models.images.basis import origin_about
from models.images.mixture import mixture_of
from models.images.moments import ImageMoments, Sums
from models.images.sums import GRID
from models.randomness import KeyedStreams, Purpose
from tests.models.images.pictures import SHAPE, WAYS, pictures, small_plan, taken

KEY = bytes(range(32))
KINDS = (
    Purpose.IMAGE_BRIGHTNESS_NOISE,
    Purpose.IMAGE_MEANS_NOISE,
    Purpose.IMAGE_BASIS_NOISE,
    Purpose.IMAGE_CELLS_NOISE,
    Purpose.IMAGE_MOMENTS_NOISE,
)


class Listener:
    """Keeps what passes the seam; puts recorded outputs back where there are some."""

    def __init__(self, recorded=None):
        self.exacts, self.noisies, self.sensitivities = {}, {}, {}
        self._recorded = recorded or {}

    def exact(self, purpose, step, parts, *, sensitivity):
        self.exacts[purpose, step] = [(values.clone(), std) for values, std in parts]
        self.sensitivities[purpose, step] = sensitivity

    def noisy(self, purpose, step, *released):
        for values, old in zip(released, self._recorded.get((purpose, step), released), strict=True):
            values.copy_(old)
        self.noisies[purpose, step] = [values.clone() for values in released]


def heard(images, plan, *, key=KEY, recorded=None) -> tuple[Listener, ImageMoments]:
    listener = Listener(recorded)
    return listener, noisy_image_moments(images, plan, KeyedStreams(key, releases=listener))


def test_every_release_of_the_plan_passes_the_seam_with_its_sensitivity():
    plan = small_plan(rounds=2)
    listener, _ = heard(pictures(), plan)
    assert list(listener.exacts) == [
        (KINDS[0], 0),
        (KINDS[1], 0),
        (KINDS[2], 0),
        (KINDS[3], 0),
        (KINDS[3], 1),
        (KINDS[4], 0),
    ]
    for stated, part in zip(listener.sensitivities.values(), plan.parts, strict=True):
        assert stated <= 1 / part.noise_multiplier
        assert stated == pytest.approx(1 / part.noise_multiplier, rel=1e-9), "all that was paid is used"
    assert sum(leaves(plan.mechanism).values()) == 6


def test_a_neighbour_moves_every_release_by_at_most_what_is_stated():
    images, plan = pictures(count=80, units=30), small_plan(rounds=2)
    recording, _ = heard(images, plan)
    for unit in range(0, images.units, 7):
        without = taken(images, np.flatnonzero(images.unit_of_record != unit))
        replay, _ = heard(without, plan, key=bytes(32), recorded=recording.noisies)
        for address, parts in recording.exacts.items():
            squares = [
                float((((mine - other) / std) ** 2).sum())
                for (mine, std), (other, _) in zip(parts, replay.exacts[address], strict=True)
            ]
            assert 0 < math.sqrt(sum(squares)) <= recording.sensitivities[address]


def test_the_noise_is_normal_with_the_stated_deviation_and_on_the_grid():
    # 5 tests at 1e-8 each: false alarms below 1e-6 a run. Noise of half the size would fail by far: 3 coordinates in 4
    # tested hold thousands of numbers.
    plan = small_plan(dimensions=20)
    listener, _ = heard(pictures(), plan)
    drawn = []
    for address, parts in listener.exacts.items():
        for (exact, std), noisy in zip(parts, listener.noisies[address], strict=True):
            noise = (noisy - exact).numpy().ravel()
            grid = GRID / 255 if address[0] == Purpose.IMAGE_MEANS_NOISE and exact.dim() == 2 else GRID
            assert np.abs(noise / grid - np.rint(noise / grid)).max() < 1e-3
            drawn.append(noise / std)
            assert np.abs(noise).max() > 0
    alls = np.concatenate(drawn)
    assert alls.size > 1500
    variance = (alls**2).sum()
    assert abs(variance - alls.size) < 6.2 * math.sqrt(2 * alls.size), (
        "chi squared, 6 deviations with its skew"
    )
    assert abs(alls.sum()) < 5.8 * math.sqrt(alls.size)
    largest = max(drawn, key=len)
    assert abs((largest**2).sum() - largest.size) < 6.5 * math.sqrt(2 * largest.size)
    assert len(np.unique(np.round(alls, 9))) == alls.size, "every coordinate has noise of its own"


def test_the_last_bits_tell_the_whole_number_of_steps_and_nothing_of_what_it_is_the_sum():
    listener, _ = heard(pictures(), small_plan(rounds=1))
    for (purpose, _), released in listener.noisies.items():
        for number, values in enumerate(released):
            grid = GRID / 255 if purpose == Purpose.IMAGE_MEANS_NOISE and number == 1 else GRID
            steps = np.rint(values.numpy() / grid)
            assert (values.numpy() == steps * grid).all(), (
                "to the bit: value and noise rounded apart would show"
            )


def test_the_same_key_gives_the_same_release_and_another_key_another():
    images, plan = pictures(count=60), small_plan()
    one, again, other = (
        noisy_image_moments(images, plan, KeyedStreams(key)) for key in (KEY, KEY, bytes(32))
    )
    for name, values in one.tensors().items():
        assert torch.equal(values, again.tensors()[name])
        assert name == "origin" or not torch.equal(values, other.tensors()[name])


def test_the_order_of_images_changes_nothing():
    images, plan = pictures(count=90, units=40), small_plan()
    shuffled = taken(images, np.random.default_rng(3).permutation(90))
    one, other = (noisy_image_moments(each, plan, KeyedStreams(KEY)) for each in (images, shuffled))
    assert all(torch.equal(values, other.tensors()[name]) for name, values in one.tensors().items())


def test_what_is_replayed_is_what_everything_after_it_sees():
    images, plan = pictures(count=60), small_plan()
    recording, first = heard(images, plan)
    _, again = heard(taken(images, np.arange(30)), plan, key=bytes(32), recorded=recording.noisies)
    for name, values in first.tensors().items():
        if name != "centres":  # the first centres are drawn from the job's key
            assert torch.equal(values, again.tensors()[name]), name


def test_moments_pass_through_a_checkpoint():
    _, moments = heard(pictures(count=40), small_plan())
    kept = ImageMoments.restore(moments.tensors())
    assert all(torch.equal(values, kept.tensors()[name]) for name, values in moments.tensors().items())


@pytest.mark.parametrize(
    ("count", "brightness", "origin"),
    [
        (1000.0, 0.2, 0.0),
        (1000.0, 0.33, 0.0),
        (1000.0, 0.34, 87 / 255),
        (1000.0, 0.5, 128 / 255),
        (1000.0, 0.9, 230 / 255),
        (1000.0, 1.7, 1.0),
        (1000.0, -1.7, 0.0),
        (-3.0, 0.9, 0.5 + 0.4 / 80),
    ],
)
def test_dark_images_are_summed_from_black_and_others_about_their_brightness(count, brightness, origin):
    noisy = Sums(counts=np.array([count]), sums=np.array([[max(count, 1.0) * (brightness - 0.5)]]))
    assert origin_about(noisy, count_std=20.0) == pytest.approx(origin, abs=0.5 / 255)
    assert origin_about(noisy, count_std=20.0) * 255 == np.rint(origin_about(noisy, count_std=20.0) * 255)


def test_what_images_are_summed_about_follows_from_the_noisy_release_alone():
    images, plan = pictures(), small_plan()
    white = dataclasses.replace(images, pixels=np.full_like(images.pixels, 255))
    recording, dark = heard(images, plan)
    _, bright = heard(white, plan)
    _, replayed = heard(white, plan, key=bytes(32), recorded=recording.noisies)
    assert bright.means.origin > 0.9
    assert replayed.means.origin == dark.means.origin == 0.0


@pytest.mark.parametrize(
    ("way", "digest"),
    [
        ("black", "fd6cad9de35e38335ad51a390cba1e8d6046dfdb322ecb138aaa13aabff54253"),
        ("grey", "f1db1a968ed2ca7d2c9a1c65bdb924ce880fd2166f44ba9b023c5102e42156c5"),
    ],
)
def test_older_plans_release_the_same_bytes(way, digest):
    """Digests of the code before brightness was released: a job ordered then and resumed now repeats its noise."""
    moments = noisy_image_moments(pictures(count=60), small_plan(**WAYS[way]), KeyedStreams(KEY))
    released = moments.means.counts.tobytes() + moments.means.sums.tobytes()
    assert hashlib.sha256(released).hexdigest() == digest


def test_a_checkpoint_from_before_brightness_was_released_has_the_origin_of_its_plan():
    plan = small_plan(**WAYS["grey"])
    moments = noisy_image_moments(pictures(count=60), plan, KeyedStreams(KEY))
    older = {name: values for name, values in moments.tensors().items() if name != "origin"}
    made, again = (mixture_of(each, plan, SHAPE) for each in (moments, ImageMoments.restore(older)))
    assert np.array_equal(made.means, again.means)


@pytest.mark.parametrize("kept", ["nothing", "one class", "one image"])
@pytest.mark.parametrize("classes", [0, 3])
def test_little_or_nothing_is_released_like_anything_else(kept, classes):
    images = pictures(count=50, classes=classes)
    chosen = {"nothing": [], "one class": np.flatnonzero(images.labels == 0), "one image": [7]}[kept]
    few = taken(images, np.array(chosen, dtype=np.int64))
    listener, moments = heard(few, small_plan())
    whole, _ = heard(images, small_plan())
    assert {address: [values.shape for values in parts] for address, parts in listener.noisies.items()} == {
        address: [values.shape for values in parts] for address, parts in whole.noisies.items()
    }
    mixture = mixture_of(moments, small_plan(), SHAPE)
    for field in dataclasses.fields(mixture):
        assert np.isfinite(np.asarray(getattr(mixture, field.name))).all(), field.name
    assert mixture.distribution.sum() == pytest.approx(1.0)
    assert (mixture.distribution > 0).all()
