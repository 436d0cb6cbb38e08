"""What a report counts of an image: whole numbers that belong to it alone."""

import math
import tracemalloc

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from core.plan.domain.images import ImageDomain
from core.plan.utility_reports.columns import (
    STEPS,
    cardinalities,
    declared_target,
    drawn,
    measurable,
    predictable,
)
from models.reports.public_side import PublicSide
from models.reports.records import LONGEST_SIDE, Records
from tests.core.plan.domain.examples import DAY_WITH_WEEKDAY, table
from tests.models.images.pictures import pictures


def plainly(image: np.ndarray) -> tuple[int, int]:
    """Brightness and detail, value by value."""
    height, width, channels = image.shape
    steps, neighbours = 0, 0
    for row in range(height):
        for column in range(width):
            for channel in range(channels):
                here = int(image[row, column, channel])
                for other in ((row + 1, column), (row, column + 1)):
                    if other[0] < height and other[1] < width:
                        steps += abs(here - int(image[(*other, channel)]))
                        neighbours += 1
    bright = 32 * sum(map(int, image.flatten())) // (256 * image.size)
    return bright, math.isqrt(4 * steps // max(1, neighbours))


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 6), st.integers(1, 6), st.sampled_from([1, 3])),
    seed=st.integers(0, 10**6),
    most=st.sampled_from([1, 20, 255]),
)
def test_brightness_and_detail_are_those_of_a_plain_loop(shape: tuple[int, int, int], seed: int, most: int):
    pixels = np.random.default_rng(seed).integers(0, most + 1, (7, *shape)).astype(np.uint8)
    found = Records.of_images(pixels, np.zeros(7, np.int16), labelled=False)
    assert found.codes.tolist() == [list(plainly(image)) for image in pixels]
    assert found.codes.min() >= 0
    assert found.codes.max() < STEPS


def test_the_ends_of_both_scales_are_used():
    black, white = np.zeros((1, 4, 4, 1), np.uint8), np.full((1, 4, 4, 1), 255, np.uint8)
    board = (np.indices((4, 4)).sum(axis=0) % 2 * 255).astype(np.uint8)[None, :, :, None]
    codes = Records.of_images(
        np.concatenate([black, white, board]), np.zeros(3, np.int16), labelled=False
    ).codes
    assert codes.tolist() == [[0, 0], [31, 0], [15, 31]]


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 2049])
def test_an_image_is_coded_and_seen_as_if_it_were_alone(count: int):
    images = pictures(count=count, shape=(5, 7, 3))
    whole = Records.of(images)
    parts = list(whole.parts())
    assert sum(map(len, parts)) == len(whole) == count
    assert np.concatenate([part.codes for part in parts]).tolist() == whole.codes.tolist()
    for index in {0, count // 2, count - 1}:
        alone = Records.of_images(
            images.pixels[index : index + 1], images.labels[index : index + 1], labelled=True
        )
        assert alone.codes.tolist() == whole.codes[index : index + 1].tolist()
        assert alone.features(without=[0]).tolist() == whole.features(without=[0])[index : index + 1].tolist()
    assert whole.codes[:, 0].tolist() == images.labels.tolist()
    assert list(whole.part(0, 0).parts()) == []


@pytest.mark.parametrize(("side", "seen"), [(8, 8), (32, 32), (33, 17), (64, 32), (100, 25), (256, 32)])
@pytest.mark.parametrize("count", [0, 3, 70])
def test_a_classifier_sees_sums_over_squares_of_a_large_image(side: int, seen: int, count: int):
    images = pictures(count=count, shape=(side, side, 1))
    if count:
        images.pixels[0] = 255
    found = Records.of(images).features(without=[0])
    assert seen <= LONGEST_SIDE
    assert found.shape == (count, seen * seen)
    assert found.sum(axis=1).tolist() == images.pixels.sum(axis=(1, 2, 3)).tolist(), "nothing is cut off"
    factor = -(-side // LONGEST_SIDE)
    assert not count or found[0, 0] == 255 * factor**2


def test_large_images_take_little_more_memory_than_they_have():
    """What is seen of 20,000 of them was once made of all at once, in 64 bits: 15 GB before the first was looked at."""
    images = pictures(count=192, shape=(256, 256, 3))
    tracemalloc.start()
    try:
        found = Records.of(images)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.pixels is not None
    assert found.pixels.nbytes < images.pixels.nbytes / 30
    assert most < 10 * 2**22, "a few arrays of one piece, however many images there are"


def test_records_after_each_other_are_those_of_all_together():
    images = pictures(count=40, shape=(40, 9, 3))
    whole = Records.of(images)
    parts = Records.joined([whole.part(0, 7), whole.part(7, 7), whole.part(7, 40)])
    assert parts.codes.tolist() == whole.codes.tolist()
    assert (parts.features(without=[0]) == whole.features(without=[0])).all()
    rows = Records.joined([Records(codes=whole.codes[:3]), Records(codes=whole.codes[3:])])
    assert rows.pixels is None
    assert rows.codes.tolist() == whole.codes.tolist()


def test_fewer_are_drawn_of_large_images():
    def sized(side: int, channels: int) -> ImageDomain:
        return ImageDomain(height=side, width=side, channels=channels, labels=(), privacy_unit=None)

    assert [drawn(sized(*size)) for size in ((28, 1), (32, 3), (64, 3), (256, 3))] == [
        20_000,
        20_000,
        5461,
        2000,
    ]


def test_what_can_be_measured_follows_from_the_domain_alone():
    labelled = ImageDomain(height=2, width=2, channels=1, labels=("a", "b"), privacy_unit=None)
    plain = ImageDomain(height=2, width=2, channels=1, labels=(), privacy_unit=None)
    assert measurable(labelled) == ("label", "brightness", "detail")
    assert cardinalities(labelled) == (2, STEPS, STEPS)
    assert (predictable(labelled), declared_target(labelled)) == (("label",), "label")
    assert measurable(plain) == ("brightness", "detail")
    assert cardinalities(plain) == (STEPS, STEPS)
    assert (predictable(plain), declared_target(plain)) == ((), None)


def test_the_score_leaves_out_what_is_derived_from_its_target():
    domain = table(DAY_WITH_WEEKDAY, {"name": "ward", "kind": "categorical", "categories": ["A", "B"]})
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, size, 100) for size in domain.cardinalities]).astype(np.int16)

    def seen(target: int) -> int:
        side = PublicSide(
            drawn=Records(codes=codes),
            cardinalities=domain.cardinalities,
            measured=(0, 1, 2),
            target=target,
            domain=domain,
        )
        return int(side.classifier.n_features_in_)

    assert [column.name for column in domain.coded] == ["day", "ward", "day.weekday"]
    assert [seen(0), seen(1), seen(2)] == [1, 2, 1]
