"""Rules between columns held against noisy counts: what is told of, what is not, and how large the noise is."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.rules_check import (
    CODE,
    FALSE_ALARM,
    REMEDY,
    SIGNIFICANT,
    CheckedRule,
    RulesCheck,
    significant,
)
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps
from core.plan.domain.codec import codes_of
from core.plan.domain.forbidden import forbidden_by_rule
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import TOGETHER, document, flag, number, words
from tests.core.plan.domain.test_keeping import drawn

Rows = list[np.ndarray]
Columns = tuple[int, ...]
DOMAIN = TableDomain.from_json(TOGETHER)
SIZES = DOMAIN.cardinalities
CAP, KIND = 3, 4
PAIRS = list(itertools.combinations(range(len(SIZES)), 2))
BY_CLASS = [(KIND,), *((min(c, KIND), max(c, KIND)) for c in range(len(SIZES)) if c != KIND)] + [
    tuple(sorted((KIND, *pair))) for pair in PAIRS if KIND not in pair
]
"""The two layouts of an anchor: every pair, or everything by class of the target."""
NOISE = 30.0
STEP = 2.0**-4


def counted(
    rows: Rows, tables: Sequence[Columns], rng: np.random.Generator, noise: float = NOISE
) -> ReleasedCounts:
    codes = codes_of(DOMAIN, rows).astype(int)
    released = []
    for columns in tables:
        shape = [SIZES[column] for column in columns]
        table = np.zeros(shape)
        np.add.at(table, tuple(codes[:, column] for column in columns), 1.0)
        cells = in_steps(table + rng.normal(0, noise, shape), STEP)
        released.append(CountTable(columns=columns, noise_std=noise, cells=cells))
    return of_codes(SIZES, tuple(released), step=STEP)


def of_codes(sizes: Sequence[int], tables: tuple[CountTable, ...], step: float = 1.0) -> ReleasedCounts:
    """Tables none of whose codes are merged."""
    return ReleasedCounts(
        cardinalities=tuple(sizes),
        step=step,
        tables=tables,
        groups=tuple(np.arange(codes) for codes in sizes),
    )


def check(counts: ReleasedCounts, domain: TableDomain = DOMAIN) -> RulesCheck:
    return OpenedCounts(domain, Estimates(counts)).rules_check


def kept() -> Rows:
    return drawn(DOMAIN, 8000, 1)


def breaking() -> Rows:
    """A row in four has the kind "none", which no cap allows."""
    rows = kept()
    rows[KIND][:2000] = 2
    return rows


@pytest.mark.parametrize("tables", [PAIRS, BY_CLASS], ids=["pairs", "by class"])
def test_counts_of_rows_that_keep_the_rules_contradict_none(tables: Sequence[Columns]) -> None:
    told = check(counted(kept(), tables, np.random.default_rng(2)))
    # Of the sum every column may be missing, so two columns alone never break it.
    assert [rule.finding for rule in told.rules] == ["not-checked"] + ["not-contradicted"] * 6
    assert all(rule.contradictions == () for rule in told.rules)
    assert told.remedy is None


@pytest.mark.parametrize("tables", [PAIRS, BY_CLASS], ids=["pairs", "by class"])
def test_counts_of_rows_that_break_a_rule_are_reported(tables: Sequence[Columns]) -> None:
    told = check(counted(breaking(), tables, np.random.default_rng(3)))
    (rule,) = (rule for rule in told.rules if rule.finding == "contradicted")
    assert (rule.pointer, rule.kind, rule.columns) == ("/rules/3", "determines", ("cap", "kind"))
    (found,) = rule.contradictions
    assert found.columns == ("cap", "kind")
    assert found.low < 2000 < found.high
    assert found.estimate > SIGNIFICANT * found.standard_error
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.standard_error, rel=1e-3)
    assert told.remedy == REMEDY
    assert told.code == CODE
    assert told.counted == "records"


def test_a_table_of_three_columns_is_summed_with_the_noise_of_all_its_cells() -> None:
    """One released table: nothing else has a say, and each cell of the pair is the sum of the third column's cells."""
    for third in (0, 5, 7):
        columns = tuple(sorted((CAP, KIND, third)))
        counts = counted(breaking(), [columns], np.random.default_rng(4), noise=5.0)
        told = check(counts)
        (found,) = told.rules[3].contradictions
        forbidden = list(forbidden_by_rule(DOMAIN))[3][CAP, KIND]
        variance = forbidden.sum() * SIZES[third] * (5.0**2 + STEP**2 / 12)
        assert found.standard_error == pytest.approx(math.sqrt(variance))
        (table,) = counts.tables
        summed = table.cells.sum(axis=columns.index(third)) * STEP
        assert found.estimate == pytest.approx(summed[forbidden].sum())


def test_several_tables_know_more_than_the_best_of_them() -> None:
    rows = breaking()

    def error(tables: Sequence[Columns]) -> float:
        counts = counted(rows, tables, np.random.default_rng(5), noise=5.0)
        return check(counts).rules[3].contradictions[0].standard_error

    alone = [error([columns]) for columns in [(CAP, KIND), (0, CAP, KIND), (CAP, KIND, 7)]]
    together = error([(CAP, KIND), (0, CAP, KIND), (CAP, KIND, 7)])
    assert together == pytest.approx(sum(one**-2 for one in alone) ** -0.5)
    assert together < min(alone)
    # Tables of other pairs tell the margins of this one besides.
    assert error(PAIRS) < error([(CAP, KIND)])


@pytest.mark.parametrize("tables", [PAIRS, BY_CLASS], ids=["pairs", "by class"])
def test_the_stated_noise_is_the_noise(tables: Sequence[Columns]) -> None:
    """Of 400 releases of the same rows, of which no forbidden cell holds any, for each rule and pair that is checked."""
    rows = drawn(DOMAIN, 500, 2)
    rng = np.random.default_rng(6)
    forbidden = [item for by_pair in forbidden_by_rule(DOMAIN) for item in by_pair.items()]
    standardised = np.empty((400, len(forbidden)))
    for release in range(400):
        estimates = Estimates(counted(rows, tables, rng))
        for place, (pair, cells) in enumerate(forbidden):
            error = math.sqrt(estimates.variance(pair, cells))
            standardised[release, place] = estimates.table(pair)[cells].sum() / error
    assert np.abs(standardised.mean(axis=0)).max() < 4.5 / math.sqrt(400)
    assert np.abs(standardised.std(axis=0) - 1).max() < 4.5 / math.sqrt(800)


@pytest.mark.parametrize("checks", [1, 31, 32, 128, 8128])
def test_noise_alone_contradicts_any_rule_as_seldom_as_is_said(checks: int) -> None:
    """Bonferroni: the one-sided tail beyond the threshold, so many times."""
    threshold = significant(checks)
    tail = math.erfc(threshold / math.sqrt(2.0)) / 2.0
    assert threshold >= SIGNIFICANT
    assert checks * tail <= FALSE_ALARM * (1 + 1e-9)
    assert threshold == SIGNIFICANT or checks * tail == pytest.approx(FALSE_ALARM)


def test_rules_that_the_counts_cannot_speak_of_are_not_called_kept() -> None:
    told = check(counted(breaking(), [(0,), (1, 2), (5, 6)], np.random.default_rng(7)))
    findings = [rule.finding for rule in told.rules]
    assert findings[3] == "not-checked", "cap and kind were not counted together"
    assert findings[2] == findings[4] == "not-contradicted"
    assert told.remedy is None
    # Any two bins of these columns hold values that keep the rule.
    coarse = TableDomain.from_json(
        document(
            [number("a", 0, 10, bins=1), number("b", 0, 10, bins=1)],
            [{"kind": "at_most", "columns": ["a", "b"]}],
        )
    )
    table = CountTable(columns=(0, 1), noise_std=1.0, cells=np.full((1, 1), 100, np.int32))
    (rule,) = check(of_codes((1, 1), (table,)), coarse).rules
    assert rule.finding == "not-checked"


def test_of_a_rule_over_many_columns_the_pair_that_breaks_it_is_named() -> None:
    domain = TableDomain.from_json(
        document([flag(name) for name in "abc"], [{"kind": "exactly_one", "columns": ["a", "b", "c"]}])
    )
    # False is code 0, true is code 1: 300 records have both a and b set, 50 each of the others one.
    full = np.zeros((2, 2, 2), np.int32)
    full[1, 1, 0], full[1, 0, 0], full[0, 1, 0], full[0, 0, 1] = 300, 50, 50, 50
    tables = tuple(
        CountTable(columns=pair, noise_std=2.0, cells=full.sum(axis=other, dtype=np.int32))
        for pair, other in {(0, 1): 2, (0, 2): 1, (1, 2): 0}.items()
    )
    (rule,) = check(of_codes((2, 2, 2), tables), domain).rules
    assert rule.columns == ("a", "b", "c")
    (found,) = rule.contradictions
    assert found.columns == ("a", "b")
    assert found.estimate == pytest.approx(300)


def test_a_table_without_rules_and_one_with_units_are_said_as_they_are() -> None:
    plain = TableDomain.from_json(document([words("w", "x", "y"), flag("f")], []))
    table = CountTable(columns=(0, 1), noise_std=1.0, cells=np.zeros((2, 2), np.int32))
    counts = of_codes((2, 2), (table,))
    told = check(counts, plain)
    assert told.to_json() == {
        "schema": "understudy.rules-check/1",
        "rules": [],
        "counted": "records",
        "confidence": 0.95,
        "code": None,
        "remedy": None,
    }
    units = document(
        [{"name": "person", "kind": "unit"}, words("w", "x", "y"), flag("f")], [], privacy_unit="person"
    )
    assert (
        check(counts, TableDomain.from_json(units)).counted
        == "records, each divided by the records of its 'person'"
    )


def test_of_merged_codes_only_groups_all_of_whose_codes_are_forbidden_count() -> None:
    domain = TableDomain.from_json(
        document(
            [number("a", 0, 3, bins=4), number("b", 0, 3, bins=4)],
            [{"kind": "at_most", "columns": ["a", "b"]}],
        )
    )
    assert domain.cardinalities == (4, 4)

    def told_of(groups: list[int], cells: list[list[int]]) -> CheckedRule:
        merged = np.array(groups)
        table = CountTable(columns=(0, 1), noise_std=2.0, cells=np.array(cells, np.int32))
        counts = ReleasedCounts(cardinalities=(4, 4), step=1.0, tables=(table,), groups=(merged, merged))
        (rule,) = check(counts, domain).rules
        return rule

    halves = [0, 0, 1, 1]
    assert told_of(halves, [[900, 900], [0, 900]]).finding == "not-contradicted"
    broken = told_of(halves, [[900, 900], [300, 900]])
    assert broken.finding == "contradicted"
    assert broken.contradictions[0].estimate == pytest.approx(300)
    assert told_of([0, 0, 0, 0], [[2000]]).finding == "not-checked"
