"""What a quote expects of counts: from public facts alone, more with noise, less with records, and the noise as it is."""

import itertools
import json
import math
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.plan.expected_error import ExpectedError, Measured, expected_error
from core.plan.stages import anchor_plan
from core.plan.training_quote import make_quote
from tests.core.plan import test_image_plans
from tests.core.plan.shapes import Shape, plan_of

WAYS = ("one_way", "two_way", "three_way")
MIXED = (2, 40, 5, 7, 32, 3, 12)


def expected(
    cardinalities: tuple[int, ...] = MIXED,
    target: int | None = 0,
    *,
    size: int = 20_000,
    noise: float = 5.0,
    weight: float = 2.0,
) -> ExpectedError:
    anchor = anchor_plan(len(cardinalities), diagonal_weight=weight, noise_multiplier=noise)
    ordered = (True,) * len(cardinalities)
    return expected_error(
        anchor, cardinalities=cardinalities, ordered=ordered, target_index=target, declared_size=size
    )


def test_the_quote_of_a_table_says_how_far_off_counts_will_be():
    shape = Shape()
    quote = make_quote(plan_of({}, shape=shape), None, [], domain=shape)

    error = quote.expected_error
    assert 0 < error.one_way < error.two_way < error.three_way < 1
    assert error.if_independent.two_way < error.two_way
    # The target of 20 classes has too many for counts by class, and no column has more codes than groups are wanted. Beside the 11 pairs
    # with the target a screening typically chooses three of ten.
    assert error.measured == Measured(
        columns=12, tables=11 + 16, screened=True, by_class=False, combinations=False, most_groups=20
    )


def test_of_a_small_table_pairs_with_the_target_are_measured_alone():
    shape = Shape(cardinalities=(4,) * 20, target_index=19)
    quote = make_quote(plan_of({}, shape=shape, declared_size=500), None, [], domain=shape)
    error = quote.expected_error
    assert error.measured == Measured(
        columns=20,
        tables=19,
        screened=False,
        by_class=False,
        combinations=False,
        most_groups=error.measured.most_groups,
    )
    assert 0 < error.one_way < error.two_way < error.three_way < 1
    without = Shape(cardinalities=(4,) * 20, target_index=None)
    every = make_quote(plan_of({}, shape=without, declared_size=500), None, [], domain=without)
    assert every.expected_error.measured.tables == 190
    assert error.released_counts.two_way < every.expected_error.released_counts.two_way


@pytest.mark.parametrize("cardinalities", [(4, 2, 2, 2), (6, 2, 2), (2,) * 6])
def test_of_few_combinations_pairs_have_the_noise_of_their_sums(cardinalities):
    shape = Shape(cardinalities=cardinalities, target_index=1)
    plan = plan_of({}, shape=shape)
    error = make_quote(plan, None, [], domain=shape).expected_error
    assert error.measured == Measured(
        columns=len(cardinalities),
        tables=1,
        screened=False,
        by_class=False,
        combinations=True,
        most_groups=max(cardinalities),
    )
    assert 0 < error.one_way < error.two_way < error.three_way < 1
    pairs = list(itertools.combinations(cardinalities, 2))
    std = plan.anchor.noise_std / math.sqrt(len(pairs)) / plan.declared_size
    sums = [math.sqrt(math.prod(cardinalities) / (a * b)) * a * b for a, b in pairs]
    mean = math.sqrt(2 / math.pi) / 2 * std * sum(sums) / len(pairs)
    assert error.released_counts.two_way == pytest.approx(mean, rel=5e-3)


def test_the_same_facts_give_the_same_bytes():
    shape = Shape(cardinalities=MIXED, target_index=0)
    documents = {
        json.dumps(make_quote(plan_of({}, shape=shape), None, [], domain=shape).expected_error.to_json())
        for _ in range(2)
    }
    assert len(documents) == 1


@pytest.mark.parametrize(
    ("plan", "shape", "why"),
    [
        (plan_of({"anchor": False}), Shape(), "no-anchor"),
        (test_image_plans.plan_of({"critic": False}), test_image_plans.DIGITS, "images"),
    ],
    ids=["critic alone", "images"],
)
def test_where_no_table_is_counted_the_quote_says_why_nothing_is_expected(plan, shape, why):
    quote = make_quote(plan, None, [], domain=shape)
    assert quote.expected_error is None
    assert quote.expected_error_missing == why


NEXT_TO_NOTHING = 0.002
"""Share of rows in a wrong cell."""


@settings(max_examples=40, deadline=None)
@example(cardinalities=(1, 1, 2), target=False, size=8193, noise=1.0)
@given(
    cardinalities=st.lists(st.integers(1, 200), min_size=3, max_size=9).map(tuple),
    target=st.booleans(),
    size=st.integers(50, 10**6),
    noise=st.floats(0.5, 50.0),
)
def test_more_noise_is_more_error_and_more_records_are_less(
    cardinalities: tuple[int, ...], target: bool, size: int, noise: float
) -> None:
    """Groups and classes move in steps, so a little noise more may cost nothing; sixteen times as much always does.

    Long tables spend less on single columns, whose error is then next to nothing, and more on pairs.
    """
    place = 0 if target else None
    middle = expected(cardinalities, place, size=size, noise=noise)
    noisier = expected(cardinalities, place, size=size, noise=16 * noise)
    longer = expected(cardinalities, place, size=16 * size, noise=noise)
    for found in (middle, noisier, longer):
        for way in WAYS:
            assert 0 <= getattr(found.if_independent, way) <= getattr(found, way) <= 1
    if max(cardinalities) > 1:
        assert middle.one_way <= noisier.one_way
        moved = longer.one_way < NEXT_TO_NOTHING and longer.two_way < middle.two_way
        assert longer.one_way < middle.one_way or moved
    for way in ("two_way", "three_way"):
        error = getattr(middle.if_independent, way)
        assert getattr(longer.if_independent, way) <= error <= getattr(noisier.if_independent, way)
    assert longer.released_counts.one_way <= middle.released_counts.one_way <= noisier.released_counts.one_way


def test_every_epsilon_more_expects_less_of_a_typical_table():
    shape = Shape(cardinalities=MIXED, target_index=0)
    found = [
        make_quote(plan_of({}, epsilon=epsilon, declared_size=5000, shape=shape), None, [], domain=shape)
        for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)
    ]
    for way in WAYS:
        errors = [getattr(quote.expected_error, way) for quote in found]
        assert all(more > less for more, less in itertools.pairwise(errors)), way


def test_a_bound_on_records_costs_its_noise():
    one = anchor_plan(7, diagonal_weight=2.0, noise_multiplier=5.0)
    eight = anchor_plan(7, diagonal_weight=2.0, noise_multiplier=5.0, most_records=8)
    facts = {
        "cardinalities": MIXED,
        "ordered": (True,) * len(MIXED),
        "target_index": None,
        "declared_size": 20_000,
    }
    bounded = expected_error(eight, **facts, most_records=8)
    assert bounded.released_counts.one_way == pytest.approx(
        8 * expected_error(one, **facts).released_counts.one_way, rel=0.01
    )
    assert bounded.two_way > expected_error(one, **facts).two_way


def test_a_table_of_few_columns_has_no_pairs_or_no_triples():
    alone, two = expected((9,), None), expected((9, 4), 1)
    assert (alone.two_way, alone.three_way, alone.released_counts.two_way) == (None, None, None)
    assert two.two_way is not None
    assert two.three_way is None


def test_a_wide_table_is_reported_before_it_is_counted():
    """500 columns of 50,000 codes; the bar of a quote is two seconds."""
    began = time.process_time()
    found = expected((100,) * 499 + (2,), 499, size=100_000, noise=3.0)
    assert time.process_time() - began < 2.0
    assert found.measured.columns == 500
    assert found.measured.most_groups < 5
    assert 0 < found.two_way < 1


def test_groups_that_hide_dependence_are_no_gain():
    """A wide table has few groups and little noise in them, and is not expected to be better for it than a narrow one."""
    narrow, wide = expected((64,) * 10, None, size=10**7), expected((64,) * 700, None, size=10**7)
    assert wide.measured.most_groups < narrow.measured.most_groups
    assert wide.two_way > narrow.two_way
