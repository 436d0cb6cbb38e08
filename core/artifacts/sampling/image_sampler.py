"""Drawing synthetic images from a bundle: post-processing of a private release, so it costs nothing.

The sampler reads only a bundle and has no access to private images. One image is

    label  ~ label_probabilities                      (where labels are declared)
    latent ~ N(0, I)
    values = network(latent, one_hot(label))          (ONNX runtime; float32 in [0, 1])
    pixel  = the nearest of 0, 1/255, ..., 1

The network's output is the image itself: unlike logits of a row, it is not a distribution to sample from.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.artifacts.bundle import Bundle
from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import ImageManifest
from core.artifacts.sampling.drawing import Network, draw_labels, in_order
from core.plan.domain.images import ImageDomain

CHUNK_VALUES = 2**17
"""Maximum numbers in the images of one network call, whose inner layers are up to a hundred times as large."""
BATCH_VALUES = 2**20
"""Maximum numbers in the images of one batch, a byte each."""


@dataclass(frozen=True, slots=True)
class ImageBatch:
    """Consecutive images of a sample.

    Attributes:
        pixels: (images, height, width, channels), uint8.
        labels: (images,) codes of the declared labels, int16; 0 without labels.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int16]


class ImageSampler:
    """Draws images from one bundle. Safe to use from several threads at once.

    Args:
        threads: CPU threads that draw; each works on its own batch.

    Raises:
        BundleInvalid: The network is not one that the ONNX runtime accepts, or not of the manifest's shape.
    """

    def __init__(self, bundle: Bundle, *, threads: int = 1) -> None:
        if not isinstance(bundle.manifest, ImageManifest):
            raise BundleInvalid("The bundle holds no generator of images.")
        self._manifest = manifest = bundle.manifest
        self.domain = domain = ImageDomain.from_json(bundle.domain)
        declared = (domain.height, domain.width, domain.channels, len(domain.labels))
        distribution = manifest.label_probabilities or ()
        if declared != (manifest.height, manifest.width, manifest.channels, len(distribution)):
            raise BundleInvalid("The bundle's domain and manifest describe different images.")
        self._network = Network(bundle.network, output=manifest.OUTPUT)
        self._network.require_output(
            latent_dimension=manifest.latent_dimension,
            classes=len(distribution),
            shape=(manifest.channels, manifest.height, manifest.width),
        )
        self.threads = threads

    def sample(
        self, images: int, *, label: int | None = None, batch_images: int | None = None
    ) -> "ImageSample":
        """A sample of ``images`` images, all of one label if one is given; nothing is drawn yet."""
        size = batch_images or max(1, BATCH_VALUES // self.domain.values)
        return ImageSample(sampler=self, images=images, batch_images=size, label=label)

    def draw_labels(self, images: int, rng: np.random.Generator) -> NDArray[np.int16]:
        """Labels of ``images`` images by their distribution."""
        distribution = self._manifest.label_probabilities
        return (
            np.zeros(images, dtype=np.int16)
            if distribution is None
            else draw_labels(distribution, rng.random(images))
        )

    def draw(self, labels: NDArray[np.int16], rng: np.random.Generator | None = None) -> NDArray[np.uint8]:
        """Draw one image of each of (images,) labels.

        Args:
            rng: The source of randomness; fresh entropy of the operating system by default.

        Returns:
            uint8 array of shape (images, height, width, channels).
        """
        domain = self.domain
        rng = rng or np.random.Generator(np.random.SFC64(secrets.randbits(256)))
        pixels = np.empty((len(labels), domain.height, domain.width, domain.channels), dtype=np.uint8)
        chunk = max(1, CHUNK_VALUES // domain.values)
        for start in range(0, len(labels), chunk):
            self._fill(pixels[start : start + chunk], labels[start : start + chunk], rng)
        return pixels

    def _fill(self, pixels: NDArray[np.uint8], labels: NDArray[np.int16], rng: np.random.Generator) -> None:
        classes = len(self.domain.labels)
        one_hot = (
            np.eye(classes, dtype=np.float32)[labels] if classes else np.zeros((len(labels), 0), np.float32)
        )
        latent = rng.standard_normal((len(labels), self._manifest.latent_dimension), dtype=np.float32)
        values = self._network(latent, one_hot)
        # A network may overflow for rare latent vectors; NaN becomes black.
        shades = np.rint(np.nan_to_num(np.clip(values, 0, 1)) * np.float32(255))
        pixels[:] = shades.transpose(0, 2, 3, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSample:
    """The images of one download, drawn on demand.

    Formats write all labels before the first image, and labels are not stored. The labels of a batch come from a generator
    keyed with the sample's fresh entropy and the batch's number, so they can be drawn twice.

    Attributes:
        label: The label of all of them; None to draw labels by their distribution.
    """

    sampler: ImageSampler
    images: int
    batch_images: int
    label: int | None = None
    _key: int = field(init=False, default_factory=lambda: secrets.randbits(128), repr=False)

    def labels(self) -> Iterator[NDArray[np.int16]]:
        """The labels of every batch."""
        return (self._labels(number, size) for number, size in self._sizes())

    def batches(self) -> Iterator[ImageBatch]:
        """The batches, drawn by several threads in order; abandoning the iterator stops the threads."""
        tasks = (partial(self._batch, number, size) for number, size in self._sizes())
        return in_order(tasks, threads=self.sampler.threads)

    def _sizes(self) -> Iterator[tuple[int, int]]:
        for number, start in enumerate(range(0, self.images, self.batch_images)):
            yield number, min(self.batch_images, self.images - start)

    def _labels(self, number: int, size: int) -> NDArray[np.int16]:
        if self.label is not None:
            return np.full(size, self.label, dtype=np.int16)
        # A counter that starts 2^192 steps apart for every batch: no two batches share a number.
        rng = np.random.Generator(np.random.Philox(key=self._key, counter=number << 192))
        return self.sampler.draw_labels(size, rng)

    def _batch(self, number: int, size: int) -> ImageBatch:
        labels = self._labels(number, size)
        return ImageBatch(self.sampler.draw(labels), labels)
