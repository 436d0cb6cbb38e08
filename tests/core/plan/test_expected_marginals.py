"""Expected errors of graphical models, which choose under noise what they measure."""

import math
import time

import numpy as np
import pytest

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.expected_error import ExpectedError, Measured, projected_error
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import make_quote
from models.simplex import project_to_simplex
from tests.core.plan.shapes import Shape

ENGINES = pytest.mark.parametrize("engine", ["aim", "mst"])


def planned(engine: str, shape: Shape, *, epsilon: float = 1.0, size: int = 5000) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer=engine, options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=size,
        domain=shape,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def expected(engine: str, shape: Shape, *, epsilon: float = 1.0, size: int = 5000) -> ExpectedError:
    quote = make_quote(planned(engine, shape, epsilon=epsilon, size=size), None, [], domain=shape)
    assert quote.expected_error_missing is None
    assert quote.expected_error is not None
    return quote.expected_error


@pytest.mark.parametrize(("engine", "tables"), [("mst", 11), ("aim", 24)])
def test_the_quote_of_a_graphical_model_says_how_far_off_counts_will_be(engine, tables):
    found = expected(engine, Shape())
    assert 0 < found.one_way < found.two_way < found.three_way < 1
    assert found.if_independent.two_way < found.two_way
    assert found.measured == Measured(
        columns=12, tables=tables, screened=False, by_class=False, combinations=False, most_groups=20, adaptive=True
    )  # fmt: skip
    assert found.measured.to_json()["adaptive"] is True


@ENGINES
def test_less_noise_and_more_rows_are_less_error(engine):
    shape = Shape(cardinalities=(3, 4, 2, 9, 30), target_index=2)
    errors = [expected(engine, shape, epsilon=epsilon).two_way for epsilon in (0.1, 0.5, 1.0, 4.0)]
    assert errors == sorted(errors, reverse=True)
    errors = [expected(engine, shape, size=size).two_way for size in (200, 2000, 20_000, 10**6)]
    assert errors == sorted(errors, reverse=True)


@ENGINES
@pytest.mark.parametrize("cardinalities", [(4,), (1, 1, 1), (5, 1, 2), (400, 300, 2)])
def test_domains_with_little_or_nothing_to_choose_have_an_expectation(engine, cardinalities):
    shape = Shape(cardinalities=cardinalities, target_index=None)
    found = expected(engine, shape)
    assert 0 <= found.one_way < 1
    assert (found.two_way is None) == (len(cardinalities) == 1)
    assert (found.released_counts.two_way is None) == (found.measured.tables == 0)


def test_many_columns_are_expected_in_moments():
    shape = Shape(cardinalities=tuple(2 + place % 90 for place in range(500)), target_index=0)
    plan = planned("mst", shape, size=100_000)
    began = time.process_time()
    assert make_quote(plan, None, [], domain=shape).expected_error is not None
    assert time.process_time() - began < 5


def test_the_error_of_projected_shares_is_that_of_simulated_noise():
    shares, numbers, std = np.array([0.4, 0.1, 0.01]), np.array([1.0, 4.0, 20.0]), 0.02
    distribution = np.repeat(shares, numbers.astype(int))
    rng = np.random.default_rng(3)
    noisy = distribution + rng.normal(0, std, (400, len(distribution)))
    off = np.mean([np.abs(project_to_simplex(one, total=1.0) - distribution).sum() / 2 for one in noisy])
    left = std * math.sqrt(1 - 1 / len(distribution))
    assert projected_error(shares, numbers, left) == pytest.approx(off, rel=0.03)
