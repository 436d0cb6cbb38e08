"""What a draft reads in the types of a frame: orders, days, zones, times of the day, infinite numbers."""

from collections.abc import Callable
from datetime import datetime, time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.understudy.drafts.test_tables import column
from understudy import Synthesizer

ROWS = 400
PARIS = "Europe/Paris"


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    gone = rng.random(ROWS) < 0.1
    flags = rng.integers(0, 2, ROWS)
    return pd.DataFrame({
        "readmitted": flags,
        "smoker": pd.array(np.where(gone, None, flags), dtype="Int64"),
        "score": pd.array(np.where(gone, None, rng.normal(50, 9, ROWS).round()), dtype="Int64"),
        "alive": rng.random(ROWS) < 0.8,
        "insured": pd.array(np.where(gone, None, rng.random(ROWS) < 0.5), dtype="boolean"),
        "risk": pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), categories=["low", "mid", "high", "extreme"], ordered=True),
        "grade": pd.Categorical(rng.choice([1, 2, 3], ROWS), categories=[3, 2, 1], ordered=True),
        "born": pd.Timestamp("1960-01-01") + pd.to_timedelta(rng.integers(0, 9000, ROWS), "D"),
        "seen": pd.Timestamp("2021-01-01", tz=PARIS) + pd.to_timedelta(rng.integers(0, 8000, ROWS), "h"),
        "opens": [time(int(hour), 30) for hour in rng.integers(7, 12, ROWS)],
        "ratio": np.where(gone, np.inf, rng.normal(0, 1, ROWS)),
        "code": rng.choice(["007", "008"], ROWS),
    })  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("risk", "ordinal", "Levels in the order of the column's type"),
        ("born", "date", "Bounds cover all but 0.2 % of the rows"),
        ("seen", "datetime", "have the zone Europe/Paris: they are declared as local times"),
        ("opens", "ordinal", "Levels in order"),
        ("ratio", "numeric", "Some values are not a finite number (inf): they count as missing"),
    ],
)
def test_a_draft_says_what_it_takes_types_for(name: str, kind: str, said: str) -> None:
    found = column(Synthesizer().draft(patients()).document, name)
    assert found["kind"] == kind
    assert said in found["_note"]


def test_levels_of_a_type_are_all_declared_in_its_order() -> None:
    assert column(Synthesizer().draft(patients()).document, "risk")["levels"] == [
        "low",
        "mid",
        "high",
        "extreme",
    ]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_midnights_are_dates_and_other_times_are_not(make: Callable[[Any], Any]) -> None:
    days = [datetime(2021, 1, 1 + n % 28) for n in range(ROWS)]  # noqa: DTZ001 - without a zone
    frame = make({"day": days, "moment": [*days[:-1], datetime.fromisoformat("2021-01-05T00:00:00.250")]})
    document = Synthesizer().draft(frame).document
    assert column(document, "day")["kind"] == "date"
    assert column(document, "moment")["kind"] == "datetime"


def test_midnights_of_a_zone_are_dates_and_clocks_of_two_zones_tell_no_distance() -> None:
    rng = np.random.default_rng(8)
    seen = pd.Timestamp("2021-01-01", tz=PARIS) + pd.to_timedelta(rng.integers(0, 8000, ROWS), "h")
    left = seen + pd.to_timedelta(rng.integers(1, 50, ROWS), "h")
    days = Synthesizer().draft(pd.DataFrame({"day": seen.normalize()})).document
    assert column(days, "day")["kind"] == "date"
    stays = Synthesizer().draft(pd.DataFrame({"seen": seen, "left": left})).document
    assert column(stays, "left")["difference"]["from"] == "seen"
    abroad = Synthesizer().draft(pd.DataFrame({"seen": seen, "left": left.tz_convert("Asia/Tokyo")})).document
    assert "difference" not in column(abroad, "left")
