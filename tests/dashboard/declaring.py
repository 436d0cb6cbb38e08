"""A journey in a real browser: a drafted domain is dropped, reviewed, edited and declared."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.dashboard.browsing import BROKEN_WORDS, grave_findings
from understudy.drafts.tables import draft_domain

_ALL_NUMBERS = "All 2 of these may be public (Numbers)"
TOWNS = ("Aylesbury, North and South", "Bath", "Ely")


def declares(tab: Any, folder: Path, *, look: Callable[[str], None] = lambda _name: None) -> None:
    """Declare a drafted table from the overview. No JSON is typed.

    Args:
        tab: At the overview, of an owner.
        folder: For the files.
        look: Sees each page, by name.
    """
    from playwright.sync_api import expect

    rows = folder / "pupils.csv"
    with rows.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["pupil", "town", "age", "fee", "passed"])
        table.writerows(
            [f"p{n // 3}", TOWNS[n % 3], 4 + n % 15, f"{1.5 * (n % 40):.2f}", "yes" if n % 4 else "no"]
            for n in range(900)
        )
    drafted = folder / "domain.json"
    drafted.write_text(json.dumps(draft_domain(rows)))
    tab.get_by_role("link", name="Declare a dataset").click()
    tab.get_by_label("Name").fill("Pupils")
    tab.locator("#file").set_input_files(str(drafted))
    # `wait_for_function` polls with eval, which the pages' policy forbids, wherever its first look is too early.
    expect(tab.locator("#declared_size")).not_to_have_value("", timeout=30_000)
    tab.get_by_role("button", name="Review columns").click()
    tab.get_by_role("heading", name="Review columns").wait_for()
    _hold_to_the_bars(tab)
    look("review")
    tab.get_by_label(_ALL_NUMBERS).check()
    tab.get_by_role("button", name="Edit town", exact=True).click()
    tab.get_by_role("heading", name="Edit town").wait_for()
    _hold_to_the_bars(tab)
    look("edit-words")
    tab.get_by_label("Categories").fill("Bath\nEly\nYork")
    tab.get_by_role("button", name="Use these values").click()
    tab.get_by_role("listitem").filter(has_text="York").wait_for()
    assert "#at-" in tab.url, "back where the column is"
    expect(tab.get_by_label(_ALL_NUMBERS)).to_be_checked()
    _edit_the_age(tab, look)
    tab.get_by_role("button", name="Edit column fee").click()
    tab.get_by_role("button", name="Leave this column out").click()
    tab.get_by_role("row").filter(has_text="fee").filter(has_text="left out").wait_for()
    tab.get_by_role("button", name="Edit privacy unit, size and target").click()
    look("edit-unit")
    expect(tab.get_by_label("Privacy unit")).to_have_value("pupil")
    tab.get_by_label("Target").select_option("passed")
    tab.get_by_role("button", name="Use these values").click()
    tab.get_by_role("heading", name="Review columns").wait_for()
    for box in tab.get_by_label("May be public", exact=True).all():
        box.check()
    expect(tab.locator("[data-remaining]")).to_be_hidden()
    look("reviewed")
    tab.get_by_role("button", name="Declare dataset").click()
    tab.get_by_text("The dataset is declared").wait_for()


def _edit_the_age(tab: Any, look: Callable[[str], None]) -> None:
    """Enter a bound that is refused and one that is taken; the tick of the other number stays."""
    from playwright.sync_api import expect

    tab.get_by_role("button", name="Edit column age").click()
    tab.get_by_label("Largest value").fill("-1")
    look("edit-bounds")
    tab.get_by_role("button", name="Use these values").click()
    tab.get_by_role("alert").filter(has_text="domain-invalid").wait_for()
    look("edit-refused")
    expect(tab.get_by_label("Largest value")).to_have_value("-1")
    tab.get_by_label("Largest value").fill("25")
    tab.get_by_role("button", name="Use these values").click()
    tab.get_by_role("heading", name="Review columns").wait_for()
    expect(tab.get_by_label(_ALL_NUMBERS)).not_to_be_checked()
    left = tab.locator("[data-remaining]")
    expect(left.get_by_role("link", name="age")).to_be_visible()
    expect(left.get_by_role("link", name="fee")).to_be_hidden()
    _hold_to_the_bars(tab)
    look("left-to-confirm")
    tab.locator("#at-2").get_by_label("May be public").check()
    expect(left.get_by_role("link", name="age")).to_be_hidden()


def _hold_to_the_bars(tab: Any) -> None:
    assert grave_findings(tab, {}) == []
    wide = tab.viewport_size
    tab.set_viewport_size({"width": 360, "height": 740})
    widths = tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1], "the page scrolls sideways"
    assert tab.evaluate(BROKEN_WORDS) == []
    tab.set_viewport_size(wide)
