"""The front door of Python: parameters, a draft that is accepted, a training, rows in the caller's own kind of frame."""

import copy
import re
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from html import unescape
from importlib.machinery import ModuleSpec
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rich.console import Console
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import understudy
from core.plan.domain.table import TableDomain
from tests.understudy.local.test_fitting import SMALL
from understudy import (
    BudgetRefused,
    Conflict,
    DraftNotAccepted,
    InputUnusable,
    InvalidInput,
    Synthesizer,
)
from understudy.local import read_account, synthesizer
from understudy.local.training.fitting import progress_bar
from understudy.training_bar import shows_bars

ROWS = 400
html = methodcaller("_repr_html_")
"""What a notebook shows."""


def table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({
        "ward": rng.choice(["surgery", "oncology", "geriatrics"], rows),
        "age": rng.integers(20, 90, rows),
        "severity": rng.choice(["mild", "moderate", "severe"], rows),
        "seen": [date(2020, 1, 1 + int(day)) for day in rng.integers(0, 30, rows)],
        "died": rng.choice(["yes", "no"], rows),
    })  # fmt: skip


def made(ledgers: Path, **more: Any) -> Synthesizer:
    return Synthesizer(
        epsilon=1.0,
        dataset="wards",
        cap=(2.0, 4e-6),
        options=SMALL,
        ledgers=str(ledgers),
        progress=False,
        **more,
    )


def fitted_in(ledgers: Path) -> Synthesizer:
    found = made(ledgers)
    found.draft(table().to_pandas())
    return found.accept_draft(age={"lower": 0, "upper": 110}, declared_size=500).fit(table().to_pandas())


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Synthesizer:
    return fitted_in(tmp_path_factory.mktemp("ledgers"))


def test_what_is_drafted_is_not_trained_on_until_it_is_accepted(tmp_path: Path) -> None:
    found = made(tmp_path)
    with pytest.raises(DraftNotAccepted, match="accept_draft"):
        found.fit(table())
    with pytest.raises(DraftNotAccepted):
        found.fit(table())
    assert not list(tmp_path.iterdir()), "nothing was charged, no cap was set"
    assert "draft not accepted" in repr(found)
    assert "severity" in repr(found.draft_)
    assert "<td>ordinal</td>" in html(found.draft_)


def test_a_draft_is_accepted_with_changes_that_name_columns(tmp_path: Path) -> None:
    found = made(tmp_path)
    with pytest.raises(InputUnusable, match="no draft"):
        found.accept_draft()
    found.draft(table())
    with pytest.raises(InputUnusable, match="no column 'agee'; did you mean 'age'"):
        found.accept_draft(agee={"lower": 0})
    with pytest.raises(InputUnusable, match="column 'age'"):
        found.accept_draft(age=5)
    found.accept_draft(ward="ignored", target="severity", age={"upper": 120})
    columns = {column["name"]: column for column in found.domain_["columns"]}
    assert columns["ward"]["kind"] == "ignored"
    assert columns["age"]["upper"] == 120
    assert found.domain_["target"] == "severity"
    assert found.draft_.document["target"] == "died", "the draft itself stays"


def test_a_draft_asks_for_the_order_of_times_and_rules_are_accepted_with_it(tmp_path: Path) -> None:
    found, rows = made(tmp_path), table()
    left = pa.array([f"{day} 17:30" for day in rows["seen"].to_pylist()])
    prices = pa.array([f"{1000 + n:,}" for n in range(ROWS)])
    draft = found.draft(rows.append_column("left", left).append_column("price", prices))
    for shown in (repr(draft), html(draft)):
        assert "If one of seen, left is never after another" in shown
        assert "accept_draft(rules=" in shown
        assert "WARNING: price: numbers that no release will have." in shown
    assert "never after" not in repr(found.draft(rows)), "one date has no order"
    rule = {"kind": "at_most", "columns": ["seen", "left"]}
    found.draft(rows.append_column("left", left))
    found.accept_draft(rules=[rule])
    read = {key: value for key, value in found.domain_.items() if key != "declared_size"}
    assert TableDomain.from_json(read).rules
    assert found.domain_["rules"] == [rule]


def test_rows_come_as_the_kind_of_frame_that_was_given(fitted: Synthesizer) -> None:
    rows = fitted.sample(50)
    assert isinstance(rows, pd.DataFrame)
    assert list(rows.columns) == table().column_names
    assert isinstance(fitted.sample(5, form="polars"), pl.DataFrame)
    assert isinstance(fitted.sample(5, form="arrow"), pa.Table)


def test_polars_in_polars_out(tmp_path: Path) -> None:
    frame = pl.from_arrow(table())
    found = made(tmp_path)
    found.draft(frame)
    assert isinstance(found.accept_draft().fit(frame).sample(5), pl.DataFrame)


def test_conditions_are_values_sets_and_ranges(fitted: Synthesizer) -> None:
    rows = fitted.sample(
        200,
        where={
            "died": "yes",
            "ward": {"surgery", "oncology"},
            "age": (30, None),
            "severity": ("moderate", "severe"),
            "seen": ("2020-01-05", date(2020, 1, 25)),
        },
    )
    assert len(rows) == 200
    assert set(rows["died"]) == {"yes"}
    assert set(rows["ward"]) == {"surgery", "oncology"}
    assert rows["age"].min() >= 30
    assert set(rows["severity"]) == {"moderate", "severe"}
    assert date(2020, 1, 5) <= min(rows["seen"]) <= max(rows["seen"]) <= date(2020, 1, 25)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"wards": {"surgery"}}, "no modelled column 'wards'; did you mean 'ward'"),
        ({"ward": set()}, "condition on column 'ward' has no value"),
        ({"ward": ("a", "b")}, "words of column 'ward' have no order: give a set"),
        ({"ward": {"surgery", "oncolgy"}}, "column 'ward' has no such word; did you mean 'oncology'"),
        ({"ward": {"a ward that is not declared"}}, "column 'ward' has no such word"),
        ({"age": ("old", None)}, "ends of a range of column 'age' are numbers, such as"),
        ({"age": (True, None)}, "ends of a range of column 'age' are numbers"),
        ({"age": (1, 2, 3)}, "range of column 'age' is a pair"),
        ({"age": (70, 30)}, "range of column 'age' ends before it begins"),
        (
            {"age": (500, None)},
            "range of column 'age' is beyond its bounds: its values lie between 0 and 110",
        ),
        ({"seen": ("2031-01-01", None)}, "range of column 'seen' is beyond its bounds"),
        ({"seen": ("soon", None)}, "ends of a range of column 'seen' are dates or times"),
        ("age>65", "Give conditions by column"),
        ({"age": 40.5}, "it holds whole numbers alone"),
        ({"age": 500}, "its values lie between 0 and 110"),
        ({"age": {40, 500}}, "its values lie between 0 and 110"),
        ({"age": True}, "it holds finite numbers alone"),
        ({"age": None}, "none of its values is missing"),
        ({"age": slice(40, 50)}, "it holds finite numbers alone"),
        ({"seen": "soon"}, "write a date, a datetime, or a text such as '2024-05-31'"),
        (
            {"seen": datetime.fromisoformat("2020-01-05T12:00")},
            "it holds dates, which have no time of the day",
        ),
        ({"seen": pd.Timestamp("2020-01-05", tz="UTC")}, "its times have no zone"),
        ({"seen": ("2020-01-20", "2020-01-10")}, "range of column 'seen' ends before it begins"),
        ({"severity": ("severe", "mild")}, "range of column 'severity' ends before it begins"),
        ({"ward": "oncolgy"}, "column 'ward' has no such word; did you mean 'oncology'"),
        ({"ward": {None, "oncology"}}, "none of its values is missing"),
        ({"severity": ("mild", "dead")}, "column 'severity' has no such word"),
    ],
)
def test_a_condition_that_cannot_be_met_names_its_column(
    fitted: Synthesizer, where: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said) as refusal:
        fitted.sample(10, where=where)
    assert "40.5" not in str(refusal.value), "a condition may be made of private rows"


def test_a_condition_that_hardly_a_row_meets_is_refused(fitted: Synthesizer) -> None:
    with pytest.raises(Conflict, match="Fewer than 16"):
        fitted.sample(10, where={"age": (109.5, 109.6)})


@pytest.mark.parametrize(
    ("where", "column", "values"),
    [
        ({"age": 40}, "age", {40}),
        ({"age": {"above": 40, "below": 43}}, "age", {41, 42}),
        ({"age": Decimal(40)}, "age", {40}),
        ({"age": np.int64(40)}, "age", {40}),
        ({"age": np.array([40, 41])}, "age", {40, 41}),
        ({"age": pd.Series([40, 41])}, "age", {40, 41}),
        ({"age": pl.Series([40, 41])}, "age", {40, 41}),
        ({"seen": "2020-01-05"}, "seen", {date(2020, 1, 5)}),
        ({"seen": date(2020, 1, 5)}, "seen", {date(2020, 1, 5)}),
        (
            {"seen": (datetime.fromisoformat("2020-01-05T12:00"), date(2020, 1, 6))},
            "seen",
            {date(2020, 1, 6)},
        ),
        ({"died": {True}}, "died", {"yes"}),
        ({"died": True}, "died", {"yes"}),
        ({"age": range(40, 42)}, "age", {40, 41}),
        ({"age": (Decimal("39.5"), Decimal("41.5"))}, "age", {40, 41}),
        ({"age": pa.array([40, 41])}, "age", {40, 41}),
        ({"seen": np.array(["2020-01-05"], "datetime64[ns]")}, "seen", {date(2020, 1, 5)}),
        ({"seen": pd.Timestamp("2020-01-05")}, "seen", {date(2020, 1, 5)}),
    ],
)
def test_a_single_value_is_that_value_alone_and_arrays_are_sets(
    fitted: Synthesizer, where: dict[str, Any], column: str, values: set[object]
) -> None:
    assert set(fitted.sample(60, where=where)[column]) == values


def test_it_shows_what_was_spent_and_what_is_left(fitted: Synthesizer) -> None:
    text = repr(fitted)
    for said in (
        "dataset: wards",
        "5 of 5 modelled",
        "declared size: 500",
        "epsilon 1 of 2",
        "state: fitted",
    ):
        assert said in text
    for said in ("privacy unit: each row", "target: died", "ledger: ", "wards.jsonl"):
        assert said in text
    assert re.search(r"expected error of counts, about: columns \S+ %, pairs \S+ %", text)
    assert "<td>wards</td>" in html(fitted)
    assert "<td>epsilon 1 of 2</td>" in html(fitted)
    assert "guarantee: epsilon 1, delta 1e-06" in repr(fitted.fitted_)
    assert "<td>one record, present in one dataset" in html(fitted.fitted_)


def test_what_is_fitted_has_its_own_guarantee_whatever_is_set_for_the_next_fit(fitted: Synthesizer) -> None:
    other = copy.copy(fitted)
    other.set_params(epsilon=0.1, dataset="other")
    other.accept_draft(age={"upper": 120})
    for text in (repr(other), html(other)):
        assert "epsilon 1, delta 1e-06" in text
        assert "epsilon 0.1, delta" not in text
        assert "changed for the next fit" in text
        assert "epsilon 0.1, dataset 'other', another domain" in unescape(text)
    assert repr(other).startswith("Synthesizer\n  dataset: wards\n")
    assert "changed" not in repr(fitted)


def test_counts_rules_and_the_bundle_are_those_of_the_training(fitted: Synthesizer, tmp_path: Path) -> None:
    assert fitted.ask("count by died").rows
    assert fitted.check_rules().contradicted == ()
    assert fitted.save(tmp_path / "bundle.zip").is_file()
    assert fitted.certificate["privacy_parameters"]["epsilon"] == 1


def test_the_cap_is_set_once_and_binds(tmp_path: Path) -> None:
    found = made(tmp_path)
    found.draft(table())
    found.accept_draft().fit(table()).fit(table())
    shown = "spent: epsilon 1.64 of 2 at the cap's delta 4e-06, as the ledger composes 2 trainings (their own epsilons add up to 2)"
    assert shown in re.sub(r"(1\.64)\d*", r"\1", " ".join(repr(found).split()))
    assert "left for one more training: epsilon 0.91" in repr(found)
    with pytest.raises(BudgetRefused):
        found.fit(table())
    assert float(read_account("wards", ledgers=tmp_path).spent["epsilon"]) == pytest.approx(2, abs=1e-3)
    with pytest.raises(Conflict, match="is set"):
        clone(found).set_params(cap=(5.0, 1e-5), domain=found.domain_).fit(table())


def test_it_has_the_manners_of_scikit_learn(tmp_path: Path) -> None:
    found = made(tmp_path, domain={"schema": "none"})
    other = clone(found)
    assert other is not found
    assert other.get_params() == found.get_params()
    assert other.set_params(epsilon=2.0).epsilon == 2
    assert not hasattr(other, "fitted_")
    with pytest.raises(InputUnusable, match="no parameter 'epsilom'; did you mean 'epsilon'"):
        other.set_params(epsilom=1)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["low", "high"])], ids=["categorical", "enum"])
def test_categories_of_polars_are_drafted(kind: pl.DataType) -> None:
    drafted = Synthesizer().draft(pl.DataFrame({"risk": pl.Series(["low", "high", None] * 40, dtype=kind)}))
    (column,) = drafted.document["columns"]
    assert column["null"] == "category"
    if kind == pl.Categorical:
        assert (column["kind"], column["categories"]) == ("categorical", ["high", "low"])
    else:
        assert (column["kind"], column["levels"]) == ("ordinal", ["low", "high"]), "in the order of the type"


def test_what_no_release_can_have_is_ignored_by_a_draft() -> None:
    bands = pd.cut(pd.Series(range(90)), [-1, 30, 60, 90])
    stays = pd.Series(pd.to_timedelta(range(90), unit="min"))
    months = pd.Series(pd.period_range("2020-01", periods=90, freq="M"))
    frame = pd.DataFrame({"band": bands, "stay": stays, "month": months})
    drafted = Synthesizer().draft(frame)
    assert {column["kind"] for column in drafted.document["columns"]} == {"ignored"}, (
        "intake would refuse the frame"
    )
    frame = pd.DataFrame(
        {"band": bands.astype(str), "stay": stays.dt.total_seconds().repeat(2).to_numpy()[:90]}
    )
    again = Synthesizer().draft(frame)
    assert [column["kind"] for column in again.document["columns"]] == ["ordinal", "numeric"], (
        "as the note says"
    )
    for told in ("`.astype(str)`", "`.dt.total_seconds()`"):
        assert told in repr(drafted)
    scans = Synthesizer().draft(pl.DataFrame({"scan": [b"\xff\x00", b"\xfe"] * 50}))
    assert [column["kind"] for column in scans.document["columns"]] == ["ignored"]


@pytest.mark.parametrize("frame", [pd.Series([1, 2]), None, [[1, 2]]], ids=["series", "none", "list"])
def test_what_is_no_frame_is_refused(frame: object) -> None:
    with pytest.raises(InputUnusable, match="DataFrame of pandas or polars"):
        Synthesizer().draft(frame)


def test_a_change_that_cannot_be_made_says_what_can() -> None:
    made = Synthesizer()
    made.draft(pd.DataFrame({"note": [f"text {n}" for n in range(90)], "x": ["a", "b", "c"] * 30}))
    with pytest.raises(InputUnusable, match="no column 'Target'; did you mean 'target'"):
        made.accept_draft(Target="x")
    with pytest.raises(InputUnusable, match=r"in Python give all keys of the column$"):
        made.accept_draft(note="categorical")
    with pytest.raises(InputUnusable, match="did you mean 'categorical'"):
        made.accept_draft(note="categoric")
    made.accept_draft(note={"kind": "categorical", "categories": ["text 1"], "other": True})
    assert made.domain_["columns"][0]["kind"] == "categorical"


def test_two_columns_of_the_same_name_are_refused_by_their_places() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(InputUnusable, match="columns 1 and 3 have the same name; rename one"):
        Synthesizer().draft(frame)


def test_a_column_close_to_another_is_plotted_and_can_be_modelled_by_its_own_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    came = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, 600), "D")
    frame = pd.DataFrame({"came": came, "left": came + pd.to_timedelta(rng.integers(0, 9, 600), "D")})
    found = made(tmp_path)
    assert "Answer 'none'" in repr(found.draft(frame))
    for answer in ("none", {"difference": None}):
        found.accept_draft(left=answer)
        assert "difference" not in found.domain_["columns"][1]
    found.draft(frame)
    plot = found.accept_draft().fit(frame).plot_marginals("left")
    assert [axes.get_title("left") for axes in plot.axes] == ["left.difference"]


def test_it_ends_a_pipeline(tmp_path: Path) -> None:
    found = made(tmp_path)
    found.draft(table())
    found.accept_draft()
    pipeline = Pipeline([("synthesizer", found)])
    with pytest.raises(InputUnusable, match="the target is a column of the frame"):
        pipeline.fit(table(), [0] * ROWS)
    assert not list(tmp_path.iterdir())
    assert len(pipeline.fit(table()).named_steps["synthesizer"].sample(5)) == 5


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputUnusable, match="name the dataset"):
        Synthesizer().fit(table())
    with pytest.raises(InputUnusable, match="call fit"):
        made(tmp_path).sample(1)
    with pytest.raises(InputUnusable, match="DataFrame of pandas or polars"):
        made(tmp_path).draft([[1, 2]])
    with pytest.raises(InputUnusable, match="column 'b' holds values of several kinds") as caught:
        made(tmp_path).draft(pd.DataFrame({"a": [1, 2], "b": pd.Series(["canary", 2], dtype=object)}))
    assert "canary" not in str(caught.value)
    assert understudy.Synthesizer is synthesizer.Synthesizer


@pytest.mark.parametrize("rows", ["10", 2.5, True, None])
def test_what_is_no_number_of_rows_is_refused(fitted: Synthesizer, rows: Any) -> None:
    with pytest.raises(InputUnusable, match=r"the number of rows is a whole number, such as sample\(1000\)"):
        fitted.sample(rows)
    assert len(fitted.sample(np.int64(3))) == 3


def test_a_draft_that_is_not_accepted_is_not_trained_on_after_another_was(tmp_path: Path) -> None:
    found = made(tmp_path)
    found.draft(table())
    found.accept_draft()
    found.draft(table().select(["age", "died"]))
    assert "draft not accepted" in repr(found)
    with pytest.raises(DraftNotAccepted):
        found.fit(table())
    assert not list(tmp_path.iterdir())


def test_a_newer_draft_leaves_what_is_fitted_and_says_that_it_waits(fitted: Synthesizer) -> None:
    other = copy.copy(fitted)
    other.draft(table().select(["age", "died"]))
    assert "fitted; a newer draft is not accepted" in repr(other)
    assert "5 of 5 modelled" in repr(other), "of what is fitted"
    assert list(other.sample(3).columns) == table().column_names


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"age": {"lowerr": 0}}, "column 'age'.*lowerr"),
        ({"age": {"lower": 110, "upper": 0}}, "column 'age', (lower|upper)"),
        ({"declared_size": "many"}, "declared_size is a whole number, 1 or more"),
        ({"declared_size": -5}, "declared_size is a whole number, 1 or more"),
        ({"declared_size": True}, "declared_size is a whole number, 1 or more"),
        ({"rules": ["seen<died"]}, "rule 1"),
        ({"null_values": "?"}, "null_values is a list of texts"),
    ],
)
def test_a_change_that_no_domain_has_is_refused_when_it_is_accepted(
    changes: dict[str, Any], said: str
) -> None:
    found = Synthesizer()
    found.draft(table())
    with pytest.raises((InputUnusable, InvalidInput), match=said):
        found.accept_draft(**changes)
    assert not hasattr(found, "domain_")


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "understudy", "--help"], capture_output=True, text=True, check=True
    )
    assert "Usage: " in done.stdout


def test_a_bar_is_shown_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(wanted=True) as watch:
        assert watch is not None
        watch("critic", 1, 2)
    assert "critic" in capsys.readouterr().err
    with progress_bar(wanted=False) as watch:
        assert watch is None


def test_a_notebook_shows_a_bar_only_where_it_can_move(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Console(force_jupyter=True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert not shows_bars(notebook), "rich would warn in place of the bar"
    widgets = ModuleType("ipywidgets")
    widgets.__spec__ = ModuleSpec("ipywidgets", None)
    monkeypatch.setitem(sys.modules, "ipywidgets", widgets)
    assert shows_bars(notebook)
