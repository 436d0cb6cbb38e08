"""Utility reports about images: how far one person's pictures move them, whatever they show."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from core.plan.utility_reports.columns import STEPS
from core.plan.utility_reports.plan import ReportPlan
from models.encoding import PrivateImages
from models.randomness import KeyedStreams
from models.reports import public_side
from models.reports.public_side import PublicSide
from models.reports.records import Records
from models.reports.utility import GRID, exact_terms, noisy_terms
from tests.core.artifacts import image_stand_in
from tests.models.coded_tables import KEY
from tests.models.images.pictures import SHAPE, pictures, taken
from tests.models.reports.sides import report_plan
from tests.models.reports.test_utility import Listener

SIZE = 400
CLASSES = 3


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(public_side, "TREES", 2)


def side_of(*, labelled: bool = True, seed: int = 7) -> PublicSide:
    """A release whose pictures are darker than the private ones."""
    drawn = pictures(count=600, seed=seed)
    return PublicSide(
        drawn=Records.of_images(drawn.pixels // 2, drawn.labels, labelled=labelled),
        cardinalities=(*([CLASSES] if labelled else []), STEPS, STEPS),
        measured=(0, 1, 2) if labelled else (0, 1),
        target=0 if labelled else None,
    )


def plan_of(*, labelled: bool = True) -> ReportPlan:
    names = ("brightness", "detail")
    return report_plan(columns=("label", *names) if labelled else names, target="label" if labelled else None)


def with_unit(images: PrivateImages, pixels: np.ndarray, labels: np.ndarray) -> PrivateImages:
    return replace(
        images,
        pixels=np.concatenate([images.pixels, pixels.astype(np.uint8)]),
        labels=np.concatenate([images.labels, labels.astype(np.int16)]),
        unit_of_record=np.concatenate([images.unit_of_record, np.full(len(labels), images.units)]),
    )


def whitened(images: PrivateImages, public: PublicSide, plan: ReportPlan) -> np.ndarray:
    exact = exact_terms(images, public, SIZE)
    return np.concatenate([exact[kind] / std for kind, std in plan.noise_stds.items()])


def datasets() -> dict[str, PrivateImages]:
    usual = pictures(count=SIZE)
    return {
        "usual": usual,
        "empty": taken(usual, np.zeros(0, np.int64)),
        "one-picture": taken(usual, np.zeros(SIZE, np.int64)),
        "people": pictures(count=SIZE, units=30),
        "no-labels": pictures(count=SIZE, classes=0),
        "far-more-than-declared": pictures(count=5 * SIZE),
    }


@pytest.mark.parametrize("name", sorted(datasets()))
@pytest.mark.parametrize("records", [1, 3, 700])
def test_one_unit_more_moves_all_terms_by_at_most_one_over_the_noise_multiplier(name: str, records: int):
    images = datasets()[name]
    labelled = images.classes > 0
    public, plan = side_of(labelled=labelled), plan_of(labelled=labelled)
    before = whitened(images, public, plan)
    noise = np.random.default_rng(1).integers(0, 256, (records, *SHAPE))
    shown = [np.zeros_like(noise), np.full_like(noise, 255), noise]
    for pixels, label in itertools.product(shown, range(max(1, images.classes))):
        more = with_unit(images, pixels, np.full(records, label))
        assert np.linalg.norm(whitened(more, public, plan) - before) <= 1 / plan.noise_multiplier


def test_terms_are_those_of_a_plain_loop():
    images, public = pictures(count=90), side_of()
    exact = exact_terms(images, public, SIZE)
    real, made = Records.of(images).codes, public.codes
    for column, size in enumerate(public.cardinalities):
        distance = sum(
            abs((real[:, column] == code).sum() - SIZE * (made[:, column] == code).mean())
            for code in range(size)
        )
        assert exact["columns"][column] == pytest.approx(distance, abs=size * GRID)
    bins, binned = public.binned(made), public.binned(real)
    for number, (one, other) in enumerate(public.pairs):
        distance = sum(
            abs(
                ((binned[one] == a) & (binned[other] == b)).sum()
                - SIZE * ((bins[one] == a) & (bins[other] == b)).mean()
            )
            for a, b in itertools.product(range(8), range(8))
        )
        assert exact["pairs"][number] == pytest.approx(distance, abs=64 * GRID)
    assert public.classifier.n_jobs == 1, "several threads would add up votes in any order"
    # The score: trees that saw halves of values, asked about each picture alone.
    right = [
        public.classifier.predict(image.reshape(1, -1).astype(np.float32))[0] == label
        for image, label in zip(images.pixels, images.labels, strict=True)
    ]
    assert exact["score"][0] == sum(right) - (len(right) - sum(right))
    assert 0 < sum(right) < len(right)


def test_as_many_are_drawn_as_the_plan_says():
    for bundle, names in (
        (image_stand_in.bundle(), ("label", "brightness", "detail")),
        (image_stand_in.unlabelled(), ("brightness", "detail")),
    ):
        plan = report_plan(columns=names, target=names[0] if "label" in names else None, synthetic_rows=1201)
        made = public_side.public_side(bundle, plan)
        assert made.rows == 1201
        assert made.measured == tuple(range(len(names)))
        assert (made.codes == public_side.public_side(bundle, plan).codes).all(), "a public seed"
        assert len(np.unique(made.codes[:, -2:], axis=0)) > 1


def test_neither_the_order_of_the_pictures_nor_company_matters():
    images, public = pictures(count=1500), side_of()
    order = np.random.default_rng(1).permutation(1500)
    one, other = exact_terms(images, public, SIZE), exact_terms(taken(images, order), public, SIZE)
    assert all((one[kind] == other[kind]).all() for kind in one)
    halves = [taken(images, half) for half in (np.arange(700), np.arange(700, 1500))]
    scores = [exact_terms(half, public, SIZE)["score"][0] for half in halves]
    assert sum(scores) == one["score"][0]


@pytest.mark.parametrize("name", sorted(datasets()))
def test_a_recorded_release_put_back_over_a_neighbour_gives_the_same_numbers(name: str):
    images = datasets()[name]
    labelled = images.classes > 0
    public, plan = side_of(labelled=labelled), plan_of(labelled=labelled)
    neighbour = with_unit(images, np.full((2, *SHAPE), 255), np.zeros(2))

    def heard(images: PrivateImages, recorded=None):
        listener = Listener(recorded)
        told = noisy_terms(images, public, plan, KeyedStreams(KEY, releases=listener))
        return listener, {kind: values.tolist() for kind, values in told.items()}

    first, told = heard(images)
    second, told_again = heard(neighbour, first.released)
    assert told_again == told
    whole = [np.concatenate([part / std for part, std in each.exact_parts]) for each in (first, second)]
    # The bound is met here; the division by the noise, done in this test, rounds.
    assert 0 < np.linalg.norm(whole[0] - whole[1]) <= first.stated * (1 + 1e-12)
    assert first.stated == second.stated
    assert first.stated <= 1 / plan.noise_multiplier
