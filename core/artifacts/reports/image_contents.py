"""The figures of an owner report on images, which compares real with synthetic ones. NOT differentially private.

As in `core.artifacts.reports.owner_contents`, the figures may only go into a report sealed for the owner of the images, and all
sizes and seeds are public constants. Distances and the classifier see values added up over squares where a side is longer
than 32 pixels.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core.artifacts.reports.columns import ReportColumn
from core.artifacts.reports.halves import halves
from core.artifacts.reports.learning import Learning, answers_tested, score
from core.artifacts.reports.owner_contents import SEED, ColumnCompared
from core.artifacts.reports.shares import sampling_variation, shares, variation
from core.artifacts.sampling.image_sampler import ImageSampler
from core.plan.domain.images import LABEL, PIXELS, ImageDomain

REAL_IMAGES: Final = 20_000
"""Largest number of real images that are compared; of a larger set, so many are drawn at random."""
SYNTHETIC_IMAGES: Final = 4_000
MOST_VALUES: Final = 2**26
"""Numbers of all images of a kind: of large images fewer are compared."""
LEARNING_IMAGES: Final = 4_000
SEARCHED_IMAGES: Final = 4_000
ASKED_IMAGES: Final = 1_000
STANDING_OUT: Final = 0.5
"""An image stands out if its nearest real image is at less than this share of the distance of the second nearest."""
SHOWN_LABELS: Final = 10
SHOWN_IMAGES: Final = 8
"""Images of a strip."""
LONGEST_SIDE: Final = 32
"""Longest side that distances and the classifier see; longer ones are reduced by a whole factor."""
CLASSIFIER: Final = "trees on pixels"
_TREES: Final = 50
_FEWEST_IN_LEAF: Final = 5
_WHITE: Final = 255

Pixels = NDArray[np.uint8]
"""(images, height, width, channels)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RealImages:
    """Private images, all or a random sample of them.

    Attributes:
        labels: (images,) codes; 0 without labels.
        units: (images,) the privacy unit of every image.
    """

    pixels: Pixels
    labels: NDArray[np.int16]
    units: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PixelsCompared:
    """The mean and the spread of every pixel in both sets.

    Attributes:
        real: (height, width, channels) mean of the real images, from 0 to 1.
        synthetic: the same of the synthetic images.
        distance: mean absolute difference of the two.
        by_chance: expected distance between two samples of these sizes from one distribution.
        real_spread: standard deviation of a pixel among the real images, mean over the pixels.
        synthetic_spread: the same among the synthetic images.
    """

    real: NDArray[np.float64] = field(repr=False)
    synthetic: NDArray[np.float64] = field(repr=False)
    distance: float
    by_chance: float
    real_spread: float
    synthetic_spread: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelLearnt:
    """How often the test images of one label are recognised; None where there are none.

    Attributes:
        from_synthetic: by the classifier that learnt from synthetic images.
        from_real: by the one that learnt from real images.
    """

    from_synthetic: float | None
    from_real: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nearest:
    """The nearest real images of some images.

    A blurred image is nearer to all images than a sharp one, so a small distance alone shows no copy. A copy is much nearer to
    one image than to the next: the ratio of the two distances is small.

    Attributes:
        distances: 5 % quantile, median and 95 % quantile of the distance to the nearest: root of the mean squared difference of
            all values, from 0 to 1.
        ratio: median of the distance to the nearest over that to the second nearest.
        standing_out: share of the images whose ratio is below `STANDING_OUT`.
        copies: share of the images that equal one in every value.
    """

    distances: tuple[float, float, float]
    ratio: float
    standing_out: float
    copies: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Neighbours:
    """The nearest real images of synthetic images and, as a reference, of other people's images.

    Attributes:
        searched: number of real images among which the nearest are found, all of one half of the units.
        asked: number of images of each kind whose nearest are found.
        synthetic: of synthetic images.
        others: of real images of the other half.
        shown: (pairs, height, width, channels) the synthetic images with the smallest ratios.
        first: the nearest real image of each.
        second: the second nearest of each.
    """

    searched: int
    asked: int
    synthetic: Nearest
    others: Nearest
    shown: Pixels = field(repr=False)
    first: Pixels = field(repr=False)
    second: Pixels = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """Some real and some synthetic images of one label, or of all where there are no labels."""

    label: str | None
    real: Pixels = field(repr=False)
    synthetic: Pixels = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageReportContents:
    """A complete report.

    Attributes:
        labels: shares of the labels; None where images have none.
        learning: train on synthetic, test on real; None if there is nothing to learn.
        learnt: of every label; empty without `learning`.
        neighbours: None with fewer than two units, or two images to search.
    """

    real_images: int
    synthetic_images: int
    labels: ColumnCompared | None
    pixels: PixelsCompared
    learning: Learning | None
    learnt: tuple[LabelLearnt, ...]
    neighbours: Neighbours | None
    examples: tuple[Examples, ...]


def at_most(images: int, domain: ImageDomain) -> int:
    """A number of images, or fewer where they are large."""
    return min(images, max(1, MOST_VALUES // domain.values))


def real_images(batches: Iterable[pa.RecordBatch], domain: ImageDomain) -> RealImages:
    """Read stored images (`storage_schema(domain)`); of more than `REAL_IMAGES` a uniform random sample, in the stored order."""
    most, rng = at_most(REAL_IMAGES, domain), np.random.default_rng(SEED)
    kept = _Kept.none(domain)
    waiting: list[_Kept] = []
    count = 0
    for batch in batches:
        waiting.append(_Kept.of(batch, domain, first=count, order=rng.random(len(batch))))
        count += len(batch)
        # Merged seldom: each time all images that are kept are copied.
        if sum(len(one.order) for one in waiting) > most:
            kept, waiting = _Kept.lowest([kept, *waiting], most), []
    kept = _Kept.lowest([kept, *waiting], most)
    units = np.unique(kept.units, return_inverse=True)[1]
    return RealImages(pixels=kept.pixels, labels=kept.labels, units=units.astype(np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """Images with the random numbers that decide which of them are kept: those with the lowest."""

    pixels: Pixels
    labels: NDArray[np.int16]
    units: NDArray[np.object_]
    order: NDArray[np.float64]

    @classmethod
    def none(cls, domain: ImageDomain) -> Self:
        shape = (0, domain.height, domain.width, domain.channels)
        return cls(
            pixels=np.empty(shape, np.uint8),
            labels=np.empty(0, np.int16),
            units=np.empty(0, object),
            order=np.empty(0),
        )

    @classmethod
    def of(
        cls, batch: pa.RecordBatch, domain: ImageDomain, *, first: int, order: NDArray[np.float64]
    ) -> Self:
        column = batch.column(PIXELS)
        start = column.offset * domain.values
        values = np.frombuffer(column.buffers()[1], np.uint8)[start : start + len(batch) * domain.values]
        units = (
            np.arange(first, first + len(batch))
            if domain.privacy_unit is None
            else batch.column(domain.privacy_unit).to_numpy(zero_copy_only=False)
        )
        return cls(
            pixels=values.reshape(-1, domain.height, domain.width, domain.channels),
            labels=batch.column(LABEL).to_numpy(zero_copy_only=False),
            units=units.astype(object),
            order=order,
        )

    @classmethod
    def lowest(cls, parts: Sequence["_Kept"], most: int) -> Self:
        order = np.concatenate([part.order for part in parts])
        chosen = np.arange(len(order)) if len(order) <= most else np.sort(np.argpartition(order, most)[:most])
        return cls(
            pixels=np.concatenate([part.pixels for part in parts])[chosen],
            labels=np.concatenate([part.labels for part in parts])[chosen],
            units=np.concatenate([part.units for part in parts])[chosen],
            order=order[chosen],
        )


def measure_images(real: RealImages, sampler: ImageSampler) -> ImageReportContents:
    """Compare real images, at least one, with images drawn from a release."""
    domain = sampler.domain
    rng = np.random.default_rng(SEED)
    drawn = at_most(SYNTHETIC_IMAGES, domain)
    made_labels = sampler.draw_labels(drawn, rng)
    made = sampler.draw(made_labels, rng)
    split = halves(np.arange(len(real.pixels), dtype=np.int32)[:, None], real.units, rng)
    one, other = split.attacked[:, 0], split.others[:, 0]
    whole = bool(len(one) and len(other))
    learning: Learning | None = None
    learnt: tuple[LabelLearnt, ...] = ()
    if whole and domain.labels:
        learning, learnt = _learn(real, made, made_labels, one, other, domain.labels)
    return ImageReportContents(
        real_images=len(real.pixels),
        synthetic_images=len(made),
        labels=_labels(real.labels, made_labels, domain.labels) if domain.labels else None,
        pixels=_pixels(real.pixels, made),
        learning=learning,
        learnt=learnt,
        neighbours=_neighbours(real.pixels[one], made, real.pixels[other])
        if whole and len(one) > 1
        else None,
        examples=tuple(_examples(real, rng.permutation(len(real.pixels)), made, made_labels, domain.labels)),
    )


def _labels(real: NDArray[np.int16], made: NDArray[np.int16], words: tuple[str, ...]) -> ColumnCompared:
    column = ReportColumn(name=LABEL, kind="label", words=words, places=np.full(len(words), np.nan))
    distribution, drawn = shares(real, len(words)), shares(made, len(words))
    return ColumnCompared(
        column=column,
        real=distribution,
        synthetic=drawn,
        variation=variation(distribution, drawn),
        by_chance=sampling_variation(distribution, first_rows=len(real), second_rows=len(made)),
        pairs=None,
    )


def _pixels(real: Pixels, made: Pixels) -> PixelsCompared:
    """``by_chance`` is the mean over the pixels of ``sqrt(2 / pi) s sqrt(1 / n + 1 / m)``, with each pixel's deviation ``s``."""
    (mean, spread), (made_mean, made_spread) = (_moments(images) for images in (real, made))
    chance = math.sqrt(2 / math.pi * (1 / len(real) + 1 / len(made)))
    return PixelsCompared(
        real=mean,
        synthetic=made_mean,
        distance=float(np.abs(mean - made_mean).mean()),
        by_chance=float(spread.mean()) * chance,
        real_spread=float(spread.mean()),
        synthetic_spread=float(made_spread.mean()),
    )


def _moments(images: Pixels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every pixel, from 0 to 1; sums of integers, so in any order the same."""
    first = np.zeros(images.shape[1:], np.int64)
    second = np.zeros(images.shape[1:], np.int64)
    for start in range(0, len(images), SEARCHED_IMAGES):
        part = images[start : start + SEARCHED_IMAGES]
        first += part.sum(axis=0, dtype=np.int64)
        second += np.einsum("nhwc,nhwc->hwc", part, part, dtype=np.int64)
    mean = first / len(images)
    return mean / _WHITE, np.sqrt(np.maximum(0.0, second / len(images) - mean**2)) / _WHITE


def _learn(
    real: RealImages,
    made: Pixels,
    made_labels: NDArray[np.int16],
    one: NDArray[np.integer],
    other: NDArray[np.integer],
    words: tuple[str, ...],
) -> tuple[Learning | None, tuple[LabelLearnt, ...]]:
    """Train the same trees on synthetic and on as many real images; test both on real images of other units."""
    from sklearn.ensemble import ExtraTreesClassifier
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    trained, tests = min(LEARNING_IMAGES, len(one), len(made)), other[:LEARNING_IMAGES]
    chosen = one[:trained]
    truth = real.labels[tests].astype(np.int64)
    tested = _values(real.pixels[tests])
    if any(len(np.unique(each)) < 2 for each in (truth, real.labels[chosen], made_labels[:trained])):  # noqa: PLR2004 - classes
        return None, ()
    scores, right = [], []
    # A library's warning about labels or classes would reveal something about rows in the log.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for pixels, labels in (
            (made[:trained], made_labels[:trained]),
            (real.pixels[chosen], real.labels[chosen]),
        ):
            trees = ExtraTreesClassifier(
                n_estimators=_TREES, min_samples_leaf=_FEWEST_IN_LEAF, random_state=0, n_jobs=1
            ).fit(_values(pixels), labels.astype(np.int64))
            scores.append(score(CLASSIFIER, trees, tested, truth))
            right.append(trees.predict(tested) == truth)
    found = Learning(
        question=f"the {LABEL}",
        answers=words,
        trained_rows=trained,
        tested_rows=len(tests),
        majority=float((truth == np.bincount(real.labels[chosen]).argmax()).mean()),
        tested_answers=answers_tested(truth),
        from_synthetic=(scores[0],),
        from_real=(scores[1],),
    )
    return found, tuple(
        LabelLearnt(**{name: _mean(hits[truth == code]) for name, hits in zip(("from_synthetic", "from_real"), right, strict=True)})
        for code in range(len(words))
    )  # fmt: skip


def _mean(hits: NDArray[np.bool_]) -> float | None:
    return float(hits.mean()) if len(hits) else None


def _neighbours(searched: Pixels, made: Pixels, others: Pixels) -> Neighbours:
    asked = min(ASKED_IMAGES, len(made), len(others))
    searched, made, others = searched[:SEARCHED_IMAGES], made[:asked], others[:asked]
    known = _lines(searched)
    (synthetic, order, ratios), (real, _, _) = (
        _nearest(images, searched, known) for images in (made, others)
    )
    shown = np.argsort(ratios, kind="stable")[:SHOWN_IMAGES]
    return Neighbours(
        searched=len(searched),
        asked=asked,
        synthetic=synthetic,
        others=real,
        shown=made[shown],
        first=searched[order[shown, 0]],
        second=searched[order[shown, 1]],
    )


def _nearest(
    images: Pixels, searched: Pixels, known: NDArray[np.void]
) -> tuple[Nearest, NDArray[np.intp], NDArray[np.float64]]:
    """The figures; the (images, 2) places of the two nearest; and the ratio of every image."""
    squares = _squares(images, searched)
    # Sums of squared integers below 2^53 are exact, so equal images have distance 0.
    scale = images[0].size * _factor(images, LONGEST_SIDE) ** 2 * _WHITE**2
    two = np.argpartition(squares, 1, axis=1)[:, :2]
    two = np.take_along_axis(
        two, np.argsort(np.take_along_axis(squares, two, axis=1), axis=1, kind="stable"), axis=1
    )
    first, second = np.sqrt(np.take_along_axis(squares, two, axis=1) / scale).T
    ratios = np.divide(first, second, out=np.ones_like(first), where=second > 0)
    low, middle, high = np.quantile(first, (0.05, 0.5, 0.95))
    figures = Nearest(
        distances=(float(low), float(middle), float(high)),
        ratio=float(np.median(ratios)),
        standing_out=float((ratios < STANDING_OUT).mean()),
        copies=float(np.isin(_lines(images), known).mean()),
    )
    return figures, two, ratios


def _squares(one: Pixels, other: Pixels) -> NDArray[np.float64]:
    """Squared Euclidean distances, (images of one, images of the other)."""
    first, second = _values(one), _values(other)
    lengths = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)[None, :]
    found: NDArray[np.float64] = lengths - 2 * (first @ second.T)
    return found


def _examples(
    real: RealImages,
    order: NDArray[np.integer],
    made: Pixels,
    made_labels: NDArray[np.int16],
    words: tuple[str, ...],
) -> Iterator[Examples]:
    """The first of every label in a random order."""
    if not words:
        yield Examples(label=None, real=real.pixels[order[:SHOWN_IMAGES]], synthetic=made[:SHOWN_IMAGES])
    for code, word in enumerate(words[:SHOWN_LABELS]):
        yield Examples(
            label=word,
            real=real.pixels[order[real.labels[order] == code][:SHOWN_IMAGES]],
            synthetic=made[made_labels == code][:SHOWN_IMAGES],
        )


def _values(pixels: Pixels) -> NDArray[np.float64]:
    """(images, values) that distances and the classifier see; integers."""
    return reduced(pixels, LONGEST_SIDE).reshape(len(pixels), -1).astype(np.float64)


def _factor(pixels: Pixels, longest: int) -> int:
    return -(-max(map(int, pixels.shape[1:3])) // longest)


def reduced(pixels: Pixels, longest: int) -> NDArray[np.uint8 | np.uint16]:
    """Values added up over squares, at the ends over parts of them; as they are if no side is longer than `longest`."""
    factor = _factor(pixels, longest)
    if factor == 1:
        return pixels
    rows = np.add.reduceat(pixels, np.arange(0, pixels.shape[1], factor), axis=1, dtype=np.uint16)
    return np.add.reduceat(rows, np.arange(0, pixels.shape[2], factor), axis=2, dtype=np.uint16)


def _lines(pixels: Pixels) -> NDArray[np.void]:
    """Every image as one comparable value."""
    flat = np.ascontiguousarray(pixels).reshape(len(pixels), math.prod(pixels.shape[1:]))
    return flat.view(np.dtype((np.void, flat.shape[1]))).ravel()
