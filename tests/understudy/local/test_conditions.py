"""Conditions on rows of numbers and times: what one value means, and how rows of rare values are found."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.understudy.local.test_fitting import SMALL
from understudy import Conflict
from understudy.local import Fitted, fit, set_cap

DOMAIN = {
    "schema": "understudy.domain/1",
    "target": "died",
    "privacy_unit": None,
    "declared_size": 500,
    "columns": [
        {"name": "seen", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2023-12-31T23:59:59", "resolution": "hour"},
        {"name": "fee", "kind": "numeric", "type": "real", "lower": 0, "upper": 100, "decimals": 1, "specials": [9.9], "null": "category"},
        {"name": "died", "kind": "boolean", "true": "yes", "false": "no"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    ledgers: Path = tmp_path_factory.mktemp("ledgers")
    rng = np.random.default_rng(5)
    rows = pa.table({
        "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 35000, 500), "h"),
        "fee": pa.array([None if n % 9 == 0 else 9.9 if n % 3 == 0 else n / 5 for n in range(500)]),
        "died": rng.choice(["yes", "no"], 500),
    })  # fmt: skip
    set_cap("visits", epsilon=1.0, delta=2e-6, ledgers=ledgers)
    return fit(rows, DOMAIN, (1.0, 1e-6), dataset="visits", options=SMALL, ledgers=ledgers)


@pytest.mark.parametrize(
    "wanted",
    [
        "2022-05-05",
        pytest.param(date(2022, 5, 5), marks=pytest.mark.long),
        {"2022-05-05"},
        pytest.param(("2022-05-05", date(2022, 5, 5)), marks=pytest.mark.long),
        pytest.param(np.datetime64("2022-05-05"), marks=pytest.mark.long),
    ],
    ids=["text", "date", "set", "pair", "numpy"],
)
def test_a_day_of_a_column_of_times_is_that_day_whatever_the_bin(fitted: Fitted, wanted: Any) -> None:
    seen = fitted.sample(40, where={"seen": wanted})["seen"]
    assert {moment.date() for moment in seen} == {date(2022, 5, 5)}
    assert len({moment.hour for moment in seen}) > 3, "all times of the day"


def test_bounds_of_dates_and_times_are_mixed(fitted: Fitted) -> None:
    seen = fitted.sample(
        1500, where={"seen": (datetime.fromisoformat("2021-03-01T18:00"), date(2021, 4, 30))}
    )["seen"]
    assert pd.Timestamp("2021-03-01T18:00") <= seen.min()
    assert pd.Timestamp("2021-04-30") < seen.max() < pd.Timestamp("2021-05-01"), "the last day is whole"


@pytest.mark.parametrize(
    "wanted",
    [9.9, {9.9}, 47.2, pytest.param((47.2, 47.2), marks=pytest.mark.long), {47.2, 9.9}],
)
def test_one_number_is_that_number(fitted: Fitted, wanted: Any) -> None:
    allowed = wanted if isinstance(wanted, set) else {wanted[0] if isinstance(wanted, tuple) else wanted}
    assert set(fitted.sample(30, where={"fee": wanted})["fee"]) <= allowed


def test_a_missing_number_and_one_more_are_a_set(fitted: Fitted) -> None:
    fee = fitted.sample(60, where={"fee": {None, 9.9}})["fee"]
    assert set(fee.dropna()) == {9.9}
    assert fee.isna().any()
    assert fitted.sample(10, where={"fee": None})["fee"].isna().all()


@pytest.mark.parametrize("missing", [float("nan"), np.float32("nan"), pd.NA, pd.NaT], ids=repr)
def test_what_libraries_call_missing_is_missing(fitted: Fitted, missing: Any) -> None:
    assert fitted.sample(10, where={"fee": missing})["fee"].isna().all()


def test_a_form_that_rows_do_not_have_is_refused_with_those_that_they_have(fitted: Fitted) -> None:
    with pytest.raises(Conflict, match="Rows come as pandas, polars or arrow, and not as numpy"):
        fitted.sample(5, form="numpy")


def test_what_even_its_bin_hardly_holds_says_to_give_a_range(fitted: Fitted) -> None:
    day = [("died", "yes"), ("fee", 47.2), ("seen", "2022-05-05T07:00")]
    with pytest.raises(Conflict, match=r"Fewer than 16 .* Give a wider range in place of a value"):
        fitted.sample(10, where=dict(day))
