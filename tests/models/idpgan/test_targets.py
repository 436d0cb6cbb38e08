import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.synthesis.stages import AnchorPlan, anchor_sensitivity
from models.anchor import MomentLayout, exact_moments, noisy_moments
from models.idpgan.targets import moment_targets, project_to_simplex
from tests.models.tables import small_table, streams

NUMBERS = st.lists(st.floats(-100, 100), min_size=1, max_size=20)


@given(values=NUMBERS, total=st.floats(0.01, 50))
def test_the_projection_is_a_law_and_no_other_law_tried_is_nearer(values, total):
    given_values = np.array(values)
    found = project_to_simplex(given_values, total=total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = rng.dirichlet(np.ones(len(values))) * total
        assert np.linalg.norm(found - given_values) <= np.linalg.norm(other - given_values) + 1e-9


@pytest.mark.parametrize("by_class", [True, False])
def test_targets_are_shares_that_come_near_the_truth_as_the_noise_goes(by_class):
    table = small_table(records=5000)
    layout = MomentLayout(cardinalities=table.cardinalities, target_index=2, by_class=by_class)
    plan = AnchorPlan(
        noise_multiplier=1e-3, sensitivity=anchor_sensitivity(4, diagonal_weight=2.0), diagonal_weight=2.0
    )
    targets = moment_targets(noisy_moments(table, layout, plan, streams()), layout, plan)
    exact = exact_moments(table, layout)
    assert np.abs(targets.ones - exact.ones / 5000).max() < 1e-5
    assert np.abs(targets.pairs - exact.pairs / 5000).max() < 1e-4
    assert targets.law.sum() == pytest.approx(1.0)


def test_combining_estimates_beats_the_diagonal_alone():
    table = small_table(records=2000)
    layout = MomentLayout(cardinalities=table.cardinalities, target_index=2, by_class=True)
    plan = AnchorPlan(
        noise_multiplier=4.0, sensitivity=anchor_sensitivity(4, diagonal_weight=1.0), diagonal_weight=1.0
    )
    truth = exact_moments(table, layout).ones / 2000
    alone, combined = 0.0, 0.0
    for key in range(30):
        noisy = noisy_moments(table, layout, plan, streams(key))
        alone += float(np.square(noisy.ones / 2000 - truth).sum())
        combined += float(np.square(moment_targets(noisy, layout, plan).ones - truth).sum())
    assert combined < 0.9 * alone


def test_pure_noise_still_gives_laws():
    table = small_table(records=1)
    layout = MomentLayout(cardinalities=table.cardinalities, target_index=2, by_class=True)
    plan = AnchorPlan(
        noise_multiplier=1e4, sensitivity=anchor_sensitivity(4, diagonal_weight=1.0), diagonal_weight=1.0
    )
    for key in range(10):
        targets = moment_targets(noisy_moments(table, layout, plan, streams(key)), layout, plan)
        assert (targets.law > 0).all()
        assert (targets.ones >= 0).all()
        assert np.isfinite(targets.pairs).all()
