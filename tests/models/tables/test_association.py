"""Pairs of ordered columns: one odds ratio, and what it saves where noise hides the cells."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from core.plan.stages import anchor_plan
from models.encoding import PrivateTable
from models.tables.anchor import MomentLayout, exact_moments, noisy_columns, noisy_moments
from models.tables.estimation.association import distributions_of_one_ratio, nearest
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.targets import Counted, moment_targets
from tests.models.coded_tables import streams

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
RECORDS, CODES = 4000, 12
EVERY = np.arange(CODES)


def independent_distribution() -> Floats:
    """Two slices of two uneven columns."""
    rng = np.random.default_rng(0)
    rows, columns = rng.dirichlet(np.ones(CODES), 2), rng.dirichlet(np.ones(CODES), 2)
    return np.array([0.3, 0.7])[:, None, None] * rows[:, :, None] * columns[:, None, :]


def test_every_distribution_has_the_margins_and_one_odds_ratio_at_all_cuts():
    product = independent_distribution()
    found = []
    for distribution in distributions_of_one_ratio(product, EVERY, EVERY):
        assert distribution.sum(axis=1) == pytest.approx(product.sum(axis=1), abs=1e-12)
        assert distribution.sum(axis=2) == pytest.approx(product.sum(axis=2), abs=1e-12)
        ratios = []
        for table in distribution / distribution.sum(axis=(1, 2), keepdims=True):
            for cut, across in ((3, 5), (6, 6), (8, 4)):
                low, high = table[:cut], table[cut:]
                ratios.append(
                    low[:, :across].sum() * high[:, across:].sum()
                    / (low[:, across:].sum() * high[:, :across].sum())
                )  # fmt: skip
        assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-3)
        found.append(ratios[0])
    assert found == sorted(found)
    assert found[len(found) // 2] == pytest.approx(1.0)
    assert found[0] < 1e-4
    assert found[-1] > 1e4


def test_groups_without_a_place_in_the_order_stay_independent():
    product = independent_distribution()
    distribution = list(distributions_of_one_ratio(product, EVERY[1:], EVERY[:-2]))[-1]
    assert distribution[:, 0] == pytest.approx(product[:, 0])
    assert distribution[:, :, -2:] == pytest.approx(product[:, :, -2:])
    assert not np.allclose(distribution[:, 1:, :-2], product[:, 1:, :-2], rtol=0.1)
    assert distribution.sum(axis=1) == pytest.approx(product.sum(axis=1), abs=1e-9)


def test_two_groups_have_nothing_smooth():
    assert not list(distributions_of_one_ratio(independent_distribution(), EVERY[:2], EVERY))


def test_of_noise_alone_a_distribution_is_seldom_nearer_than_independence():
    """One number is fitted, so by theory it gains four variances of the noise once in twenty-two tables."""
    product, rng, taken = independent_distribution()[:1] / 0.3, np.random.default_rng(0), 0
    distributions = list(distributions_of_one_ratio(product, EVERY, EVERY))
    for _ in range(200):
        noise = rng.normal(0.0, 2e-3, product.shape)
        noise -= noise.mean(axis=1, keepdims=True)
        noise -= noise.mean(axis=2, keepdims=True)
        found = nearest(distributions, product, noise)
        taken += found is not None and found.gain > 4 * 4e-6
    assert taken <= 20, "more is a chance of one in 2000"


def error(
    second_of: Callable[[Floats, np.random.Generator], Floats],
    *,
    ordered: bool,
    multiplier: float,
    classes: int = 1,
    missing: float = 0.0,
    at_most: bool = False,
) -> float:
    """Total variation of the targets of two columns from the rows, the mean of five releases.

    Args:
        second_of: the second column, from the ranks of the first, between 0 and 1.
        missing: share of records whose second value is missing: its last code, which has no place in the order.
        at_most: whether the first is declared to be at most the second.
    """
    rng = np.random.default_rng(1)
    ranks = rng.random(RECORDS)
    first = (ranks * CODES).astype(int)
    second = np.clip((second_of(ranks, rng) * CODES).astype(int), 0, CODES - 1)
    if missing:
        second = np.where(rng.random(RECORDS) < missing, CODES, second)
    label = (rng.random(RECORDS) < 0.3 + 0.4 * ranks).astype(int) if classes > 1 else np.zeros(RECORDS, int)
    others = rng.integers(0, 3, (2, RECORDS))
    sizes = (CODES, CODES + bool(missing), 3, 3, classes)
    columns = [first, second, *others, label][: 4 + (classes > 1)]
    table = PrivateTable(
        codes=np.column_stack(columns).astype(np.int16),
        unit_of_record=np.arange(RECORDS),
        cardinalities=sizes[: len(columns)],
        target_index=4 if classes > 1 else None,
    )
    order = CodeOrder(
        ordered=(True, True, False, False, False)[: len(columns)],
        alone=((), (CODES,) if missing else (), (), (), ())[: len(columns)],
    )
    forbidden = {(0, 1): EVERY[:, None] > EVERY[None]} if at_most else {}
    plan = anchor_plan(len(columns), diagonal_weight=2.0, noise_multiplier=multiplier)
    layout = MomentLayout(
        cardinalities=table.cardinalities, target_index=table.target_index, by_class=classes > 1
    )
    first_block, second_block = layout.blocks[:2]
    truth = exact_moments(table, layout).pairs[:, first_block, second_block] / RECORDS
    found = []
    for key in range(5):
        counted = Counted(
            columns=tuple(noisy_columns(table, plan, streams(key))),
            groups=tuple(np.arange(codes) for codes in table.cardinalities),
            moments=noisy_moments(table, layout, plan, streams(key)),
        )
        targets = moment_targets(counted, layout, plan, order=order if ordered else None, forbidden=forbidden)
        found.append(float(np.abs(targets.pairs[:, first_block, second_block] - truth).sum()) / 2)
    return float(np.mean(found))


def near(ranks: Floats, rng: np.random.Generator) -> Floats:
    return ranks + rng.normal(0.0, 0.08, RECORDS)


def opposite(ranks: Floats, rng: np.random.Generator) -> Floats:
    return 1.0 - ranks + rng.normal(0.0, 0.15, RECORDS)


def bent(ranks: Floats, rng: np.random.Generator) -> Floats:
    return 4.0 * (ranks - 0.5) ** 2 + rng.normal(0.0, 0.05, RECORDS)


def unrelated(_ranks: Floats, rng: np.random.Generator) -> Floats:
    return rng.random(RECORDS)


@pytest.mark.parametrize(
    ("second_of", "settings"),
    [
        (near, {"multiplier": 10.0}),
        (opposite, {"multiplier": 10.0}),
        (near, {"multiplier": 10.0, "classes": 2}),
        (near, {"multiplier": 10.0, "missing": 0.2}),
        (lambda ranks, rng: ranks + rng.exponential(0.05, RECORDS), {"multiplier": 10.0, "at_most": True}),
    ],
    ids=["near", "opposite", "within classes", "with missing values", "one at most the other"],
)
def test_columns_that_rise_or_fall_together_are_nearer_by_their_order(second_of, settings):
    with_order, without = (error(second_of, ordered=ordered, **settings) for ordered in (True, False))
    assert with_order < 0.75 * without


@pytest.mark.parametrize("second_of", [bent, unrelated])
@pytest.mark.parametrize("multiplier", [0.1, 10.0])
def test_what_one_number_cannot_say_is_no_further_off(second_of, multiplier):
    with_order, without = (
        error(second_of, ordered=ordered, multiplier=multiplier) for ordered in (True, False)
    )
    assert with_order <= 1.05 * without
