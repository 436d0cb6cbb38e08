"""Synthetic rows have the types of the fitted frame, and conditions are read in its zone."""

from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.understudy.test_draft_frames import PARIS, ROWS, patients
from understudy import InvalidInput, Synthesizer


def fitted_on(frame: object, ledgers: Path) -> Synthesizer:
    made = Synthesizer(
        dataset="types", cap=(4.0, 1e-5), options={"profile": "anchor"}, ledgers=ledgers, progress=False
    )
    made.draft(frame)
    return made.accept_draft().fit(frame)


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


def test_a_set_of_days_of_a_zone_is_refused(fitted: Synthesizer) -> None:
    with pytest.raises(InvalidInput, match="'seen' has times of a zone: give a day as a date or a range"):
        fitted.sample(5, where={"seen": {"2021-05-03", "2021-05-04"}})


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
