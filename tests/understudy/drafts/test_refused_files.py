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


@pytest.mark.parametrize(
    ("data", "name", "command"),
    [
        (b"a,b\n1,caf\xe9\n", "rows.csv", "iconv -f WINDOWS-1252 -t UTF-8 rows.csv > rows-utf8.csv"),
        (b"a,b\n" + b"1,x\n" * 30 + b"1,caf\xe9\n", "rows.csv", "iconv -f WINDOWS-1252 -t UTF-8 rows.csv > rows-utf8.csv"),
        ("a,b\n1,x\n".encode("utf-16"), "r w.csv", "iconv -f UTF-16 -t UTF-8 'r w.csv' > 'r w-utf8.csv'"),
        (gzip.compress(b"a,b\n1,caf\xe9\n"), "rows.csv.gz", "gunzip -c rows.csv.gz | iconv -f WINDOWS-1252 -t UTF-8 > rows-utf8.csv"),
    ],
    ids=["first lines", "later lines", "utf-16", "gzip"],
)  # fmt: skip
def test_another_encoding_is_refused_with_the_command_that_converts_it(
    tmp_path: Path, data: bytes, name: str, command: str
):
    with pytest.raises(InputUnusable) as refused:
        draft_domain(write(tmp_path, data, name))
    assert str(refused.value).endswith(f"\n{command}")
