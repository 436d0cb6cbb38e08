"""Learning a domain: what is released and how far one unit moves it; what follows from noisy counts."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from core.plan.domain.cleaning.column import clean_column, clean_unit
from core.plan.domain.codec import decode_column, encode_column
from core.plan.domain.columns.kinds import LabelColumn, NumericColumn, TimeColumn
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.learning import LearningPlan, LearningRelease, learning_of
from core.plan.plan import Plan
from models.learnt_domains.bins import roundest
from models.learnt_domains.learning import learn_domain, learnt_records
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from tests.core.plan.learnt import AGE, CODE, FARE, SEEN, WARD, domain_of, plan_of
from tests.privacy.seam import Recorder, Replayer

KEY = bytes(range(32))
ROWS = 20_000
NUMBER = {"name": "x", "kind": "numeric", "type": "real", "bounds": "learn", "bins": "learn"}


def batch_of(domain: TableDomain, **columns: Sequence[Any] | np.ndarray) -> pa.RecordBatch:
    cleaned = [clean_column(column, pa.array(columns[column.name])).values for column in domain.modelled]
    if domain.privacy_unit is not None:
        cleaned.append(clean_unit(domain.privacy_unit, pa.array(columns[domain.privacy_unit])).values)
    return pa.RecordBatch.from_arrays(cleaned, schema=storage_schema(domain))


def learn(
    domain: TableDomain, epsilon: float = 1.0, key: bytes = KEY, listener: Any = None, **columns: Any
) -> TableDomain:
    plan = plan_of(domain, epsilon=epsilon).learning
    assert plan is not None
    found = learn_domain([batch_of(domain, **columns)], domain, plan, KeyedStreams(key, releases=listener))
    assert not found.learnt
    assert TableDomain.from_json(found.to_json()) == found, "what is learnt is an ordinary domain"
    assert all(a <= b for a, b in zip(found.cardinalities, domain.cardinalities, strict=True))
    return found


def number(domain: TableDomain) -> NumericColumn:
    column = domain.modelled[0]
    assert isinstance(column, NumericColumn)
    return column


def redrawn(column: NumericColumn, values: np.ndarray) -> np.ndarray:
    """What a generator that reproduces all shares of codes would draw."""
    codes = encode_column(column, pa.array(values))
    drawn: np.ndarray = decode_column(column, codes, np.random.default_rng(3)).to_numpy(zero_copy_only=False)
    return drawn


def heaped(rows: int = ROWS) -> np.ndarray:
    rng = np.random.default_rng(0)
    heaps = rng.choice([120.0, 98.6, 130.0, 110.5, 140.0], rows, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    return np.where(rng.random(rows) < 0.85, heaps, np.round(rng.normal(120, 15, rows), 1))


@pytest.mark.parametrize(
    "bounds", [{"bounds": "learn"}, {"lower": -1000, "upper": 17000}], ids=["learnt", "much too wide"]
)
def test_heaps_decimals_and_the_middle_of_a_measurement_survive(bounds):
    values = heaped()
    column = number(learn(domain_of({**NUMBER, "bounds": None, **bounds} if "bounds" in bounds else
                                    {key: value for key, value in NUMBER.items() if key != "bounds"} | bounds),
                          x=values))  # fmt: skip

    drawn = redrawn(column, values)
    heaps = [120.0, 98.6, 130.0, 110.5, 140.0]
    assert set(heaps) <= set(column.specials)
    assert column.decimals == 1
    assert np.median(drawn) == np.median(values) == 120.0
    assert abs(np.isin(drawn, heaps).mean() - np.isin(values, heaps).mean()) < 0.01
    assert np.quantile(drawn, [0.01, 0.99]) == pytest.approx(np.quantile(values, [0.01, 0.99]), abs=12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_are_found_at_any_scale(scale, sign):
    values = sign * scale * np.random.default_rng(1).normal(5, 1, ROWS)
    column = number(learn(domain_of(NUMBER), x=values))

    low, high = np.quantile(values, [0.02, 0.98])
    assert column.lower <= low < high <= column.upper
    assert column.upper - column.lower < 4 * (high - low)
    gap = np.abs(
        np.searchsorted(np.sort(redrawn(column, values)), np.sort(values)) / ROWS - np.linspace(0, 1, ROWS)
    )
    assert gap.max() < 0.05


@pytest.mark.parametrize(
    "learnt", [{"bounds": "learn"}, {"bins": "learn"}, {"bounds": "learn", "bins": "learn"}]
)
@pytest.mark.parametrize(
    "kind", [{"type": "integer", "multiple_of": 250}, {"type": "real", "decimals": 2, "multiple_of": 0.25}]
)
@pytest.mark.parametrize("spread", [40, 4, 1])
def test_what_is_learnt_of_multiples_has_some(learnt: dict[str, Any], kind: dict[str, Any], spread: int):
    """Bounds may be learnt between two multiples, where no synthetic value could lie."""
    column = {"name": "x", "kind": "numeric", "lower": 1, "upper": 99_999} | learnt | kind
    step = float(kind["multiple_of"])
    values = step * (1 + np.random.default_rng(5).integers(0, spread, ROWS)) + (
        0.3 * step if spread == 1 else 0
    )
    found = number(
        learn(
            domain_of(column),
            x=np.round(values, 2) if kind["type"] == "real" else values.astype(int),
        )
    )
    drawn = redrawn(found, values)
    assert len(drawn)
    ordinary = drawn[~np.isin(drawn, found.specials)]
    assert np.allclose(ordinary / step % 1, 0)


def test_a_long_tail_and_single_heavy_values_far_out_survive():
    rng = np.random.default_rng(2)
    values = np.where(
        rng.random(ROWS) < 0.9, 0, np.where(rng.random(ROWS) < 0.3, 99999, rng.integers(1000, 20000, ROWS))
    )
    declared = {
        "name": "x",
        "kind": "numeric",
        "type": "integer",
        "lower": 0,
        "upper": 99999,
        "bins": "learn",
    }
    drawn = redrawn(number(learn(domain_of(declared), x=values)), values)

    for value in (0, 99999):
        assert abs((drawn == value).mean() - (values == value).mean()) < 0.005
    assert np.quantile(drawn, 0.95) == pytest.approx(np.quantile(values, 0.95), rel=0.25)


def test_dates_are_learnt_to_the_day_they_can_be():
    days = (np.datetime64("2019-03-01") + np.random.default_rng(3).integers(0, 400, ROWS)).astype(
        "datetime64[D]"
    )
    domain = domain_of({"name": "seen", "kind": "date", "bounds": "learn", "bins": "learn"})
    column = learn(domain, seen=days).modelled[0]

    assert isinstance(column, TimeColumn)
    assert np.datetime64(column.lower, "D") == np.datetime64("2019-01-01")
    assert np.datetime64(column.upper, "D") == np.datetime64("2020-12-31")
    codes = encode_column(column, pa.array(days))
    assert len(np.unique(codes)) > 10
    assert np.bincount(codes).max() < 0.2 * ROWS


@pytest.mark.parametrize(
    "entry", [NUMBER, {**NUMBER, "type": "integer"}, {**NUMBER, "decimals": 2}, {**SEEN, "name": "x"}]
)
def test_of_no_rows_something_is_learnt_too(entry):
    kind = pa.date32() if entry["kind"] == "date" else pa.float64()
    found = learn(domain_of(entry, {**WARD}), x=pa.array([], kind), ward=pa.array([], pa.string()))

    ward = found.modelled[1]
    assert isinstance(ward, LabelColumn)
    assert ward.labels == ()
    assert ward.cardinality == 1


@pytest.mark.parametrize(
    ("low", "end", "value"),
    [(98.59, 98.64, 98.6), (0.3333, 0.3334, 0.3333), (-3.2, -2.9, -3.0), (-1.0, 2.0, 0.0), (1.05e12, 1.3e12, 1.1e12),
     (1.01e-9, 2.4e-9, 2e-9), (5.0, 5.000001, 5.0)],
)  # fmt: skip
def test_a_heavy_value_is_the_roundest_of_its_leaf(low, end, value):
    assert roundest(low, end) == value


def test_frequent_names_are_published_and_rare_ones_are_other():
    words = ["frequent"] * 3000 + ["often"] * 1000 + [f"one of {n}" for n in range(16_000)]
    ward = learn(domain_of(WARD), ward=words).modelled[0]

    assert isinstance(ward, LabelColumn)
    assert ward.labels == ("frequent", "often")
    codes = encode_column(ward, pa.array(["often", "one of 3", "never seen"]))
    assert codes.tolist() == [1, 2, 2]


def test_at_most_the_declared_number_of_names_is_published_and_the_word_for_other_is_none():
    words = [f"ward {n % 20}" for n in range(ROWS)] + ["other"] * ROWS
    ward = learn(domain_of(WARD), ward=words).modelled[0]

    assert isinstance(ward, LabelColumn)
    assert len(ward.labels) == 10
    assert "other" not in ward.labels


def test_names_that_single_units_have_stay_unpublished():
    # 200 tables of 1,000 names of one unit each: at delta 1e-6 one is published in any with a probability below 3e-2 x 1e-6.
    words = [f"person {n}" for n in range(1000)]
    for seed in range(200):
        ward = learn(domain_of(WARD), key=seed.to_bytes(2, "big") + KEY[2:], ward=words).modelled[0]
        assert isinstance(ward, LabelColumn)
        assert ward.labels == ()


def test_a_name_passes_above_the_threshold_as_often_as_the_noise_says():
    domain = domain_of(WARD)
    plan = plan_of(domain).learning
    assert plan is not None
    words = ["word"] * math.ceil(plan.threshold)
    published = [
        len(learn(domain, key=seed.to_bytes(2, "big") + KEY[2:], ward=words).modelled[0].labels) for seed in range(300)
    ]  # fmt: skip

    # Half of 300, but for at most 1 of noise in 30: five standard deviations are 43.
    assert abs(sum(published) - 152) < 43


def heard(domain: TableDomain, rows: dict[str, Any], more: dict[str, Any]) -> tuple[Recorder, Replayer]:
    recorder = Recorder()
    replayer = Replayer(recorder)
    learn(domain, listener=recorder, **rows)
    both = {
        name: np.concatenate([np.asarray(rows[name], dtype=object), np.asarray(more[name], dtype=object)])
        for name in rows
    }
    learn(domain, listener=replayer, **both)
    return recorder, replayer


@pytest.mark.parametrize("records", [1, 3, 1000])
def test_a_unit_moves_every_release_by_its_sensitivity_at_most_however_many_records_it_has(records):
    columns = (AGE, FARE, SEEN, WARD, CODE)
    domain = domain_of(*columns, unit="person")
    rng = np.random.default_rng(4)
    day = np.datetime64("2020-01-01").astype("datetime64[D]").item()

    def rows(count: int, person: str) -> dict[str, Any]:
        return {
            "age": rng.integers(0, 120, count), "fare": np.round(rng.random(count) * 10, 2), "seen": [day] * count,
            "ward": rng.choice(["a", "b"], count), "code": [f"{person} {n}" for n in range(count)], "person": [person] * count,
        }  # fmt: skip

    recorder, replayer = heard(domain, rows(50, "everybody"), rows(records, "new"))

    names = [(int(Purpose.LEARNING_NOISE), step) for step in range(len(domain.learnt))]
    assert list(recorder.heard) == names
    for name in names:
        moved, stated = replayer.distances[name], recorder.heard[name].sensitivity
        assert 0 < moved <= stated * (1 + 1e-12)
    # One record reaches what is stated wherever the unit is counted, so the statement is no larger than need be.
    if records == 1:
        assert replayer.distances[names[0]] == pytest.approx(recorder.heard[names[0]].sensitivity)


PEOPLE = domain_of(CODE, unit="person")
Records = list[tuple[str, str | None]]
"""Persons with their codes, in the order of a table."""


def votes(records: Records, *, plan: LearningPlan | None = None) -> dict[int, float]:
    """What is added to each code, by its hash."""
    recorder = Recorder()
    batches = [
        batch_of(PEOPLE, code=[code for _, code in part], person=[person for person, _ in part])
        for part in (records[: len(records) // 2], records[len(records) // 2 :])
    ]
    learn_domain(batches, PEOPLE, plan or learning_of_people(), KeyedStreams(KEY, releases=recorder))
    ((exact, _std),) = recorder.heard[int(Purpose.LEARNING_NOISE), 0].exact
    places, counts = exact.indices()[0].tolist(), exact.values().tolist()
    assert all(count > 0 for count in counts)
    return dict(zip(places, counts, strict=True))


def learning_of_people() -> LearningPlan:
    plan = plan_of(PEOPLE).learning
    assert plan is not None
    return plan


@pytest.mark.parametrize("names", [1, 2, 3, 4, 31, 32, 33, 1000])
def test_a_unit_adds_as_much_to_each_of_its_names_and_one_to_all_in_squares(names: int):
    records: Records = [("one", f"code {n % names}") for n in range(3 * names)]
    added = votes([("one", None), *records, ("one", "other")])

    assert len(added) == min(names, 32), "as many names of a unit count"
    assert len(set(added.values())) == 1
    squares = math.fsum(weight**2 for weight in added.values())
    assert 1 - 1e-4 < squares <= 1
    assert all((weight * 2**20).is_integer() for weight in added.values())


def test_the_first_names_of_a_unit_count_in_the_order_of_its_own_records():
    mine: Records = [("mine", f"code {n}") for n in range(40)]
    others: Records = [("other", f"word {n}") for n in range(500)]
    first = votes(mine[:32])

    assert votes(mine) == first
    assert votes([*mine, mine[0]]) == first
    assert votes(mine[::-1]) != first
    mixed = [row for pair in zip(others, [*mine, *mine * 12], strict=False) for row in pair]
    assert {place: votes(mixed)[place] for place in first} == first
    crowd: Records = [(f"p{person}", f"code {n}") for person in range(5) for n in range(32, 40)]
    one, other = votes(crowd), votes([*crowd, *mine])
    assert {
        place: count - one.get(place, 0.0) for place, count in other.items() if one.get(place) != count
    } == first


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 60)), max_size=300),
    unit=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 80)), min_size=1, max_size=120),
)
def test_a_unit_anywhere_in_the_table_moves_names_by_one_in_squares(
    rows: list[tuple[str, int]], unit: list[tuple[int, int]]
):
    without: Records = [(person, f"code {code}") for person, code in rows]
    records = list(without)
    for place, code in unit:
        records.insert(min(place, len(records)), ("new", f"code {code}" if code else None))
    one, other = (defaultdict(float, votes(each)) for each in (without, records))
    moved = [other[name] - one[name] for name in {*one, *other}]

    assert math.fsum(move**2 for move in moved) <= 1
    assert all(move >= 0 for move in moved)
    assert sum(move > 0 for move in moved) <= 32


def test_a_plan_from_before_counts_the_first_record_of_a_unit():
    plan = replace(learning_of_people(), names_per_unit=None)
    records: Records = [("a", "x"), ("b", None), ("a", "y"), ("c", "y"), ("b", "x"), ("d", "y")]

    assert sorted(votes(records, plan=plan).values()) == [1.0, 2.0]
    assert sorted(votes(records).values()) == [1.0 + 741455 / 2**20, 2.0 + 741455 / 2**20]
    assert math.isqrt(2**39) == 741455


def test_words_that_units_of_many_records_share_are_learnt():
    rng = np.random.default_rng(7)
    codes = np.concatenate([rng.choice(40, 16, replace=False) for _ in range(3000)])
    rows = {"code": [f"code {n}" for n in codes], "person": np.repeat([f"p{n}" for n in range(3000)], 16)}
    first = learn_domain(
        [batch_of(PEOPLE, **rows)], PEOPLE, replace(learning_of_people(), names_per_unit=None), KeyedStreams(KEY)
    )  # fmt: skip

    assert first.modelled[0].labels == ()
    assert len(learn(PEOPLE, **rows).modelled[0].labels) >= 30


def test_names_that_only_one_unit_has_pass_no_more_often_than_planned_however_many_they_are():
    """One unit with 3,000 names; noise and delta that let one of the 32 that count pass in q = 39 % of all jobs."""
    plan = replace(learning_of_people(), noise_multiplier=1.0, delta=0.5)
    batches = [batch_of(PEOPLE, code=[f"code {n}" for n in range(3000)], person=["one"] * 3000)]
    jobs = [
        learn_domain(batches, PEOPLE, plan, KeyedStreams(seed.to_bytes(2, "big") + KEY[2:]))
        for seed in range(100)
    ]
    published = sum(bool(found.modelled[0].labels) for found in jobs)

    # 39 of 100 at most on average; five standard deviations are 24.
    assert published < 39 + 24
    assert published > 15, "or the threshold is higher than it needs to be"


def test_one_row_reaches_the_sensitivity_with_decimals():
    domain = domain_of(FARE)
    plan = learning_of(domain)
    recorder, replayer = heard(domain, {"fare": [1.5] * 5}, {"fare": [2.25]})

    for step, release in enumerate(plan.releases):
        name = (int(Purpose.LEARNING_NOISE), step)
        assert replayer.distances[name] * recorder.heard[name].exact[0][1] == pytest.approx(
            release.sensitivity
        )


def test_every_count_is_noised_by_the_planned_deviation():
    # False alarm 1e-6 in either direction: the sum of squares of some thousands of noises.
    domain = domain_of(AGE, FARE)
    plan = plan_of(domain).learning
    assert plan is not None
    recorder = Recorder()
    learn(domain, listener=recorder, age=[30] * 10, fare=[1.5] * 10)

    for step, release in enumerate(plan.releases):
        found = recorder.heard[int(Purpose.LEARNING_NOISE), step]
        noise = (found.noisy[0] - found.exact[0][0]).numpy()
        std = plan.noise_multiplier * release.sensitivity
        squares = float((noise / std) @ (noise / std))
        assert chi2.ppf(5e-7, len(noise)) < squares < chi2.isf(5e-7, len(noise))
        assert np.abs(noise * 2**20 - np.rint(noise * 2**20)).max() == 0


def test_names_are_noised_by_the_planned_deviation():
    domain, words = domain_of({**WARD, "most": 200}), [f"w{n}" for n in range(200) for _ in range(400)]
    plan = plan_of(domain).learning
    assert plan is not None
    recorder = Recorder()
    learn(domain, listener=recorder, ward=words)

    noise = recorder.heard[int(Purpose.LEARNING_NOISE), 0].noisy[1].numpy() - 400
    assert len(noise) == 200
    squares = float((noise @ noise) / plan.noise_multiplier**2)
    assert chi2.ppf(5e-7, 200) < squares < chi2.isf(5e-7, 200)


def test_a_plan_of_another_domain_is_refused():
    domain = domain_of(WARD)
    other = LearningPlan(
        noise_multiplier=1.0,
        delta=1e-9,
        releases=(LearningRelease(column=1, learns="categories", sensitivity=1.0),),
    )

    with pytest.raises(ValueError, match="another domain"):
        learn_domain([batch_of(domain, ward=["a"])], domain, other, KeyedStreams(KEY))


def test_the_same_key_learns_the_same_and_the_plan_is_one_of_a_job():
    domain, values = domain_of(NUMBER), np.random.default_rng(6).normal(5, 1, ROWS)

    assert learn(domain, x=values) == learn(domain, x=values)
    assert learn(domain, x=values) != learn(domain, key=bytes(32), x=values)
    assert isinstance(plan_of(domain), Plan)


class Cancelling(NullHost):
    """A host that was told to cancel: nothing private may begin."""

    def advance(self, *, stage: str, step: int, total: int) -> None:
        raise InterruptedError(f"{stage} {step} of {total}")


def test_the_mark_of_the_measurements_is_made_before_anything_is_learnt():
    domain, recorder = domain_of(WARD), Recorder()
    plan = plan_of(domain).learning

    with pytest.raises(InterruptedError, match="measure 1 of 1"):
        learnt_records(
            [batch_of(domain, ward=["a"])], domain, plan, KeyedStreams(KEY, releases=recorder), Cancelling()
        )

    assert recorder.calls == []


def test_a_bound_keeps_so_many_records_of_a_unit_and_learning_looks_at_all():
    unbounded, domain = (domain_of(NUMBER, WARD, unit="person", records=records) for records in (None, 2))
    rows = {"x": np.arange(3000.0) % 50, "ward": ["a"] * 3000, "person": [f"p{n // 3}" for n in range(3000)]}
    batches, plan = [batch_of(domain, **rows)], plan_of(domain)

    found, table = learnt_records(
        batches, domain, plan.learning, KeyedStreams(KEY), NullHost(), bound=2, key=KEY
    )

    assert np.bincount(table.unit_of_record).tolist() == [2] * 1000
    assert table.record_bound == 2
    assert table.cardinalities == found.cardinalities
    assert found.modelled == learn(unbounded, **rows).modelled


def test_a_domain_that_is_learnt_is_not_counted_in_a_stream():
    assert not plan_of(domain_of(NUMBER, WARD)).only_counts
    assert plan_of(domain_of({"name": "ward", "kind": "categorical", "categories": ["a"]})).only_counts


def test_nothing_is_marked_or_learnt_of_a_declared_domain():
    domain = domain_of({"name": "ward", "kind": "categorical", "categories": ["a"]})

    found, table = learnt_records(
        [batch_of(domain, ward=["a"])], domain, None, KeyedStreams(KEY), Cancelling()
    )

    assert found == domain
    assert table.codes.tolist() == [[0]]
