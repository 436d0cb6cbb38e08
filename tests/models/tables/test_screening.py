"""The screening of pairs: what one unit moves, what noise it gets, what is chosen."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from core.artifacts.execution import Executed
from core.plan.counting_rules import SIGNAL_OF_ALL_PAIRS, counts_target_alone
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan, anchor_plan
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.release_recorder import CertificateRecorder
from models.tables import screening
from models.tables.anchor import FIRST_ROUND, GRID, SCREENING, SECOND_ROUND
from models.tables.code_groups import group_counts
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import Measurement, measure
from models.tables.measurement.second_round import layout_of
from models.tables.screening import (
    exact_distances,
    noisy_distances,
    pairs_of_columns,
    screening_groups,
    screening_std,
    shares_from_independence,
)
from tests.core.plan import shapes
from tests.core.plan.shapes import Shape
from tests.models.coded_tables import without_unit
from tests.privacy.seam import Recorder, distance, paid_distances

KEY = bytes(range(32))
COLUMNS = 7
ROWS = 4000


def table_of(
    rows: int = ROWS, *, units: int | None = None, bound: int | None = None, seed: int = 1
) -> PrivateTable:
    """Seven columns: 0 and 1 always agree, 2 and 3 often, the others are independent; 6 is the target."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (rows, COLUMNS))
    codes[:, 1] = codes[:, 0]
    same = rng.random(rows) < 0.6
    codes[same, 3] = codes[same, 2]
    codes[:, 6] = rng.integers(0, 3, rows)
    owner = np.arange(rows) if units is None else np.sort(rng.integers(0, units, rows))
    return PrivateTable(
        codes=codes.astype(np.int16),
        unit_of_record=np.unique(owner, return_inverse=True)[1].astype(np.int64),
        cardinalities=(6, 6, 6, 6, 6, 6, 3),
        target_index=6,
        ordered=(False,) * COLUMNS,
        record_bound=bound,
    )


def plan_of(table: PrivateTable, *, epsilon: float = 0.7, declared: int = ROWS, **options: float) -> Plan:
    """By the public rules, without a critic."""
    shape = Shape(cardinalities=table.cardinalities, target_index=table.target_index)
    return shapes.plan_of(dict(options), epsilon=epsilon, declared_size=declared, shape=shape)


def even_distributions(table: PrivateTable) -> list[np.ndarray]:
    return [np.full(codes, 1.0 / codes) for codes in table.cardinalities]


def codes_themselves(table: PrivateTable) -> tuple[np.ndarray, ...]:
    return tuple(np.arange(codes) for codes in table.cardinalities)


@pytest.mark.parametrize(
    ("units", "bound", "most"),
    [(None, None, 1), (12, None, 1), (40, 3, 3)],
    ids=["rows", "averages", "three records"],
)
def test_a_unit_moves_every_distance_by_at_most_its_records(units, bound, most):
    table = table_of(60, units=units)
    if bound is not None:
        kept = np.array(
            [
                np.sum(table.unit_of_record[:row] == owner) < bound
                for row, owner in enumerate(table.unit_of_record)
            ]
        )
        table = dataclasses.replace(
            table, codes=table.codes[kept], unit_of_record=table.unit_of_record[kept], record_bound=bound
        )
    distributions, groups = even_distributions(table), codes_themselves(table)
    whole = exact_distances(table, distributions, groups, size=60.0)
    moved = [
        np.abs(whole - exact_distances(without_unit(table, unit), distributions, groups, size=60.0))
        for unit in range(table.units)
    ]
    assert max(each.max() for each in moved) <= most
    bound_of_plan = anchor_plan(
        COLUMNS, diagonal_weight=1.0, noise_multiplier=1.0, most_records=most, screening_share=0.05
    )
    std = screening_std(bound_of_plan, len(whole), most_records=most)
    paid = bound_of_plan.screening_sensitivity / bound_of_plan.noise_std
    assert max(np.linalg.norm(each) for each in moved) / std <= paid
    assert most * math.sqrt(len(whole)) / std == pytest.approx(paid, rel=1e-9)


@pytest.mark.parametrize("size", [2.0**43, 2.0**70, 1e300], ids=["integers", "floats", "beyond"])
def test_a_record_moves_every_distance_by_at_most_one_whatever_is_expected(size):
    """Other members of a federation have a part in what is expected, and may hand in any counts."""
    table = table_of(30)
    distributions, groups = even_distributions(table), codes_themselves(table)
    distributions[0] = np.eye(6)[table.codes[29, 0]]
    distributions[1] = np.eye(6)[table.codes[29, 1]]
    table.codes[:29, 0] = (table.codes[29, 0] + 1) % 6
    distances = [
        exact_distances(each, distributions, groups, size=size) for each in (table, without_unit(table, 29))
    ]
    assert np.abs(np.subtract(*distances)).max() <= 1.0
    assert min(each.min() for each in distances) >= 0.0


def test_distances_are_sums_of_absolute_differences_on_the_grid():
    table = table_of(500)
    distributions, groups = even_distributions(table), codes_themselves(table)
    found = exact_distances(table, distributions, groups, size=480.0)
    for (first, second), value in zip(pairs_of_columns(COLUMNS), found, strict=True):
        counts = np.zeros((table.cardinalities[first], table.cardinalities[second]))
        np.add.at(counts, (table.codes[:, first], table.codes[:, second]), 1.0)
        expected = 480.0 / counts.size
        assert value == pytest.approx(np.abs(counts - expected).sum(), abs=counts.size * GRID)
        assert value / GRID == round(value / GRID)


def test_columns_of_very_many_codes_are_compared_in_groups():
    rng, rows = np.random.default_rng(3), 20_000
    wide = rng.integers(0, 40_000, rows)
    table = PrivateTable(
        codes=np.column_stack([wide, wide // 4000, rng.integers(0, 50_000, rows)]).astype(np.int32),
        unit_of_record=np.arange(rows),
        cardinalities=(40_000, 10, 50_000),
        target_index=None,
        ordered=(True, True, True),
    )
    distributions = even_distributions(table)
    groups = screening_groups(distributions, size=rows, ordered=table.ordered, alone=((), (), ()))
    assert max(group_counts(groups)) <= screening.MOST_GROUPS
    found = exact_distances(table, distributions, groups, size=rows)
    follows, *chance = shares_from_independence(found, distributions, groups, size=rows, errors=np.zeros(3))
    assert follows > 0.8, "of at most 0.9: one of ten codes for each"
    assert max(chance) < 0.1


def test_the_noise_is_the_planned_one():
    table = table_of(200)
    anchor = anchor_plan(COLUMNS, diagonal_weight=1.0, noise_multiplier=3.0, screening_share=0.05)
    distributions, groups = even_distributions(table), codes_themselves(table)
    exact = exact_distances(table, distributions, groups, size=200.0)
    std = screening_std(anchor, len(exact))
    assert std == pytest.approx(anchor.noise_std * math.sqrt(21) / anchor.screening_sensitivity)
    draws = np.concatenate(
        [
            noisy_distances(
                table, distributions, groups, anchor, KeyedStreams(bytes([seed]) * 32), size=200.0
            )
            - exact
            for seed in range(100)
        ]
    )
    assert abs(draws.mean()) < 4 * std / math.sqrt(len(draws))
    assert draws.std() == pytest.approx(std, rel=4 / math.sqrt(2 * len(draws)))


def test_a_plan_that_pays_for_no_distances_releases_none():
    table = table_of(50)
    anchor = anchor_plan(COLUMNS, diagonal_weight=1.0, noise_multiplier=3.0)
    with pytest.raises(ValueError, match="pays for no distances"):
        noisy_distances(
            table, even_distributions(table), codes_themselves(table), anchor, KeyedStreams(KEY), size=50.0
        )


def test_the_share_comes_out_of_the_tables_and_changes_nothing_of_the_whole():
    plain = anchor_plan(COLUMNS, diagonal_weight=1.5, noise_multiplier=2.0)
    screened = anchor_plan(COLUMNS, diagonal_weight=1.5, noise_multiplier=2.0, screening_share=0.08)
    assert screened.sensitivity == plain.sensitivity
    assert screened.column_sensitivity == plain.column_sensitivity
    assert screened.screening_sensitivity**2 == pytest.approx(0.08 * plain.sensitivity**2, rel=1e-9)
    squares = screened.screening_sensitivity**2 + screened.table_sensitivity**2
    assert squares == pytest.approx(plain.table_sensitivity**2, rel=1e-9)
    assert [name for name, *_ in screened.releases] == ["anchor-columns", "anchor-screening", "anchor-tables"]
    noises = [noise for _name, _times, _size, noise in screened.releases]
    assert math.fsum(noise**-2 for noise in noises) == pytest.approx(screened.noise_multiplier**-2, rel=1e-9)


@pytest.mark.parametrize(("rows", "codes"), [(300, 3), (3000, 5), (3000, 20)])
def test_chance_is_what_independent_columns_are_off_by(rows, codes):
    rng = np.random.default_rng(5)
    distributions = [np.full(codes, 1.0 / codes)] * 2
    groups = [np.arange(codes)] * 2
    found = []
    for _ in range(150):
        table = PrivateTable(
            codes=rng.integers(0, codes, (rows, 2)).astype(np.int16),
            unit_of_record=np.arange(rows),
            cardinalities=(codes, codes),
            target_index=None,
            ordered=(False, False),
        )
        found.append(exact_distances(table, distributions, groups, size=float(rows))[0])
    # private: the expectation itself; from outside it is only ever subtracted
    chance = screening._chance(np.full((codes, codes), rows / codes**2))
    assert np.mean(found) == pytest.approx(chance, rel=0.08)


def test_shares_are_the_distance_from_independence_without_chance():
    table = table_of(20_000)
    distributions, groups = even_distributions(table), codes_themselves(table)
    exact = exact_distances(table, distributions, groups, size=20_000.0)
    shares = dict(
        zip(
            pairs_of_columns(COLUMNS),
            shares_from_independence(
                exact, distributions, groups, size=20_000.0, errors=np.zeros(len(distributions))
            ),
            strict=True,
        )
    )
    assert shares[0, 1] == pytest.approx(5 / 6, abs=0.02)
    assert shares[2, 3] == pytest.approx(0.6 * 5 / 6, abs=0.02)
    assert max(share for pair, share in shares.items() if pair not in {(0, 1), (2, 3)}) < 0.03


def test_pairs_that_depend_on_each_other_are_chosen():
    table = table_of()
    plan = plan_of(table)
    assert isinstance(plan.anchor, AnchorPlan)
    assert plan.anchor.screening_sensitivity > 0, "the public rule screens seven columns of so many rows"
    counted = measure(table, plan, KeyedStreams(KEY)).counted
    assert counted.pairs == ((0, 1), (2, 3))
    layout = layout_of(counted.groups, table, plan, pairs=counted.pairs)
    with_target = [(column, 6) for column in range(6)]
    assert sorted(layout.weights) == sorted([*counted.pairs, *with_target])
    assert layout.sensitivity <= plan.anchor.table_sensitivity
    assert layout.sensitivity == pytest.approx(plan.anchor.table_sensitivity, rel=1e-9)
    everything = measure(table, plan_of(table, anchor_screening_share=0.0), KeyedStreams(KEY)).counted
    assert everything.pairs is None
    assert max(group_counts(counted.groups)) >= max(group_counts(everything.groups))


def test_errors_of_many_rare_codes_are_not_taken_for_dependence():
    """Noise hides nearly every one of 1,500 codes, and all but the first two columns are independent of each other."""
    rng, rows, codes = np.random.default_rng(4), 20_000, 1500
    distribution = 1.0 / np.arange(1.0, codes + 1)
    columns = [rng.choice(codes, rows, p=distribution / distribution.sum()) for _ in range(7)]
    columns[1] = np.where(rng.random(rows) < 0.8, columns[0], columns[1])
    table = PrivateTable(
        codes=np.column_stack(columns).astype(np.int16),
        unit_of_record=np.arange(rows),
        cardinalities=(codes,) * 7,
        target_index=None,
        ordered=(False,) * 7,
    )
    plan, recorder = plan_of(table, declared=rows), Recorder()
    counted = measure(table, plan, KeyedStreams(KEY, releases=recorder)).counted
    assert (0, 1) in counted.pairs
    assert len(counted.pairs) < 4
    distances = recorder.heard[int(Purpose.ANCHOR_NOISE), SCREENING].noisy[0]
    assert distances.min() > 0.05 * rows, "every distance is as long as those of dependent columns"


@pytest.mark.parametrize("units", [None, 30], ids=["one record a unit", "several"])
def test_of_pairs_that_noise_would_hide_those_with_the_target_alone_are_counted(units):
    table, recorder = table_of(300, units=units), Recorder()
    plan = plan_of(table, epsilon=0.2, declared=table.units)
    assert isinstance(plan.anchor, AnchorPlan)
    counted = measure(table, plan, KeyedStreams(KEY, releases=recorder)).counted
    layout = layout_of(counted.groups, table, plan, pairs=counted.pairs)
    assert counted.pairs == ()
    assert sorted(layout.weights) == [(column, 6) for column in range(6)]
    assert plan.anchor.table_sensitivity * (1 - 1e-9) < layout.sensitivity <= plan.anchor.table_sensitivity
    restored = Measurement.restore(measure(table, plan, KeyedStreams(KEY)).tensors(), table)
    assert restored.counted.pairs == ()
    paid = paid_distances(plan)
    for unit in range(0, table.units, 7):
        heard = Kept(recorder)
        measure(without_unit(table, unit), plan, KeyedStreams(KEY, releases=heard))
        for step in (FIRST_ROUND, SECOND_ROUND):
            name = int(Purpose.ANCHOR_NOISE), step
            assert 0.0 < distance(heard.heard[name].exact, recorder.heard[name].exact) <= paid[name]
    without = dataclasses.replace(table, target_index=None)
    assert (
        measure(without, plan_of(without, epsilon=0.2, declared=300), KeyedStreams(KEY)).counted.pairs is None
    )


def test_the_declared_size_and_not_the_rows_leaves_pairs_with_the_target_alone():
    few, many = table_of(40), table_of(4000)
    for table, declared, pairs in ((few, 4000, None), (many, 60, ())):
        plan = plan_of(table, declared=declared, anchor_screening_share=0.0)
        assert measure(table, plan, KeyedStreams(KEY)).counted.pairs == pairs


def test_how_little_signal_leaves_pairs_with_the_target_alone():
    anchor = anchor_plan(12, diagonal_weight=2.0, noise_multiplier=4.0)
    enough = math.ceil(SIGNAL_OF_ALL_PAIRS * 4.0 * math.sqrt(66))

    def alone(size: int, *, columns: int = 12, target: int | None = 3, records: int = 1) -> bool:
        return counts_target_alone(columns, target, anchor, declared_size=size, most_records=records)

    assert alone(enough - 1)
    assert not alone(enough)
    assert alone(2 * enough - 2, records=2)
    assert not alone(enough - 1, target=None)
    assert not alone(10, columns=5), "few pairs are all counted"
    screened = anchor_plan(12, diagonal_weight=2.0, noise_multiplier=4.0, screening_share=0.05)
    assert not counts_target_alone(12, 3, screened, declared_size=10)


def test_the_tables_of_a_bundle_are_those_that_were_counted():
    table = table_of()
    plan = plan_of(table)
    released = released_counts(measure(table, plan, KeyedStreams(KEY)), table, plan)
    listed = [each.columns for each in released.tables]
    assert [columns for columns in listed if len(columns) == 2] == sorted(
        [(0, 1), (2, 3), *((column, 6) for column in range(6))]
    )
    assert [columns for columns in listed if len(columns) == 1] == [(column,) for column in range(COLUMNS)]


def test_what_runs_is_what_was_planned_in_its_order():
    table = table_of(1000)
    plan, none = plan_of(table), plan_of(table, anchor_screening_share=0.0)
    for each, releases in ((plan, 3), (none, 2)):
        record = CertificateRecorder(each)
        measure(table, each, KeyedStreams(KEY, releases=record))
        assert record.executed() == Executed.planned(each)
        assert len(each.anchor.parts) == releases


def test_a_resumed_measurement_has_the_pairs_of_the_first():
    table = table_of()
    measured = measure(table, plan_of(table), KeyedStreams(KEY))
    restored = Measurement.restore(measured.tensors(), table)
    assert restored.counted.pairs == measured.counted.pairs
    assert restored.counted.moments.pairs.tobytes() == measured.counted.moments.pairs.tobytes()


class Kept(Recorder):
    """Puts recorded releases in place of the new ones before the second round."""

    def __init__(self, recorded: Recorder) -> None:
        super().__init__()
        self._recorded = recorded

    def noisy(self, purpose, step, *released):
        if purpose == Purpose.ANCHOR_NOISE and step in {FIRST_ROUND, SCREENING}:
            for each, kept in zip(released, self._recorded.heard[int(purpose), step].noisy, strict=True):
                each.copy_(kept)
        super().noisy(purpose, step, *released)


@pytest.mark.parametrize(
    "units",
    [pytest.param(None, id="one record a unit", marks=pytest.mark.long), pytest.param(30, id="several")],
)
def test_neighbours_with_the_same_noisy_answers_have_one_layout(units):
    table = table_of(300, units=units)
    plan, recorder = plan_of(table, epsilon=8.0, declared=table.units), Recorder()
    if units is not None:
        plan = plan_of(table, epsilon=8.0, declared=table.units, anchor_screening_share=0.05)
    counted = measure(table, plan, KeyedStreams(KEY, releases=recorder)).counted
    paid = paid_distances(plan)
    for unit in range(0, table.units, 7):
        other, heard = without_unit(table, unit), Kept(recorder)
        again = measure(other, plan, KeyedStreams(KEY, releases=heard)).counted
        assert again.pairs == counted.pairs
        assert [each.tolist() for each in again.groups] == [each.tolist() for each in counted.groups]
        for step in (FIRST_ROUND, SCREENING, SECOND_ROUND):
            name = int(Purpose.ANCHOR_NOISE), step
            assert 0.0 < distance(heard.heard[name].exact, recorder.heard[name].exact) <= paid[name]
            assert heard.heard[name].sensitivity == recorder.heard[name].sensitivity <= paid[name]


@pytest.mark.parametrize("columns", [2, 60, 500])
@pytest.mark.parametrize("rows", [10, 100_000, 10**9])
def test_groups_for_the_distances_fit_the_room(columns, rows):
    distributions = [np.full(200, 1 / 200)] * columns
    groups = screening_groups(distributions, size=rows, ordered=[True] * columns, alone=[()] * columns)
    counts = group_counts(groups)
    assert max(counts) <= 1.1 * screening.MOST_GROUPS
    assert sum(a * b for a, b in itertools.combinations(counts, 2)) <= 1.1 * screening.MOST_CELLS
