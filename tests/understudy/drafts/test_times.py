"""Dates that name a month alone are drafted as dates; what only looks like them is not."""

from datetime import date, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

from core.data.intake.intake import CSV, receive
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import accepted, column, confirmed
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.marked_values import Mark
from understudy.drafts.tables import draft_domain, draft_frame
from understudy.table_files import MARK


def changes(path: Path, draft: dict) -> dict:
    """What intake changes of a file of which it refuses nothing."""
    domain = TableDomain.from_json(confirmed(draft))
    with path.open("rb") as file:
        report = receive(file, content_type=CSV, domain=domain, sink=BytesIO(), scratch_folder=path.parent)
    assert report.rows_refused == 0
    return report.changes


@pytest.mark.parametrize("written", ["%m/%Y", "%m.%Y", "%Y-%m", "%Y/%m"])
def test_months_without_a_day_are_dates(written: str, tmp_path: Path) -> None:
    days = [date(2019 + n // 12 % 6, 1 + n % 12, 1) for n in range(400)]
    path = tmp_path / "rows.csv"
    path.write_text("due,x\n" + "".join(f"{day.strftime(written)},{n % 2}\n" for n, day in enumerate(days)))
    draft = draft_domain(path)
    found = column(draft, "due")
    assert (found["kind"], found["format"], found["resolution"]) == ("date", written, "month")
    assert (found["lower"], found["upper"]) == ("2019-01-01", "2024-12-31")
    assert found["bins"] == 24, "three months each"
    assert "weekday" not in found.get("patterns", ())
    assert accepted(path, draft) == (400, 0)


@pytest.mark.parametrize("written", ["%d.%m.%y", "%m/%d/%y", "%d/%m/%y"])
def test_years_of_two_digits_are_read_as_python_reads_them(written: str, tmp_path: Path) -> None:
    days = [date(1972 + n % 50, 1 + n % 12, 13 + n % 12) for n in range(400)]
    path = tmp_path / "rows.csv"
    path.write_text("seen,x\n" + "".join(f"{day.strftime(written)},{n % 2}\n" for n, day in enumerate(days)))
    draft = draft_domain(path)
    found = column(draft, "seen")
    assert (found["kind"], found["format"]) == ("date", written)
    assert (found["lower"], found["upper"]) == ("1972-01-01", "2021-12-31")
    assert "69 to 99 as 1969 to 1999" in found[NOTE]
    assert accepted(path, draft) == (400, 0)


@pytest.mark.parametrize("written", ["%d.%m.%y", "%m/%d/%y"])
def test_births_that_would_be_in_the_future_are_left_out_with_what_to_do(
    written: str, tmp_path: Path
) -> None:
    days = [date(1930 + n % 70, 1 + n % 12, 13 + n % 12) for n in range(400)]
    path = tmp_path / "rows.csv"
    path.write_text("born,x\n" + "".join(f"{day.strftime(written)},{n % 2}\n" for n, day in enumerate(days)))
    found = column(draft_domain(path), "born")
    assert found["kind"] == "ignored"
    assert "write four digits, and draft again" in found[NOTE]


@pytest.mark.parametrize("form", ["{0}-{1:02}", "{0}/{1:02}", "{2}/{3}"])
def test_school_years_and_ratios_are_no_months(form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = [form.format(2002 + n % 8, 3 + n % 8, 1 + n % 12, 2 + n % 9) for n in range(400)]
    path.write_text("year,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    assert column(draft_domain(path), "year")["kind"] in {"categorical", "ordinal"}


def _firsts(step: int) -> list[date]:
    """First days of every so many months."""
    return [date(2015 + n * step // 12 % 9, 1 + n * step % 12, 1) for n in range(400)]


@pytest.mark.parametrize(("step", "unit"), [(1, "month"), (3, "quarter"), (12, "year")])
@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d 00:00:00"])
def test_the_resolution_is_the_unit_that_all_values_begin(
    step: int, unit: str, written: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "due,x\n" + "".join(f"{day.strftime(written)},{n % 2}\n" for n, day in enumerate(_firsts(step)))
    )
    draft = draft_domain(path)
    found = column(draft, "due")
    assert found["resolution"] == unit
    assert f"All dates are the first day of a {unit}." in found[NOTE]
    assert "weekday" not in found.get("patterns", ())
    assert accepted(path, draft) == (400, 0)
    frame = draft_frame(pa.table({"due": _firsts(step)}))
    assert column(frame, "due")["resolution"] == unit


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (["2024-01-02T00:00:00", "2024-03-04 00:00"], "day"),
        (["2024-01-02T05:00:00", "2024-03-04 00:00"], "hour"),
        (["2024-01-02T00:00:00+02:00", "2024-03-04T00:00:00+01:00"], "hour"),
        (["2024-01-02T00:00:00+05:30", "2024-03-04T00:00:00+05:30"], "minute"),
        (["2024-01-02T00:00:00Z", "2024-03-04T00:00:00+00:00"], "day"),
        (["2024-01-02T00:00:07", "2024-03-04T00:00:00"], "second"),
    ],
)
def test_the_resolution_of_times_is_the_finest_unit_that_occurs(texts: list[str], unit: str) -> None:
    assert column(draft_frame(pa.table({"seen": texts * 100})), "seen")["resolution"] == unit


def test_one_other_day_makes_the_resolution_a_day_and_few_firsts_may_be_chance() -> None:
    assert (
        column(draft_frame(pa.table({"due": [*_firsts(1), date(2020, 3, 2)]})), "due")["resolution"] == "day"
    )
    few = [date(2020, 3, 1), date(2021, 5, 1)] * 100
    assert column(draft_frame(pa.table({"due": few})), "due")["resolution"] == "day"


def _days_with(sentinel: str, rows: int) -> list[str]:
    days = [str(date(2022, 1, 1) + timedelta(days=n * 37 % 900)) for n in range(3000)]
    return [*days, *[sentinel] * rows]


@pytest.mark.parametrize("sentinel", ["9999-12-31", "1900-01-01", "2099-12-31"])
@pytest.mark.parametrize("rows", [1, 20, 4000])
def test_a_date_that_stands_for_something_else_sets_no_bound_and_counts_as_missing(
    sentinel: str, rows: int, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    texts = _days_with(sentinel, rows)
    path.write_text("until,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    draft = draft_domain(path)
    found = column(draft, "until")
    assert (found["lower"], found["upper"]) == ("2022-01-01", "2024-12-31")
    assert (found["outside"], found["null"]) == ("null", "category")
    assert {"outside", "null"} <= set(found[MARK])
    assert f"{sentinel} (" in found[NOTE]
    assert "count as missing" in found[NOTE]
    assert changes(path, draft) == {"until": {"mapped-to-null": rows}}


def test_the_last_second_of_all_time_says_nothing_of_the_unit_of_other_times(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = [f"{text} 08:{n % 60:02}:00" for n, text in enumerate(_days_with("", 0))]
    path.write_text("until\n" + "".join(f"{text}\n" for text in [*texts, *["9999-12-31 23:59:59"] * 20]))
    found = column(draft_domain(path), "until")
    assert (found["upper"], found["resolution"]) == ("2024-12-31T23:59:59", "minute")


def test_births_of_a_whole_century_begin_with_no_sentinel() -> None:
    births = [date(1900, 1, 1) + timedelta(days=n * 7919 % 40_000) for n in range(3000)]
    found = column(draft_frame(pa.table({"born": births})), "born")
    assert (found["lower"], "outside" in found) == ("1900-01-01", False)


@pytest.mark.parametrize("wrong", [date(2204, 5, 1), date(1203, 5, 1)])
def test_a_few_mistyped_years_set_no_bound_and_no_note_speaks_of_bins_of_equal_ratio(wrong: date) -> None:
    days = list(map(date.fromisoformat, _days_with("", 0)))
    found = column(draft_frame(pa.table({"seen": [*days, *[wrong] * 9]})), "seen")
    assert (found["lower"], found["upper"]) == ("2022-01-01", "2024-12-31")
    assert "outside" not in found
    assert "far beyond the rest, like typing errors" in found[NOTE]
    lopsided = [date(1950, 1, 1) + timedelta(days=int(1.01**n)) for n in range(1000)] * 2
    assert "equal ratio" not in column(draft_frame(pa.table({"seen": lopsided})), "seen")[NOTE]


BAD = ["2024-02-30", "31.12.1999", "0000-00-00"]


@pytest.mark.parametrize("clock", ["", " 08:15:00"])
def test_a_few_values_that_are_no_dates_count_as_missing_and_are_shown(clock: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = [*(text + clock for text in _days_with("", 0)), *BAD * 9]
    path.write_text("begun,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    draft = draft_domain(path)
    found = column(draft, "begun")
    assert (found["kind"], found["lower"][:10]) == ("datetime" if clock else "date", "2022-01-01")
    assert (found["unreadable"], found["null"]) == ("null", "category")
    assert {"unreadable", "null"} <= set(found[MARK])
    assert '27 values (0.89 %) are no dates of this form, such as "2024-02-30", "31.12.1999"' in found[NOTE]
    assert changes(path, draft) == {"begun": {"mapped-to-null": 27}}


@pytest.mark.parametrize(
    "written", ["%Y-%m-%d", "%Y-%m-%d 10:30", "%d.%m.%Y", "%d.%m.%Y 10:30", "%Y-%m", "%m/%Y"]
)
def test_dates_of_the_year_0_count_as_missing_as_in_intake(written: str, tmp_path: Path) -> None:
    days = [date(2019 + n // 12 % 6, 1 + n % 12, 1 + n % 28) for n in range(400)]
    texts = [day.strftime(written) for day in days]
    texts[7] = texts[7].replace(str(days[7].year), "0000")
    path = tmp_path / "rows.csv"
    path.write_text("seen,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    draft = draft_domain(path)
    found = column(draft, "seen")
    assert found["lower"][:10] == "2019-01-01"
    assert texts[7] in found[NOTE]
    assert changes(path, draft) == {"seen": {"mapped-to-null": 1}}


def test_days_that_no_month_has_are_no_dates_in_other_formats(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = [f"{1 + n % 28:02}.{1 + n % 12:02}.202{n % 4}" for n in range(500)] + ["30.02.2021", "31.04.2022"]
    path.write_text("begun,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    draft = draft_domain(path)
    assert column(draft, "begun")["format"] == "%d.%m.%Y"
    assert changes(path, draft) == {"begun": {"mapped-to-null": 2}}


def test_a_column_with_more_of_them_becomes_one_of_dates_by_the_answer_date() -> None:
    draft = draft_frame(pa.table({"begun": [*_days_with("", 0), *BAD * 300], "x": [0.5, 1.5, 2.5] * 1300}))
    found = column(draft, "begun")
    assert found["kind"] == "ignored"
    assert "77 % of the values are dates: give its kind as 'date'" in found[NOTE]
    change(draft, Mark(found, "kind", "begun"), "date")
    assert (found["kind"], found["upper"], found["unreadable"]) == ("date", "2024-12-31", "null")
    assert {"lower", "upper", "unreadable"} <= set(found[MARK])


def test_dates_close_together_are_compared_although_a_few_are_none() -> None:
    begun = [date.fromisoformat(text) for text in _days_with("", 0)]
    ended = [str(day + timedelta(days=n * n % 17)) for n, day in enumerate(begun)]
    table = pa.table({"begun": [*map(str, begun), *BAD * 5], "ended": [*ended, *["9999-12-31"] * 15]})
    found = column(draft_frame(table), "ended")
    assert found["difference"]["from"] == "begun"
    assert found["difference"]["upper"] == 16


@pytest.mark.parametrize(("step", "unit"), [(1, "month"), (3, "quarter"), (12, "year")])
def test_the_resolution_is_the_unit_that_all_values_end(step: int, unit: str) -> None:
    ends = [first - timedelta(days=1) for first in _firsts(step)]
    table = pa.table({"until": [*map(str, ends), "9999-12-31"]})
    found = column(draft_frame(table), "until")
    assert found["resolution"] == f"{unit}_end"
    assert f"All dates are the last day of a {unit}." in found[NOTE]
    assert found.get("patterns", []) == (["month"] if unit == "month" else [])
    TableDomain.from_json(confirmed(draft_frame(table)))
    later = column(draft_frame(pa.table({"until": [*ends, date(2020, 3, 4)]})), "until")
    assert later["resolution"] == "day"
    assert "last day" not in later[NOTE]


def test_dates_of_one_weekday_are_weeks_from_that_day_on() -> None:
    mondays = [date(2020, 1, 6) + timedelta(weeks=n * n % 200) for n in range(400)]
    found = column(draft_frame(pa.table({"week": mondays})), "week")
    assert (found["resolution"], found["lower"]) == ("week", "2019-12-30")
    assert "All dates are Mondays." in found[NOTE]
    assert "weekday" not in found.get("patterns", ())
    few = column(draft_frame(pa.table({"week": [*mondays[:5]] * 30})), "week")
    assert few["resolution"] == "day", "five days may fall on one weekday by chance"
    other = column(draft_frame(pa.table({"week": [*mondays, date(2020, 1, 7)]})), "week")
    assert other["resolution"] == "day"


def test_the_note_of_dates_counts_what_lies_beyond_whole_years() -> None:
    days = [date(2015, 3, 1) + timedelta(days=n) for n in range(1200)]
    born = column(draft_frame(pa.table({"born": days})), "born")
    assert (born["lower"], born["upper"]) == ("2015-03-01", "2018-12-31")
    assert "cover all rows" in born[NOTE]
    days[0] = date(1915, 1, 1)
    born = column(draft_frame(pa.table({"born": days})), "born")
    assert born["lower"] == "2015-03-01", "one row sets no bound"
    assert "Bounds cover all but 0.08 %" in born[NOTE]


def test_one_row_sets_no_bound_of_a_column_that_few_rows_have() -> None:
    ended = [date(2020, 1, 1) + timedelta(days=n) for n in range(100)]
    rare: list[date | None] = [*ended, date(1931, 5, 1), *[None] * 900]
    found = column(draft_frame(pa.table({"ended": rare, "x": [n % 2 for n in range(1001)]})), "ended")
    assert found["lower"] == "2020-01-01", "the table has rows enough, and its draft no warning"


def seen(*moments: object) -> tuple[str, str]:
    """The bounds of a column of days or times."""
    found = column(draft_frame(pa.table({"seen": list(moments)})), "seen")
    return found["lower"], found["upper"]


def test_minutes_after_midnight_of_a_new_year_do_not_open_it() -> None:
    begun, ended = datetime.fromisoformat("2025-01-01"), datetime.fromisoformat("2026-01-01")
    year = [begun + timedelta(hours=n) for n in range(365 * 24)]
    beyond = [ended + timedelta(minutes=n) for n in range(6)]
    before = [begun - timedelta(minutes=n) for n in range(1, 7)]
    assert seen(*year, *beyond, *before) == ("2025-01-01T00:00:00", "2025-12-31T23:59:59")
    days = [date(2025, 1, 1) + timedelta(days=n) for n in range(365)] * 30
    assert seen(*days, *[date(2026, 1, 1)] * 6) == ("2025-01-01", "2025-12-31")
    assert seen(*days, *[date(2026, 1, 1)] * 60)[1] == "2026-01-31", "more rows do, by a month"
    assert seen(*days, *[date(2026, 1, 20)] * 6)[1] == "2026-01-31", "and later days"


@pytest.mark.parametrize(
    ("first", "days", "bounds"),
    [
        (date(2023, 1, 1), 1000, ("2023-01-01", "2025-12-31")),
        (date(2025, 4, 3), 390, ("2025-04-01", "2026-04-30")),
        (date(2025, 4, 3), 60, ("2025-04-01", "2025-06-30")),
        (date(2025, 4, 3), 8, ("2025-04-03", "2025-04-10")),
        (date(2025, 4, 28), 8, ("2025-04-28", "2025-05-05")),
        (date(2025, 4, 3), 20, ("2025-04-01", "2025-04-30")),
    ],
)
def test_dates_are_bounded_by_whole_years_months_or_days_as_bins_would_stay_empty(
    first: date, days: int, bounds: tuple[str, str]
) -> None:
    assert seen(*[first + timedelta(days=n) for n in range(days)] * 20) == bounds


def test_one_row_sets_no_bound_of_a_few_days() -> None:
    days = [date(2025, 4, 3) + timedelta(days=n) for n in range(8)] * 50
    assert seen(*days, date(2025, 4, 22), date(2025, 3, 5)) == ("2025-04-03", "2025-04-10")


@pytest.mark.parametrize("days", [(date(9999, 12, 5), date(9999, 12, 20)), (date(1, 1, 1), date(1, 1, 20))])
def test_the_first_and_the_last_month_that_there_are_have_bounds(days: tuple[date, date]) -> None:
    lower, upper = seen(*days * 200)
    assert lower <= str(days[0]) <= str(days[1]) <= upper


WRITTEN = [
    "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%Y.%m.%d", "%m-%d-%Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d %B %Y", "%d. %B %Y",
    "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M %p", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M",
]  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("written", WRITTEN)
def test_the_format_of_a_file_is_drafted_and_synthetic_files_have_it(
    written: str, separator: str, tmp_path: Path
) -> None:
    moments = [datetime.fromisoformat("2019-03-05") + timedelta(minutes=n * 7219) for n in range(400)]
    path = tmp_path / "rows.csv"
    lines = [f'"{moment.strftime(written)}"{separator}{n % 2}\n' for n, moment in enumerate(moments)]
    path.write_text(f"seen{separator}x\n" + "".join(lines))
    draft = draft_domain(path)
    found = column(draft, "seen")
    assert found["format"] == written
    assert found["kind"] == ("datetime" if ":" in moments[0].strftime(written) else "date")
    assert (found["lower"][:10], found["upper"][:10]) == ("2019-03-01", "2024-12-31")
    last = date(2024, 12, 31)
    assert (
        f"CSV files of synthetic rows use the same format: {last} is {last.strftime(written)}." in found[NOTE]
    )
    assert "comes first" not in found[NOTE]
    assert accepted(path, draft) == (400, 0)


@pytest.mark.parametrize(
    ("clock", "unit"),
    [(" 00:00", "day"), (" 07:00", "hour"), (" 07:05", "minute"), (" 07:05:09", "second")],
)
def test_the_resolution_of_times_of_a_format_is_the_finest_unit(
    clock: str, unit: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("seen\n" + "".join(f"{13 + n % 16}/0{1 + n % 9}/2023{clock}\n" for n in range(400)))
    found = column(draft_domain(path), "seen")
    assert (found["kind"], found["resolution"]) == ("datetime", unit)


@pytest.mark.parametrize(
    ("written", "first", "second", "other"),
    [
        ("%d/%m/%Y", "day", "month", "%m/%d/%Y"),
        ("%d-%m-%Y", "day", "month", "%m-%d-%Y"),
        ("%d/%m/%Y %H:%M", "day", "month", "%m/%d/%Y %H:%M"),
    ],
)
def test_a_draft_says_that_no_row_tells_the_day_from_the_month(
    written: str, first: str, second: str, other: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    days = [datetime(2020, 1 + n % 12, 1 + n % 5, n % 24) for n in range(400)]  # noqa: DTZ001 - a file has no zone
    path.write_text("seen\n" + "".join(f"{day.strftime(written)}\n" for day in days))
    found = column(draft_domain(path), "seen")
    assert found["format"] == written
    assert "format" in found[MARK]
    assert (
        f"No row shows whether the day or the month comes first: read with the {first} first. If the {second} comes first, give the"
        f" format '{other}'" in found[NOTE]
    )


@pytest.mark.parametrize("written", ["%d/%m/%Y", "%m/%d/%Y"])
def test_first_days_of_months_tell_which_comes_first(written: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("due\n" + "".join(f"{day.strftime(written)}\n" for day in _firsts(1)))
    found = column(draft_domain(path), "due")
    assert (found["format"], found["resolution"]) == (written, "month")


OFFSETS = ["2024-01-02T05:00:00+02:00", "2024-03-04 07:10:00Z", "2024-05-06 09:20:30+0100"]


def test_times_with_a_zone_become_utc_and_the_note_says_so() -> None:
    found = column(draft_frame(pa.table({"seen": OFFSETS * 100})), "seen")
    assert found["kind"] == "datetime"
    assert "Its times have a zone: they are converted to UTC" in found[NOTE]
    some = column(draft_frame(pa.table({"seen": [*OFFSETS, "2024-01-02T05:00:00"] * 100})), "seen")
    assert "have a zone in 75 % of the values" in some[NOTE]
    none = column(draft_frame(pa.table({"seen": ["2024-01-02T05:00:00", "2024-03-04 00:00"] * 100})), "seen")
    assert "zone" not in none[NOTE]


@pytest.mark.parametrize("name", ["last_login", "seen", "email_verified_at"])
@pytest.mark.parametrize("zone", [" UTC", " CEST", " +0200", "[Europe/Berlin]"])
@pytest.mark.parametrize("many", [40, 400])
def test_times_in_a_form_that_is_not_read_are_left_out_with_what_to_write(
    name: str, zone: str, many: int
) -> None:
    texts = [
        f"2024-{1 + n % 12:02}-{1 + n % 28:02} 09:{n % many % 60:02}:{n % many // 60:02}{zone}"
        for n in range(400)
    ]
    found = column(draft_frame(pa.table({name: texts})), name)
    assert found["kind"] == "ignored"
    assert "2024-05-31T09:30:00+02:00, and draft again" in found[NOTE]
    assert "CEST" not in found[NOTE]
