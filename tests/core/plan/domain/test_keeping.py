"""Rows that break rules are drawn, and none is left: by a checker that reads the document alone."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from core.plan.domain.codec import batch_of, codes_of, draw_values, encode
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.errors import DomainInvalid
from core.plan.domain.rules.keeping import REDRAWS
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import (
    ALL,
    COMPUTED,
    EVERY_RULE,
    TOGETHER,
    broken,
    document,
    flag,
    number,
    words,
)


def drawn(
    domain: TableDomain,
    rows: int,
    seed: int,
    *,
    redraws: list[int] | None = None,
    again: bool = True,
    target: int | None = None,
) -> list[np.ndarray]:
    """Values of rows with even codes, kept; with ``again`` false every redraw gives the row as it was first."""
    rng = np.random.default_rng(seed)

    def fresh(count: int) -> list[np.ndarray]:
        codes = np.stack([rng.integers(size, size=count) for size in domain.cardinalities], axis=1)
        return draw_values(domain, codes.astype(np.int16), rng)

    values = fresh(rows)
    first = [column.copy() for column in values]

    def redraw(at: np.ndarray) -> Sequence[np.ndarray]:
        if redraws is not None:
            redraws.append(len(at))
        return fresh(len(at)) if again else [column[at] for column in first]

    assert domain.kept is not None
    domain.kept.keeper.keep(values, redraw, rng, target=target)
    return values


def breaking(found: Mapping[str, Any], domain: TableDomain, values: list[np.ndarray]) -> int:
    return sum(bool(broken(found, row)) for row in batch_of(domain, values).to_pylist())


def require_possible(domain: TableDomain, values: list[np.ndarray]) -> None:
    """Each value is missing where that is allowed, or special, or an ordinary one of the domain."""
    for column, own in zip(domain.modelled, values, strict=True):
        present = own[~np.isnan(own)]
        assert column.null_code is not None or len(present) == len(own)
        if isinstance(column, LabelColumn):
            assert np.isin(present, np.arange(len(column.words))).all()
            continue
        ordinary = present[~np.isin(present, column.specials)]
        assert ((ordinary >= column.lower) & (ordinary <= column.upper)).all()
        if column.grid is not None:
            assert np.isin(ordinary, column.grid.points(np.arange(column.grid.ticks))).all()


@pytest.mark.parametrize("name", ALL)
def test_rows_of_even_codes_break_the_rules_before_they_are_kept(name: str) -> None:
    """Else the tests below would show nothing; and the keeper sees what the checker sees."""
    domain = TableDomain.from_json(ALL[name])
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(size, size=2000) for size in domain.cardinalities], axis=1)
    values = draw_values(domain, codes.astype(np.int16), rng)
    expected = [bool(broken(ALL[name], row)) for row in batch_of(domain, values).to_pylist()]
    assert sum(expected) > 100
    assert domain.kept is not None
    found = domain.kept.keeper.broken({place: values[place] for place in domain.kept.keeper.values})
    assert found.tolist() == expected


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("name", ALL)
def test_no_drawn_row_breaks_a_rule(name: str, again: bool) -> None:
    domain = TableDomain.from_json(ALL[name])
    values = drawn(domain, 5000, 2, again=again)
    assert breaking(ALL[name], domain, values) == 0
    batch = batch_of(domain, values)
    assert np.array_equal(encode(domain, batch), codes_of(domain, values))


@pytest.mark.parametrize("name", ALL)
def test_kept_values_are_ones_that_the_domain_has(name: str) -> None:
    """Bounds, decimals, resolutions: each value is a special one, or one that its own bin gives."""
    domain = TableDomain.from_json(ALL[name])
    require_possible(domain, drawn(domain, 3000, 3, again=False))


def test_the_same_stream_gives_the_same_rows() -> None:
    domain = TableDomain.from_json(TOGETHER)
    one, other = (drawn(domain, 3000, 4) for _ in range(2))
    assert all(np.array_equal(left, right, equal_nan=True) for left, right in zip(one, other, strict=True))


@pytest.mark.parametrize("name", ["impossible", "possible", "null_together", "determines"])
def test_rows_that_keep_the_rules_stay_as_they_were_drawn(name: str) -> None:
    """All but those that exchange values to keep an order."""
    domain = TableDomain.from_json(EVERY_RULE[name])
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(size, size=2000) for size in domain.cardinalities], axis=1)
    values = draw_values(domain, codes.astype(np.int16), rng)
    assert domain.kept is not None
    keeper = domain.kept.keeper
    whole = ~keeper.broken({place: values[place] for place in keeper.values})
    before = [column.copy() for column in values]
    keeper.keep(values, lambda at: [column[at] for column in before], rng)
    assert 0 < whole.sum() < 2000
    for column, was in zip(values, before, strict=True):
        assert np.array_equal(column[whole], was[whole], equal_nan=True)


def pupils(count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Days present, absent and enrolled as a generator draws them: whole heaps, and values inside bins that do not add up."""
    enrolled = np.where(
        rng.random(count) < 0.85, 179.0 + rng.integers(0, 2, count), rng.integers(30, 179, count)
    )
    absent = np.floor(rng.gamma(1.8, 8.0, count)).clip(0, 30)
    present = (enrolled - absent + rng.integers(-4, 5, count)).clip(0, 180)
    return [present, absent, enrolled]


@pytest.mark.parametrize("computed", ["present", "absent", "enrolled", None])
def test_what_is_not_computed_keeps_its_distribution(computed: str | None) -> None:
    (rule,) = COMPUTED["rules"]
    bare = {key: value for key, value in rule.items() if key != "computed"}
    found = COMPUTED | {"rules": [bare if computed is None else bare | {"computed": computed}]}
    domain = TableDomain.from_json(found)
    rng = np.random.default_rng(12)
    values = pupils(20_000, rng)
    before = [column.copy() for column in values]
    assert domain.kept is not None
    domain.kept.keeper.keep(values, lambda at: pupils(len(at), rng), rng)
    assert breaking(found, domain, values) == 0
    shares = [float(np.isin(own[2], [179, 180]).mean()) for own in (before, values)]
    assert shares[0] == pytest.approx(0.85, abs=0.01)
    if computed in ("present", "absent"):
        assert shares[1] == pytest.approx(0.85, abs=0.02)
        kept = 1 if computed == "present" else 0
        assert abs(values[kept].mean() - before[kept].mean()) < 1
    else:
        assert shares[1] < 0.4, "the total of days drawn inside bins"


def test_a_row_that_keeps_its_sum_or_has_no_number_is_not_computed() -> None:
    domain = TableDomain.from_json(COMPUTED)
    assert domain.kept is not None
    nan = np.nan
    values = [np.array([170.0, 20, 30, 40]), np.array([9.0, nan, 10, 5]), np.array([179.0, 180, 999, 50])]
    domain.kept.keeper.keep(values, lambda at: pytest.fail("no row is drawn again"), np.random.default_rng(0))
    assert values[0].tolist() == [170, 20, 30, 45], "only the last row breaks the rule"
    assert values[2].tolist() == [179, 180, 999, 50]


def test_a_declared_total_is_computed_like_an_undeclared_one() -> None:
    found = EVERY_RULE["sum"]
    told = found | {"rules": [rule | {"computed": "gross"} for rule in found["rules"]]}
    one, other = (drawn(TableDomain.from_json(one), 3000, 13, again=False) for one in (found, told))
    assert all(np.array_equal(left, right, equal_nan=True) for left, right in zip(one, other, strict=True))


def test_redraws_are_bounded_and_stop_where_they_do_not_help() -> None:
    redraws: list[int] = []
    drawn(TableDomain.from_json(EVERY_RULE["impossible"]), 5000, 6, redraws=redraws)
    assert 1 < len(redraws) <= REDRAWS
    assert redraws == sorted(redraws, reverse=True)
    hopeless: list[int] = []
    drawn(TableDomain.from_json(EVERY_RULE["exactly_one"]), 5000, 6, redraws=hopeless)
    assert len(hopeless) == 1, "one of 40 even flags is set in a row of 27 billion"


def test_redrawing_gives_the_distribution_under_the_condition() -> None:
    """If of even numbers a leaves 20 - a values of b, it has a falling distribution."""
    allowed = [[value, {"from": value}] for value in range(20)]
    found = document(
        [number("a", 0, 19), number("b", 0, 19)],
        [{"kind": "possible", "columns": ["a", "b"], "combinations": allowed}],
    )
    domain = TableDomain.from_json(found)
    counts = np.bincount(drawn(domain, 100_000, 7)[0].astype(int), minlength=20)
    shares = np.arange(20, 0, -1) / 210
    # One row in 300 is still broken after 8 redraws of half the rows, and is mended to another distribution.
    slack = 6 * np.sqrt(shares / 100_000) + 1 / 300
    assert (np.abs(counts / 100_000 - shares) < slack).all()


def test_a_single_row_is_kept_without_others_to_take_from() -> None:
    domain = TableDomain.from_json(TOGETHER)
    for seed in range(50):
        assert breaking(TOGETHER, domain, drawn(domain, 1, seed, again=False)) == 0


def test_order_that_only_a_special_value_can_keep_is_kept_by_it() -> None:
    """The bounds do not meet, so every row has the larger column's word for "not asked"."""
    found = document(
        [number("a", 30, 40), number("b", 0, 20, specials=[99])], [{"kind": "at_most", "columns": ["a", "b"]}]
    )
    domain = TableDomain.from_json(found)
    values = drawn(domain, 500, 11)
    require_possible(domain, values)
    assert set(values[1].tolist()) == {99.0}


def test_no_rows_are_kept_too() -> None:
    assert all(len(column) == 0 for column in drawn(TableDomain.from_json(TOGETHER), 0, 8))


def test_rules_that_mending_cannot_meet_are_met_by_the_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a pass of mending, what is left is taken from rows that keep the rules, or from the witness."""
    domain = TableDomain.from_json(TOGETHER)
    monkeypatch.setattr("core.plan.domain.rules.keeping.PASSES", 0)
    for rows in (1, 2000):
        assert breaking(TOGETHER, domain, drawn(domain, rows, 9, again=False)) == 0


def test_a_chain_of_forty_columns_is_kept() -> None:
    names = [f"n{place}" for place in range(40)]
    rules = [{"kind": "at_most", "columns": list(pair)} for pair in itertools.pairwise(names)]
    found = document([number(name) for name in names], rules)
    domain = TableDomain.from_json(found)
    values = drawn(domain, 2000, 10)
    assert breaking(found, domain, values) == 0
    assert len(np.unique(np.stack(values), axis=1).T) > 1000, "the rows still differ"


COLUMNS = [
    number("i", 0, 12, specials=[3, 50]),
    number("j", -4, 9, null="category", bins=3),
    {"name": "x", "kind": "numeric", "type": "real", "lower": -1, "upper": 8, "decimals": 1, "null": "category", "specials": [2.5]},
    {"name": "y", "kind": "numeric", "type": "real", "lower": 0, "upper": 20, "specials": [7, -9]},
    words("w", "A", "B", "C", null="category"),
    words("v", "A", "D"),
    flag("t", null="category"),
    {"name": "d", "kind": "date", "lower": "2020-01-05", "upper": "2021-03-31", "resolution": "month", "null": "category"},
    {"name": "e", "kind": "date", "lower": "2020-02-01", "upper": "2020-11-30", "resolution": "week"},
    {"name": "s", "kind": "datetime", "lower": "2020-05-01T18:00:00", "upper": "2021-01-02T03:00:00", "resolution": "hour", "null": "category"},
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "i": [0, 3, 50, {"from": 4}, {"to": 7}, {"one_of": [1, 50]}],
    "j": [None, -4, {"from": 0}, {"one_of": [None, 2]}, {"not": None}],
    "x": [None, 2.5, 0.3, {"to": 2.5}, {"from": 0.25}, {"not": None}],
    "y": [7, -9, {"from": 6.5}, {"from": 7, "to": 11}, {"not": None}],
    "w": ["A", None, {"one_of": ["A", "C"]}, {"not": None}],
    "v": ["A", "D"],
    "t": [True, None, "false", {"not": None}],
    "d": [None, "2020-03-01", {"from": "2020-05-15"}, {"not": None}],
    "e": ["2020-02-01", {"to": "2020-06-30"}],
}
NUMBERS = ["i", "j", "x", "y"]


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:  # noqa: PLR0911 - one for each kind
    """Some rule over the columns above."""
    kind = draw(st.sampled_from(sorted(EVERY_RULE)))

    def some(names: Sequence[str], fewest: int, most: int) -> list[str]:
        return draw(st.lists(st.sampled_from(names), min_size=fewest, max_size=most, unique=True))

    if kind == "sum":
        *parts, total = some(NUMBERS, 3, 4)
        computed = draw(st.sampled_from([{}, *({"computed": name} for name in (*parts, total))]))
        tolerance = {"tolerance": draw(st.sampled_from([0, 0.5, 3]))}
        return {"kind": kind, "parts": parts, "total": total} | computed | tolerance
    if kind == "at_most":
        return {
            "kind": kind,
            "columns": draw(st.sampled_from([some(NUMBERS, 2, 2), some(["d", "e", "s"], 2, 2)])),
        }
    if kind == "null_together":
        return {"kind": kind, "columns": some(["j", "x", "w", "t", "d"], 2, 5)}
    if kind == "exactly_one":
        names = some(["w", "v", "t"], 2, 3)
        if "t" in names:
            return {"kind": kind, "columns": names, "set": [True if name == "t" else "A" for name in names]}
        return {"kind": kind, "columns": names, "set": "A"}
    names = some(list(VALUES), 2, 2 if kind == "determines" else 4)
    if kind == "determines":
        key = draw(st.sampled_from(VALUES[names[0]]))
        value = draw(st.sampled_from([one for one in VALUES[names[1]] if not isinstance(one, dict)]))
        return {"kind": kind, "columns": names, "pairs": [[key, value]]}
    combination = st.tuples(*(st.sampled_from(VALUES[name]) for name in names)).map(list)
    return {
        "kind": kind,
        "columns": names,
        "combinations": draw(st.lists(combination, min_size=1, max_size=4)),
    }


@settings(max_examples=25, deadline=None)
@given(st.lists(rules(), min_size=1, max_size=5), st.integers(0, 2**32), st.booleans())
def test_no_rules_leave_a_broken_row(declared: list[dict[str, Any]], seed: int, again: bool) -> None:
    found = document(COLUMNS, declared)
    try:
        domain = TableDomain.from_json(found)
    except DomainInvalid as error:
        event(error.problem)
        return
    again_read = TableDomain.from_json(domain.to_json())
    assert again_read == domain
    assert again_read.digest() == domain.digest()
    values = drawn(domain, 300, seed, again=again)
    assert breaking(found, domain, values) == 0
    require_possible(domain, values)


@pytest.mark.parametrize("target", [None, 0])
def test_columns_that_are_missing_together_are_missing_as_often_as_they_were_drawn_to_be(
    target: int | None,
) -> None:
    """Drawn again until the rule is kept, rows would be missing in one of 82 cases."""
    listed = [words(name, *"123456789", null="category") for name in ("a", "b")]
    rule = {"kind": "null_together", "columns": ["a", "b"]}
    domain = TableDomain.from_json(document(listed, [rule]))
    first, second = drawn(domain, 40_000, 3, target=target)
    assert np.array_equal(np.isnan(first), np.isnan(second))
    assert abs(np.isnan(first).mean() - 0.1) < 0.008
