"""Tables with few combinations of codes: all of them are counted instead of pairs, with the sensitivity of all pairs."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from core.artifacts.asking.estimates import Estimates
from core.plan.counting_rules import counts_combinations
from core.plan.stages import AnchorPlan, anchor_plan
from models.encoding import PrivateTable
from models.idpgan.mixture import Mixture
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import NullHost
from models.tables.anchor import (
    GRID,
    MomentLayout,
    cells_of_moments,
    exact_moments,
    moments_of_cells,
    noisy_columns,
    noisy_moments,
)
from models.tables.estimation.combinations import combination_targets, estimated_distribution
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.targets import Counted
from models.tables.measurement.counts import count_tables
from tests.core.plan.shapes import Shape, plan_of
from tests.models.coded_tables import streams, without_unit
from tests.models.idpgan.jobs import SMALL, Killed, StubbornHost, generator_bytes

CODES = (4, 3, 2)


def paid(columns: int = 3, *, multiplier: float = 1.0, most_records: int = 1) -> AnchorPlan:
    return anchor_plan(
        columns,
        diagonal_weight=1.5,
        noise_multiplier=multiplier,
        most_records=most_records,
        combinations=True,
    )


def table_of(codes: np.ndarray, cardinalities: tuple[int, ...]) -> PrivateTable:
    return PrivateTable(
        codes=codes.astype(np.int16),
        unit_of_record=np.arange(len(codes)),
        cardinalities=cardinalities,
        target_index=len(cardinalities) - 1,
    )


def drawn(records: int = 600, *, units: int | None = None, seed: int = 0) -> PrivateTable:
    """Three columns with a dependence that no pair shows."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, records), rng.integers(0, 3, records)
    table = table_of(np.column_stack([first, second, (first + second) % 2]), CODES)
    if units is None:
        return table
    _, owners = np.unique(np.sort(rng.integers(0, units, records)), return_inverse=True)
    return dataclasses.replace(table, unit_of_record=owners.astype(np.int64))


def parity(records: int, bits: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    fair = rng.integers(0, 2, (records, bits))
    return np.column_stack([fair, fair.sum(axis=1) % 2])


def layout(cardinalities: tuple[int, ...] = CODES) -> MomentLayout:
    return MomentLayout(
        cardinalities=cardinalities,
        target_index=len(cardinalities) - 1,
        by_class=False,
        combinations=True,
    )


def crossed(table: PrivateTable) -> np.ndarray:
    counts = np.zeros(table.cardinalities)
    np.add.at(counts, tuple(table.codes.T.astype(int)), 1)
    return counts


@pytest.mark.parametrize(
    ("cardinalities", "few"),
    [
        ((2, 2), False), ((4, 2, 2, 2), True), ((6, 2, 2), True), ((4, 4, 2), True), ((2,) * 6, True), ((2,) * 7, False),
        ((2, 5, 6, 2), False), ((50, 2, 2), False), ((1, 1, 1), True), ((20,) * 12, False),
    ],
)  # fmt: skip
def test_combinations_are_counted_where_pairs_lose_little(cardinalities, few):
    assert counts_combinations(cardinalities) == few
    plan = plan_of({}, shape=Shape(cardinalities=cardinalities, target_index=0))
    assert plan.anchor.combinations == few
    assert plan.from_json(plan.to_json()) == plan
    assert ("combinations" in plan.to_json()["anchor"]) == few, "other plans keep their bytes"
    assert (plan.options.pretraining_steps == 0) == few, "what is written down is not fitted"


def test_an_order_that_sets_a_screening_counts_pairs():
    shape = Shape(cardinalities=(2,) * 6, target_index=0)
    plan = plan_of({"anchor_screening_share": 0.1}, shape=shape)
    assert not plan.anchor.combinations
    assert plan.anchor.screening_sensitivity > 0


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), units=st.one_of(st.none(), st.integers(1, 40)))
def test_a_unit_moves_the_counts_by_at_most_what_was_paid(seed, units):
    table, plan = drawn(60, units=units, seed=seed), paid()
    unit = seed % table.units
    (weight,) = layout().weights.values()
    moments = [exact_moments(each, layout()).combinations for each in (table, without_unit(table, unit))]
    moved = weight * np.linalg.norm(moments[0] - moments[1])
    assert moved <= plan.table_sensitivity
    if (table.unit_of_record == unit).sum() == 1:
        assert moved == pytest.approx(plan.table_sensitivity, rel=1e-9), "one record uses all of it"


@pytest.mark.parametrize("most", [1, 2, 7])
def test_a_unit_with_a_bound_moves_them_by_as_many_records(most):
    table = dataclasses.replace(
        table_of(np.zeros((20 * most, 3)), CODES),
        unit_of_record=np.repeat(np.arange(20), most),
        record_bound=most,
    )
    plan, (weight,) = paid(most_records=most), layout().weights.values()
    moments = [exact_moments(each, layout()).combinations for each in (table, without_unit(table, 0))]
    assert weight * np.linalg.norm(moments[0] - moments[1]) == pytest.approx(plan.table_sensitivity, rel=1e-9)
    if most > 1:
        with pytest.raises(ValueError, match="sensitivity"):
            noisy_moments(table, layout(), paid(most_records=most - 1), streams())


def test_the_counts_are_exact_and_the_noise_has_the_planned_deviation_on_every_cell():
    """Sums of squares over the planned variance are chi-square; a false alarm in a million."""
    table, plan = drawn(), paid(multiplier=3.0)
    exact = exact_moments(table, layout()).combinations
    assert (exact == crossed(table)).all()
    std = plan.noise_std / math.sqrt(3)
    noise = np.array(
        [noisy_moments(table, layout(), plan, streams(key)).combinations - exact for key in range(300)]
    )
    assert (noise / GRID == np.rint(noise / GRID)).all()
    low, high = chi2.ppf([5e-7, 1 - 5e-7], noise.size)
    assert low <= np.square(noise / std).sum() <= high
    of_cells = np.square(noise / std).sum(axis=0)
    low, high = chi2.ppf([5e-7 / exact.size, 1 - 5e-7 / exact.size], len(noise))
    assert ((low <= of_cells) & (of_cells <= high)).all()
    assert len(np.unique(noise[0])) > 20, "every cell has a noise of its own"


def test_the_cells_of_a_member_are_read_as_they_were_written():
    noisy = noisy_moments(drawn(), layout(), paid(), streams())
    read = moments_of_cells(cells_of_moments(noisy, layout()), layout())
    assert (read.combinations == noisy.combinations).all()
    assert not read.pairs.any()


@pytest.mark.parametrize("bits", [2, 5])
def test_a_distribution_without_noise_is_the_distribution_of_the_rows(bits):
    codes = (2,) * (bits + 1)
    rng = np.random.default_rng(bits)
    truth = rng.dirichlet(np.ones(2 ** (bits + 1))).reshape(codes)
    ones = [
        truth.sum(tuple(axis for axis in range(bits + 1) if axis != column)) for column in range(bits + 1)
    ]
    distribution = estimated_distribution(truth, ones, variance=1e-14, possible=np.ones(codes, dtype=bool))
    assert np.abs(distribution - truth).max() < 2e-3


def test_of_noise_alone_nothing_is_kept():
    truth = np.full(CODES, 1 / 24)
    ones = [np.full(codes, 1 / codes) for codes in CODES]
    off = []
    for seed in range(20):
        noisy = truth + np.random.default_rng(seed).normal(0, 0.01, CODES)
        distribution = estimated_distribution(noisy, ones, variance=1e-4, possible=np.ones(CODES, dtype=bool))
        off.append(np.abs(distribution - truth).sum() / np.abs(noisy - truth).sum())
    assert np.mean(off) < 0.5


@pytest.mark.parametrize("codes", [(4, 2, 2, 2), (2,) * 6, (3, 1, 5), (6, 2, 2)])
def test_the_components_of_a_mixture_have_the_distribution_as_their_mean(codes):
    rng = np.random.default_rng(len(codes))
    distribution = rng.dirichlet(np.full(math.prod(codes), 0.3)).reshape(codes)
    distribution[(0,) * len(codes)] = 0.0
    distribution /= distribution.sum()
    mixture = Mixture(groups=[np.arange(one) for one in codes], target_index=0, components=1600)
    mixture.represent(distribution)
    made = distribution_of(mixture, codes)
    assert np.abs(made - distribution).sum() / 2 < 3e-3
    assert made[(0,) * len(codes)] < 1e-11, "what is not in the distribution is not drawn"


def released(table: PrivateTable, plan: AnchorPlan, key: int = 0) -> Counted:
    asked = layout(table.cardinalities)
    return Counted(
        columns=tuple(noisy_columns(table, plan, streams(key))),
        groups=tuple(np.arange(codes) for codes in table.cardinalities),
        moments=noisy_moments(table, asked, plan, streams(key)),
    )


def test_cells_that_rules_leave_empty_are_empty():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (900, 3))
    codes = codes[codes[:, 0] <= codes[:, 1]]
    table, plan = table_of(codes, (3, 3, 3)), paid(multiplier=0.05)
    empty = np.tril(np.ones((3, 3), dtype=bool), -1)
    targets = combination_targets(
        released(table, plan),
        layout((3, 3, 3)),
        plan,
        order=CodeOrder(ordered=(False,) * 3, alone=((),) * 3),
        forbidden={(0, 1): empty},
    )
    assert not targets.combinations[empty].any()
    assert not targets.pairs[0][:3, 3:6][empty].any()
    assert targets.combinations.sum() == pytest.approx(1)
    assert np.abs(targets.combinations - crossed(table) / len(codes)).sum() / 2 < 0.05


def test_the_bundle_holds_one_table_of_all_columns_and_answers_from_it():
    table, plan = drawn(4000), paid(multiplier=2.0)
    counts = count_tables(released(table, plan), layout(), plan, declared_size=4000)
    assert [one.columns for one in counts.tables] == [(0,), (1,), (2,), (0, 1, 2)]
    assert counts.tables[-1].noise_std == pytest.approx(plan.noise_std / math.sqrt(3))
    assert type(counts).from_bytes(counts.to_bytes()).to_bytes() == counts.to_bytes()
    estimates = Estimates(counts)
    for columns in [*itertools.combinations(range(3), 2), (0, 1, 2)]:
        truth = crossed(table).sum(tuple(axis for axis in range(3) if axis not in columns))
        std = math.sqrt(estimates.variance(columns, np.eye(1, truth.size).reshape(truth.shape)))
        assert np.abs(estimates.table(columns) - truth).max() < 5 * std


def trained(codes: np.ndarray, cardinalities: tuple[int, ...], epsilon: float, host=None, **options):
    table = table_of(codes, cardinalities)
    shape = Shape(cardinalities=cardinalities, target_index=table.target_index)
    plan = plan_of(options, shape=shape, declared_size=len(codes), epsilon=epsilon)
    return IdpganSynthesizer().fit(table, plan, streams(), host or NullHost())


def distribution_of(mixture: Mixture, cardinalities: tuple[int, ...]) -> np.ndarray:
    distributions = mixture.distributions().detach().numpy()
    parts = np.split(distributions, np.cumsum(cardinalities)[:-1], axis=1)
    distribution = parts[0]
    for part in parts[1:]:
        distribution = (distribution[:, :, None] * part[:, None, :]).reshape(len(distributions), -1)
    return distribution.mean(axis=0).reshape(cardinalities)


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_rows_keep_the_parity_of_five_columns(epsilon):
    codes = (2,) * 6
    distribution = distribution_of(trained(parity(5000, 5), codes, epsilon).network, codes)
    even = np.indices(codes).sum(axis=0) % 2 == 0
    assert distribution[even].sum() > 0.95
    assert distribution[even].min() > 0.5 / 32, "every combination is there"


@pytest.mark.parametrize(
    "options", [{}, {"critic": True, "steps": 6, "pretraining_steps": 4, **SMALL}], ids=["mixture", "critic"]
)
def test_a_job_that_was_killed_leaves_the_same_bytes(options):
    rows = parity(300, 2)
    undisturbed = StubbornHost()
    whole = generator_bytes(trained(rows, (2, 2, 2), 1.0, undisturbed, **options))
    for cut in range(0, undisturbed.saved, 4):
        dying = StubbornHost(kill_at=cut)
        with pytest.raises(Killed):
            trained(rows, (2, 2, 2), 1.0, dying, **options)
        again = StubbornHost(dying.state)
        assert generator_bytes(trained(rows, (2, 2, 2), 1.0, again, **options)) == whole
