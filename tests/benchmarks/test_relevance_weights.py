"""Weights by relevance: the price of the public weights, and the noise of the formula."""

import math

import numpy as np
import pytest

from benchmarks.tables.relevance_weights import LEAST_ALPHA, POWERS, alphas, charged, weighted
from core.plan.stages import anchor_plan
from models.tables import anchor

GROUPS = (3, 40, 2, 5)
ALPHA = alphas(np.array([0.5, 2.0, 0.0, 1.0]))


def test_relevance_has_a_mean_of_one_and_a_floor():
    assert ALPHA.mean() == pytest.approx(1.0)
    assert ALPHA[2] == pytest.approx(LEAST_ALPHA, rel=0.1)
    assert ALPHA[1] == pytest.approx(2 * ALPHA[3])


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("arm", POWERS)
def test_weights_by_relevance_have_the_planned_sensitivity(arm, by_class):
    plan = anchor_plan(len(GROUPS), diagonal_weight=1.5, noise_multiplier=1.0)
    with weighted(ALPHA, 0, POWERS[arm]):
        columns = math.sqrt(math.fsum(anchor.column_weights(GROUPS, plan) ** 2))
        tables = anchor.MomentLayout(cardinalities=GROUPS, target_index=0, by_class=by_class).sensitivity
    assert columns <= plan.column_sensitivity
    assert columns == pytest.approx(plan.column_sensitivity, rel=1e-9)
    assert tables <= plan.table_sensitivity
    assert tables == pytest.approx(plan.table_sensitivity, rel=1e-9)


def test_the_noise_of_a_table_is_that_of_the_formula():
    with weighted(ALPHA, -1, POWERS["tables"]):
        weights = anchor.MomentLayout(cardinalities=GROUPS, target_index=None, by_class=False).weights
    roots = {
        pair: math.sqrt(math.prod(ALPHA[column] * GROUPS[column] for column in pair)) for pair in weights
    }
    whole = math.fsum(roots.values())
    for pair, weight in weights.items():
        assert weight**2 == pytest.approx(len(weights) * roots[pair] / whole)


def test_columns_that_the_noise_cannot_tell_apart_are_one_region():
    relevance = np.repeat([0.01, 0.5], 5)
    assert len(np.unique(charged(relevance, std=1e-3))) == 2
    assert len(np.unique(charged(relevance, std=10.0))) < 10
