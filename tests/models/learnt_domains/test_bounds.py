"""Bounds and decimals of small tables, where noise hides much of a column."""

import numpy as np
import pytest

from models.learnt_domains.bounds import SURE, bound_cells, with_bounds
from tests.core.plan.learnt import domain_of
from tests.models.learnt_domains.test_learning import NUMBER, learn, number


@pytest.mark.parametrize(
    ("draw", "beyond"),
    [
        (lambda rng, rows: rng.lognormal(4, 1, rows), 0.09),
        (lambda rng, rows: rng.exponential(900, rows), 0.13),
        (lambda rng, rows: rng.normal(125, 20, rows), 0.06),
        (lambda rng, rows: rng.uniform(0, 100, rows), 0.12),
        (lambda rng, rows: -rng.lognormal(4, 1, rows), 0.09),
    ],
    ids=["lognormal", "exponential", "normal", "uniform", "negative"],
)
def test_bounds_of_a_small_table_keep_its_tails(draw, beyond):
    """At 3,000 rows a bound on every certain cell alone left out up to 30 % of the values; 80 noises."""
    rng, std, found = np.random.default_rng(4), 37.8, []
    for _ in range(80):
        column = number(domain_of({key: value for key, value in NUMBER.items() if key != "bins"}))
        edges = bound_cells(column)
        values = draw(rng, 3_000)
        noisy = np.histogram(values, edges)[0] + rng.normal(0, std, len(edges) - 1)
        bounded = with_bounds(column, edges, noisy, std)
        found.append(np.mean((values < bounded.lower) | (values > bounded.upper)))
    assert np.mean(found) < beyond


@pytest.mark.parametrize("lowest", [{}, {"lower": 0}])
def test_what_nothing_is_certain_of_is_bounded_by_the_likeliest_interval(lowest):
    """Within the bounds of the type every value would fall into one bin."""
    rng = np.random.default_rng(4)
    column = number(domain_of({**NUMBER, **lowest}))
    edges = bound_cells(column)
    values = rng.uniform(0, 100, 300)
    noisy = np.histogram(values, edges)[0] + rng.normal(0, 37.8, len(edges) - 1)
    assert not (noisy > SURE * 37.8).any()
    found = with_bounds(column, edges, noisy, 37.8)
    assert found.upper - found.lower < 2.0**50


def test_declared_bounds_stay_where_nothing_is_certain():
    column = number(domain_of({**NUMBER, "lower": 0, "upper": 1000}))
    edges = bound_cells(column)
    noisy = np.random.default_rng(4).normal(0, 37.8, len(edges) - 1)
    found = with_bounds(column, edges, noisy, 37.8)
    assert (found.lower, found.upper) == (0, 1000)


@pytest.mark.parametrize(("digits", "rows"), [(0, 1000), (0, 3000), (1, 2000), (2, 3000), (2, 20_000)])
def test_decimals_are_those_of_the_rows_in_small_tables_too(digits: int, rows: int):
    """Noise hid how many numbers have more, and whole numbers of 3,000 rows came back with five decimals."""
    rng, found = np.random.default_rng(7), []
    for key in range(10):
        values = np.round(rng.normal(120, 15, rows), digits)
        column = number(learn(domain_of(NUMBER), key=bytes([key] * 32), x=values))
        found.append(column.decimals)
    assert found.count(digits) >= 9


def test_numbers_of_many_decimals_are_not_rounded_where_noise_hides_how_many():
    values = np.random.default_rng(7).random(1500)
    found = {number(learn(domain_of(NUMBER), key=bytes([key] * 32), x=values)).decimals for key in range(10)}
    assert found <= {None, 4, 5}
