"""Files with decimal commas: a draft finds them, declares them, and the file is taken in as it is."""

import io
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from core.data.intake.intake import CSV, receive
from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import accepted, column, confirmed
from understudy.cli import app
from understudy.drafts.categories import NOTE
from understudy.drafts.tables import draft_domain
from understudy.errors import InputUnusable
from understudy.table_files import MARK

ROWS = 400


def comma(number: float, digits: int = 2) -> str:
    return f"{number:.{digits}f}".replace(".", ",")


def hospital(folder: Path, *, delimiter: str = ";", **more: list[str]) -> Path:
    """An export as a German hospital makes it."""
    columns = {
        "Patientennummer": [f"P{n % 170:05d}" for n in range(ROWS)],
        "Alter": [str(20 + n % 70) for n in range(ROWS)],
        "Gewicht": [comma(50 + n % 97 * 0.7, 1) for n in range(ROWS)],
        "Kreatinin": ["k.A." if n % 9 == 0 else comma(0.5 + n % 31 * 0.05) for n in range(ROWS)],
        "Verstorben": ["ja" if n % 7 == 0 else "nein" for n in range(ROWS)],
    } | more
    path = folder / "rows.csv"
    lines = [delimiter.join(columns), *(delimiter.join(row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\r\n".join(lines) + "\r\n")
    return path


def test_a_confirmed_draft_takes_the_file_in_as_it_is(tmp_path: Path) -> None:
    path = hospital(tmp_path)
    draft = draft_domain(path)
    assert draft["csv"]["decimal_mark"] == ","
    assert "decimal_mark" in draft["csv"][MARK]
    assert "synthetic rows have a decimal point" in draft[NOTE]
    weight, blood = column(draft, "Gewicht"), column(draft, "Kreatinin")
    assert (weight["kind"], weight["decimals"], weight["lower"]) == ("numeric", 1, 50)
    assert (blood["kind"], blood["decimals"], blood["null"]) == ("numeric", 2, "category")
    assert accepted(path, draft) == (ROWS, 0)


def test_the_words_of_such_a_file_are_known(tmp_path: Path) -> None:
    draft = draft_domain(hospital(tmp_path))
    assert draft["privacy_unit"] == "Patientennummer"
    assert column(draft, "Verstorben")["true"] == "ja"
    assert column(draft, "Alter")["upper"] in {100, 120}
    assert "k.A." in draft["csv"]["null_values"]


def test_few_numbers_with_commas_are_numbers_too(tmp_path: Path) -> None:
    draft = draft_domain(hospital(tmp_path, share=["0,5", "0,8", "1"] * (ROWS // 3) + ["1"]))
    assert column(draft, "share")["specials"] == [0.5, 0.8, 1]


@pytest.mark.parametrize(
    "more",
    [
        {"delimiter": ",", "Gewicht": ["1"] * ROWS, "Kreatinin": ["2"] * ROWS, "answers": ['"1,2"', '"2"'] * (ROWS // 2)},
        {"point": [f"{n / 8:.3f}" for n in range(ROWS)]},
        {"Gewicht": [f"{1 + n % 9},{n:03}" for n in range(ROWS)], "Kreatinin": ["2"] * ROWS},
        {"Gewicht": ["1,2,3", "4,5"] * (ROWS // 2), "Kreatinin": ["2"] * ROWS},
    ],
    ids=["fields are separated by commas", "other numbers have points", "thousands or decimals", "lists"],
)  # fmt: skip
def test_where_it_is_not_clear_nothing_is_declared(tmp_path: Path, more: dict[str, Any]) -> None:
    assert "decimal_mark" not in draft_domain(hospital(tmp_path, **more))["csv"]


def test_who_knows_says_so(tmp_path: Path) -> None:
    path = hospital(tmp_path, Gewicht=[f"{1 + n % 9},{n:03}" for n in range(ROWS)], Kreatinin=["2"] * ROWS)
    draft = draft_domain(path, decimal_mark=",")
    assert column(draft, "Gewicht")["decimals"] == 3
    assert "decimal_mark" not in draft["csv"][MARK]
    assert "decimal_mark" not in draft_domain(hospital(tmp_path), decimal_mark=".")["csv"]
    with pytest.raises(InputUnusable, match="a point or a comma"):
        draft_domain(path, decimal_mark=";")


def test_points_between_thousands_are_declared_too(tmp_path: Path) -> None:
    path = hospital(tmp_path, Kosten=[f"{1 + n}.{n:03},50 €" for n in range(ROWS)])
    draft = draft_domain(path)
    assert column(draft, "Kosten")["number_format"] == {"thousands": ".", "affixes": ["€"]}
    assert "number_format" not in column(draft, "Gewicht")
    assert accepted(path, draft) == (ROWS, 0)


@pytest.mark.parametrize("mark", ["guessed", "told"])
def test_whole_numbers_with_points_between_thousands_are_whole(mark: str, tmp_path: Path) -> None:
    staff = [f"{n * n // 30:,}".replace(",", ".") for n in range(ROWS)]
    path = hospital(tmp_path, Personal=staff)
    draft = draft_domain(path) if mark == "guessed" else draft_domain(path, decimal_mark=",")
    assert draft["csv"]["decimal_mark"] == ","
    found = column(draft, "Personal")
    assert (found["type"], found["number_format"], found["upper"]) == ("integer", {"thousands": "."}, 5500)
    assert "“.” between thousands" in found[NOTE]
    assert accepted(path, draft) == (ROWS, 0)


def test_numbers_that_are_not_whole_under_a_comma_keep_their_point(tmp_path: Path) -> None:
    for other in ("0.577", "1000", "1.5"):
        draft = draft_domain(
            hospital(tmp_path, Faktor=[other, *(f"{1 + n / 1000:.3f}" for n in range(1, ROWS))])
        )
        assert "decimal_mark" not in draft["csv"], other
        assert (column(draft, "Faktor")["type"], column(draft, "Faktor")["decimals"]) == ("real", 3), other


def test_what_is_no_number_under_the_declared_mark_is_refused_not_guessed(tmp_path: Path) -> None:
    domain = TableDomain.from_json(confirmed(draft_domain(hospital(tmp_path))))
    rows = b"Patientennummer;Alter;Gewicht;Kreatinin;Verstorben\nP1;30;72,5;0,9;ja\nP2;30;72.5;0,9;ja\nP3;30;1.072;0,9;ja\n"
    report = receive(
        io.BytesIO(rows), content_type=CSV, domain=domain, sink=io.BytesIO(), scratch_folder=tmp_path
    )
    assert (report.rows_accepted, report.rows_refused) == (1, 2)
    assert report.refusals == {"Gewicht": {"not-a-number": 2}}


def test_few_times_of_the_day_are_levels_in_their_order(tmp_path: Path) -> None:
    shifts = ["14:35", "6:00", "22:10", "08:00"] * (ROWS // 4)
    found = column(draft_domain(hospital(tmp_path, Schicht=shifts)), "Schicht")
    assert (found["kind"], found["levels"]) == ("ordinal", ["6:00", "08:00", "14:35", "22:10"])


def test_the_command_takes_the_mark(tmp_path: Path) -> None:
    path = hospital(tmp_path)
    words = ["domain", "draft", str(path), "--out", str(tmp_path / "d.json"), "--decimal-mark"]
    assert CliRunner().invoke(app, [*words, ","]).exit_code == 0
    assert isinstance(CliRunner().invoke(app, [*words, ";", "--force"]).exception, InputUnusable)
