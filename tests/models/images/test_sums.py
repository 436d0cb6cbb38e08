"""The exact sums: what they are, that order changes nothing, and how far one unit moves each."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.plan.images.anchor import (
    BRIGHTNESS_REACH,
    COUNT_WEIGHT,
    MOMENT_COUNT_WEIGHT,
    SPREAD_WEIGHT,
    ImageAnchorPlan,
)
from models.encoding import PrivateImages
from models.images import sums as sums_module
from models.images.sums import ImageSums
from tests.models.images.pictures import SHAPE, WAYS, pictures, small_plan, taken

RNG = np.random.default_rng(5)
MEANS = np.rint(RNG.normal(0.5, 0.3, (3, 25)) * 2**12)
DIRECTIONS = np.rint(np.linalg.qr(RNG.normal(size=(25, 6)))[0] * 2**14)
CENTRES = np.rint(RNG.normal(0.0, 0.3, (3, 2, 6)) * 2**12)


def statistics(
    images: PrivateImages, plan: ImageAnchorPlan, *, brightness: int = 90
) -> dict[str, list[tuple[np.ndarray, float]]]:
    """Every release's exact parts with their weights, given the same public brightness, means, directions and centres."""
    private = ImageSums(images, plan)
    counts, sums = private.brightness_sums()
    made = {"brightness": [(counts, COUNT_WEIGHT * BRIGHTNESS_REACH), (sums, 1.0)]}
    counts, sums = private.mean_sums(brightness / 255 if plan.origin is None else plan.origin)
    made["means"] = [(counts, COUNT_WEIGHT * plan.image_norm), (sums, 1.0)]
    private.centre(MEANS)
    made["basis"] = [(np.triu(private.basis_sums(), 1), math.sqrt(2)), (private.basis_sums().diagonal(), 1.0)]
    private.project(DIRECTIONS)
    counts, sums = private.cell_sums(CENTRES)
    made["cells"] = [(counts, COUNT_WEIGHT * plan.residual_norm), (sums, 1.0)]
    products, spread = private.moment_sums(CENTRES)
    bound = (1 + MOMENT_COUNT_WEIGHT**2) * plan.cell_norm**2
    diagonal = np.diagonal(products, axis1=2, axis2=3)
    made["moments"] = [
        (np.triu(products, 1), math.sqrt(2)),
        (diagonal, 1.0),
        (spread, SPREAD_WEIGHT * bound),
    ]
    return made


def flat(parts: list[tuple[np.ndarray, float]]) -> np.ndarray:
    return np.concatenate([np.ravel(values) * weight for values, weight in parts])


def bounds(plan: ImageAnchorPlan) -> dict[str, float]:
    return {
        "brightness": plan.brightness_sensitivity,
        "means": plan.means_sensitivity,
        "basis": plan.basis_sensitivity,
        "cells": plan.cells_sensitivity,
        "moments": plan.moments_sensitivity,
    }


def joined(images: PrivateImages, pixels: np.ndarray, labels: list[int]) -> PrivateImages:
    """The pictures with one unit more."""
    return PrivateImages(
        pixels=np.concatenate([images.pixels, pixels.astype(np.uint8)]),
        labels=np.concatenate([images.labels, np.array(labels, dtype=np.int16)]),
        unit_of_record=np.concatenate([images.unit_of_record, np.full(len(labels), images.units)]),
        classes=images.classes,
    )


def moved(
    images: PrivateImages, neighbour: PrivateImages, plan: ImageAnchorPlan, *, brightness: int = 90
) -> dict[str, float]:
    one, other = (statistics(each, plan, brightness=brightness) for each in (images, neighbour))
    return {name: float(np.linalg.norm(flat(one[name]) - flat(other[name]))) for name in one}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    units=st.one_of(st.none(), st.integers(1, 20)),
    norms=st.tuples(st.floats(0.1, 12), st.floats(0.1, 8), st.floats(0.1, 8)),
    way=st.sampled_from(sorted(WAYS)),
    brightness=st.integers(0, 255),
)
def test_a_unit_moves_every_release_by_at_most_its_sensitivity(seed, units, norms, way, brightness):
    plan = small_plan(image_norm=norms[0], residual_norm=norms[1], cell_norm=norms[2], **WAYS[way])
    images = pictures(count=40, units=units, seed=seed)
    without = taken(images, np.flatnonzero(images.unit_of_record != seed % images.units))
    for name, distance in moved(images, without, plan, brightness=brightness).items():
        assert distance <= bounds(plan)[name], name


ADVERSARIES = {
    "all white": (np.full((1, *SHAPE), 255), [0]),
    "all black": (np.zeros((1, *SHAPE)), [2]),
    "one bright pixel": (np.eye(1, 72).reshape(1, *SHAPE) * 255, [1]),
    "a checkerboard": (np.indices(SHAPE).sum(axis=0)[None] % 2 * 255, [1]),
    "many equal white pictures": (np.full((700, *SHAPE), 255), [0] * 700),
    "pictures in every class": (np.full((9, *SHAPE), 255), [0, 1, 2] * 3),
}


@pytest.mark.parametrize("kind", ADVERSARIES)
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_no_unit_of_a_hostile_person_moves_more(kind, alone, way):
    pixels, labels = ADVERSARIES[kind]
    images = pictures(count=60)
    # The others are all in class 0, so that the unit may bring a new class; or there are no others.
    images = taken(images, np.flatnonzero(images.labels == 0) if not alone else np.zeros(0, dtype=np.int64))
    plan = small_plan(**WAYS[way])
    for name, distance in moved(images, joined(images, pixels, labels), plan).items():
        assert distance <= bounds(plan)[name], name
        if kind == "all white":
            low = 0.9 if name != "moments" else 0.6
            assert distance >= low * bounds(plan)[name], "a clipped record uses the sensitivity"


def test_a_unit_of_equal_records_counts_like_one_record_up_to_the_grid():
    images = pictures(count=20)
    one = joined(images, np.full((1, *SHAPE), 200), [1])
    many = joined(images, np.full((9, *SHAPE), 200), [1] * 9)
    for name, distance in moved(one, many, small_plan()).items():
        assert distance < 0.05 * bounds(small_plan())[name], name


def test_order_and_chunks_change_nothing(monkeypatch):
    images = pictures(count=200, units=70, seed=3)
    shuffled = taken(images, np.random.default_rng(0).permutation(200))
    one, other = statistics(images, small_plan()), statistics(shuffled, small_plan())
    monkeypatch.setattr(sums_module, "CHUNK", 17)
    chunked = statistics(images, small_plan())
    monkeypatch.setattr(sums_module, "CHUNK_PIXELS", 72 * 5)
    small = statistics(images, small_plan())
    for name in one:
        assert np.array_equal(flat(one[name]), flat(other[name])), name
        assert np.array_equal(flat(one[name]), flat(chunked[name])), name
        assert np.array_equal(flat(one[name]), flat(small[name])), name


@pytest.mark.parametrize("way", WAYS)
def test_the_sums_are_those_of_a_plain_loop(way):
    images, plan = pictures(count=50, units=20, seed=2), small_plan(**WAYS[way])
    origin = 90 / 255 if plan.origin is None else plan.origin
    made = statistics(images, plan)
    private = ImageSums(images, plan)
    private.centre(MEANS)
    # private: rounded residuals, from which the plain loop must begin to be equal to the bit
    residuals = private._residuals.astype(np.float64) / 2**12
    share = 1 / np.bincount(images.unit_of_record)[images.unit_of_record]
    units, bright = np.zeros(1), np.zeros((1, 1))
    counts, sums = np.zeros(3), np.zeros((3, 72))
    basis, products, spread = np.zeros((25, 25)), np.zeros((3, 2, 7, 7)), np.zeros((3, 2))
    cell_counts, cell_sums = np.zeros((3, 2)), np.zeros((3, 2, 6))
    for index, label in enumerate(images.labels):
        units += share[index]
        bright += share[index] * (images.pixels[index].mean() / 255 - 0.5)
        x = images.pixels[index].ravel() / 255 - origin
        counts[label] += share[index]
        sums[label] += share[index] * x * min(1, plan.image_norm / np.linalg.norm(x))
        r = residuals[index]
        u = r * min(1, plan.residual_norm / np.linalg.norm(r))
        basis += share[index] * np.outer(u, u)
        z = r @ DIRECTIONS / 2**14
        away = z - CENTRES[label] / 2**12
        cell = int((away**2).sum(axis=1).argmin())
        cell_counts[label, cell] += share[index]
        cell_sums[label, cell] += share[index] * z * min(1, plan.residual_norm / np.linalg.norm(z))
        norm = np.linalg.norm(away[cell])
        u = np.append(MOMENT_COUNT_WEIGHT * plan.cell_norm, away[cell] * min(1, plan.cell_norm / norm))
        products[label, cell] += share[index] * np.outer(u, u)
        spread[label, cell] += share[index] * min(1, norm**2 / (3.0 * plan.cell_norm**2))
    expected = {
        "brightness": [units, bright],
        "means": [counts, sums],
        "basis": [np.triu(basis, 1), basis.diagonal()],
        "cells": [cell_counts, cell_sums],
        "moments": [np.triu(products, 1), np.diagonal(products, axis1=2, axis2=3), spread],
    }
    for name, parts in expected.items():
        for (values, _), plain in zip(made[name], parts, strict=True):
            assert np.abs(values - plain).max() < 0.05, name
            assert np.abs(values).max() > 0.5, "there is something to compare"


def test_images_without_labels_are_one_class():
    images = pictures(count=30, classes=0)
    counts, sums = ImageSums(images, small_plan()).mean_sums(0.2)
    assert counts.tolist() == [30.0]
    assert sums.shape == (1, 72)


def test_colour_has_low_frequencies_of_its_own():
    images = pictures(count=10, shape=(9, 8, 3))
    private = ImageSums(images, small_plan())
    assert private.basis_sums().shape == (75, 75)
