from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.domain.codec import decode, encode
from core.plan.domain.columns.calendar import DATE_RESOLUTIONS, DATETIME_RESOLUTIONS
from core.plan.domain.errors import DomainMismatch
from core.plan.domain.schema import sample_schema, storage_schema
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.examples import every_kind, table

NULLS = st.sampled_from(["refuse", "category"])


@st.composite
def integer_columns(draw: st.DrawFn) -> dict[str, object]:
    lower = draw(st.integers(-(10**6), 10**6))
    upper = lower + draw(st.integers(0, 10 ** draw(st.integers(0, 9))))
    column: dict[str, object] = {"kind": "numeric", "type": "integer", "lower": lower, "upper": upper}
    step = draw(st.sampled_from([1, 2, 5, 50, 1000]))
    if step > 1 and upper // step > (lower + 44) // step:  # not all multiples are special
        column["multiple_of"] = step
    specials = draw(st.lists(st.integers(lower - 3, lower + 40), unique=True, max_size=4))
    if upper - lower + 1 > len(specials):
        column["specials"] = specials
    return column | draw(spacings())


@st.composite
def spacings(draw: st.DrawFn) -> dict[str, object]:
    return {"spacing": draw(st.sampled_from(["linear", "log"])), "bins": draw(st.integers(1, 60))}


@st.composite
def real_columns(draw: st.DrawFn) -> dict[str, object]:
    lower = draw(st.floats(-1e6, 1e6, allow_subnormal=False))
    upper = lower + draw(st.floats(0.5, 1e6))
    column: dict[str, object] = {"kind": "numeric", "type": "real", "lower": lower, "upper": upper}
    column["specials"] = sorted(set(draw(st.lists(st.sampled_from([0.0, lower, upper, -1.5]), max_size=3))))
    if draw(st.booleans()):
        column["decimals"] = draw(st.integers(1, 4))
        if upper - lower > 3:
            column["multiple_of"] = draw(st.sampled_from([0.1, 0.2, 0.5]))
    if draw(st.booleans()):
        return column | draw(spacings())
    inner = draw(st.lists(st.floats(0.01, 0.99), unique=True, max_size=6))
    edges = sorted({lower, upper, *(lower + share * (upper - lower) for share in inner)})
    return column | {"edges": edges}


@st.composite
def time_columns(draw: st.DrawFn) -> dict[str, object]:
    lower = draw(st.dates(date(1900, 1, 1), date(2100, 1, 1)))
    days = draw(st.integers(0, 5000))
    upper = date.fromordinal(lower.toordinal() + days)
    if draw(st.booleans()):
        resolution = draw(st.sampled_from(DATE_RESOLUTIONS))
        return {
            "kind": "date",
            "lower": lower.isoformat(),
            "upper": upper.isoformat(),
            "resolution": resolution,
        }
    resolution = draw(st.sampled_from(DATETIME_RESOLUTIONS))
    end = f"{upper.isoformat()}T23:59:58"
    return {"kind": "datetime", "lower": lower.isoformat(), "upper": end, "resolution": resolution}


@st.composite
def label_columns(draw: st.DrawFn) -> dict[str, object]:
    words = draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=5, unique=True))
    match draw(st.sampled_from(["categorical", "ordinal", "boolean", "words"])):
        case "categorical":
            return {
                "kind": "categorical",
                "categories": words,
                "other": draw(st.sampled_from([False, "any other"])),
            }
        case "ordinal":
            return {"kind": "ordinal", "levels": words}
        case "boolean":
            return {"kind": "boolean"}
    return {"kind": "boolean", "true": "yes", "false": "no"}


@st.composite
def domains(draw: st.DrawFn) -> TableDomain:
    kinds = st.one_of(integer_columns(), real_columns(), time_columns(), label_columns())
    columns = draw(st.lists(kinds, min_size=1, max_size=4))
    return table(*({"name": f"c{i}", "null": draw(NULLS)} | column for i, column in enumerate(columns)))


def random_codes(domain: TableDomain, rows: int, rng: np.random.Generator) -> np.ndarray:
    return np.stack([rng.integers(0, size, rows) for size in domain.cardinalities], axis=1).astype(np.int16)


@given(domain=domains(), seed=st.integers(0, 2**32))
def test_every_code_decodes_to_a_value_of_its_own_code(domain: TableDomain, seed: int):
    rng = np.random.default_rng(seed)
    codes = random_codes(domain, 200, rng)
    codes[: max(domain.cardinalities)] = np.minimum(
        np.arange(min(200, max(domain.cardinalities)))[:, None], np.array(domain.cardinalities) - 1
    )
    batch = decode(domain, codes, rng)
    batch.validate(full=True)
    assert np.array_equal(encode(domain, batch), codes)
    assert batch.schema == sample_schema(domain)


def test_drawn_numbers_are_multiples_and_drawn_dates_are_ends() -> None:
    domain = table(
        {"name": "loan", "kind": "numeric", "type": "integer", "lower": 120, "upper": 99_990, "multiple_of": 250, "specials": [99], "spacing": "log"},
        {"name": "dose", "kind": "numeric", "type": "real", "lower": 0.3, "upper": 40, "decimals": 2, "multiple_of": 0.25},
        {"name": "month", "kind": "date", "lower": "2020-01-15", "upper": "2024-02-10", "resolution": "month_end"},
        {"name": "quarter", "kind": "date", "lower": "2020-01-15", "upper": "2024-03-31", "resolution": "quarter_end"},
        {"name": "year", "kind": "datetime", "lower": "1999-12-31", "upper": "2024-12-31T00:00:00", "resolution": "year_end"},
    )  # fmt: skip
    rng = np.random.default_rng(5)
    rows = decode(domain, random_codes(domain, 20_000, rng), rng).to_pydict()
    loans = {value for value in rows["loan"] if value != 99}
    assert min(loans) == 250
    assert all(value % 250 == 0 for value in loans)
    assert {value * 4 % 1 for value in rows["dose"]} == {0.0}
    assert (min(rows["dose"]), max(rows["dose"])) == (0.5, 40.0)
    ends = set(rows["month"]) - {date(2024, 2, 10)}
    assert len(ends) == 49
    assert all((day + timedelta(days=1)).day == 1 for day in ends)
    assert max(rows["month"]) == date(2024, 2, 10), "the upper bound is a moment itself"
    assert {(day.month, day.day) for day in rows["quarter"]} == {(3, 31), (6, 30), (9, 30), (12, 31)}
    assert {(moment.year, moment.month, moment.day) for moment in rows["year"]} == {
        (year, 12, 31) for year in range(1999, 2025)
    }
    stored = pa.table({"month": [date(2020, 1, 20), date(2020, 1, 31), date(2020, 2, 28), date(2020, 2, 29)]})
    months = table(
        {
            "name": "month",
            "kind": "date",
            "lower": "2020-01-01",
            "upper": "2020-12-31",
            "resolution": "month_end",
        }
    )
    assert encode(months, stored).ravel().tolist() == [0, 0, 0, 1], (
        "a day between two ends counts as the one before"
    )


@given(column=integer_columns(), seed=st.integers(0, 2**32))
def test_values_stay_inside_the_bounds_and_hit_every_integer_kind(column, seed):
    domain = table(column | {"name": "c"})
    rng = np.random.default_rng(seed)
    values = decode(domain, random_codes(domain, 500, rng), rng).column(0).to_numpy()
    ordinary = values[~np.isin(values, column.get("specials", []))]
    assert ((ordinary >= column["lower"]) & (ordinary <= column["upper"])).all()


@given(column=real_columns(), share=st.floats(0, 1))
def test_a_value_and_its_decoded_value_share_a_code(column, share):
    domain = table(column | {"name": "c"})
    value = min(column["lower"] + share * (column["upper"] - column["lower"]), column["upper"])
    codes = encode(domain, pa.record_batch({"c": pa.array([value], pa.float64())}))
    again = decode(domain, codes, np.random.default_rng(0))
    assert np.array_equal(encode(domain, again), codes)


def test_integers_are_uniform_over_the_integers_of_the_bin_and_skip_specials():
    domain = table(
        {"name": "c", "kind": "numeric", "type": "integer", "edges": [0, 10], "specials": [0, 4, 5, 99]}
    )
    rows = 90_000
    values = decode(domain, np.full((rows, 1), 4), np.random.default_rng(1)).column(0).to_numpy()
    found, counts = np.unique(values, return_counts=True)
    assert found.tolist() == [1, 2, 3, 6, 7, 8, 9, 10]
    # Binomial(90000, 1/8) has standard deviation 99: 600 is beyond six of them (false alarm below 1e-8).
    assert np.abs(counts - rows / 8).max() < 600


def test_the_extremes_of_the_uniforms_stay_in_the_bin():
    class Extremes:
        def random(self, count: int) -> np.ndarray:
            return np.where(np.arange(count) % 2, np.nextafter(1.0, 0.0), 0.0)

    domain = every_kind()
    codes = np.repeat(np.arange(34)[:, None], len(domain.modelled), axis=1)
    codes = np.repeat(np.minimum(codes, np.array(domain.cardinalities) - 1), 2, axis=0).astype(np.int16)
    batch = decode(domain, codes, Extremes())  # type: ignore[arg-type]
    assert np.array_equal(encode(domain, batch), codes)


def test_decimals_are_kept():
    domain = table({"name": "c", "kind": "numeric", "type": "real", "lower": 0, "upper": 5, "decimals": 1})
    values = decode(domain, np.zeros((100, 1), np.int16) + 3, np.random.default_rng(0)).column(0).to_pylist()
    assert all(value == round(value, 1) for value in values)
    assert len(set(values)) > 1


def test_types_of_decoded_columns():
    batch = decode(every_kind(), np.zeros((3, 9), np.int16), np.random.default_rng(0))
    assert [str(kind) for kind in batch.schema.types] == [
        "int64", "double", "double", *["dictionary<values=string, indices=int16, ordered=0>"] * 3,
        "date32[day]", "timestamp[s]", "date32[day]",
    ]  # fmt: skip
    assert batch.column(5).to_pylist() == ["no"] * 3
    assert storage_schema(every_kind()).names[-1] == "patient"


def test_months_decode_to_first_days_and_the_lower_bound():
    domain = every_kind()
    codes = np.zeros((24, 9), np.int16)
    codes[:, 8] = np.arange(24)
    values = decode(domain, codes, np.random.default_rng(0)).column("month").to_pylist()
    assert values[:3] == [date(2020, 1, 15), date(2020, 2, 1), date(2020, 3, 1)]
    assert values[-1] == date(2021, 12, 1)


def test_encode_takes_plain_types_too_and_maps_what_is_missing_or_unknown():
    domain = table(
        {"name": "work", "kind": "categorical", "categories": ["P", "Q"], "other": True, "null": "category"},
        {"name": "ok", "kind": "boolean", "null": {"use": "true"}},
        {"name": "word", "kind": "boolean", "true": "yes", "false": "no"},
        {
            "name": "day",
            "kind": "date",
            "lower": "2020-01-01",
            "upper": "2020-01-09",
            "null": {"use": "2020-01-03"},
        },
        {"name": "at", "kind": "datetime", "lower": "2020-01-01", "upper": "2020-01-01T00:00:09"},
        {
            "name": "x",
            "kind": "numeric",
            "type": "real",
            "lower": 0,
            "upper": 1,
            "null": {"use": 1},
            "bins": 2,
        },
    )
    batch = pa.record_batch(
        {
            "more": pa.array([1, 2, 3, 4]),
            "work": pa.array(["Q", None, "Z", "P"]),
            "ok": pa.array([True, None, False, True]),
            "word": pa.array([True, False, False, True]),
            "day": pa.array([date(2020, 1, 1), None, date(2019, 1, 1), date(2030, 1, 1)]),
            "at": pa.array([datetime(2020, 1, 1, 0, 0, s) for s in range(4)]),  # noqa: DTZ001
            "x": pa.array([0.2, None, float("nan"), 7.0]),
        }
    )
    assert encode(domain, batch).tolist() == [
        [1, 1, 1, 0, 0, 0], [3, 1, 0, 2, 1, 1], [2, 0, 0, 0, 2, 1], [0, 1, 1, 8, 3, 1]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "values", [pa.array(["P", None]), pa.array(["P", "Z"]), pa.array(["P", "Z"]).dictionary_encode()]
)
def test_a_value_without_a_code_is_refused_without_naming_it(values):
    domain = table({"name": "work", "kind": "categorical", "categories": ["P", "Q"]})
    with pytest.raises(DomainMismatch) as caught:
        encode(domain, pa.record_batch({"work": values}))
    assert "Z" not in caught.value.detail


def test_wrong_shapes_are_refused():
    domain = table({"name": "work", "kind": "categorical", "categories": ["P", "Q"]})
    rng = np.random.default_rng(0)
    with pytest.raises(DomainMismatch, match="missing"):
        encode(domain, pa.record_batch({"job": pa.array(["P"])}))
    with pytest.raises(DomainMismatch, match="1 columns"):
        decode(domain, np.zeros((1, 2), np.int16), rng)
    with pytest.raises(DomainMismatch, match="cardinality"):
        decode(domain, np.full((1, 1), 2), rng)
    assert decode(domain, np.zeros((0, 1), np.int16), rng).num_rows == 0
