"""What a utility report counts: how far one unit moves it, what noise it gets, and that nothing else depends on the table."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dp.charge import charge_of
from core.plan.utility_reports.plan import SHARES
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.reports import public_side
from models.reports.public_side import PAIR_BINS, PublicSide, pair_bins
from models.reports.records import Records
from models.reports.utility import GRID, exact_terms, noisy_terms, sensitivity
from tests.models.coded_tables import KEY, small_table, streams, without_unit
from tests.models.reports.sides import public_side_of, report_plan

SIZE = 400


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Predicting with all of them is what takes time here."""
    monkeypatch.setattr(public_side, "TREES", 2)


def whitened(table: PrivateTable, public: PublicSide, stds: dict[str, float]) -> np.ndarray:
    """All exact terms, each in units of its noise."""
    exact = exact_terms(table, public, SIZE)
    return np.concatenate([exact[kind] / stds[kind] for kind in stds])


def with_unit(table: PrivateTable, rows: np.ndarray) -> PrivateTable:
    """The neighbour that has one unit more, with these records."""
    return replace(
        table,
        codes=np.concatenate([table.codes, rows.astype(np.int16)]),
        unit_of_record=np.concatenate([table.unit_of_record, np.full(len(rows), table.units)]),
    )


def tables() -> dict[str, PrivateTable]:
    """Ordinary and extreme tables."""
    usual = small_table()
    one_cell = replace(usual, codes=np.repeat(usual.codes[:1], len(usual.codes), axis=0))
    return {
        "usual": usual,
        "empty": replace(usual, codes=usual.codes[:0], unit_of_record=usual.unit_of_record[:0]),
        "one-cell": one_cell,
        "last-cell": replace(one_cell, codes=np.tile(np.array(usual.cardinalities, np.int16) - 1, (SIZE, 1))),
        "people": small_table(units=30),
        "far-more-than-declared": small_table(records=5 * SIZE),
    }


@pytest.mark.parametrize("name", sorted(tables()))
@pytest.mark.parametrize("records", [1, 3, 1000])
def test_one_unit_more_moves_all_terms_by_at_most_one_over_the_noise_multiplier(name: str, records: int):
    table = tables()[name]
    public, plan = public_side_of(table), report_plan()
    before = whitened(table, public, plan.noise_stds)
    cells = [np.zeros(4, int), np.array(table.cardinalities) - 1]
    for row, spread in itertools.product(cells, (False, True)):
        rows = np.tile(row, (records, 1))
        if spread:  # a unit whose records differ
            rows[::2] = 0
        moved = np.linalg.norm(whitened(with_unit(table, rows), public, plan.noise_stds) - before)
        assert moved <= 1 / plan.noise_multiplier


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), units=st.one_of(st.none(), st.integers(1, 40)), target=st.booleans())
def test_a_unit_less_moves_them_no_further_and_a_unit_replaced_twice_as_far(seed, units, target):
    table = small_table(records=60, units=units, target=target, seed=seed)
    public, plan = public_side_of(table, seed=seed), report_plan(target="label" if target else None)
    unit, rng = seed % table.units, np.random.default_rng(seed)
    before = whitened(table, public, plan.noise_stds)
    less = without_unit(table, unit)
    rows = np.column_stack([rng.integers(0, size, 1 + seed % 3) for size in table.cardinalities])
    assert np.linalg.norm(whitened(less, public, plan.noise_stds) - before) <= 1 / plan.noise_multiplier
    other = whitened(with_unit(less, rows), public, plan.noise_stds)
    assert np.linalg.norm(other - before) <= 2 / plan.noise_multiplier


def test_the_bound_is_met_so_nothing_is_paid_for_in_vain():
    # More of what the table has too much of, predicted wrongly: every term moves by one whole record.
    table = tables()["far-more-than-declared"]
    public, plan = public_side_of(table), report_plan()
    before = whitened(table, public, plan.noise_stds)
    moved = [
        np.linalg.norm(whitened(with_unit(table, row[None]), public, plan.noise_stds) - before)
        for row in np.unique(table.codes, axis=0)
    ]
    assert max(moved) == pytest.approx(1 / plan.noise_multiplier, rel=1e-5)


@pytest.mark.parametrize("columns", [1, 2, 7, 64])
@pytest.mark.parametrize("target", ["c0", None])
def test_the_sensitivity_that_is_stated_is_the_one_that_is_charged(columns: int, target: str | None):
    plan = report_plan(columns=tuple(f"c{n}" for n in range(columns)), target=target)
    stated = sensitivity(plan.terms, plan.noise_stds)
    assert stated <= 1 / plan.noise_multiplier
    assert stated == pytest.approx(1 / plan.noise_multiplier, rel=1e-4)
    shares = [count / plan.noise_stds[kind] ** 2 for kind, count in plan.terms.items()]
    whole = sum(SHARES[kind] for kind in plan.terms)
    assert [share * plan.noise_multiplier**2 for share in shares] == pytest.approx(
        [SHARES[kind] / whole for kind in plan.terms], rel=1e-4
    )
    assert charge_of(plan.mechanism, delta=1e-6).epsilon_micros <= 500_000


def test_terms_are_those_of_a_plain_loop():
    table = small_table(records=50)
    public = public_side_of(table)
    exact = exact_terms(table, public, SIZE)
    for column, size in enumerate(table.cardinalities):
        real = [(table.codes[:, column] == code).sum() for code in range(size)]
        made = [(public.codes[:, column] == code).mean() for code in range(size)]
        distance = sum(abs(r - SIZE * m) for r, m in zip(real, made, strict=True))
        assert exact["columns"][column] == pytest.approx(distance, abs=size * GRID)
    for number, (one, other) in enumerate(public.pairs):
        cells = itertools.product(range(table.cardinalities[one]), range(table.cardinalities[other]))
        distance = sum(
            abs(
                ((table.codes[:, one] == a) & (table.codes[:, other] == b)).sum()
                - SIZE * ((public.codes[:, one] == a) & (public.codes[:, other] == b)).mean()
            )
            for a, b in cells
        )
        assert exact["pairs"][number] == pytest.approx(distance, abs=20 * GRID)
    right = public.right(Records.of(table))
    assert exact["score"][0] == right.sum() - (~right).sum()


def test_a_perfect_release_of_a_table_as_large_as_declared_has_no_error():
    table = small_table(records=SIZE)
    public = PublicSide(
        drawn=Records.of(table), cardinalities=table.cardinalities, measured=(0, 1, 2, 3), target=None
    )
    exact = exact_terms(table, public, SIZE)
    assert exact["columns"].max() == exact["pairs"].max() == 0.0
    assert "score" not in exact


def test_terms_depend_neither_on_the_order_of_the_rows_nor_on_the_number_of_a_persons_records():
    table = small_table(units=70)
    public = public_side_of(table)
    order = np.random.default_rng(1).permutation(len(table.codes))
    shuffled = replace(table, codes=table.codes[order], unit_of_record=table.unit_of_record[order])
    one, other = exact_terms(table, public, SIZE), exact_terms(shuffled, public, SIZE)
    assert all((one[kind] == other[kind]).all() for kind in one)
    once = small_table()
    twice = replace(
        once, codes=np.repeat(once.codes, 2, axis=0), unit_of_record=np.repeat(once.unit_of_record, 2)
    )
    one, other = exact_terms(once, public, SIZE), exact_terms(twice, public, SIZE)
    assert all((one[kind] == other[kind]).all() for kind in one)


class Listener:
    """Keeps what passes the seam; puts an earlier record's outputs back where it has some."""

    def __init__(self, recorded: list[torch.Tensor] | None = None) -> None:
        self.exact_parts: list[tuple[np.ndarray, float]] = []
        self.stated = math.nan
        self.released: list[torch.Tensor] = []
        self._recorded = recorded

    def exact(
        self, purpose: int, step: int, parts: Iterable[tuple[torch.Tensor, float]], *, sensitivity: float
    ) -> None:
        assert (purpose, step) == (Purpose.REPORT_NOISE, 0)
        self.exact_parts = [(part.numpy().copy(), std) for part, std in parts]
        self.stated = sensitivity

    def noisy(self, purpose: int, step: int, *released: torch.Tensor) -> None:
        assert (purpose, step) == (Purpose.REPORT_NOISE, 0)
        if self._recorded is not None:
            for target, source in zip(released, self._recorded, strict=True):
                target.copy_(source)
        self.released = [tensor.clone() for tensor in released]


def heard(table: PrivateTable, recorded: list[torch.Tensor] | None = None) -> tuple[Listener, dict]:
    listener = Listener(recorded)
    public, plan = public_side_of(small_table()), report_plan()
    terms = noisy_terms(table, public, plan, KeyedStreams(KEY, releases=listener))
    return listener, {kind: values.tolist() for kind, values in terms.items()}


@pytest.mark.parametrize("name", sorted(tables()))
def test_a_recorded_release_put_back_over_a_neighbour_gives_the_same_numbers(name: str):
    table = tables()[name]
    neighbour = with_unit(table, np.array([[2, 3, 1, 4]] * 5))
    first, told = heard(table)
    second, told_again = heard(neighbour, recorded=first.released)
    assert told_again == told
    whole = [
        np.concatenate([part / std for part, std in listener.exact_parts]) for listener in (first, second)
    ]
    assert 0 < np.linalg.norm(whole[0] - whole[1]) <= first.stated == second.stated
    assert first.stated <= 1 / report_plan().noise_multiplier


def test_what_is_released_is_on_the_grid_and_the_same_again():
    table = small_table(units=60)
    _, one = heard(table)
    _, other = heard(table)
    assert one == other
    numbers = np.concatenate([np.array(values) for values in one.values()])
    assert (numbers / GRID == np.rint(numbers / GRID)).all()


def test_the_noise_has_the_planned_deviation_and_no_two_numbers_share_it():
    # Sums of squares of 8,800 standard normals: beyond 1 +- 0.08 with probability below 1e-6 (chi-squared tail); the
    # largest of 55 correlations of 800 pairs stays below 0.22 but with probability below 1e-6. A twin with 0.9 of the
    # noise has 0.81, and one with shared noise a correlation of 1.
    table = small_table()
    public, plan = public_side_of(table), report_plan()
    exact = exact_terms(table, public, SIZE)
    drawn = np.array(
        [
            np.concatenate([(noisy[kind] - exact[kind]) / plan.noise_stds[kind] for kind in exact])
            for noisy in (
                noisy_terms(table, public, plan, KeyedStreams(key.to_bytes(32, "little")))
                for key in range(800)
            )
        ]
    )
    assert drawn.shape == (800, 4 + 6 + 1)
    assert abs((drawn**2).mean() - 1) < 0.08
    assert abs(drawn.mean()) < 5.3 / math.sqrt(drawn.size)
    correlations = np.corrcoef(drawn.T) - np.eye(11)
    assert np.abs(correlations).max() < 0.22


def test_a_plan_for_other_terms_is_refused():
    table = small_table()
    with pytest.raises(ValueError, match="other terms"):
        noisy_terms(table, public_side_of(table), report_plan(target=None), streams())


def test_pairs_are_of_few_bins_of_neighbouring_codes_of_about_equal_mass():
    rng = np.random.default_rng(0)
    for size in (1, 3, PAIR_BINS, PAIR_BINS + 1, 100):
        counts = rng.integers(0, 1000, size)
        bins = pair_bins(counts)
        assert (np.diff(bins) >= 0).all()
        assert sorted(set(bins.tolist())) == list(range(bins.max() + 1))
        assert len(set(bins.tolist())) <= PAIR_BINS
    even = np.bincount(pair_bins(np.full(80, 7)))
    assert even.tolist() == [10] * PAIR_BINS
    assert pair_bins(np.zeros(20, int)).max() == 0
    assert pair_bins(np.array([1, 10_000, *[1] * 20])).max() <= 2


def test_what_is_public_is_read_against_chance():
    table = small_table()
    public = public_side_of(table, rows=4000)
    told = public.references(SIZE)
    assert [len(values) for values in told.values()] == [4, 6, 2]
    # By drawing both sides from one distribution: the mean of 400 distances is within 10 % of the approximation.
    rng = np.random.default_rng(7)
    distribution = np.bincount(public.codes[:, 1], minlength=4) / public.rows
    pairs = [
        (rng.multinomial(SIZE, distribution) / SIZE, rng.multinomial(4000, distribution) / 4000)
        for _ in range(400)
    ]
    mean = np.mean([np.abs(one - other).sum() / 2 for one, other in pairs])
    assert told["columns"][1] == pytest.approx(mean, rel=0.1)
    assert 0.9 < told["score"][0] <= 1.0
    assert 0.4 < told["score"][1] < 1.0
    assert public.right(Records(codes=table.codes[:0])).shape == (0,)
