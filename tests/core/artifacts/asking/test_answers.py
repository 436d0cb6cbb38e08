import itertools
import re
from functools import cache

import numpy as np
import pytest

from core.artifacts.asking.errors import AnswerTooLong, NotCounted, QuestionInvalid
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.question import read_question
from core.artifacts.counts import CountTable, ReleasedCounts
from tests.core.artifacts.asking.tabled import DOMAIN, MIDDLES, opened, released, table, truth

PRIVATE = table()
WIDE = truth(PRIVATE)
"""(region, visits, sick, age, wait)"""
TRUE = WIDE.sum(4)
EXACT_COUNTS = released(PRIVATE, noise_multiplier=1e-9)
EXACT = opened(EXACT_COUNTS)
REDRAWS = (400, pytest.param(1000, marks=pytest.mark.long))
"""Releases with fixed draws, daily and weekly."""
BAND = {400: 0.0316, 1000: 0.02}
"""How far the share of the releases whose interval holds the truth may lie from .95: 2.9 of its standard deviations, .0109 and .0069.

The chance that one question misses a fault, daily and weekly: intervals that hold .90 pass in .11 or .0008, those that hold .88
in .009 or 1e-6; a noise that is a fifth larger than stated passes as within a tenth in .009 or .0001. Such a fault
shows in all questions that it concerns."""


def shares(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return above / below


# The question, and what is true: (region, visits, sick, age) summed as asked.
QUESTIONS = {
    "count": TRUE.sum(),
    "region": TRUE.sum((1, 2, 3)),
    "age by visits": TRUE.sum((0, 2)).T,
    "region by sick": TRUE.sum((1, 3)),
    "age by region where sick = yes": TRUE[:, :, 1].sum(1).T,
    "region by age by sick": TRUE.sum(1).transpose(0, 2, 1),
    "count where region in (north, 'far east') and age between 20 and 59": TRUE[[0, 2]][..., 1:3].sum(),
    "visits where visits between 1 and 2": TRUE.sum((0, 2, 3))[1:3],
    "mean of visits": (TRUE.sum((0, 2, 3)) @ np.arange(4)) / TRUE.sum(),
    "mean of age by region": shares(TRUE.sum((1, 2)) @ MIDDLES, TRUE.sum((1, 2, 3))),
    "mean of visits by sick where region = south": shares(TRUE[1].sum(2).T @ np.arange(4), TRUE[1].sum((0, 2))),
    "share of sick = yes": TRUE[:, :, 1].sum() / TRUE.sum(),
    "share of sick = yes by region": shares(TRUE[:, :, 1].sum((1, 2)), TRUE.sum((1, 2, 3))),
    "share of age between 40 and 99 by region where sick = no": shares(
        TRUE[:, :, 0, 2:].sum((1, 2)), TRUE[:, :, 0].sum((1, 2))
    ),
}  # fmt: skip


WAITS = np.arange(30.0)


def in_groups(groups: np.ndarray) -> np.ndarray:
    """The true counts with groups of waits in place of waits, as the last axis: (region, visits, sick, age, groups)."""
    one_hot = np.eye(groups.max() + 1)[groups]
    return WIDE @ one_hot


def touched(groups: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.isin(np.arange(groups.max() + 1), groups[low : high + 1])


def mean_in_groups(groups: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Every group counts as the mean of its numbers in the whole table; missing values have a group of their own."""
    waits, missing = WIDE.sum((0, 1, 2, 3)), groups[30]
    assert (groups == missing).sum() == 1
    middles = np.bincount(groups[:30], waits[:30] * WAITS, missing + 1) / np.bincount(groups, waits)
    return (counts[..., :missing] @ middles[:missing]) / counts[..., :missing].sum(-1)


# What is asked of `wait` with others is answered in groups: by the groups of the release, what is true of whole groups.
MERGED = {
    "wait": lambda _groups: WIDE.sum((0, 1, 2, 3)),
    "mean of wait": lambda _groups: WIDE.sum((0, 1, 2, 3))[:30] @ WAITS / WIDE[..., :30].sum(),
    "wait where wait between 4 and 9": lambda _groups: WIDE.sum((0, 1, 2, 3))[4:10],
    "wait by sick": lambda groups: in_groups(groups).sum((0, 1, 3)).T,
    "wait by region": lambda groups: in_groups(groups).sum((1, 2, 3)).T,
    "region by sick by wait": lambda groups: in_groups(groups).sum((1, 3)),
    "region where wait between 4 and 9": lambda groups: (
        in_groups(groups).sum((1, 2, 3)) @ touched(groups, 4, 9)
    ),
    "region by sick where wait between 4 and 9": lambda groups: (
        in_groups(groups).sum((1, 3)) @ touched(groups, 4, 9)
    ),
    "share of wait between 4 and 9 by region": lambda groups: shares(
        in_groups(groups).sum((1, 2, 3)) @ touched(groups, 4, 9), TRUE.sum((1, 2, 3))
    ),
    "share of sick = yes by wait": lambda groups: shares(
        in_groups(groups)[:, :, 1].sum((0, 1, 2)), in_groups(groups).sum((0, 1, 2, 3))
    ),
    "mean of wait by region": lambda groups: mean_in_groups(groups, in_groups(groups).sum((1, 2, 3))),
    "mean of wait by sick where region = north": lambda groups: mean_in_groups(
        groups, in_groups(groups)[0].sum((0, 2))
    ),
    "mean of visits where wait between 4 and 9": lambda groups: (
        (visits := in_groups(groups).sum((0, 2, 3)) @ touched(groups, 4, 9)) @ np.arange(4) / visits.sum()
    ),
}  # fmt: skip


@pytest.mark.parametrize("question", MERGED)
def test_without_noise_answers_of_merged_columns_are_the_truth_of_whole_groups(question):
    rows = EXACT.answer(question).rows
    true = np.ravel(MERGED[question](EXACT_COUNTS.groups[4]))
    assert [row.estimate for row in rows] == pytest.approx(list(true), abs=2e-3)


@pytest.mark.parametrize("redraws", REDRAWS)
@pytest.mark.parametrize("question", MERGED)
def test_intervals_of_merged_columns_hold_the_truth_of_whole_groups(redrawn, question, redraws):
    """Of the second row, where there is one; groups differ between releases, and so does what is true of them."""
    held, errors, off = [], [], []
    for one in map(redrawn, range(redraws)):
        rows = one.answer(question).rows
        true = np.ravel(MERGED[question](one.estimates.groups((0, 4))[4]))
        row, expected = rows[min(1, len(rows) - 1)], true[min(1, len(true) - 1)]
        held.append(row.low <= expected <= row.high)
        errors.append(row.standard_error)
        off.append((row.unbiased - expected) / row.standard_error)
    assert 0.93 <= np.mean(held) <= 0.97
    assert np.std(off) == pytest.approx(1, rel=0.1)
    assert abs(np.mean(off)) < 0.15


def test_a_question_of_several_columns_says_which_whole_groups_it_answers():
    groups = EXACT_COUNTS.groups[4]
    assert groups.max() + 1 < 31, "waits are merged"
    assert len(EXACT.answer("wait").rows) == 31
    answer = EXACT.answer("wait by sick")
    assert len(answer.rows) == 2 * (groups.max() + 1)
    first = int(np.flatnonzero(groups == groups[29])[0])
    assert answer.rows[-1].values == ("(missing)", "yes")
    assert answer.rows[-3].values == (f"{first} ... 29", "yes")
    assert not any("whole groups" in note for note in answer.notes)
    widened = EXACT.answer("region where wait = 28").notes[0]
    assert widened == (
        f"Joint counts of 'wait' are of groups of values, so the answer covers whole groups: {first} ... 29."
    )
    assert "whole groups" not in " ".join(EXACT.answer("count where wait = 28").notes)
    assert (
        "each value taken as the mean of its group of bins" in EXACT.answer("mean of wait by region").notes[0]
    )
    assert "beside it" not in " ".join(EXACT.answer("mean of wait").notes)


def test_a_mean_of_bins_says_what_its_interval_covers_and_what_not():
    """The mean of the values may be anywhere within half a bin of the interval, which is about midpoints."""
    covers, covers_not = EXACT.answer("mean of age").notes[:2]
    assert covers == (
        "The intervals are of the mean of 'age' with each value taken as the midpoint of its bin."
    )
    assert covers_not.startswith(
        "They do not cover the position of a value in its bin: the mean of the values themselves may lie up to "
    )
    assert covers_not.endswith(" beyond either end.")
    (half,) = re.findall(r"up to ([0-9.,]+) beyond", covers_not)
    assert float(half) == pytest.approx((MIDDLES[1] - MIDDLES[0]) / 2, abs=0.6)
    assert not [note for note in EXACT.answer("mean of visits").notes if "bin" in note], (
        "a bin for each number"
    )


def test_missing_values_are_merged_with_no_number_and_left_out_of_a_mean():
    """A mean of `wait` by region is off by what differs inside groups, as the note says, and by no missing value."""
    rows = EXACT.answer("count where wait = missing and region = north").rows
    assert rows[0].estimate == pytest.approx(WIDE[0, ..., 30].sum(), abs=2e-3)
    answer = EXACT.answer("mean of wait by sick")
    by_sick = WIDE.sum((0, 1, 3))[:, :30]
    off = float(answer.notes[1].split("up to ")[1].split()[0])
    for row, true in zip(answer.rows, by_sick @ WAITS / by_sick.sum(1), strict=True):
        assert row.estimate == pytest.approx(true, abs=min(off, 0.3))


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_noise_answers_are_the_truth(question):
    rows = EXACT.answer(question).rows
    true = np.ravel(QUESTIONS[question])
    assert [row.estimate for row in rows] == pytest.approx(list(true), abs=2e-3)
    assert all(row.low <= row.estimate <= row.high for row in rows)


@pytest.fixture(scope="module")
def redrawn():
    """The releases, each made when it is first asked for."""
    return cache(lambda number: opened(released(PRIVATE, number=number)))


@pytest.mark.parametrize("redraws", REDRAWS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_intervals_hold_the_truth_in_95_of_100_redraws(redrawn, question, redraws):
    """Of the first row, whose truth is far enough from what clipping cuts off."""
    true = float(np.ravel(QUESTIONS[question])[0])
    firsts = [redrawn(number).answer(question).rows[0] for number in range(redraws)]
    held = np.mean([row.low <= true <= row.high for row in firsts])
    assert abs(held - 0.95) <= BAND[redraws]
    errors = np.array([row.standard_error for row in firsts])
    assert np.std([row.unbiased for row in firsts]) == pytest.approx(errors.mean(), rel=0.1)


@pytest.mark.parametrize("units", [None, 900])
@pytest.mark.parametrize("by_class", [True, False])
def test_units_count_once_and_either_layout_is_read(units, by_class):
    private = table(units=units)
    exact = opened(released(private, by_class=by_class, noise_multiplier=1e-9))
    rows = exact.answer("age by region").rows
    true = truth(private).sum((1, 2, 4)).T.ravel()
    assert [row.estimate for row in rows] == pytest.approx(list(true), abs=2e-3)
    total = exact.answer("count").rows[0].estimate
    assert total == pytest.approx(4000 if units is None else private.units, abs=1e-2)


def test_estimates_are_the_best_linear_unbiased_ones():
    """Against generalised least squares over every cell of the full table, solved densely."""
    rng = np.random.default_rng(5)
    cells = (2, 3, 2)
    listed = {(0,): 1.5, (1,): 0.7, (0, 1): 2.0, (0, 1, 2): 3.0, (1, 2): 1.0}
    tables = tuple(
        CountTable(
            columns=columns,
            noise_std=noise_std,
            cells=rng.integers(-50, 200, [cells[c] for c in columns]).astype(np.int32),
        )
        for columns, noise_std in listed.items()
    )
    counts = ReleasedCounts(
        cardinalities=cells, step=0.5, tables=tables, groups=tuple(np.arange(codes) for codes in cells)
    )
    design, measured, variances = [], [], []
    places = list(itertools.product(*map(range, cells)))
    for one in tables:
        for code in itertools.product(*(range(cells[c]) for c in one.columns)):
            design.append([all(p[c] == k for c, k in zip(one.columns, code, strict=True)) for p in places])
            measured.append(one.cells[code] * 0.5)
            variances.append(one.noise_std**2 + 0.5**2 / 12)
    weighted = np.array(design, float).T / np.array(variances)
    covariance = np.linalg.pinv(weighted @ np.array(design, float))
    solved = covariance @ weighted @ np.array(measured)

    estimates = Estimates(counts)
    assert estimates.table((0, 1, 2)).ravel() == pytest.approx(solved)
    assert estimates.table((2, 1)) == pytest.approx(solved.reshape(cells).sum(0).T)
    left = {0: rng.normal(size=2), 2: rng.normal(size=2)}
    right = {1: rng.normal(size=3)}

    def whole(weights):
        return np.array([np.prod([weights[c][p[c]] for c in weights]) for p in places])

    assert estimates.covariance((0, 1, 2), left, right) == pytest.approx(
        whole(left) @ covariance @ whole(right)
    )
    assert estimates.covariance((0, 1, 2), left, left) == pytest.approx(
        whole(left) @ covariance @ whole(left)
    )
    for columns in ((0, 1, 2), (2, 0), (1,)):
        any_weights = rng.normal(size=[cells[c] for c in columns])
        summed = np.array([any_weights[tuple(p[c] for c in columns)] for p in places])
        assert estimates.variance(columns, any_weights) == pytest.approx(summed @ covariance @ summed)


def test_pairs_make_one_way_counts_better_than_their_own_noise():
    counts = released(PRIVATE)
    own = next(one.noise_std for one in counts.tables if one.columns == (2,))
    assert opened(counts).answer("sick").rows[0].standard_error < own


def test_what_is_shown_is_possible_and_what_adds_up_is_there_too():
    noisy = opened(released(PRIVATE, noise_multiplier=2000.0))
    counts = noisy.answer("region by age by sick").rows
    assert all(0 <= row.low <= row.estimate <= row.high for row in counts)
    assert any(row.unbiased < 0 for row in counts)
    for question, low, high in (("share of sick = yes by age", 0, 1), ("mean of age by region", 9.5, 89.5)):
        rows = noisy.answer(question).rows
        assert all(low <= row.low <= row.high <= high for row in rows)
        lost = [row for row in rows if row.standard_error is None]
        assert lost, "a group is within noise of nothing"
        assert {(row.low, row.high, row.estimate) for row in lost} == {(low, high, None)}


def test_no_interval_beyond_what_is_possible_shrinks_to_a_point():
    asked = (
        ("region by age by sick", 0.0, np.inf),
        ("share of sick = no by region", 0.0, 1.0),
        ("mean of visits by region", 0.0, 3.0),
    )
    beyond = 0
    for number in range(12):
        noisy = opened(released(PRIVATE, noise_multiplier=200.0, number=number))
        for question, low, high in asked:
            for row in noisy.answer(question).rows:
                if row.standard_error is None:
                    continue
                assert row.high - row.low > 0.999 * min(row.standard_error, high - low), question
                beyond += row.unbiased + 1.96 * row.standard_error < low
    assert beyond > 2


def test_an_answer_says_how_many_drawn_rows_would_be_worse():
    answer = opened(released(PRIVATE)).answer("region")
    largest = max(answer.rows, key=lambda row: row.estimate)
    total = sum(row.unbiased for row in answer.rows)
    share = largest.estimate / total
    at_equal = total * np.sqrt(share * (1 - share) / answer.drawn_rows)
    assert at_equal == pytest.approx(largest.standard_error, rel=0.02)
    assert (
        f"For the largest group, fewer than {answer.drawn_rows:,} drawn rows are less accurate"
        in answer.notes[-1]
    )
    for question in ("share of sick = yes by region", "mean of visits"):
        assert opened(released(PRIVATE)).answer(question).drawn_rows > 0


def test_ranges_are_widened_to_whole_bins_and_it_is_said():
    answer = EXACT.answer("count where age between 25 and 45")
    assert answer.rows[0].estimate == pytest.approx(TRUE[..., 1:3].sum(), abs=2e-3)
    assert answer.notes[0] == "'age' was counted in whole bins: 20 to 59."
    assert len(EXACT.answer("count where age between 20 and 59").notes) == 1
    assert [row.values for row in EXACT.answer("age where age = 33").rows] == [("20 to 39",)]
    assert "up to 9.5" in EXACT.answer("mean of age").notes[1]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("", "ends where a column"),
        ("by", "a column"),
        ("region by", "ends where a column after 'by'"),
        ("region by region", "twice"),
        ("regoin", "region, visits, sick, age, wait"),
        ("region where sick", "'=', 'in' or 'between'"),
        ("share of sick by region", "and a value of the column is expected"),
        ("region where sick = ", "a value"),
        ("region where sick = maybe", "not declared for 'sick'"),
        ("region where visits = many", "is not a number"),
        ("region where visits = nan", "is not a number"),
        ("region where visits = 1e999", "is not a number"),
        ("region where visits between 3 and 1", "lies in this range"),
        ("region where visits between 7 and 9", "lies in this range"),
        ("region where region between north and south", "no order"),
        ("region where sick = yes and sick = no", "meets all conditions"),
        ("region where sick in (yes", "')'"),
        ("region where sick in ()", "a value"),
        ("region where sick = 'yes", "is not closed"),
        ("region; drop table", "or the end"),
        ("mean of region", "is not numeric"),
        ("mean of visits by visits", "cannot also be a column of the answer"),
        ("share of sick = yes by sick", "cannot also be a column of the answer"),
        ("region sick", "'by', 'where', 'and' or the end"),
        ("region by sick,", "a column after ','"),
        ("count of", "the column that is counted"),
        ("region" * 1000, "at most 2000 characters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(question, word):
    with pytest.raises(
        QuestionInvalid, match="(?i)" + word.replace("(", "\\(").replace(")", "\\)")
    ) as refused:
        EXACT.answer(question)
    assert refused.value.remedy
    assert not {"maybe", "many", "drop"} & set(str(refused.value).split()), "what was typed is not repeated"


@pytest.mark.parametrize(
    ("question", "same"),
    [
        ("count of region", "region"),
        ("count of region by sick", "region by sick"),
        ("region by sick, visits", "region by sick by visits"),
        ("count by region, sick where sick in (yes, no)", "count by region by sick where sick in (yes, no)"),
    ],
)
def test_a_question_may_be_put_in_other_words(question, same):
    assert read_question(question) == read_question(same)


@pytest.mark.parametrize(
    ("question", "near"), [("region where region = nort", "north"), ("regoin", "region")]
)
def test_a_name_or_value_that_is_nearly_declared_is_named(question, near):
    with pytest.raises(QuestionInvalid) as refused:
        EXACT.answer(question)
    assert refused.value.remedy.startswith(f"Did you mean '{near}'? ")


def test_more_than_three_columns_are_refused_with_what_was_counted():
    with pytest.raises(NotCounted) as refused:
        EXACT.answer("region by age by visits by sick")
    assert "any three of which 'sick' is one" in refused.value.remedy
    plain = opened(released(PRIVATE, by_class=False))
    with pytest.raises(NotCounted) as refused:
        plain.answer("region by age by visits where sick = yes")
    assert "three of which" not in refused.value.remedy
    whole = opened(released(PRIVATE, combinations=True))
    assert whole.answer("region by age by visits").basis == "counted"
    with pytest.raises(NotCounted) as refused:
        whole.answer("region by age by visits by sick")
    assert "any one, two or three columns" in refused.value.remedy


def test_quoted_names_are_names_whatever_they_say():
    answer = EXACT.answer('"region" where "region" = "far east"')
    assert [row.values for row in answer.rows] == [("far east",)]
    assert EXACT.answer("REGION".lower() + " WHERE sick IN (yes, no)").rows


def test_a_long_answer_is_refused(monkeypatch):
    monkeypatch.setattr("core.artifacts.asking.answer.MOST_ROWS", 4)
    assert len(EXACT.answer("visits").rows) == 4
    with pytest.raises(AnswerTooLong):
        EXACT.answer("age")
    assert len(DOMAIN.modelled) == 5
