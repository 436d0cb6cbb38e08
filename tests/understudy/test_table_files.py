import json
from pathlib import Path

import pytest

from understudy import InputUnusable
from understudy.table_files import read_table_files


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
