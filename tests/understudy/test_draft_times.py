"""Dates that name a month alone are drafted as dates; what only looks like them is not."""

from datetime import date
from pathlib import Path

import pytest

from tests.understudy.test_domain_draft import accepted, column
from understudy.domain_draft import draft_domain
from understudy.draft_categories import NOTE


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
    assert "write four digits, and draft it again" in found[NOTE]


@pytest.mark.parametrize("form", ["{0}-{1:02}", "{0}/{1:02}", "{2}/{3}"])
def test_school_years_and_ratios_are_no_months(form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = [form.format(2002 + n % 8, 3 + n % 8, 1 + n % 12, 2 + n % 9) for n in range(400)]
    path.write_text("year,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    assert column(draft_domain(path), "year")["kind"] in {"categorical", "ordinal"}
