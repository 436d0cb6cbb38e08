import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.stages import AnchorPlan, anchor_plan
from models.encoding import PrivateTable
from models.simplex import project_to_simplex
from models.tables.anchor import MomentLayout, exact_columns, exact_moments, noisy_columns, noisy_moments
from models.tables.code_groups import Groups, group_codes, group_counts, sums_of_groups
from models.tables.estimation.column_distributions import column_stds, first_distributions
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.targets import Counted, moment_targets
from tests.models.coded_tables import grouped, small_table, streams

NUMBERS = st.lists(st.floats(-100, 100), min_size=1, max_size=20)
MERGED = (np.arange(3), np.array([0, 0, 1, 1]), np.arange(2), np.array([0, 1, 0, 1, 2]))
"""Groups of the columns of the small table, whose target is the third."""


def plan_of(multiplier: float) -> AnchorPlan:
    return anchor_plan(4, diagonal_weight=1.5, noise_multiplier=multiplier)


def alone(table: PrivateTable) -> tuple[Groups, ...]:
    return tuple(np.arange(codes) for codes in table.cardinalities)


def counted(
    table: PrivateTable, plan: AnchorPlan, *, by_class: bool, groups: tuple[Groups, ...], key: int = 0
) -> tuple[Counted, MomentLayout]:
    layout = MomentLayout(
        cardinalities=group_counts(groups), target_index=table.target_index, by_class=by_class
    )
    columns = noisy_columns(table, plan, streams(key))
    moments = noisy_moments(grouped(table, groups), layout, plan, streams(key))
    return Counted(columns=tuple(columns), groups=groups, moments=moments), layout


@given(values=NUMBERS, total=st.floats(0.01, 50))
def test_the_projection_is_a_distribution_and_no_other_distribution_tried_is_nearer(values, total):
    given_values = np.array(values)
    found = project_to_simplex(given_values, total=total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-6, abs=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = rng.dirichlet(np.ones(len(values))) * total
        assert np.linalg.norm(found - given_values) <= np.linalg.norm(other - given_values) + 1e-9


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("merged", [True, False])
def test_targets_are_shares_that_come_near_the_truth_as_the_noise_goes(by_class, merged):
    table, plan = small_table(records=5000), plan_of(1e-3)
    groups = MERGED if merged else alone(table)
    released, layout = counted(table, plan, by_class=by_class, groups=groups)
    targets = moment_targets(released, layout, plan)
    exact = exact_moments(grouped(table, groups), layout)
    if by_class:
        assert np.abs(targets.ones - exact.ones / 5000).max() < 1e-5
    assert np.abs(targets.pairs - exact.pairs / 5000).max() < 1e-4
    assert targets.distribution.sum() == pytest.approx(1.0)
    for distribution, counts in zip(targets.columns, exact_columns(table), strict=True):
        assert np.abs(distribution - counts / 5000).max() < 1e-5


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("merged", [True, False])
def test_combining_estimates_beats_the_first_round_alone(by_class, merged):
    """Thirty releases with fixed keys; both estimates are of the same ones."""
    table, plan = small_table(records=2000), plan_of(4.0)
    truth = [counts / 2000 for counts in exact_columns(table)]
    first, combined = 0.0, 0.0
    for key in range(30):
        released, layout = counted(
            table, plan, by_class=by_class, groups=MERGED if merged else alone(table), key=key
        )
        targets = moment_targets(released, layout, plan)
        for column, distribution in enumerate(truth):
            raw = project_to_simplex(released.columns[column] / 2000, total=1.0)
            first += float(np.square(raw - distribution).sum())
            combined += float(np.square(targets.columns[column] - distribution).sum())
    assert combined < 0.9 * first


def test_a_column_of_many_rare_codes_keeps_its_shape_where_sums_over_groups_are_corrected():
    """Two hundred codes hold nearly all records, a thousand the rest; the groups follow the noisy counts of the first round."""
    rng, rows, codes = np.random.default_rng(2), 6000, 1200
    distribution = np.where(np.arange(codes) < 200, 1.0, 0.02)
    wide = rng.choice(codes, rows, p=distribution / distribution.sum())
    table = PrivateTable(
        codes=np.column_stack([wide, rng.integers(0, 3, (rows, 3))]).astype(np.int16),
        unit_of_record=np.arange(rows),
        cardinalities=(codes, 3, 3, 3),
        target_index=None,
        ordered=(False,) * 4,
    )
    plan, order = plan_of(8.0), CodeOrder(ordered=(False,) * 4, alone=((),) * 4)
    columns = noisy_columns(table, plan, streams(0))
    [first, *others] = first_distributions(columns, column_stds(columns, plan, most_records=1), order)
    groups = tuple(group_codes(of_column, most=4, ordered=False) for of_column in (first, *others))
    layout = MomentLayout(cardinalities=group_counts(groups), target_index=None, by_class=False)
    moments = noisy_moments(table, layout, plan, streams(0), groups=groups)
    released = Counted(columns=tuple(columns), groups=groups, moments=moments)
    made = moment_targets(released, layout, plan, order=order).columns[0]
    truth = np.bincount(wide, minlength=codes) / rows
    of_groups = [np.abs(sums_of_groups(each - truth, groups[0])).sum() for each in (made, first)]
    assert of_groups[0] < 0.3 * of_groups[1], "sums over groups are corrected"
    assert np.abs(made - truth).sum() < 0.95 * np.abs(first - truth).sum()


@pytest.mark.parametrize("by_class", [True, False])
def test_pure_noise_gives_distributions(by_class):
    table, plan = small_table(records=1), plan_of(1e4)
    for key in range(10):
        released, layout = counted(table, plan, by_class=by_class, groups=alone(table), key=key)
        targets = moment_targets(released, layout, plan)
        assert (targets.distribution > 0).all()
        assert (targets.ones >= 0).all()
        assert (targets.pairs >= 0).all()
        assert np.isfinite(targets.pairs).all()


def independent(
    records: int, cardinalities: tuple[int, ...] = (3, 4, 2, 5), first: float = 0.5
) -> PrivateTable:
    """Columns that have nothing to do with each other; the target's first class has this share."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, size, records) for size in cardinalities]
    codes[2] = (rng.random(records) >= first).astype(np.int64)
    return PrivateTable(
        codes=np.column_stack(codes).astype(np.int16),
        unit_of_record=np.arange(records),
        cardinalities=cardinalities,
        target_index=2,
    )


@pytest.mark.parametrize("first", [0.5, 0.76, 0.9])
def test_little_noise_is_taken_for_dependence_however_uneven_the_classes_are(first):
    """Of the energy of the noise beyond the product of the columns, fixed keys leave two hundredths."""
    table, plan = independent(20_000, (12, 12, 2, 12), first), plan_of(20.0)
    left = noise = 0.0
    for key in range(20):
        released, layout = counted(table, plan, by_class=True, groups=alone(table), key=key)
        targets = moment_targets(released, layout, plan)
        for i, block in enumerate(layout.blocks):
            for other in layout.blocks[:i]:
                product = targets.ones[:, block, None] * targets.ones[:, None, other]
                made = targets.pairs[:, block, other] - product / targets.distribution[:, None, None]
                left += float((made**2).sum())
                noise += 2 * 11 * 11 * targets.pair_std[block.start, other.start] ** 2
    assert left < 0.1 * noise


@pytest.mark.parametrize("by_class", [True, False])
def test_shrinkage_takes_the_noise_off_independent_columns(by_class):
    """The noise that noisy pairs have beyond the product of their columns goes: over twenty releases, most of it."""
    table, plan = independent(2000), plan_of(6.0)
    before = after = 0.0
    for key in range(20):
        released, layout = counted(table, plan, by_class=by_class, groups=alone(table), key=key)
        truth = exact_moments(table, layout).pairs / 2000
        before += float(np.square(released.moments.pairs / 2000 - truth).sum())
        after += float(np.square(moment_targets(released, layout, plan).pairs - truth).sum())
    assert after < 0.5 * before


@pytest.mark.parametrize("by_class", [True, False])
def test_shrinkage_keeps_strong_dependence(by_class):
    """The second column follows from the first up to a coin: its table stays as far from the product as it is."""
    table, plan = small_table(records=4000), plan_of(2.0)
    released, layout = counted(table, plan, by_class=by_class, groups=alone(table))
    targets, truth = moment_targets(released, layout, plan), exact_moments(table, layout).pairs / 4000
    first, second = layout.blocks[:2]
    product = (
        targets.ones[:, first, None] * targets.ones[:, None, second] / targets.distribution[:, None, None]
    )
    real = np.linalg.norm(truth[:, first, second] - product)
    assert np.linalg.norm(targets.pairs[:, first, second] - truth[:, first, second]) < 0.15 * real
