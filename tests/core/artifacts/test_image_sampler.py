import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from core.artifacts.errors import BundleInvalid
from core.artifacts.packing import pack
from core.artifacts.readme import render_readme
from core.artifacts.sampling.image_sampler import ImageSample, ImageSampler
from core.artifacts.sampling.sampler import Sampler
from tests.core.artifacts import stand_in
from tests.core.artifacts.image_stand_in import (
    CERTIFICATE,
    HEIGHT,
    LABEL_DISTRIBUTION,
    WIDTH,
    bundle,
    domain,
    expected,
    manifest,
    network,
    unlabelled,
)

# Six standard deviations: a false alarm in about 2 of 1e9 comparisons.
DEVIATIONS = 6


def _known(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Everything but the one random number."""
    return pixels.reshape(len(pixels), -1)[:, 1:]


def _all(sample: ImageSample) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    batches = list(sample.batches())
    return np.concatenate([batch.pixels for batch in batches]), np.concatenate([b.labels for b in batches])


def test_an_image_is_what_the_network_gives_for_its_label():
    pixels, labels = _all(ImageSampler(bundle()).sample(50))
    assert (pixels.shape, pixels.dtype, labels.dtype) == ((50, HEIGHT, WIDTH, 3), np.uint8, np.int16)
    for image, label in zip(pixels, labels, strict=True):
        np.testing.assert_array_equal(_known(image[None]), _known(expected(label)[None]))


def test_labels_follow_their_distribution_and_the_latent_vector_is_normal():
    pixels, labels = _all(ImageSampler(bundle(), threads=2).sample(40_000, batch_images=7000))
    for label, share in enumerate(LABEL_DISTRIBUTION):
        deviation = np.sqrt(len(labels) * share * (1 - share))
        assert abs(np.sum(labels == label) - len(labels) * share) < DEVIATIONS * deviation
    # 0.5 + 0.2 z, cut at 0 and 1: half of them lie above the middle.
    above = np.sum(pixels[:, 0, 0, 0] >= 128)
    assert abs(above - len(pixels) / 2) < DEVIATIONS * np.sqrt(len(pixels)) / 2 + 0.004 * len(pixels)


@pytest.mark.parametrize("images", [1, 99, 100, 101, 350])
def test_exactly_the_ordered_images_come_with_the_labels_announced_before(images):
    sample = ImageSampler(bundle(), threads=2).sample(images, batch_images=100)
    told = np.concatenate(list(sample.labels()))
    pixels, labels = _all(sample)
    assert len(pixels) == images
    np.testing.assert_array_equal(told, labels)


def test_two_samples_differ_in_labels_and_in_pixels():
    sampler = ImageSampler(bundle())
    # 300 labels of entropy 1.5 bits, and 300 shades: equal by chance with less than 1e-100.
    (first, labels), (second, others) = (_all(sampler.sample(300)) for _ in range(2))
    assert (labels != others).any()
    assert (first[:, 0, 0, 0] != second[:, 0, 0, 0]).any()


def test_batches_of_one_sample_differ():
    first, second = ImageSampler(bundle()).sample(600, batch_images=300).batches()
    assert (first.labels != second.labels).any()
    assert (first.pixels[:, 0, 0, 0] != second.pixels[:, 0, 0, 0]).any()


def test_images_without_labels_have_the_label_zero():
    pixels, labels = _all(ImageSampler(unlabelled()).sample(20))
    assert pixels.shape == (20, HEIGHT, WIDTH, 1)
    assert not labels.any()


def test_a_given_generator_gives_the_same_images_again():
    sampler = ImageSampler(bundle())
    labels = np.array([0, 1, 2, 1], dtype=np.int16)
    first, second = (sampler.draw(labels, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_abandoning_a_sample_stops_its_threads():
    batches = ImageSampler(bundle(), threads=2).sample(10**12, batch_images=100).batches()
    next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sampler")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"network": b"not a model"},
        {"network": network(channels=1)},
        {"network": network(latent=3)},
        {"network": network(classes=2)},
        {"network": stand_in.network()},
        {"domain": domain(labels=("cat", "dog"))},
        {"domain": domain(channels=1)},
        {"domain": domain() | {"width": 9}},
        {"manifest": manifest(height=9)},
        {"manifest": stand_in.bundle().manifest},
    ],
    ids=lambda wrong: f"another {next(iter(wrong))}",
)
def test_a_bundle_whose_parts_do_not_fit_together_is_refused(wrong):
    with pytest.raises(BundleInvalid):
        ImageSampler(bundle(**wrong))


def test_a_generator_of_rows_that_gives_something_else_is_refused():
    for wrong in ({"network": network()}, {"network": stand_in.network(latent=3)}, {"manifest": manifest()}):
        with pytest.raises(BundleInvalid):
            Sampler(stand_in.bundle(**wrong))


@pytest.mark.parametrize("made", [bundle(), unlabelled()], ids=["labels", "no labels"])
def test_the_program_in_the_readme_runs_without_this_package(tmp_path, made):
    readme = render_readme(made.manifest, certificate=CERTIFICATE)
    (tmp_path / "bundle.zip").write_bytes(pack(made, readme=readme))
    program = readme.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    channels = made.manifest.channels
    assert done.stdout == f"(100, {HEIGHT}, {WIDTH}, {channels}) uint8\n"
    with np.load(tmp_path / "synthetic.npz", allow_pickle=False) as arrays:
        first = arrays["images"][0]
        if made.manifest.label_probabilities is not None:
            np.testing.assert_array_equal(_known(first[None]), _known(expected(arrays["labels"][0])[None]))
    assert "(1.0, 1e-06)" in readme
    assert "one image" in readme
