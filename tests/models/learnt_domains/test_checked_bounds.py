"""Checks of declared bounds: how far a unit moves them, and what becomes of columns whose bounds are far too wide."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.codec import decode_column, encode_column
from core.plan.domain.columns.kinds import NumericColumn, TimeColumn
from core.plan.domain.table import TableDomain
from core.plan.learning import LearningPlan
from models.learnt_domains.checked_bounds import check_bounds
from models.learnt_domains.learning import learn_domain
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from tests.core.plan.learnt import SICK, domain_of
from tests.core.plan.test_crowding import plan_of
from tests.models.learnt_domains.test_learning import batch_of
from tests.privacy.seam import Recorder, Replayer

KEY = bytes(range(32))
ROWS = 10_000
WHOLE = {"name": "x", "kind": "numeric", "type": "integer"}
REAL = {"name": "x", "kind": "numeric", "type": "real"}
DAY = {"name": "x", "kind": "date"}


class Shards:
    """Rows in memory, as stored rows are read."""

    def __init__(self, *shards: list[pa.RecordBatch]) -> None:
        self._shards = shards

    def __len__(self) -> int:
        return len(self._shards)

    def read(self, shard: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        for batch in self._shards[shard]:
            yield batch if columns is None else batch.select(list(columns))


def planned(domain: TableDomain, *, epsilon: float = 1.0, size: int = ROWS) -> LearningPlan:
    plan = plan_of(domain, epsilon=epsilon, size=size, unit=domain.privacy_unit).learning
    assert plan is not None
    return plan


def checked(
    entry: dict[str, Any], values: np.ndarray | pa.Array, *, epsilon: float = 1.0, key: bytes = KEY
) -> NumericColumn | TimeColumn:
    """The column after a check of these rows."""
    domain = domain_of(entry, SICK)
    batch = batch_of(domain, x=values, sick=[False] * len(values))
    plan = planned(domain, epsilon=epsilon, size=len(values))
    made = check_bounds(
        Shards([batch]), domain, plan, KeyedStreams(key), NullHost(), declared_size=len(values), key=key
    )
    assert not made.learnt
    assert TableDomain.from_json(made.to_json()) == made, "what is found is an ordinary domain"
    assert all(a <= b for a, b in zip(made.cardinalities, domain.cardinalities, strict=True))
    column = made.modelled[0]
    assert isinstance(column, NumericColumn | TimeColumn)
    return column


def gap(column: NumericColumn | TimeColumn, values: np.ndarray | pa.Array) -> float:
    """The largest difference between the distribution functions of the values, and of draws that have all shares of codes."""
    kept = pa.array(values)
    codes = encode_column(column, kept)
    drawn = decode_column(column, codes, np.random.default_rng(3))
    if isinstance(column, TimeColumn):
        kept, drawn = (each.cast(pa.int32()) for each in (kept, drawn))
    one, other = (np.sort(each.drop_null().to_numpy(zero_copy_only=False)) for each in (kept, drawn))
    grid = np.unique(np.concatenate([one, other]))
    below = [np.searchsorted(each, grid, side="right") / len(each) for each in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def ages(rows: int = ROWS) -> np.ndarray:
    return np.clip(np.random.default_rng(0).gamma(8, 5, rows), 17, 90).astype(int)


def amounts(rows: int = ROWS) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.where(rng.random(rows) < 0.85, 0, np.minimum(rng.lognormal(8.5, 0.8, rows), 99_999)).astype(int)


def sevens(rows: int = ROWS) -> np.ndarray:
    return 7 * np.random.default_rng(5).normal(7_000, 1_000, rows).astype(int)


def days(rows: int = ROWS) -> np.ndarray:
    drawn: np.ndarray = np.datetime64("2021-03-01") + np.random.default_rng(2).integers(0, 400, rows)
    return drawn.astype("datetime64[D]")


def temperatures(rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(3).normal(36.9, 0.6, rows)


CASES = [
    ({**WHOLE, "lower": 0, "upper": 1000}, ages),
    ({**WHOLE, "lower": 0, "upper": 10**9}, ages),
    ({**WHOLE, "lower": -(10**6), "upper": 10**6}, ages),
    ({**WHOLE, "lower": 0, "upper": 10**9}, amounts),
    ({**WHOLE, "lower": 0, "upper": 10**9, "multiple_of": 7}, sevens),
    ({**REAL, "lower": -1e6, "upper": 1e9}, temperatures),
    ({**REAL, "lower": 0, "upper": 1e5, "decimals": 2}, lambda rows=ROWS: np.round(temperatures(rows), 2)),
    ({**DAY, "lower": "1900-01-01", "upper": "2100-12-31"}, days),
    ({**WHOLE, "lower": 0, "upper": 10**6, "null": {"use": 0}}, ages),
    ({**WHOLE, "lower": -(10**9), "upper": 10**9, "null": {"use": -99}}, ages),
    ({**REAL, "lower": -1e6, "upper": 1e9, "null": {"use": 40.5}}, temperatures),
    ({**DAY, "lower": "1900-01-01", "upper": "2100-12-31", "null": {"use": "2020-01-01"}}, days),
]


@pytest.mark.parametrize(("entry", "values"), CASES)
@pytest.mark.parametrize(("rows", "epsilon"), [(1000, 1.0), (ROWS, 0.5), (ROWS, 1.0), (48_000, 4.0)])
def test_bounds_far_wider_than_the_values_leave_the_column_as_it_is(entry, values, rows, epsilon):
    real = values(rows)
    before = domain_of(entry, SICK).modelled[0]
    assert isinstance(before, NumericColumn | TimeColumn)
    found = checked(entry, real, epsilon=epsilon)
    assert gap(found, real) < (0.25 if rows == 1000 or epsilon < 1 else 0.1)
    assert gap(found, real) < 0.5 * gap(before, real)


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ({**WHOLE, "lower": 0, "upper": 10**6, "null": {"use": 999_999}}, ages()),
        ({**WHOLE, "lower": 0, "upper": 10**6, "null": {"use": 999_999}, "specials": [999_999]}, ages()),
        ({**DAY, "lower": "1900-01-01", "upper": "2100-12-31", "null": {"use": "1900-01-01"}}, days()),
    ],
    ids=["number", "special number", "day"],
)
def test_what_stands_for_a_missing_value_stays_in_the_domain(entry, values):
    """The helper reads the domain again, which an outer value would not survive."""
    assert checked(entry, values).null.action == "use"


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ({**REAL, "lower": -1e6, "upper": 1e7, "decimals": 1}, np.random.default_rng(4).normal(170, 10, 3000).round(1)),
        ({**DAY, "lower": "1900-01-01", "upper": "2100-12-31"}, days(3000)),
    ],
    ids=["normal", "days"],
)  # fmt: skip
def test_tenths_that_the_noise_hides_lie_near_their_values(entry, values):
    """A tail of a tenth of 3,000 rows has about three deviations of a check's noise, so nothing in it may be certain."""
    real = values.astype(float)
    for seed in range(60):
        found = checked(entry, values, key=seed.to_bytes(2, "big") + KEY[2:])
        drawn = decode_column(found, encode_column(found, pa.array(values)), np.random.default_rng(seed))
        drawn = (drawn.cast(pa.int32()) if isinstance(found, TimeColumn) else drawn).to_numpy(
            zero_copy_only=False
        )
        for share in (0.1, 0.9):
            assert abs(np.quantile(drawn, share) - np.quantile(real, share)) < 0.65 * real.std(), seed


def test_an_older_plan_leaves_the_bins_that_it_left():
    """A job of an older plan that is interrupted finds again what it had found."""
    domain = domain_of({**REAL, "lower": -1e6, "upper": 1e7, "decimals": 1}, SICK)
    values = np.random.default_rng(4).normal(170, 10, 3000).round(1)
    batch, plan = batch_of(domain, x=values, sick=[False] * 3000), planned(domain, size=3000)
    assert plan.cut_tails
    older, newer = (
        check_bounds(
            Shards([batch]), domain, each, KeyedStreams(KEY), NullHost(), declared_size=3000, key=KEY
        ).modelled[0]
        for each in (replace(plan, cut_tails=False), plan)
    )
    assert isinstance(older, NumericColumn)
    assert older.edges == (
        128, 144, 148, 152, 156, *range(160, 176), 176, 178, 180, 182, 184, 186, 188, 192, 198, 204, 210, 216,
    )  # fmt: skip
    assert older != newer


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ({**WHOLE, "lower": 0, "upper": 100_000}, np.random.default_rng(4).integers(0, 100_000, ROWS)),
        (
            {**WHOLE, "lower": 0, "upper": 300},
            np.random.default_rng(4).normal(150, 40, ROWS).clip(0, 300).astype(int),
        ),
        ({**REAL, "lower": 0, "upper": 1}, np.random.default_rng(4).beta(2, 4, ROWS)),
        ({**DAY, "lower": "2020-01-01", "upper": "2022-12-31"}, days()),
    ],
    ids=["even", "normal", "real", "days"],
)
def test_bounds_that_fit_keep_their_bins(entry, values):
    column = domain_of(entry, SICK).modelled[0]
    for seed in range(20):
        assert checked(entry, values, key=seed.to_bytes(2, "big") + KEY[2:]) == column


@pytest.mark.parametrize(
    "entry", [{**WHOLE, "lower": 0, "upper": 10**6}, {**DAY, "lower": "1900-01-01", "upper": "2100-12-31"}]
)
def test_of_no_rows_an_ordinary_column_is_left(entry):
    domain = domain_of(entry, SICK)
    kind = pa.date32() if entry["kind"] == "date" else pa.int64()
    batch = batch_of(domain, x=pa.array([], kind), sick=pa.array([], pa.bool_()))
    for seed in range(50):
        key = seed.to_bytes(2, "big") + KEY[2:]
        made = check_bounds(
            Shards([batch]),
            domain,
            planned(domain),
            KeyedStreams(key),
            NullHost(),
            declared_size=ROWS,
            key=key,
        )
        assert TableDomain.from_json(made.to_json()) == made


def test_missing_and_special_values_are_counted_nowhere():
    entry = {**REAL, "lower": 0, "upper": 1e6, "null": "category", "specials": [-1]}
    values = [None if n % 3 == 0 else -1.0 if n % 3 == 1 else 50.0 + n % 40 for n in range(ROWS)]
    found = checked(entry, pa.array(values, pa.float64()))
    assert isinstance(found, NumericColumn)
    assert found.upper < 1000
    assert -1 in found.specials
    assert found.null.action == "category"
    codes = encode_column(found, pa.array([None, -1.0, 60.0], pa.float64()))
    assert codes[0] == found.null_code


@pytest.mark.parametrize("heap", [0, 700, 1000])
@pytest.mark.parametrize("upper", [1000, 10**7])
def test_a_heap_is_a_value_of_its_own_wherever_it_lies(heap: int, upper: int):
    heap = upper if heap == 1000 else heap
    values = np.where(np.random.default_rng(5).random(ROWS) < 0.6, heap, ages())
    found = checked({**WHOLE, "lower": 0, "upper": upper}, values)
    assert isinstance(found, NumericColumn)
    assert heap in found.specials
    assert gap(found, values) < 0.05


def test_values_beyond_the_bounds_that_are_found_count_as_the_bound():
    values = np.append(ages(ROWS - 1), 999_999)
    found = checked({**WHOLE, "lower": 0, "upper": 10**6, "outside": "refuse"}, values)
    assert isinstance(found, NumericColumn)
    assert found.upper < 1000
    assert found.outside == "clamp"
    assert (
        encode_column(found, pa.array([999_999])).tolist()
        == encode_column(found, pa.array([int(found.upper)])).tolist()
    )


PEOPLE = domain_of({**WHOLE, "lower": 0, "upper": 10**9}, {**DAY, "name": "day", "lower": "1900-01-01", "upper": "2100-12-31"},
                   {**REAL, "name": "y", "lower": -1e9, "upper": 1e9}, SICK, unit="person")  # fmt: skip


def people(count: int, person: str) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {
        "x": rng.integers(0, 120, count).tolist(), "day": days(count).astype(object).tolist(), "y": rng.normal(0, 9, count).tolist(),
        "sick": [False] * count, "person": [person] * count,
    }  # fmt: skip


@pytest.mark.parametrize("records", [1, 3, 1000])
def test_a_unit_moves_every_check_by_its_sensitivity_at_most_however_many_records_it_has(records):
    plan = planned(PEOPLE)
    before, more = people(50, "everybody"), people(records, "new")
    after = {name: [*before[name], *more[name]] for name in before}
    recorder = Recorder()
    replayer = Replayer(recorder)
    for rows, listener in ((before, recorder), (after, replayer)):
        streams = KeyedStreams(KEY, releases=listener)
        check_bounds(
            Shards([batch_of(PEOPLE, **rows)]), PEOPLE, plan, streams, NullHost(), declared_size=ROWS, key=KEY
        )
    names = [(int(Purpose.LEARNING_NOISE), step) for step in range(3)]
    assert list(recorder.heard) == names
    for name in names:
        moved, stated = replayer.distances[name], recorder.heard[name].sensitivity
        assert 0 < moved <= stated * (1 + 1e-12)
        if records == 1:  # the statement is no larger than need be
            assert moved == pytest.approx(stated)


def test_bins_follow_from_the_released_counts_alone():
    """Other rows with the same noisy counts leave the same bins."""
    plan, recorder = planned(PEOPLE, size=3000), Recorder()
    rows = people(3000, "p") | {"person": [f"p{n}" for n in range(3000)]}
    others = rows | {"x": [5 * 10**8] * 3000, "y": [1e7] * 3000}
    found = [
        check_bounds(
            Shards([batch_of(PEOPLE, **each)]), PEOPLE, plan, KeyedStreams(KEY, releases=listener), NullHost(),
            declared_size=3000, key=KEY,
        )
        for each, listener in ((rows, recorder), (others, Replayer(recorder)))
    ]  # fmt: skip
    assert found[0] == found[1] != PEOPLE


def test_every_count_of_a_check_is_noised_by_the_planned_deviation():
    plan = planned(PEOPLE)
    recorder = Recorder()
    streams = KeyedStreams(KEY, releases=recorder)
    check_bounds(
        Shards([batch_of(PEOPLE, **people(50, "p"))]),
        PEOPLE,
        plan,
        streams,
        NullHost(),
        declared_size=ROWS,
        key=KEY,
    )
    for step, release in enumerate(plan.releases):
        heard = recorder.heard[int(Purpose.LEARNING_NOISE), step]
        ((exact, std),) = heard.exact
        assert std == plan.noise_multiplier * release.sensitivity
        noise = (heard.noisy[0] - exact).numpy()
        assert noise.std() == pytest.approx(std, rel=0.02)


def test_rows_in_shards_and_in_memory_are_checked_alike():
    persons = [f"p{n // 7}" for n in range(3000)]
    rows = people(3000, "p") | {"person": persons}
    batch, plan = batch_of(PEOPLE, **rows), planned(PEOPLE, size=430, epsilon=4.0)
    made = [
        check_bounds(shards, PEOPLE, plan, KeyedStreams(KEY), NullHost(), declared_size=430, key=KEY)
        for shards in (Shards([batch]), Shards([batch[:11], batch[11:900]], [batch[900:]]))
    ]
    made.append(learn_domain([batch[:500], batch[500:]], PEOPLE, plan, KeyedStreams(KEY), declared_size=430))
    assert made[0] == made[1] == made[2]
    assert made[0] != PEOPLE


class Marks(NullHost):
    def __init__(self) -> None:
        self.marks: list[str] = []

    def advance(self, *, stage: str, step: int, total: int) -> None:
        self.marks.append(stage)


class Unread(Shards):
    def __init__(self, host: Marks, *shards: list[pa.RecordBatch]) -> None:
        super().__init__(*shards)
        self._host = host

    def read(self, shard: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        assert self._host.marks == ["measure"], "the mark comes first"
        return super().read(shard, columns)


def test_the_mark_of_the_measurements_is_made_before_a_row_is_read():
    host, batch = Marks(), batch_of(PEOPLE, **people(50, "p"))
    check_bounds(
        Unread(host, [batch]), PEOPLE, planned(PEOPLE), KeyedStreams(KEY), host, declared_size=ROWS, key=KEY
    )
    assert host.marks == ["measure"]


def test_a_plan_that_checks_other_columns_is_refused():
    other = domain_of({**WHOLE, "lower": 0, "upper": 99}, SICK, {**REAL, "name": "y", "lower": 0, "upper": 9})
    with pytest.raises(ValueError, match="another domain"):
        check_bounds(
            Shards([]), other, planned(PEOPLE), KeyedStreams(KEY), NullHost(), declared_size=ROWS, key=KEY
        )
