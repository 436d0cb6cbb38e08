import dataclasses
import math

import pytest

from core.dp.accountant import epsilons
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, leaves
from core.plan.errors import InvalidPlan
from core.plan.images.anchor import BRIGHTNESS_SHARE, ImageAnchorPlan, image_anchor_plan


def plan(
    *, epsilon: float = 1.0, share: float = 1.0, size: int = 60_000, classes: int = 10
) -> ImageAnchorPlan:
    return image_anchor_plan(
        PrivacyGuarantee(epsilon=epsilon, delta=1e-5),
        share=share,
        declared_size=size,
        shape=(28, 28, 1),
        classes=classes,
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
def test_the_releases_together_keep_the_guarantee_and_use_it(epsilon):
    reported = epsilons(plan(epsilon=epsilon).mechanism, delta=1e-5).reported
    assert reported <= epsilon
    assert reported > 0.999 * epsilon


def test_a_share_is_a_share_of_the_squared_mu():
    squared = {
        share: sum(
            count / leaf.noise_multiplier**2
            for leaf, count in leaves(plan(share=share).mechanism).items()
            if isinstance(leaf, Gaussian)
        )
        for share in (1.0, 0.5)
    }
    assert squared[0.5] == pytest.approx(0.5 * squared[1.0], rel=1e-4)


def test_more_signal_gets_more_cells_and_dimensions_by_public_facts():
    weak, middle, strong = plan(size=2000), plan(), plan(epsilon=10.0)
    assert (weak.cells, middle.cells) == (1, 1)
    assert strong.cells > 1
    assert strong.rounds >= 1
    assert weak.dimensions < middle.dimensions <= strong.dimensions


def test_small_pictures_get_no_more_frequencies_than_they_have():
    small = image_anchor_plan(
        PrivacyGuarantee(epsilon=4.0, delta=1e-5), share=1.0, declared_size=10**6, shape=(4, 5, 1), classes=0
    )
    assert small.frequencies == 4
    assert small.dimensions == 16


def test_the_sensitivities_are_the_stated_formulas():
    made = dataclasses.replace(plan(), image_norm=10.0, residual_norm=4.0, cell_norm=2.0)
    assert made.means_sensitivity == pytest.approx(math.hypot(10.0, 3.0), rel=1e-9)
    assert made.basis_sensitivity == pytest.approx(16.0, rel=1e-9)
    assert made.cells_sensitivity == pytest.approx(math.hypot(4.0, 1.2), rel=1e-9)
    assert made.moments_sensitivity == pytest.approx(5.0 * math.hypot(1.0, 0.3), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_plan_passes_through_json(epsilon):
    assert ImageAnchorPlan.from_json(plan(epsilon=epsilon).to_json()) == plan(epsilon=epsilon)


@pytest.mark.parametrize(
    "change",
    [
        {"cells": 2.0},
        {"dimensions": True},
        {"image_norm": 4},
        {"image_norm": math.nan},
        {"residual_norm": 1e9},
        {"cell_norm": 0.0},
        {"dimensions": 10**6},
        {"rounds": 0},
        {"rounds": 99},
        {"cells": 1},
        {"cells": 1000},
        {"frequencies": 0},
        {"moments_noise_multiplier": 0.0},
        {"moments_noise_multiplier": math.nan},
        {"moments_noise_multiplier": "1"},
        {"another": 1.0},
        {"about_grey": True},
        {"brightness_noise_multiplier": 0.0},
        {"brightness_noise_multiplier": None},
    ],
    ids=str,
)
def test_a_wrong_document_is_refused(change):
    with pytest.raises(InvalidPlan):
        ImageAnchorPlan.from_json(plan(epsilon=10.0).to_json() | change)


def test_an_older_plan_lacks_the_release_of_brightness_and_sums_from_black_or_about_grey():
    assert plan().origin is None
    for about_grey, origin in ((False, 0.0), (True, 0.5)):
        older = dataclasses.replace(plan(), brightness_noise_multiplier=None, about_grey=about_grey)
        document = older.to_json()
        assert "brightness_noise_multiplier" not in document
        assert document.get("about_grey", False) == about_grey
        assert ImageAnchorPlan.from_json(document) == older
        assert older.origin == origin
        assert [name for name, *_ in older.releases] == [name for name, *_ in plan().releases][1:]


def test_the_brightness_takes_its_share_and_is_charged_first():
    name, times, sensitivity, noise = plan().releases[0]
    assert (name, times) == ("anchor-brightness", 1)
    assert sensitivity == pytest.approx(math.hypot(0.5, 0.15), rel=1e-9)
    assert plan().parts[0] == Gaussian(noise_multiplier=noise)
    assert noise**-2 / plan().noise_multiplier ** -2 == pytest.approx(BRIGHTNESS_SHARE, rel=1e-3)


def test_a_missing_member_is_refused():
    document = plan().to_json()
    del document["frequencies"]
    with pytest.raises(InvalidPlan):
        ImageAnchorPlan.from_json(document)
