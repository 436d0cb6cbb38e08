"""The privacy unit that a draft proposes, and how many rows of one count."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from understudy import domain_draft
from understudy.domain_draft import MARK, draft_domain, draft_frame
from understudy.draft_categories import NOTE


def draft_of(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "rows.csv"
    path.write_text(text)
    return draft_domain(path)


def column(draft: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in draft["columns"] if entry["name"] == name)


def test_a_repeated_key_of_a_person_is_the_privacy_unit(tmp_path: Path) -> None:
    rows = "".join(f"{n % 40 + 7_000_000},{n * 31 % 997},{n}\n" for n in range(120))
    draft = draft_of(tmp_path, "customer_id,order_id,amount\n" + rows)
    assert draft["privacy_unit"] == "customer_id"
    unit = column(draft, "customer_id")
    assert (unit["kind"], unit["records"]) == ("unit", "learn")
    assert "records" in unit[MARK], "that customers have several rows is told by the rows"
    assert "learns how many rows of a unit count" in unit[NOTE]
    assert draft["declared_size"] == 40, "units, not rows"
    assert "3 rows on average" in draft[NOTE]
    assert draft[MARK] == ["target", "privacy_unit", "declared_size"]


def test_a_table_of_persons_in_which_few_stand_twice_may_hold_copies() -> None:
    ids = [f"P{n}" for n in [*range(400), 3, 7]]
    draft = draft_frame(pa.table({"person_id": ids, "x": ["a", "b"] * 201}))
    assert draft["privacy_unit"] == "person_id"
    assert "few of them stand in more than one row. If those rows are copies, remove them." in draft[NOTE]
    assert "records" not in column(draft, "person_id")


def test_of_a_table_too_long_for_memory_no_records_are_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_draft, "_MOST_ROWS_LEARNT", 399)
    table = pa.table({"person_id": [f"P{n % 80}" for n in range(400)], "x": ["a", "b"] * 200})
    assert "records" not in column(draft_frame(table), "person_id")


def test_a_key_that_names_no_person_is_only_pointed_at(tmp_path: Path) -> None:
    rows = "".join(f"b{n % 40},{n}.5\n" for n in range(120))
    draft = draft_of(tmp_path, "branch_id,amount\n" + rows)
    assert draft["privacy_unit"] is None
    assert "'branch_id' (3 rows a value)" in draft[NOTE]
