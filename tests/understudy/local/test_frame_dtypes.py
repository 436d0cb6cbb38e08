"""Synthetic rows have the types of the fitted frame, and conditions are read in its zone."""

from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.understudy.drafts.test_frame_types import PARIS, ROWS, patients
from understudy import Synthesizer


def fitted_on(frame: object, ledgers: Path, **changes: Any) -> Synthesizer:
    made = Synthesizer(
        dataset="types", cap=(4.0, 1e-5), options={"profile": "anchor"}, ledgers=ledgers, progress=False
    )
    made.draft(frame)
    return made.accept_draft(**changes).fit(frame)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    return fitted_on(patients(), tmp_path_factory.mktemp("ledgers"))


@pytest.mark.parametrize(
    "name", ["readmitted", "smoker", "score", "alive", "insured", "risk", "grade", "born", "seen", "ratio"]
)
def test_a_column_of_pandas_comes_back_in_its_own_type(fitted: Synthesizer, name: str) -> None:
    before, after = patients()[name], fitted.sample(200)[name]
    assert after.dtype == before.dtype


def test_rows_are_compared_with_the_values_that_the_frame_had(fitted: Synthesizer) -> None:
    rows = fitted.sample(300)
    assert set(rows["readmitted"]) == {0, 1}
    assert (rows["readmitted"] == 1).any()
    assert (rows["risk"] >= "mid").any()
    assert set(rows["opens"]) <= {time(hour, 30) for hour in range(7, 12)}
    assert set(rows["code"]) == {"007", "008"}, "a code is no number"
    assert rows["seen"].min() >= pd.Timestamp("2021-01-01", tz=PARIS) - pd.Timedelta("1h")


def test_words_of_conditions_stay_those_of_the_frame(fitted: Synthesizer) -> None:
    assert set(fitted.sample(20, where={"readmitted": 1})["readmitted"]) == {1}
    assert set(fitted.sample(20, where={"risk": ("mid", None)})["risk"]) <= {"mid", "high", "extreme"}
    assert set(fitted.sample(20, where={"grade": {1, 2}})["grade"]) <= {1, 2}


@pytest.mark.parametrize(
    "wanted",
    [
        (pd.Timestamp("2021-05-03", tz=PARIS), pd.Timestamp("2021-05-03 23:59:59", tz=PARIS)),
        (datetime.fromisoformat("2021-05-03T00:00"), datetime.fromisoformat("2021-05-03T23:59:59")),
        (date(2021, 5, 3), date(2021, 5, 3)),
        "2021-05-03",
    ],
    ids=["zone", "naive", "dates", "text"],
)
def test_conditions_on_times_with_a_zone_are_of_that_zone(fitted: Synthesizer, wanted: Any) -> None:
    seen = fitted.sample(20, where={"seen": wanted})["seen"]
    assert set(seen.dt.date) == {date(2021, 5, 3)}


def test_a_set_of_days_is_of_that_zone_too(fitted: Synthesizer) -> None:
    days = {date(2021, 5, 3), date(2021, 7, 4)}
    assert set(fitted.sample(40, where={"seen": days})["seen"].dt.date) <= days


def test_hours_and_distances_are_those_of_the_zones_clocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    hours = rng.choice([3, 9], 3000, p=[0.2, 0.8])
    seen = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 360, 3000) * 24 + hours, "h")
    seen = pd.Series(seen).dt.tz_localize(PARIS)
    left = (seen + pd.to_timedelta(rng.integers(0, 96, 3000), "h")).dt.tz_convert(PARIS)
    made = fitted_on(pd.DataFrame({"seen": seen, "left": left}), tmp_path)
    rows = made.sample(2000)
    assert ((rows["seen"].dt.hour == 3) | (rows["seen"].dt.hour == 9)).mean() > 0.8, "in summer and in winter"
    assert (rows["left"] >= rows["seen"]).all(), "as the draft promises, also when the clocks change"
    assert set(made.sample(40, where={"seen.hour": "03"})["seen"].dt.hour) == {3}


def test_the_owner_report_and_plots_take_the_frame_that_was_fitted(
    fitted: Synthesizer, tmp_path: Path
) -> None:
    assert fitted.report(patients(), tmp_path / "report.html").is_file()
    assert fitted.plot_marginals("seen", real=patients()).axes


def test_other_forms_have_the_types_that_they_know(fitted: Synthesizer) -> None:
    arrow, frame = fitted.sample(20, form="arrow"), fitted.sample(20, form="polars")
    assert arrow.schema.field("readmitted").type == pa.int64()
    assert arrow.schema.field("seen").type.tz == PARIS
    assert frame.schema["readmitted"] == pl.Int64


def spread(kinds: dict[str, Any]) -> dict[str, Any]:
    """Columns of 600 values that do not determine each other."""
    rng = np.random.default_rng(6)
    return {
        name: [values[place] for place in rng.integers(0, len(values), 600)] for name, values in kinds.items()
    }


def test_words_of_pandas_come_back_as_words_and_numbers_in_their_width(tmp_path: Path) -> None:
    words, tenths = ["a", "b", "c"], [0.5 + n / 10 for n in range(40)]
    types: dict[Any, Any] = {
        "object": object, "str": "str", "python": "string[python]", "arrow": pd.ArrowDtype(pa.string()), "category": "category",
        "float": "float32", "code": "str", "sparse": "Sparse[int64]", 0: "int64", "wide": "int8",
    }  # fmt: skip
    values = dict.fromkeys(types, words) | {
        "float": tenths, "code": ["007", "008"], "sparse": [0, 1], 0: [2, 3, 4], "wide": [*range(-90, 90)],
    }  # fmt: skip
    frame = pd.DataFrame(spread(values)).astype(types)
    made = fitted_on(
        frame, tmp_path, wide={"kind": "numeric", "type": "integer", "lower": -200, "upper": 200}
    )
    rows = made.sample(50)
    assert list(rows.columns) == list(frame.columns), "names that are numbers too"
    found, own = rows.dtypes.to_dict(), frame.dtypes.to_dict()
    assert found.pop("category") == "category"
    assert found.pop("wide") == "int64", "a type that not every declared value has"
    assert found == {name: own[name] for name in found}
    assert set(made.sample(20, where={0: 3})[0]) == {3}
    assert made.sample(5, form="polars").schema["str"] == pl.String


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_names_with_outer_blanks_come_back_as_they_were(tmp_path: Path, library: str) -> None:
    values = spread({" a b ": [0, 1, 2], " sex": ["f", "m"]})
    frames: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
    frame = frames[library](values)
    made = fitted_on(frame, tmp_path)
    rows = made.sample(30, where={" a b ": 1})
    names = rows.column_names if library == "arrow" else list(rows.columns)
    assert names == [" a b ", " sex"]
    before, after = (
        one.schema.field(0).type if library == "arrow" else one[" a b "].dtype for one in (frame, rows)
    )
    assert before == after
    assert set(pl.from_arrow(rows)[" a b "] if library == "arrow" else rows[" a b "]) == {1}


def test_rows_of_polars_can_be_joined_to_the_real_ones(tmp_path: Path) -> None:
    types = {
        "text": pl.String, "category": pl.Categorical, "small": pl.Int8, "float": pl.Float32, "exact": pl.Decimal(10, 1),
        "time": pl.Time, "at": pl.Datetime("ms"),
    }  # fmt: skip
    values = {
        "text": ["a", None], "category": ["a", "b"], "small": [*range(40)], "float": [n / 10 for n in range(40)],
        "exact": [n / 10 for n in range(30)], "time": [time(7, 30), time(8)],
        "at": [datetime.fromisoformat(f"2021-03-{day}T07:00") for day in range(10, 30)],
    }  # fmt: skip
    frame = pl.DataFrame(spread(values), schema_overrides=types, strict=False)
    small = {"kind": "numeric", "type": "integer", "lower": 0, "upper": 50}
    rows = fitted_on(frame, tmp_path, small=small).sample(30)
    assert len(pl.concat([frame, rows])) == len(frame) + 30


def test_enums_of_polars_come_back_with_their_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    risks = pl.Enum(["low", "mid", "high"])
    frame = pl.DataFrame(
        {
            "risk": pl.Series(rng.choice(["low", "high"], ROWS).tolist(), dtype=risks),
            "n": rng.integers(0, 2, ROWS),
        }
    )
    rows = fitted_on(frame, tmp_path).sample(30)
    assert rows.schema == {"risk": risks, "n": pl.Int64}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_many_times_of_the_day_come_back_as_times(tmp_path: Path, library: str) -> None:
    rng = np.random.default_rng(1)
    seconds = rng.integers(7 * 3600, 19 * 3600, ROWS).tolist()
    times = [time(one // 3600, one // 60 % 60, one % 60) for one in seconds]
    values = {"called": times, "n": rng.integers(0, 2, ROWS)}
    frame: Any = pl.DataFrame(values) if library == "polars" else pd.DataFrame(values)
    made = fitted_on(frame, tmp_path)
    assert "modelled to the minute, without seconds" in repr(made.draft_).replace("\n      ", " ")
    rows = made.sample(200)
    assert all(isinstance(one, time) and one.second == 0 for one in rows["called"])
    assert len(set(rows["called"])) > 50
    if library == "polars":
        assert rows.schema["called"] == pl.Time
    early = made.sample(20, where={"called": (None, time(12))})
    assert max(early["called"]) <= time(12)


@pytest.mark.parametrize("kind", ["str", "category"])
def test_shortened_words_come_back_whatever_type_the_codes_had(kind: str, tmp_path: Path) -> None:
    codes = [f"{letter}{number:02d}.{number % 7}" for letter in "EIJKM" for number in range(12, 20)]
    frame = pd.DataFrame({"dx": [codes[n % 40] for n in range(800)], "sick": ["no", "yes"] * 400})
    frame["dx"] = frame["dx"].astype(pd.CategoricalDtype(codes, ordered=True) if kind == "category" else kind)
    made = Synthesizer(
        dataset="types", cap=(4.0, 1e-5), options={"profile": "anchor"}, ledgers=tmp_path, progress=False
    )
    made.draft(frame)
    words = sorted({code[:1] for code in codes})
    dx = {"kind": "categorical", "prefix": 1, "categories": words}
    rows = made.accept_draft(columns={"dx": dx}).fit(frame).sample(200)
    assert set(rows["dx"]) <= set(words)
    assert len(set(rows["dx"])) > 1
