"""A privacy unit that a person names has all that a draft with this unit would have."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tests.understudy.drafts.test_confirmation import confirm
from tests.understudy.drafts.test_tables import column
from understudy import Synthesizer
from understudy.cli import app
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change, ignore, known_column
from understudy.drafts.hints import WARNINGS
from understudy.drafts.marked_values import Mark, marks_of
from understudy.drafts.tables import draft_frame, render_draft
from understudy.errors import InputUnusable
from understudy.table_files import DECLARED_SIZE, MARK

RNG = np.random.default_rng(5)
ROWS = 4000
TEAMS = [f"T{n}" for n in range(400)] * 10
"""Four hundred teams of ten rows each, under a name that says of no person."""
FRAME = pd.DataFrame(
    {"team": TEAMS, "age": RNG.integers(18, 90, ROWS), "ward": RNG.choice(list("abcd"), ROWS)}
)


def table() -> dict[str, Any]:
    return draft_frame(pa.Table.from_pandas(FRAME, preserve_index=False))


def name_unit(document: dict[str, Any], name: str) -> None:
    change(document, Mark(document, "privacy_unit", None), name)


def give_kind(document: dict[str, Any], name: str) -> None:
    change(document, Mark(known_column(document, name), "kind", name), "unit")


def test_a_draft_with_a_named_unit_counts_its_values() -> None:
    drafted = draft_frame(pa.Table.from_pandas(FRAME, preserve_index=False), privacy_unit="team")
    assert (drafted["privacy_unit"], drafted[DECLARED_SIZE]) == ("team", 400)
    assert column(drafted, "team")["records"] == "learn"
    assert "privacy_unit" not in drafted[MARK], "the person said it, not the rows"
    by_row = draft_frame(pa.Table.from_pandas(FRAME, preserve_index=False), privacy_unit="none")
    assert (by_row["privacy_unit"], by_row[DECLARED_SIZE]) == (None, ROWS)
    with pytest.raises(InputUnusable, match="there is no column 'tema'; did you mean 'team'"):
        draft_frame(pa.Table.from_pandas(FRAME, preserve_index=False), privacy_unit="tema")


@pytest.mark.parametrize("choose", [name_unit, give_kind])
def test_a_named_unit_has_the_size_records_and_notes_of_a_draft_with_it(
    choose: Callable[[dict[str, Any], str], None],
) -> None:
    changed = table()
    assert (changed["privacy_unit"], changed[DECLARED_SIZE]) == (None, ROWS)
    choose(changed, "team")
    drafted = draft_frame(pa.Table.from_pandas(FRAME, preserve_index=False), privacy_unit="team")
    for key in ("privacy_unit", DECLARED_SIZE):
        assert changed[key] == drafted[key]
    assert column(changed, "team") == column(drafted, "team")
    assert "Each row is protected by itself" not in changed[NOTE]
    assert str(drafted[NOTE]) in str(changed[NOTE])
    assert "draft again with `--privacy-unit team`" in changed[NOTE]
    assert "draft again" not in drafted[NOTE]
    assert DECLARED_SIZE in changed[MARK]
    assert {mark.key for mark in marks_of(changed) if mark.kind == "unit"} == {"privacy_unit", "records"}


def test_the_same_unit_again_changes_nothing() -> None:
    changed = table()
    name_unit(changed, "team")
    changed[DECLARED_SIZE] = 500
    before = json.dumps(changed)
    name_unit(changed, "team")
    assert json.dumps(changed) == before


def test_back_to_rows_the_size_counts_rows_again() -> None:
    changed, before = table(), table()
    name_unit(changed, "team")
    name_unit(changed, "none")
    assert (changed["privacy_unit"], changed[DECLARED_SIZE]) == (None, ROWS)
    assert column(changed, "team")["kind"] == "ignored"
    assert changed[NOTE] == before[NOTE]


def test_a_unit_column_that_is_ignored_is_no_unit_any_more() -> None:
    changed = table()
    name_unit(changed, "team")
    for mark in marks_of(changed):
        mark.accept()
    ignore(changed, known_column(changed, "team"))
    assert (changed["privacy_unit"], changed[DECLARED_SIZE]) == (None, ROWS)
    assert {"privacy_unit", DECLARED_SIZE} <= set(changed[MARK]), "asked about again"


def test_of_few_units_the_warning_of_few_rows_comes_and_goes() -> None:
    changed = table()
    assert WARNINGS not in changed
    name_unit(changed, "ward")
    assert changed[WARNINGS][0].startswith("WARNING: there are 4 values of 'ward'.")
    name_unit(changed, "team")
    assert WARNINGS not in changed


def test_a_unit_is_no_target_and_in_no_rule() -> None:
    frame = FRAME.assign(region=[f"R{int(team[1:]) % 9}" for team in TEAMS], died=RNG.integers(0, 2, ROWS))
    changed = draft_frame(pa.Table.from_pandas(frame, preserve_index=False))
    assert changed["target"] == "died"
    name_unit(changed, "died")
    assert changed["target"] is None


def test_a_renamed_unit_keeps_its_facts() -> None:
    changed = table()
    change(changed, Mark(known_column(changed, "team"), "name", "team"), "club")
    name_unit(changed, "club")
    assert changed[DECLARED_SIZE] == 400
    assert "a value of 'club'" in changed[NOTE]


def test_a_draft_that_does_not_know_its_units_loses_the_size_that_counted_others() -> None:
    changed = {key: value for key, value in table().items() if not key.startswith("_units")}
    name_unit(changed, "team")
    assert DECLARED_SIZE not in changed
    assert DECLARED_SIZE not in changed[MARK]
    assert column(changed, "team")["records"] == "learn"


def test_the_command_asks_for_the_size_of_the_new_unit_with_a_note(tmp_path: Path) -> None:
    file = tmp_path / "domain.json"
    file.write_text(render_draft(table()))
    _, said = confirm(file, answers="e\nteam\n\n\nq\n")
    assert "The privacy unit is a value of 'team', which stands in 10 rows on average" in said
    assert "declared_size 400" in said
    assert "It counts privacy units, the values of 'team'" in said
    assert json.loads(file.read_text())["privacy_unit"] == "team"


def test_the_command_drafts_with_a_named_unit(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.csv", tmp_path / "draft.json"
    FRAME.to_csv(rows, index=False)
    done = CliRunner().invoke(
        app, ["domain", "draft", str(rows), "--out", str(out), "--privacy-unit", "team"]
    )
    assert done.exit_code == 0, done.output
    assert "Declared size: 400" in done.output
    assert json.loads(out.read_text())["privacy_unit"] == "team"


def test_accepting_with_a_unit_in_python_declares_units_and_learns_records() -> None:
    made = Synthesizer()
    made.draft(FRAME)
    with pytest.warns(UserWarning, match="declared size is 400, the number of values of 'team'"):
        made.accept_draft(privacy_unit="team")
    assert made.domain_[DECLARED_SIZE] == 400
    assert column(made.domain_, "team") == {"name": "team", "kind": "unit", "records": "learn"}


def test_what_is_given_with_the_unit_counts_whatever_its_place() -> None:
    made = Synthesizer()
    made.draft(FRAME)
    made.accept_draft(
        declared_size=390, columns={"team": {"kind": "unit", "records": 12}}, privacy_unit="team"
    )
    assert made.domain_[DECLARED_SIZE] == 390
    assert column(made.domain_, "team")["records"] == 12
    made = Synthesizer()
    made.draft(FRAME)
    with pytest.warns(UserWarning, match="declared size is 400"):
        made.accept_draft(team={"kind": "unit", "records": 12})
    assert (made.domain_["privacy_unit"], made.domain_[DECLARED_SIZE]) == ("team", 400)


def test_python_drafts_with_a_named_unit() -> None:
    made = Synthesizer()
    assert "the number of privacy units" in " ".join(repr(made.draft(FRAME, privacy_unit="team")).split())
    made.accept_draft()
    assert made.domain_[DECLARED_SIZE] == 400


CLUBS = pd.DataFrame({"club_id": [f"K{n % 60:03d}" for n in range(600)], "x": ["a", "b", "c"] * 200})
"""A key that names no person: a person decides."""


def test_the_command_accepts_no_rows_as_units_unseen_while_a_key_may_say_whose_they_are(
    tmp_path: Path,
) -> None:
    file = tmp_path / "domain.json"
    text = render_draft(draft_frame(pa.Table.from_pandas(CLUBS, preserve_index=False)))
    file.write_text(text)
    for kind in ("all", "unit"):
        done = CliRunner().invoke(app, ["domain", "confirm", str(file), "--accept", kind])
        assert isinstance(done.exception, InputUnusable)
        assert "'club_id' may say it: decide with --privacy-unit club_id" in str(done.exception)
        assert "--privacy-unit none if each row is of another person" in str(done.exception)
        assert file.read_text() == text
    assert confirm(file, "--accept", "all", "--privacy-unit", "none")[0] == 0
    assert json.loads(file.read_text())["privacy_unit"] is None
    file.write_text(text)
    assert confirm(file, "--accept", "all", "--privacy-unit", "club_id")[0] == 0
    found = json.loads(file.read_text())
    assert (found["privacy_unit"], found[DECLARED_SIZE]) == ("club_id", 60)
    file.write_text(text)
    assert confirm(file, answers="\n" * 30)[0] == 0, "who was asked and shown the candidates has decided"


def test_python_accepts_no_rows_as_units_unseen_either() -> None:
    made = Synthesizer()
    made.draft(CLUBS)
    with pytest.raises(InputUnusable, match=r"accept_draft\(privacy_unit='club_id'\)"):
        made.accept_draft()
    made.accept_draft(privacy_unit="none")
    assert made.domain_["privacy_unit"] is None
    made.accept_draft(declared_size=500)
    assert made.domain_["privacy_unit"] is None, "what was decided stays"
    made.draft(CLUBS, privacy_unit="none")
    made.accept_draft()
    assert made.domain_[DECLARED_SIZE] == 600


def test_a_column_that_holds_nothing_says_of_no_row_whose_it_is() -> None:
    rows = pa.table({"who": pa.array([None] * 40, pa.string()), "x": ["a", "b"] * 20})
    with pytest.raises(InputUnusable, match="'who' holds nothing"):
        draft_frame(rows, privacy_unit="who")
    with pytest.raises(InputUnusable, match="'who' holds nothing"):
        name_unit(draft_frame(rows), "who")
