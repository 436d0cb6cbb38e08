import dataclasses
import math

import pytest

from core.dp.accountant import epsilons
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, leaves
from core.plan.errors import InvalidPlan
from core.plan.images.anchor import ImageAnchorPlan, image_anchor_plan


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
    ],
    ids=str,
)
def test_a_wrong_document_is_refused(change):
    with pytest.raises(InvalidPlan):
        ImageAnchorPlan.from_json(plan(epsilon=10.0).to_json() | change)


def test_an_older_plan_lacks_the_member_for_grey_and_sums_from_black():
    older = dataclasses.replace(plan(), about_grey=False)
    assert "about_grey" not in older.to_json()
    assert ImageAnchorPlan.from_json(older.to_json()) == older
    assert (older.origin, plan().origin) == (0.0, 0.5)


def test_no_image_exceeds_the_clipping_norm_of_the_rule():
    assert plan().image_norm >= math.sqrt(28 * 28) * plan().origin


def test_a_missing_member_is_refused():
    document = plan().to_json()
    del document["frequencies"]
    with pytest.raises(InvalidPlan):
        ImageAnchorPlan.from_json(document)
