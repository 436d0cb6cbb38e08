import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from understudy import InputUnusable, InvalidInput
from understudy.cli.domain_file import placed
from understudy.table_files import line_in, place_in, read_table_files


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_text("a\n1\n2\n3\n")
    return file


def write_domain(folder: Path, **members: object) -> Path:
    file = folder / "domain.json"
    file.write_text(json.dumps({"schema": "understudy.domain/1", "columns": []} | members))
    return file


def test_the_declared_size_comes_from_the_domain_file_and_is_not_sent_inside_it(rows: Path) -> None:
    table = read_table_files(rows, write_domain(rows.parent, declared_size=500), declared_size=None)
    assert table.declared_size == 500
    assert "declared_size" not in table.domain


def test_the_command_line_wins(rows: Path) -> None:
    table = read_table_files(rows, write_domain(rows.parent, declared_size=500), declared_size=1000)
    assert table.declared_size == 1000
    assert "declared_size" not in table.domain


def test_the_rows_are_never_counted(rows: Path) -> None:
    with pytest.raises(InputUnusable, match="never taken from the file"):
        read_table_files(rows, write_domain(rows.parent), declared_size=None)


@pytest.mark.parametrize("size", [0, -5, 2.5, "many", True])
def test_a_declared_size_that_is_none_is_refused(rows: Path, size: object) -> None:
    with pytest.raises(InputUnusable, match="declared size"):
        read_table_files(rows, write_domain(rows.parent, declared_size=size), declared_size=None)


def test_missing_files_and_unknown_formats_are_named(rows: Path, tmp_path: Path) -> None:
    domain = write_domain(tmp_path, declared_size=3)
    with pytest.raises(InputUnusable, match=r"no file .*absent\.csv"):
        read_table_files(tmp_path / "absent.csv", domain, declared_size=None)
    with pytest.raises(InputUnusable, match="domain draft"):
        read_table_files(rows, tmp_path / "absent.json", declared_size=None)
    sheet = tmp_path / "rows.xlsx"
    sheet.write_bytes(b"PK")
    with pytest.raises(InputUnusable, match=r"\.parquet"):
        read_table_files(sheet, domain, declared_size=None)


WARDS = [{"name": "age_band", "kind": "categorical"}, {"name": "ward", "kind": "categorical"}]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("ward,age_bnad,x", "'age_band' (is it 'age_bnad', column 2 of the file?)"),
        ("ward,Smith,x", "lacks declared columns: 'age_band'. Rename"),
        ("Smith,52,x", "names none of the declared columns"),
    ],
)
def test_a_column_that_is_called_otherwise_is_named_before_anything_starts(
    rows: Path, header: str, said: str
) -> None:
    domain = write_domain(rows.parent, declared_size=3, columns=WARDS)
    rows.write_text(f"{header}\nA,1,2\n")
    with pytest.raises(InputUnusable) as refusal:
        read_table_files(rows, domain, declared_size=None)
    assert said in str(refusal.value)
    assert "Smith" not in str(refusal.value), "the first line of a file without a header is a person's"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({}, "ward,age_band\nA,1\n"),
        ({}, '\ufeff"age_band", ward\nA,1\n'),
        ({"delimiter": ";"}, "age_band;ward\n"),
        ({"header": False}, "Smith,1\n"),
    ],
)
def test_declared_columns_may_come_in_any_order_and_form(
    rows: Path, form: dict[str, object], text: str
) -> None:
    domain = write_domain(rows.parent, declared_size=3, columns=WARDS, csv=form)
    rows.write_text(text)
    assert read_table_files(rows, domain, declared_size=None).declared_size == 3


@pytest.mark.parametrize("header", ["ward ,age_band", "ward, age_band", '"ward",\u00a0age_band\t'])
def test_blanks_around_names_do_not_count(rows: Path, header: str) -> None:
    domain = write_domain(rows.parent, declared_size=3, columns=WARDS)
    rows.write_text(f"{header}\nA,1\n")
    assert read_table_files(rows, domain, declared_size=None).declared_size == 3
    spaced = write_domain(rows.parent, declared_size=3, columns=[{"name": " ward "}, {"name": "age_band"}])
    assert read_table_files(rows, spaced, declared_size=None).declared_size == 3


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["ward", "age_band", "ward "], "its columns 1 and 3 are both 'ward', blanks around a name aside"),
        (["ward", "age_band", "Smith"], " is not declared: declare every column"),
        (["Smith", "ward", "age_band", "Smythe"], "columns 1, 4 of rows."),
        (["ward", "Smith"], "lacks declared columns: 'age_band'"),
        (["Smith"], "none of the declared columns"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_that_intake_would_refuse_are_refused_before_anything_is_made(
    tmp_path: Path, names: list[str], said: str, suffix: str
) -> None:
    rows = tmp_path / f"rows{suffix}"
    if suffix == ".csv":
        rows.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    else:
        parquet.write_table(pa.table([[1] for _ in names], names=names), rows)
    with pytest.raises(InputUnusable) as refusal:
        read_table_files(rows, write_domain(tmp_path, declared_size=3, columns=WARDS), declared_size=None)
    assert said in str(refusal.value)
    assert "Smith" not in str(refusal.value)


def test_a_domain_that_is_no_json_object_is_named_with_its_line_but_not_its_content(rows: Path) -> None:
    broken = rows.parent / "broken.json"
    broken.write_text('{\n"columns": [\n canary ]}')
    with pytest.raises(InputUnusable, match="line 3") as caught:
        read_table_files(rows, broken, declared_size=3)
    assert "canary" not in str(caught.value)
    broken.write_text("[]")
    with pytest.raises(InputUnusable, match="JSON object"):
        read_table_files(rows, broken, declared_size=3)


@pytest.mark.parametrize(
    "members", [{"_from_data": ["declared_size"]}, {"columns": [{"_from_data": ["name"]}]}]
)
def test_an_unconfirmed_draft_is_refused(rows: Path, members: dict[str, object]) -> None:
    domain = write_domain(rows.parent, declared_size=500, **members)
    with pytest.raises(InputUnusable, match="is a draft"):
        read_table_files(rows, domain, declared_size=None)


NESTED = """{
 "schema": "understudy.domain/1",
 "columns": [
  {"name": "ward", "kind": "categorical", "categories": ["a, \\"b\\"", "c"]},
  {
   "name": "age",
   "kind": "numeric",
   "edges": [
    1,
    5,
    3
   ]
  }
 ],
 "rules": [
  {},
  {"kind": "at_most", "columns": ["age", "ward"]}
 ]
}
"""


@pytest.mark.parametrize(
    ("pointer", "line", "place"),
    [
        ("/columns/1/edges/2", 11, "column 'age', edges"),
        ("/columns/1/edges", 8, "column 'age', edges"),
        ("/columns/0/categories/1", 4, "column 'ward', categories"),
        ("/columns/1/absent", 5, "column 'age', absent"),
        ("/columns/7", 3, "column 8"),
        ("/rules/1/columns/0", 17, "rule 2 (at_most), columns"),
        ("/rules/0", 16, "rule 1"),
        ("/schema", 2, "schema"),
        ("", None, "the document"),
    ],
)
def test_a_pointer_is_a_line_and_a_column_to_a_person(pointer: str, line: int | None, place: str) -> None:
    assert line_in(NESTED, pointer) == line
    assert place_in(json.loads(NESTED), pointer) == place


def test_a_refusal_of_the_domain_names_file_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "domain.json"
    file.write_text(NESTED)
    refused = InvalidInput(
        422,
        {
            "code": "domain-invalid",
            "detail": "Edges must increase.",
            "facts": {"pointer": "/columns/1/edges/2"},
        },
    )
    assert (
        str(placed(refused, file))
        == f"{file}, line 11, column 'age', edges: Edges must increase. [domain-invalid]"
    )
    other = InvalidInput(422, {"code": "invalid-guarantee", "detail": "No."})
    assert placed(other, file) is other


def test_notes_are_not_sent(rows: Path) -> None:
    column = {"name": "age", "kind": "ignored", "_note": "about 5 % of the rows"}
    file = write_domain(rows.parent, declared_size=3, columns=[column], _note="about the rows")
    rows.write_text("age\n1\n")
    table = read_table_files(rows, file, declared_size=None)
    assert "rows" not in json.dumps(table.domain)
