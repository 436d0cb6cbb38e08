"""Columns that follow from a date, in any language, are left out of a draft; others stay."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.understudy.drafts.test_tables import accepted, column
from understudy.drafts.categories import NOTE
from understudy.drafts.dependencies import ELSE
from understudy.drafts.tables import draft_domain, draft_frame

DAYS = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")
MONTHS = ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre")  # fmt: skip
MOMENTS = [datetime.fromisoformat("2021-03-05T00:00") + timedelta(minutes=n * 1361) for n in range(900)]
"""Two years and more, all weekdays and hours."""


def drafted(
    of: Callable[[datetime], object], *, kind: type = datetime, keep: int = 900, **others: list[Any]
) -> dict[str, Any]:
    rows = MOMENTS[:keep]
    dates = rows if kind is datetime else [moment.date() for moment in rows]
    return draft_frame(
        pa.table(
            {"seen": dates, "told": [of(moment) for moment in rows], "x": [n % 7 for n in range(keep)]}
            | others
        )
    )


@pytest.mark.parametrize(
    ("of", "part"),
    [
        (lambda moment: DAYS[moment.weekday()], "weekday"),
        (lambda moment: moment.isoweekday(), "weekday"),
        (lambda moment: moment.weekday() > 4, "weekday"),
        (lambda moment: "we" if moment.weekday() > 4 else "wd", "weekday"),
        (lambda moment: MONTHS[moment.month - 1], "month"),
        (lambda moment: moment.month, "month"),
        (lambda moment: f"Q{(moment.month + 2) // 3}", "quarter"),
        (lambda moment: moment.year, "year"),
        (lambda moment: f"FY {moment.year + (moment.month > 9)}", "year and month"),
        (lambda moment: moment.day, "day of the month"),
        (lambda moment: "night" if moment.hour < 6 else "day", "hour"),
        (lambda moment: f"{moment:%Y-%m}", "year and month"),
    ],
    ids=["word", "number", "truth", "weekend", "mois", "month", "quarter", "year", "fiscal", "day", "hour", "date"],
)  # fmt: skip
def test_a_column_that_follows_from_a_date_is_left_out(of: Callable[[datetime], object], part: str) -> None:
    found = column(drafted(of), "told")
    assert found["kind"] == "ignored"
    assert f"Follows from the {part} of seen, in every row that was compared" in found[NOTE]
    assert found[ELSE]["kind"] in {"categorical", "ordinal", "numeric", "boolean", "date"}


def test_it_is_read_from_a_file_of_any_format_and_the_pattern_of_the_date_keeps_its_distribution(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{moment:%d/%m/%Y},{DAYS[moment.weekday()]}\n" for moment in MOMENTS]
    path.write_text("seen,Wochentag\n" + "".join(lines))
    draft = draft_domain(path)
    assert "Its pattern 'weekday' keeps the frequencies" in column(draft, "Wochentag")[NOTE]
    assert "weekday" in column(draft, "seen")["patterns"]
    assert accepted(path, draft) == (900, 0)


def test_one_row_that_contradicts_keeps_it() -> None:
    broken = iter([*["Sonntag"], *(DAYS[moment.weekday()] for moment in MOMENTS[1:])])
    assert column(drafted(lambda _: next(broken)), "told")["kind"] in {"categorical", "ordinal"}


@pytest.mark.parametrize(
    ("of", "keep"),
    [
        (lambda moment: DAYS[(moment.day + moment.minute) % 7], 900),
        (lambda moment: moment.year, 150),
        (lambda moment: "late" if moment.year > 2022 else "early", 675),
        (lambda moment: f"{moment:%H:%M}", 900),
    ],
    ids=["other", "few rows", "few values", "clock"],
)
def test_others_stay(of: Callable[[datetime], object], keep: int) -> None:
    assert "Follows from" not in column(drafted(of, keep=keep), "told").get(NOTE, "")


def test_a_target_is_never_left_out_but_reported() -> None:
    draft = drafted(lambda _: "a", died=["yes" if moment.weekday() > 4 else "no" for moment in MOMENTS])
    found = column(draft, "died")
    assert draft["target"] == "died"
    assert found["kind"] in {"boolean", "categorical"}
    assert "WARNING: Follows from the weekday of seen" in found[NOTE]
