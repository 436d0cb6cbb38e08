"""Dates that name a month alone are drafted as dates; what only looks like them is not."""

from datetime import date
from pathlib import Path

import pytest

from tests.understudy.test_domain_draft import accepted, column
from understudy.domain_draft import draft_domain


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


@pytest.mark.parametrize("form", ["{0}-{1:02}", "{0}/{1:02}", "{2}/{3}"])
def test_school_years_and_ratios_are_no_months(form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    texts = [form.format(2002 + n % 8, 3 + n % 8, 1 + n % 12, 2 + n % 9) for n in range(400)]
    path.write_text("year,x\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts)))
    assert column(draft_domain(path), "year")["kind"] in {"categorical", "ordinal"}
