"""Files that a draft cannot read are refused with what to do."""

import gzip
from pathlib import Path

import pytest

from tests.understudy.drafts.test_tables import write
from understudy.drafts.tables import draft_domain
from understudy.errors import InputUnusable


def test_a_delimiter_that_no_line_has_is_refused_with_the_one_that_all_have(tmp_path: Path):
    path = write(tmp_path, b"ward,age,died\nA,3,no\nB,4,yes\n")
    with pytest.raises(InputUnusable, match=r"first line has no ';', .* 3 fields.*--delimiter ','"):
        draft_domain(path, delimiter=";")
    mixed = write(tmp_path, b'pupil;school\n1;"King, Martin"\n2;Lincoln\n')
    with pytest.raises(InputUnusable, match="--delimiter ';'"):
        draft_domain(mixed, delimiter=",")
    one = write(tmp_path, b'ward\n"A, north"\nB\n')
    assert len(draft_domain(one, delimiter=";", header=True)["columns"]) == 1


def test_rows_that_all_have_more_fields_than_columns_are_no_empty_file(tmp_path: Path):
    path = write(tmp_path, b"x,seen\n" + b"1,Mon, 05 Feb 2024\n" * 30)
    with pytest.raises(InputUnusable, match=r"no row of rows.csv has as many fields as its first line"):
        draft_domain(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"ward,age,\nA,3,\nB,4,\nA,5,\n", "column 3 has no name in the first line"),
        (b"\nward,age\nA,3\nB,4\n", "first line is blank; delete"),
        (b"sep=;\nward;age\nA;3\nB;4\n", "`sep=`, only tells Excel the delimiter; delete"),
        (b'\xef\xbb\xbf"sep=,"\r\nward,age\r\nA,3\r\n', "`sep=`, only tells Excel the delimiter; delete"),
    ],
)
def test_a_first_line_that_is_no_header_is_refused_with_what_to_delete(
    tmp_path: Path, data: bytes, said: str
):
    for header in (None, True):
        with pytest.raises(InputUnusable, match=said):
            draft_domain(write(tmp_path, data), header=header)


def test_a_blank_first_line_of_a_file_without_header_is_no_row(tmp_path: Path):
    draft = draft_domain(write(tmp_path, b"\nA,3\nB,4\nA,5\n"), header=False)
    assert [column["name"] for column in draft["columns"]] == ["column1", "column2"]


@pytest.mark.parametrize(
    "data",
    [b"a,b\n1,x\ry\n2,z\n", b"a,b\r1,x\r2,z\r", b"a,b\n1," + b"x" * 140_000 + b"\n2,z\n"],
    ids=["carriage return in a field", "carriage returns as line ends", "long field"],
)
@pytest.mark.parametrize("delimiter", [None, ",", ";"])
def test_first_lines_that_are_no_csv_are_refused(tmp_path: Path, data: bytes, delimiter: str | None):
    with pytest.raises(
        InputUnusable, match="first lines have a carriage return outside quotes, or a field of"
    ):
        draft_domain(write(tmp_path, data), delimiter=delimiter)


WINDOWS = "iconv -f WINDOWS-1252 -t UTF-8"


@pytest.mark.parametrize(
    ("data", "name", "command"),
    [
        (b"a,b\n1,caf\xe9\x81\n", "rows.csv", f"{WINDOWS} rows.csv > rows-utf8.csv"),
        (b"a,b\n" + b"1,x\n" * 30 + b"1,caf\xe9\x81\n", "rows.csv", f"{WINDOWS} rows.csv > rows-utf8.csv"),
        (b"\xff\xfea\x00,", "r w.csv", "iconv -f UTF-16 -t UTF-8 'r w.csv' > 'r w-utf8.csv'"),
        (gzip.compress(b"a,b\n1,caf\xe9\x81\n"), "rows.csv.gz", f"gunzip -c rows.csv.gz | {WINDOWS} > rows-utf8.csv"),
        ("a,b\n1,Köln\n2,Fürth\n".encode() + b"3,\xe9\n", "rows.csv", f"{WINDOWS} rows.csv > rows-utf8.csv"),
        (b"a,b\n1,\xe9\x00\x01\n", "rows.csv", f"{WINDOWS} rows.csv > rows-utf8.csv"),
    ],
    ids=["first lines", "later lines", "utf-16", "gzip", "damaged UTF-8", "binary"],
)  # fmt: skip
def test_an_unknown_encoding_is_refused_with_the_option_and_the_command_that_converts_it(
    tmp_path: Path, data: bytes, name: str, command: str
):
    with pytest.raises(InputUnusable, match=r"is not UTF-8.* draft again with --encoding") as refused:
        draft_domain(write(tmp_path, data, name))
    assert str(refused.value).endswith(f"\n{command}")


def test_a_given_encoding_that_the_file_is_not_in_is_refused(tmp_path: Path):
    with pytest.raises(InputUnusable, match="one of utf-8, windows-1252, iso-8859-15, utf-16"):
        draft_domain(write(tmp_path, b"a,b\n1,2\n"), encoding="latin-1")
    for data, encoding in (
        (b"a,b\n1,\x81\n", "windows-1252"),
        (b"a,b\n" + b"1,2\n" * 40_000 + b"1,\x81\n", "windows-1252"),
        (b"a,b\n1,2\n", "utf-16"),
        (b"\xff\xfea\x00", "iso-8859-15"),
        (b"\xef\xbb\xbfa,b\n1,2\n", "windows-1252"),
    ):
        with pytest.raises(InputUnusable, match=f"is not in {encoding}"):
            draft_domain(write(tmp_path, data), encoding=encoding)


def test_a_damaged_gzip_in_another_encoding_is_unreadable(tmp_path: Path):
    packed = gzip.compress(b"a,b\n1,caf\xe9\n" + bytes(range(32, 127)) * 3_000)
    with pytest.raises(InputUnusable, match="cannot be read"):
        draft_domain(write(tmp_path, packed[:-12], "rows.csv.gz"))
