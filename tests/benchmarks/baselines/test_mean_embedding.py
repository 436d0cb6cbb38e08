import numpy as np
import pytest
import torch

from benchmarks.baselines import mean_embedding
from benchmarks.baselines.fourier import FourierFeatures
from benchmarks.baselines.mean_embedding import MeanEmbedding, noise_stds, noisy_embedding
from models.encoding import PrivateImages
from models.randomness import KeyedStreams
from models.releases import NullRecorder
from tests.benchmarks.baselines.images import private, without

KEY = bytes(range(32))


def features(frequencies=20, values=256, bandwidth=4.0):
    normals = np.random.default_rng(0).standard_normal((values, frequencies))
    return FourierFeatures.from_normals(normals, bandwidth=bandwidth)


class Heard(NullRecorder):
    def exact(self, purpose, step, parts, *, sensitivity):
        self.parts = [(values.numpy().copy(), std) for values, std in parts]
        self.sensitivity = sensitivity


def released(images, *, noise_multiplier=2.0, key=KEY):
    heard = Heard()
    streams = KeyedStreams(key, releases=heard)
    return noisy_embedding(images, features(), streams, noise_multiplier=noise_multiplier), heard


def test_inner_products_approach_the_gaussian_kernel():
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (2, 8, 8, 1)).astype(np.uint8)
    made = features(frequencies=20_000, values=64, bandwidth=3.0)
    f = made.integers(pixels) * made.unit
    distance = np.square((pixels[0].astype(float) - pixels[1]) / 255).sum()
    # The standard deviation of a mean of 20,000 cosines is below 0.0071 / sqrt(2): 0.035 is 7 of them.
    assert f[0] @ f[1] == pytest.approx(np.exp(-distance / 18.0), abs=0.035)


def test_no_image_has_features_longer_than_one():
    rng = np.random.default_rng(2)
    pixels = rng.integers(0, 256, (500, 16, 16, 1)).astype(np.uint8)
    integers = features().integers(pixels).astype(np.int64)
    # In whole numbers: the squared norm is at most the number of frequencies times 4**14.
    assert (np.square(integers).sum(axis=1) <= 20 * 4**14).all()
    assert (np.square(integers).sum(axis=1) > 0.999 * 20 * 4**14).all()


def test_features_of_an_image_do_not_depend_on_the_images_beside_it():
    pixels = private(37).pixels
    together = features().integers(pixels)
    for index in (0, 11, 36):
        assert np.array_equal(features().integers(pixels[index : index + 1])[0], together[index])


def test_smooth_features_are_the_same_numbers_with_a_gradient():
    pixels = private(5).pixels
    images = torch.from_numpy(pixels.reshape(5, -1).astype(np.float32) / 255).requires_grad_()
    smooth = features().smooth(images)
    assert np.allclose(smooth.detach().numpy(), features().integers(pixels) * features().unit, atol=2e-4)
    smooth.sum().backward()
    assert images.grad.abs().sum() > 0


def test_a_bandwidth_with_inexact_phases_is_refused():
    with pytest.raises(ValueError, match="too small"):
        features(bandwidth=1e-9)


@pytest.mark.parametrize("units", [40, 13, 1])
def test_one_unit_moves_the_release_by_at_most_its_stated_sensitivity(units):
    images = private(40, units=units)
    _, whole = released(images)
    assert whole.sensitivity == pytest.approx(1 / 2.0)
    moves = []
    for unit in range(units):
        _, less = released(without(images, unit))
        squares = [
            np.square((a - b) / std).sum() for (a, std), (b, _) in zip(whole.parts, less.parts, strict=True)
        ]
        moves.append(np.sqrt(sum(squares)))
    assert max(moves) <= whole.sensitivity * (1 + 1e-12)
    if units == 40:  # a unit of one image moves it by almost that: the bound is tight
        assert min(moves) > 0.999 * whole.sensitivity


def test_the_noise_has_the_standard_deviations_of_the_stated_multiplier():
    feature_std, count_std = noise_stds(3.0, count_share=0.1)
    assert feature_std**-2 + count_std**-2 == pytest.approx(3.0**-2)
    images = private(40)
    noisy, heard = released(images, noise_multiplier=3.0)
    (exact, std), (counts, expected_count_std) = heard.parts
    residual = (noisy.features - exact) / std
    # 160 numbers: the mean square has a standard deviation of 0.112; the key is fixed.
    assert np.square(residual).mean() == pytest.approx(1.0, abs=0.5)
    assert len(np.unique(residual)) == residual.size
    assert (np.abs(noisy.counts - counts) < 6 * expected_count_std).all()


def test_another_key_draws_other_noise_and_the_same_key_the_same():
    images = private(20)
    first, again, other = (released(images, key=key)[0] for key in (KEY, KEY, KEY[::-1]))
    assert np.array_equal(first.features, again.features)
    assert not np.isclose(first.features, other.features).any()


def test_sums_are_exact_whole_numbers_in_any_order():
    images = private(40)
    turned = PrivateImages(
        pixels=images.pixels[::-1],
        labels=images.labels[::-1],
        unit_of_record=images.unit_of_record,
        classes=4,
    )
    (first, _), (counts, _) = released(images)[1].parts
    (second, _), _ = released(turned)[1].parts
    assert np.array_equal(first, second)
    assert counts.tolist() == [10, 10, 10, 10]


def test_without_noise_to_speak_of_the_counts_give_the_distribution_and_it_is_always_positive():
    assert released(private(40), noise_multiplier=1e-6)[0].distribution == pytest.approx([0.25] * 4)
    distribution = MeanEmbedding(features=np.zeros((2, 2)), counts=np.array([-5.0, 10.0])).distribution
    assert (distribution > 0).all()
    assert distribution.sum() == pytest.approx(1.0)


def test_no_images_at_all_are_released_as_noise():
    empty = PrivateImages(
        pixels=np.zeros((0, 16, 16, 1), dtype=np.uint8), labels=np.zeros(0, dtype=np.int16),
        unit_of_record=np.zeros(0, dtype=np.int64), classes=4,
    )  # fmt: skip
    noisy, heard = released(empty)
    assert not heard.parts[0][0].any()
    assert noisy.features.all()


def test_a_share_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        noise_stds(1.0, count_share=1.0)


def test_more_units_than_exact_sums_can_hold_are_refused(monkeypatch):
    # private: the real limit would need a table of its size
    monkeypatch.setattr(mean_embedding, "_MOST_UNITS", 20)
    with pytest.raises(ValueError, match="too many units"):
        released(private(20))
    released(private(19))
