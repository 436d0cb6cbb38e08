"""Combinations that declared rules leave empty: answered 0 without noise, and known to every assumption."""

import itertools

import numpy as np
import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.estimates import Estimates
from core.artifacts.counts import CountTable, ReleasedCounts
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import document, words

DOMAIN = TableDomain.from_json(
    document(
        [
            words("asked", "yes", "no"),
            words("often", "daily", "weekly", "rarely", null="category"),
            words("vote", "left", "right", "none"),
        ],
        [
            {
                "kind": "possible",
                "columns": ["asked", "often"],
                "combinations": [["yes", {"one_of": ["daily", "weekly", "rarely"]}], ["no", None]],
            }
        ],
        target="vote",
    )
)
EMPTY = {("yes", "(missing)"), *itertools.product(["no"], ["daily", "weekly", "rarely"])}
ALONE, WITH_TARGET, EVERY = [(0,), (1,), (2,)], [(0, 2), (1, 2)], [(0, 1), (0, 2), (1, 2)]
NOISE = 30.0
REDRAWS = (200, pytest.param(1000, marks=pytest.mark.long))
BAND = {200: 0.0425, 1000: 0.02}


def records(*, broken: float = 0.0) -> np.ndarray:
    """(asked, often, vote) counts, in which so many records break the rule."""
    true = np.zeros((2, 4, 3))
    true[0, :3] = np.outer([200.0, 400.0, 300.0], [0.5, 0.3, 0.2])
    true[1, 3] = [300.0, 500.0, 100.0]
    true[1, 0, 0] += broken
    return true


def answers(
    tables: list[tuple[int, ...]], *, std: float = NOISE, number: int = 0, broken: float = 0.0
) -> OpenedCounts:
    rng, step, true = np.random.default_rng(number), 2.0**-10, records(broken=broken)
    listed = []
    for columns in [*ALONE, *tables]:
        exact = true.sum(tuple(place for place in range(3) if place not in columns))
        noisy = np.rint((exact + std * rng.normal(size=exact.shape)) / step).astype(np.int32)
        listed.append(CountTable(columns=columns, noise_std=max(std, 1e-6), cells=noisy))
    groups = tuple(np.arange(codes) for codes in true.shape)
    counts = ReleasedCounts(cardinalities=true.shape, step=step, tables=tuple(listed), groups=groups)
    return OpenedCounts(DOMAIN, Estimates(counts))


@pytest.mark.parametrize("tables", [[], WITH_TARGET, EVERY, [(0, 1, 2)]])
def test_what_a_rule_leaves_empty_is_0_without_noise(tables):
    answer = answers(tables).answer("asked by often")
    for row in answer.rows:
        numbers = (row.estimate, row.low, row.high, row.standard_error, row.unbiased)
        assert (row.values in EMPTY) == (numbers == (0.0,) * 5)
    assert "declared rules" in " ".join(answer.notes)
    assert "declared rules" not in " ".join(answers(tables).answer("asked by vote").notes)


@pytest.mark.parametrize("tables", [[], EVERY])
def test_conditions_shares_and_means_know_what_is_empty(tables):
    opened = answers(tables)
    (none,) = opened.answer("asked where asked = no and often in (daily, weekly)").rows
    assert (none.estimate, none.high, none.standard_error) == (0.0, 0.0, 0.0)
    shares = {row.values[0]: row for row in opened.answer("share of asked = yes by often").rows}
    assert [shares[word].low for word in ("daily", "weekly", "rarely")] == [1.0] * 3
    assert (shares["(missing)"].estimate, shares["(missing)"].high) == (0.0, 0.0)
    within = opened.answer("share of often = daily by asked where often in (daily, weekly)").rows
    assert 0.0 < within[0].estimate < 1.0
    assert (within[1].estimate, within[1].low, within[1].high) == (None, 0.0, 1.0)


def test_three_columns_know_what_is_empty():
    rows = answers(WITH_TARGET).answer("asked by often by vote").rows
    assert {row.values[:2] for row in rows if row.standard_error == 0.0} == EMPTY
    true = records().ravel()
    assert np.abs([row.estimate for row in rows] - true).sum() < 0.25 * true.sum()


@pytest.mark.parametrize("tables", [[], WITH_TARGET])
def test_where_a_rule_says_nearly_all_the_assumption_is_the_truth(tables):
    exact = answers(tables, std=0.0).answer("asked by often")
    assert exact.basis == "assumed"
    assert [row.estimate for row in exact.rows] == pytest.approx(records().sum(2).ravel(), abs=0.1)
    # Each of the others is a whole column's group: its limits are those of the group, and they meet.
    assert all(row.high - row.low < 0.1 for row in exact.rows)


def test_counts_that_contradict_each_other_meet_between_them():
    for number in range(20):
        rows = answers([], number=number).answer("asked by often").rows
        by_asked = np.reshape([row.estimate for row in rows], (2, 4)).sum(1)
        assert by_asked == pytest.approx([900, 900], abs=4 * NOISE)


@pytest.mark.parametrize("redraws", REDRAWS)
@pytest.mark.parametrize("question", ["asked by often", "share of often = daily by asked"])
def test_limits_hold_the_truth_where_rules_narrow_them(question, redraws):
    true = records().sum(2)
    first = true[0, 0] if question == "asked by often" else true[0, 0] / true[0].sum()
    rows = [answers([], number=number).answer(question).rows[0] for number in range(redraws)]
    assert np.mean([row.low <= first <= row.high for row in rows]) >= 0.95
    assert np.mean([row.high - row.low for row in rows]) < (8 * NOISE if first > 1 else 0.3)


@pytest.mark.parametrize("redraws", REDRAWS)
def test_intervals_of_the_other_counted_combinations_hold_the_truth(redraws):
    rows = [answers(EVERY, number=number).answer("asked by often").rows[0] for number in range(redraws)]
    held = np.mean([row.low <= 200.0 <= row.high for row in rows])
    assert abs(held - 0.95) <= BAND[redraws]


def test_a_rule_that_the_counts_contradict_leaves_nothing_empty():
    opened = answers(EVERY, broken=900.0)
    assert opened.rules_check.code is not None
    row = next(one for one in opened.answer("asked by often").rows if one.values == ("no", "daily"))
    assert row.estimate > 700
    assert row.standard_error > 0
