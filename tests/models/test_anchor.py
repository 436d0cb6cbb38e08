import collections
import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from core.synthesis.stages import AnchorPlan, anchor_sensitivity
from models.anchor import (
    GRID,
    TARGET_WEIGHT,
    MomentLayout,
    Moments,
    exact_moments,
    moment_layout,
    noisy_moments,
)
from models.encoding import PrivateTable
from tests.models.tables import small_table, streams, without_unit


def layout_of(table: PrivateTable, *, by_class: bool) -> MomentLayout:
    return MomentLayout(cardinalities=table.cardinalities, target_index=table.target_index, by_class=by_class)


def weighted(moments: Moments, layout: MomentLayout, weight: float) -> np.ndarray:
    """The released numbers in units in which every one gets the same noise: upper triangle, diagonal, classes."""
    rows, columns = np.triu_indices(layout.cells, 1)
    return np.concatenate(
        [
            (moments.pairs * layout.cell_weights)[:, rows, columns].ravel(),
            moments.ones.ravel() * layout.diagonal_factor(weight),
            moments.classes * weight,
        ]
    )


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("columns", [1, 2, 5, 15])
@pytest.mark.parametrize("weight", [1.0, 1.5, 4.0])
def test_the_sensitivity_is_the_plans_formula_either_way(by_class, columns, weight):
    layout = MomentLayout(cardinalities=(3,) * columns, target_index=0, by_class=by_class)
    planned = anchor_sensitivity(columns, diagonal_weight=weight)
    assert layout.sensitivity(weight) <= planned
    assert layout.sensitivity(weight) == pytest.approx(planned, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    units=st.one_of(st.none(), st.integers(1, 40)),
    by_class=st.booleans(),
    weight=st.sampled_from([1.0, 1.5, 3.0]),
)
def test_a_unit_moves_the_statistic_by_at_most_the_sensitivity(seed, units, by_class, weight):
    table = small_table(records=60, units=units, seed=seed)
    layout = layout_of(table, by_class=by_class)
    whole = weighted(exact_moments(table, layout), layout, weight)
    unit = seed % table.units
    moved = np.linalg.norm(whole - weighted(exact_moments(without_unit(table, unit), layout), layout, weight))
    bound = anchor_sensitivity(4, diagonal_weight=weight)
    assert moved <= bound
    if (table.unit_of_record == unit).sum() == 1:
        assert moved == pytest.approx(bound, rel=1e-9), "one record uses all of the sensitivity"


def test_a_unit_of_equal_records_counts_like_one_record_up_to_the_grid():
    once = PrivateTable(
        codes=np.array([[1, 0]], dtype=np.int16), unit_of_record=np.zeros(1, dtype=np.int64),
        cardinalities=(2, 2), target_index=None,
    )  # fmt: skip
    thrice = PrivateTable(
        codes=np.repeat(once.codes, 3, axis=0), unit_of_record=np.zeros(3, dtype=np.int64),
        cardinalities=(2, 2), target_index=None,
    )  # fmt: skip
    layout = layout_of(once, by_class=False)
    one, three = exact_moments(once, layout), exact_moments(thrice, layout)
    assert (three.ones <= one.ones).all()
    assert np.abs(three.ones - one.ones).max() <= 3 * GRID


@pytest.mark.parametrize("by_class", [True, False])
def test_counts_are_those_of_a_plain_loop(by_class):
    table = small_table(records=50)
    layout = layout_of(table, by_class=by_class)
    exact = exact_moments(table, layout)
    for i, j in itertools.combinations(range(len(layout.features)), 2):
        for index in range(layout.slices):
            rows = table.codes if not by_class else table.codes[table.codes[:, 2] == index]
            counts = np.zeros((layout.feature_cardinalities[i], layout.feature_cardinalities[j]))
            for row in rows:
                counts[row[layout.features[i]], row[layout.features[j]]] += 1
            assert (exact.pairs[index, layout.blocks[i], layout.blocks[j]] == counts).all()
    assert exact.ones.sum() == 50 * len(layout.features)
    assert exact.classes.sum() == (50 if by_class else 0)


def test_the_statistic_does_not_depend_on_the_order_of_records():
    table = small_table(units=70)
    order = np.random.default_rng(1).permutation(len(table.codes))
    shuffled = PrivateTable(
        codes=table.codes[order], unit_of_record=table.unit_of_record[order],
        cardinalities=table.cardinalities, target_index=table.target_index,
    )  # fmt: skip
    layout = layout_of(table, by_class=True)
    one, other = exact_moments(table, layout), exact_moments(shuffled, layout)
    assert one.pairs.tobytes() == other.pairs.tobytes()
    assert one.ones.tobytes() == other.ones.tobytes()


def plan_of(columns: int, *, multiplier: float, weight: float = 1.5) -> AnchorPlan:
    return AnchorPlan(
        noise_multiplier=multiplier,
        sensitivity=anchor_sensitivity(columns, diagonal_weight=weight),
        diagonal_weight=weight,
    )


def test_the_noise_has_the_planned_deviation_on_every_kind_of_cell():
    """Sums of squares over the planned variance are chi-square: three two-sided tests, false alarms 1e-6 together.

    Of the class counts 1,800 are drawn: a variance that is 17 % too small or too large in deviation is 10 deviations off.
    """
    table = small_table()
    layout, plan = layout_of(table, by_class=True), plan_of(4, multiplier=3.0)
    exact = exact_moments(table, layout)
    upper = np.triu(np.ones((layout.cells, layout.cells)), 1).astype(bool)
    for block in layout.blocks:
        upper[block, block] = False
    drawn = collections.defaultdict(list)
    for key in range(-(-1800 // layout.slices)):
        noisy = noisy_moments(table, layout, plan, streams(key))
        drawn["pairs"].append((noisy.pairs - exact.pairs)[:, upper].ravel())
        drawn["ones"].append((noisy.ones - exact.ones).ravel())
        drawn["classes"].append(noisy.classes - exact.classes)
    for kind, weight in (("pairs", 1.0), ("ones", math.sqrt(1.5**2 + 1)), ("classes", 1.5)):
        noise = np.concatenate(drawn[kind]) * weight / plan.noise_std
        low, high = chi2.ppf([1e-6 / 6, 1 - 1e-6 / 6], noise.size)
        assert noise.size >= 1800
        assert low <= np.square(noise).sum() <= high, kind


def test_pairs_with_the_target_get_less_noise_and_the_others_as_much_more():
    """As above: two two-sided tests, false alarms 1e-6 together."""
    table = small_table()
    layout, plan = layout_of(table, by_class=False), plan_of(4, multiplier=3.0)
    exact = exact_moments(table, layout)
    with_target = np.zeros((layout.cells, layout.cells), dtype=bool)
    with_target[:, layout.blocks[2]] = with_target[layout.blocks[2]] = True
    upper = np.triu(np.ones((layout.cells, layout.cells)), 1).astype(bool)
    for block in layout.blocks:
        upper[block, block] = False
    squared = 4 / (2 * TARGET_WEIGHT + 2)
    assert (3 * TARGET_WEIGHT * squared + 3 * squared) / 6 == pytest.approx(1.0), (
        "squared weights average one"
    )
    for cells, weight in (
        (upper & with_target, math.sqrt(TARGET_WEIGHT * squared)),
        (upper & ~with_target, math.sqrt(squared)),
    ):
        noise = np.concatenate(
            [
                (noisy_moments(table, layout, plan, streams(key)).pairs - exact.pairs)[0][cells]
                for key in range(-(-1800 // int(cells.sum())))
            ]
        )
        low, high = chi2.ppf([1e-6 / 4, 1 - 1e-6 / 4], noise.size)
        assert low <= np.square(noise * weight / plan.noise_std).sum() <= high


def test_the_release_is_symmetric_on_the_grid_replayable_and_empty_inside_the_diagonal_blocks():
    table = small_table()
    layout, plan = layout_of(table, by_class=True), plan_of(4, multiplier=2.0)
    noisy = noisy_moments(table, layout, plan, streams())
    again = noisy_moments(table, layout, plan, streams())
    assert noisy.pairs.tobytes() == again.pairs.tobytes()
    assert (noisy.pairs == noisy.pairs.transpose(0, 2, 1)).all()
    for numbers in (noisy.pairs, noisy.ones, noisy.classes):
        assert (numbers / GRID == np.rint(numbers / GRID)).all()
    for block in layout.blocks:
        assert not noisy.pairs[:, block, block].any()


def test_an_empty_table_is_released_like_any_other():
    table = PrivateTable(
        codes=np.zeros((0, 2), dtype=np.int16), unit_of_record=np.zeros(0, dtype=np.int64),
        cardinalities=(2, 3), target_index=0,
    )  # fmt: skip
    noisy = noisy_moments(table, layout_of(table, by_class=True), plan_of(2, multiplier=1.0), streams())
    assert np.isfinite(noisy.pairs).all()
    assert noisy.classes.any()


def test_a_plan_with_too_small_a_sensitivity_is_refused():
    table = small_table()
    short = AnchorPlan(noise_multiplier=1.0, sensitivity=1.0, diagonal_weight=1.0)
    with pytest.raises(ValueError, match="sensitivity"):
        noisy_moments(table, layout_of(table, by_class=True), short, streams())


def bounded(bound: int, *, seed: int = 0) -> PrivateTable:
    """A table whose units have one to `bound` records, each of which counts fully."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(20), rng.integers(1, bound + 1, 20))
    owners[-bound:] = owners[-1]  # one has as many as it may
    _, owners = np.unique(owners, return_inverse=True)
    table = small_table(records=len(owners), seed=seed)
    return PrivateTable(
        codes=table.codes, unit_of_record=owners.astype(np.int64), cardinalities=table.cardinalities,
        target_index=table.target_index, record_bound=int(np.bincount(owners).max()),
    )  # fmt: skip


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("bound", [1, 2, 7])
def test_a_unit_of_a_bounded_table_moves_the_statistic_by_at_most_so_many_records(bound, by_class):
    table = bounded(bound)
    alike = PrivateTable(
        codes=np.repeat(table.codes[:1], len(table.codes), axis=0), unit_of_record=table.unit_of_record,
        cardinalities=table.cardinalities, target_index=table.target_index, record_bound=table.record_bound,
    )  # fmt: skip
    layout, most = layout_of(table, by_class=by_class), table.record_bound
    moved = []
    for each in (table, alike):
        whole = weighted(exact_moments(each, layout), layout, 1.5)
        for unit in range(each.units):
            rest = without_unit(each, unit)
            moved.append(np.linalg.norm(whole - weighted(exact_moments(rest, layout), layout, 1.5)))
    assert max(moved) <= most * anchor_sensitivity(4, diagonal_weight=1.5)
    assert max(moved) == pytest.approx(most * anchor_sensitivity(4, diagonal_weight=1.5), rel=1e-9)


def test_a_plan_that_paid_for_fewer_records_of_a_unit_is_refused():
    table = bounded(3)
    layout, own = layout_of(table, by_class=True), anchor_sensitivity(4, diagonal_weight=1.0)
    for paid, enough in ((2, False), (3, True)):
        plan = AnchorPlan(noise_multiplier=1.0, sensitivity=paid * own, diagonal_weight=1.0)
        with nullcontext() if enough else pytest.raises(ValueError, match="sensitivity"):
            noisy_moments(table, layout, plan, streams())


def test_the_layout_is_chosen_by_public_facts_alone():
    def by_class(**changed):
        facts = {
            "cardinalities": (3, 4, 2),
            "target_index": 2,
            "declared_size": 10_000,
            "noise_std": 50.0,
        } | changed
        cardinalities, target = facts.pop("cardinalities"), facts.pop("target_index")
        return moment_layout(cardinalities, target, **facts).by_class

    assert by_class()
    assert not by_class(target_index=None)
    assert not by_class(declared_size=1000), "too few units for a class's counts to show above the noise"
    assert not by_class(cardinalities=(3, 4, 17), declared_size=10**9), "too many classes"
