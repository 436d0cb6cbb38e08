"""The private side of aim and mst: how far one unit moves what is released, and with which noise it leaves."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.plan.graphical import MarginalsPlan, marginal_shape
from models.encoding import PrivateTable
from models.graphical.measuring import GRID, Measuring
from models.randomness import Purpose
from tests.models.coded_tables import small_table, streams, without_unit
from tests.privacy.seam import Recorder

CANDIDATES = marginal_shape("aim", (3, 4, 2, 5), 2).candidates


def planned(*, noise: float = 2.0, per_round: int = 3) -> MarginalsPlan:
    return MarginalsPlan(
        columns=4, candidates=len(CANDIDATES), rounds=2, marginals_per_round=per_round,
        one_way_noise_multiplier=noise, scores_noise_multiplier=noise, marginals_noise_multiplier=noise,
    )  # fmt: skip


def expected_of(seed: int) -> dict[tuple[int, ...], np.ndarray]:
    """A model's counts: anything public."""
    rng, sizes = np.random.default_rng(seed), (3, 4, 2, 5)
    return {clique: rng.random([sizes[column] for column in clique]) * 30 for clique in CANDIDATES}


def exact_of(table: PrivateTable, plan: MarginalsPlan, seed: int) -> dict[tuple[int, int], np.ndarray]:
    """All that is released of a table, before noise."""
    listener = Recorder()
    key = streams()
    key.releases = listener
    measuring = Measuring(table, plan, key)
    measuring.one_way()
    measuring.scores(0, expected_of(seed))
    measuring.marginals(0, CANDIDATES[seed % 5 : seed % 5 + 3])
    return {name: heard.exact[0][0].numpy() for name, heard in listener.heard.items()}


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), units=st.one_of(st.none(), st.integers(1, 40)), records=st.integers(1, 80))
def test_a_unit_moves_every_release_by_at_most_its_sensitivity(seed, units, records):
    table, plan = small_table(records=records, units=units, seed=seed), planned()
    unit = seed % table.units
    whole, less = exact_of(table, plan, seed), exact_of(without_unit(table, unit), plan, seed)
    bounds = {
        Purpose.ONE_WAY_NOISE: plan.one_way_sensitivity,
        Purpose.SCORE_NOISE: plan.scores_sensitivity,
        Purpose.MARGINAL_NOISE: plan.marginals_sensitivity,
    }
    for (purpose, number), values in whole.items():
        moved = values - less[purpose, number]
        assert np.linalg.norm(moved) <= bounds[Purpose(purpose)], "the plan pays for no more"
        assert (moved >= 0).all(), "a unit takes nothing away"
        assert (values == np.rint(values / GRID) * GRID).all(), "on the public grid"
    scores = whole[Purpose.SCORE_NOISE, 0] - less[Purpose.SCORE_NOISE, 0]
    assert scores.max() <= 1
    if (table.unit_of_record == unit).sum() == 1:
        moved = whole[Purpose.ONE_WAY_NOISE, 0] - less[Purpose.ONE_WAY_NOISE, 0]
        assert np.linalg.norm(moved) == pytest.approx(plan.one_way_sensitivity), "one record uses all of it"


def test_a_record_that_exceeds_every_candidate_uses_the_whole_sensitivity_of_scores():
    table, plan = small_table(records=50), planned()
    nothing = {clique: np.zeros_like(counts) for clique, counts in expected_of(0).items()}
    moved = []
    for one in (table, without_unit(table, 7)):
        key, listener = streams(), Recorder()
        key.releases = listener
        Measuring(one, plan, key).scores(0, nothing)
        moved.append(listener.heard[Purpose.SCORE_NOISE, 0].exact[0][0].numpy())
    assert np.linalg.norm(moved[0] - moved[1]) == pytest.approx(plan.scores_sensitivity)


def test_a_unit_of_many_records_counts_like_one_up_to_the_grid():
    once = PrivateTable(
        codes=np.array([[1, 0, 1, 4]], dtype=np.int16), unit_of_record=np.zeros(1, dtype=np.int64),
        cardinalities=(3, 4, 2, 5), target_index=2,
    )  # fmt: skip
    seven = PrivateTable(
        codes=np.repeat(once.codes, 7, axis=0), unit_of_record=np.zeros(7, dtype=np.int64),
        cardinalities=(3, 4, 2, 5), target_index=2,
    )  # fmt: skip
    for name, values in exact_of(once, planned(), 3).items():
        many = exact_of(seven, planned(), 3)[name]
        assert np.allclose(values, many, atol=8 * 7 * GRID)
        assert (many <= values).all()


def test_counts_are_the_tables_counts():
    table = small_table(records=300, seed=4)
    exact = exact_of(table, planned(), 2)[Purpose.MARGINAL_NOISE, 0]
    start = 0
    for clique in CANDIDATES[2:5]:
        for codes in itertools.product(*(range((3, 4, 2, 5)[column]) for column in clique)):
            held = (table.codes[:, clique] == codes).all(axis=1).sum()
            assert exact[start] == held
            start += 1
    assert start == len(exact)


@pytest.mark.parametrize("noise", [0.5, 20.0])
def test_every_release_has_the_planned_noise(noise):
    table, plan = small_table(records=40), planned(noise=noise)
    found: dict[int, list[np.ndarray]] = {}
    for number in range(400):
        key, listener = streams(number), Recorder()
        key.releases = listener
        measuring = Measuring(table, plan, key)
        measuring.one_way()
        measuring.scores(1, expected_of(0))
        measuring.marginals(1, CANDIDATES[:3])
        for (purpose, _), heard in listener.heard.items():
            found.setdefault(purpose, []).append((heard.noisy[0] - heard.exact[0][0]).numpy())
    stds = {
        Purpose.ONE_WAY_NOISE: noise * plan.one_way_sensitivity,
        Purpose.SCORE_NOISE: noise * plan.scores_sensitivity,
        Purpose.MARGINAL_NOISE: noise * plan.marginals_sensitivity,
    }
    for purpose, std in stds.items():
        drawn = np.concatenate(found[purpose])
        # Six standard errors of a standard deviation.
        assert drawn.std() == pytest.approx(std, rel=6 / math.sqrt(2 * len(drawn)))
        assert abs(drawn.mean()) < 6 * std / math.sqrt(len(drawn))
        assert (drawn == np.rint(drawn / GRID) * GRID).all()
    cells = np.array(found[Purpose.MARGINAL_NOISE])
    assert (cells.std(axis=0) > 0.7 * stds[Purpose.MARGINAL_NOISE]).all(), "no cell leaves without noise"


def test_rounds_have_noise_of_their_own_and_a_kept_release_is_not_made_again():
    table, plan = small_table(records=40), planned()
    measuring = Measuring(table, plan, streams())
    first, second = (measuring.marginals(number, CANDIDATES[:3]) for number in (0, 1))
    assert all((first.tables[clique] != second.tables[clique]).any() for clique in CANDIDATES[:3])
    key, listener = streams(), Recorder()
    key.releases = listener
    again = Measuring(table, plan, key, measuring.released)
    assert all(
        (again.marginals(0, CANDIDATES[:3]).tables[clique] == first.tables[clique]).all()
        for clique in CANDIDATES[:3]
    )
    assert listener.heard == {}


def test_an_empty_table_is_measured_too():
    empty = small_table(records=1)
    none = without_unit(empty, 0)
    measuring = Measuring(none, planned(), streams())
    assert all(np.isfinite(table).all() for table in measuring.one_way().tables.values())
    assert np.isfinite(measuring.scores(0, expected_of(0))).all()


def test_a_round_that_chose_nothing_releases_nothing():
    key, listener = streams(), Recorder()
    key.releases = listener
    assert Measuring(small_table(records=10), planned(), key).marginals(0, []).tables == {}
    assert listener.heard[Purpose.MARGINAL_NOISE, 0].sensitivity == 0


def test_a_round_cannot_measure_more_or_twice():
    measuring = Measuring(small_table(records=10), planned(per_round=2), streams())
    with pytest.raises(AssertionError):
        measuring.marginals(0, CANDIDATES[:3])
    with pytest.raises(AssertionError):
        measuring.marginals(0, (CANDIDATES[0], CANDIDATES[0]))
