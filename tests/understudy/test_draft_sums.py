"""Columns that follow from two others are told in a draft."""

from datetime import date, timedelta

import pyarrow as pa
import pytest

from tests.understudy.test_domain_draft import column
from understudy.domain_draft import draft_frame
from understudy.draft_categories import NOTE

BEGUN = [date(2021, 1, 4) + timedelta(days=n * 37 % 900) for n in range(400)]
STAYS = [n * n % 41 + 1 for n in range(400)]
ENDED = [day + timedelta(days=stay) for day, stay in zip(BEGUN, STAYS, strict=True)]


def test_a_stay_that_is_the_days_between_two_dates_is_told() -> None:
    table = {"admission": BEGUN, "discharge": ENDED, "los_days": STAYS}
    note = column(draft_frame(pa.table(table)), "los_days")[NOTE]
    assert "Follows from others: the days from admission to discharge" in note
    assert "compute it from synthetic rows" in note
    wrong = [*STAYS[:-1], STAYS[-1] + 1]
    assert "Follows" not in column(draft_frame(pa.table(table | {"los_days": wrong})), "los_days")[NOTE]


@pytest.mark.parametrize("off", [0.0, 0.01])
def test_a_total_of_two_numbers_is_told_with_the_rule_that_keeps_it(off: float) -> None:
    net = [n * 7919 % 997 / 4 for n in range(400)]
    tax = [n * 31 % 89 / 4 for n in range(400)]
    gross = [one + other for one, other in zip(net, tax, strict=True)]
    gross[-1] += off
    note = column(draft_frame(pa.table({"net": net, "tax": tax, "gross": gross})), "gross")[NOTE]
    assert ('declare the rule "sum"' in note) == (off == 0)
