"""Columns that were not counted together: what is assumed of them is the known structure, and limits hold whatever is true."""

import itertools
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.datasets import load
from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.assumed import path_between
from core.artifacts.asking.errors import NotCounted
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.result import Row
from core.artifacts.counts import CountTable, ReleasedCounts
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable, codes_alone
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import measure
from tests.cases import daily
from tests.core.artifacts.asking.tabled import opened, released, table
from tests.models.coded_tables import streams

RECORDS = 3000.0
REDRAWS = (200, pytest.param(1000, marks=pytest.mark.long))
NAMES = ("a", "b", "c", "d", "e")
CELLS = (3, 4, 2, 3, 2)
ALONE = [(place,) for place in range(5)]
TREE = [(0, 2), (1, 2), (1, 3)]
"""a - c - b - d, and e by itself; c is the target."""


def domain(*, target: str | None = "c") -> TableDomain:
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": target,
            "privacy_unit": None,
            "columns": [
                {
                    "name": name,
                    "kind": "categorical",
                    "categories": [f"{name}{code}" for code in range(codes)],
                }
                for name, codes in zip(NAMES, CELLS, strict=True)
            ],
        }
    )


def distribution(rng: np.random.Generator, *shape: int) -> np.ndarray:
    drawn = rng.random(shape) + 0.1
    return drawn / drawn.sum(-1, keepdims=True)


def structured() -> np.ndarray:
    """(a, b, c, d, e) counts in which a and b depend on each other only through c, d only through b, and e on nothing."""
    rng = np.random.default_rng(7)
    c, a, b, d, e = (
        distribution(rng, 2),
        distribution(rng, 2, 3),
        distribution(rng, 2, 4),
        distribution(rng, 4, 3),
        distribution(rng, 2),
    )
    return RECORDS * np.einsum("c,ca,cb,bd,e->abcde", c, a, b, d, e)


TRUE = structured()


def counted(
    true: np.ndarray, tables: list[tuple[int, ...]], *, std: float, number: int = 0
) -> ReleasedCounts:
    rng = np.random.default_rng(number)
    step = 2.0**-10
    listed = []
    for columns in tables:
        exact = true.sum(tuple(place for place in range(true.ndim) if place not in columns))
        noisy = exact + std * rng.normal(size=exact.shape)
        listed.append(
            CountTable(
                columns=columns, noise_std=max(std, 1e-6), cells=np.rint(noisy / step).astype(np.int32)
            )
        )
    return ReleasedCounts(
        cardinalities=true.shape,
        step=step,
        tables=tuple(listed),
        groups=tuple(np.arange(codes) for codes in true.shape),
    )


def asked(counts: ReleasedCounts, *, target: str | None = "c") -> OpenedCounts:
    return OpenedCounts(domain(target=target), Estimates(counts))


EXACT = asked(counted(TRUE, [*ALONE, *TREE], std=0.0))


@pytest.mark.parametrize(
    ("question", "true"),
    [
        ("a by b", TRUE.sum((2, 3, 4))),
        ("a by d", TRUE.sum((1, 2, 4))),
        ("d by e", TRUE.sum((0, 1, 2)).reshape(3, 2)),
        ("a by b by c", TRUE.sum((3, 4))),
        ("a by d where b in (b1, b2)", TRUE[:, 1:3].sum((1, 2, 4))),
        ("share of b = b1 by a", TRUE[:, 1].sum((1, 2, 3)) / TRUE.sum((1, 2, 3, 4))),
        ("a where e = e1", TRUE[..., 1].sum((1, 2, 3))),
    ],
)
def test_where_the_assumption_is_true_answers_are_the_truth(question, true):
    answer = EXACT.answer(question)
    assert answer.basis == "assumed"
    assert [row.estimate for row in answer.rows] == pytest.approx(list(np.ravel(true)), abs=0.05, rel=1e-4)
    assert {(row.standard_error, row.unbiased) for row in answer.rows} == {(None, None)}
    assert answer.drawn_rows is None


def test_the_first_note_says_what_was_assumed():
    for question, words in {
        "a by b": "a and b were not counted together. They are assumed independent given c. The interval is the range that",
        "a by d": "a and d were not counted together. They are assumed independent given c, b. The interval is",
        "a by e": "a and e were not counted together. They are assumed independent. The interval is the range that",
        "a by b by c": "a, b and c were not counted together. They are assumed to depend on each other only through their pairs. The interval is",
    }.items():
        assert EXACT.answer(question).notes[0].startswith(f"Estimated, not counted: {words}")
    assert EXACT.answer("a by c").basis == "counted"
    assert "Estimated" not in " ".join(EXACT.answer("a by c").notes)


def test_the_target_links_before_others_do():
    both = counted(TRUE, [*ALONE, (0, 2), (1, 2), (0, 3), (1, 3)], std=0.0)
    assert path_between(Estimates(both), 0, 1, target=2) == (0, 2, 1)
    assert path_between(Estimates(both), 0, 1, target=3) == (0, 3, 1)
    assert path_between(Estimates(both), 0, 4, target=3) == ()


def test_answers_of_three_columns_add_up_to_those_of_two():
    noisy = asked(counted(TRUE, [*ALONE, *TREE], std=20.0))
    three = np.reshape([row.estimate for row in noisy.answer("a by b by d").rows], (3, 4, 3))
    two = np.reshape([row.estimate for row in noisy.answer("a by b").rows], (3, 4))
    assert three.sum(2) == pytest.approx(two, abs=0.01)
    alone = [row.estimate for row in noisy.answer("a").rows]
    assert two.sum(1) == pytest.approx(alone, abs=0.01)


def test_means_and_answers_of_three_columns_have_intervals():
    without = released(table(), by_class=False, noise_multiplier=1e-9)
    kept = tuple(one for one in without.tables if one.columns != (0, 3))
    answers = opened(replace(without, tables=kept))
    for question in (
        "mean of age by region",
        "mean of age by sick where region = north",
        "region by age by visits",
        "share of sick = yes by age by region",
    ):
        answer = answers.answer(question)
        assert answer.basis == "assumed"
        assert all(row.low <= row.estimate <= row.high for row in answer.rows if row.estimate is not None)
        assert answer.notes[0].endswith("allow, under any dependence.")
    means = answers.answer("mean of age by region")
    assert all(9.5 <= row.low < row.high <= 89.5 for row in means.rows)
    assert means.rows[0].high - means.rows[0].low < 79.0
    assert "The intervals are of the mean of 'age'" in " ".join(means.notes)


def test_nothing_is_said_of_four_columns_of_too_many_cells_or_of_a_column_that_was_not_counted(monkeypatch):
    with pytest.raises(NotCounted):
        EXACT.answer("a by b by d by e")
    missing = asked(counted(TRUE, [*ALONE[:4], *TREE], std=0.0))
    with pytest.raises(NotCounted):
        missing.answer("a by e")
    monkeypatch.setattr("core.artifacts.asking.answer.MOST_CELLS", 11)
    with pytest.raises(NotCounted):
        EXACT.answer("a by b")


def test_a_release_of_nothing_but_noise_is_answered():
    for number in range(20):
        noisy = asked(counted(TRUE * 0.0, [*ALONE, *TREE], std=30.0, number=number))
        for question in ("a by b", "share of b = b1 by a", "a by d by e"):
            for row in noisy.answer(question).rows:
                assert row.estimate is None or np.isfinite(row.estimate)
                assert row.low is None or row.high is None or 0.0 <= row.low <= row.high


UNKNOWN = ("a by b", "share of b = b0 by a", "share of b = b0 by a where b in (b0, b1)")


def extreme(kind: str) -> np.ndarray:
    """Counts of a and b, (3, 4), whose truth lies on the limits that the counts of each column allow."""
    together = np.zeros((3, 4))
    if kind == "same":  # a0 is b0: as many together as either has
        together[0, 0], together[1:, 1:] = 1000.0, 2000.0 / 6
    elif kind == "apart":  # a0 is never b0
        together[0, 1:], together[1:, 0], together[1:, 1:] = 300.0, 400.0, 1300.0 / 6
    else:  # whoever is not a0 is b0: as few together as two large shares allow
        together[0, 0], together[0, 1:], together[1:, 0] = 1000.0, 400.0, 400.0
    return together[:, :, None, None, None] * TRUE.sum((0, 1)) / RECORDS


@pytest.mark.parametrize("redraws", REDRAWS)
@pytest.mark.parametrize(
    ("question", "kind"),
    daily(
        [(question, kind) for question in UNKNOWN for kind in ("same", "apart", "overlap")],
        some=list(zip(UNKNOWN, ("same", "apart", "overlap"), strict=True)),
    ),
)
def test_intervals_hold_the_truth_whatever_the_dependence(question, kind, redraws):
    """The truth of the first row lies on an end of what is possible, so only the noise is left to cover."""
    true = extreme(kind)
    together = true.sum((2, 3, 4))
    share = together[0, 0] / (together[0, :2].sum() if "where" in question else together[0].sum())
    first = together[0, 0] if question == "a by b" else share
    held = []
    for number in range(redraws):
        rows = asked(counted(true, ALONE, std=15.0, number=number)).answer(question).rows
        assert rows[0].low <= rows[0].estimate <= rows[0].high
        held.append(rows[0].low <= first <= rows[0].high)
    assert np.mean(held) >= 0.95
    if question == "a by b" and kind != "apart":
        exact = asked(counted(true, ALONE, std=0.0)).answer(question).rows[0]
        assert first == pytest.approx(exact.high if kind == "same" else exact.low, abs=0.1)


THREE = (("a by b by e", "all"), ("a by b by e", "none"), ("share of e = e0 by a by b", "all"))


@pytest.mark.parametrize("redraws", REDRAWS)
@pytest.mark.parametrize("pairs", [[], [(0, 1)]], ids=["alone", "with a pair"])
@pytest.mark.parametrize(("question", "kind"), THREE)
def test_intervals_of_three_columns_hold_the_truth_whatever_the_dependence(question, kind, pairs, redraws):
    """The truth of the first row lies on an end of what the counts of each column, or of a and b, allow."""
    together = np.zeros((3, 4, 2))
    if kind == "all":  # a0, b0 and e0 are the same records
        together[0, 0, 0], together[1:, 1:, 1] = 1000.0, 2000.0 / 6
    else:  # a record that is a0 and b0 is never e0
        together[0, 0, 1], together[0, 1:, 0], together[1:, 0, 0] = 600.0, 400.0, 400.0
    true = together[:, :, None, None, :] * np.ones((1, 1, 2, 3, 1)) / 6
    first = together[0, 0, 0] if question == "a by b by e" else 1.0
    held, width = [], []
    for number in range(redraws):
        opened = asked(counted(true, [*ALONE, *pairs], std=15.0, number=number), target=None)
        row = opened.answer(question).rows[0]
        held.append(row.low <= first <= row.high)
        width.append(row.high - row.low)
    assert np.mean(held) >= 0.95
    if question == "a by b by e":
        exact = asked(counted(true, [*ALONE, *pairs], std=0.0), target=None).answer(question).rows[0]
        assert first == pytest.approx(exact.high if kind == "all" else exact.low, abs=0.1)


@pytest.mark.parametrize("redraws", REDRAWS)
@pytest.mark.parametrize("highest", [True, False])
def test_intervals_of_a_mean_hold_the_truth_whatever_the_dependence(highest, redraws):
    """The records of the first region are those with the highest, or the lowest, ages of all."""
    ages = np.array([300.0, 500.0, 900.0, 700.0, 400.0, 200.0])
    of_region = 800.0
    order = np.argsort(np.arange(6) * (-1 if highest else 1), kind="stable")
    inside, left = np.zeros(6), of_region
    for code in order:
        inside[code] = min(ages[code], left)
        left -= inside[code]
    true = np.stack([inside, ages - inside])
    values = np.array([5.0, 15.0, 25.0, 35.0, 45.0, 55.0])
    mean = float(inside @ values / inside.sum())
    exact = mean_of_age(counted(true, [(0,), (1,)], std=0.0))
    assert (exact.high if highest else exact.low) == pytest.approx(mean, abs=0.01)
    held = []
    for number in range(redraws):
        row = mean_of_age(counted(true, [(0,), (1,)], std=15.0, number=number))
        held.append(row.low <= mean <= row.high)
    assert np.mean(held) >= 0.95


def mean_of_age(counts: ReleasedCounts) -> Row:
    """The mean age of the first of two regions, whose ages were not counted."""
    ages = {"name": "age", "kind": "numeric", "type": "real", "lower": 0, "upper": 60, "bins": 6}
    regions = {"name": "region", "kind": "categorical", "categories": ["north", "south"]}
    of = {"schema": "understudy.domain/1", "target": None, "privacy_unit": None, "columns": [regions, ages]}
    return OpenedCounts(TableDomain.from_json(of), Estimates(counts)).answer("mean of age by region").rows[0]


@pytest.mark.real_data
@pytest.mark.parametrize("releases", [4, pytest.param(20, marks=pytest.mark.long)])
def test_intervals_of_pairs_that_a_screening_of_adult_left_out_hold_the_truth(real_data_folder, releases):
    adult = load("adult")
    domain = adult.domain
    codes = adult.train_codes.astype(np.int16)
    rows = PrivateTable(
        codes=codes,
        unit_of_record=np.arange(len(codes)),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
        ordered=domain.ordered,
        alone=codes_alone(domain),
    )
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=len(codes),
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    names = [column.name for column in domain.coded]
    held, off = defaultdict(list), []
    for number in range(releases):
        counts = released_counts(measure(rows, plan, streams(number)), rows, plan)
        assert counts is not None
        opened = OpenedCounts(domain, Estimates(counts))
        for pair in itertools.combinations(range(len(names)), 2):
            if opened.estimates.are_counted(pair):
                continue
            first, second = (opened.estimates.groups(pair)[place][codes[:, place]] for place in pair)
            true = np.zeros([opened.estimates.margin(place).size for place in pair])
            np.add.at(true, (first, second), 1.0)
            answer = opened.answer(" by ".join(f'"{names[place]}"' for place in pair))
            assert answer.basis == "assumed"
            estimates = np.array([row.estimate for row in answer.rows])
            off.append(np.abs(estimates - true.ravel()).sum() / 2 / len(codes))
            held[pair] += [
                row.low <= one <= row.high for row, one in zip(answer.rows, true.ravel(), strict=True)
            ]
    assert len(held) > 30, "the screening leaves pairs out"
    assert min(map(np.mean, held.values())) >= 0.95
    assert np.mean(off) < 0.04, "the pairs that were left out are nearly as assumed"
