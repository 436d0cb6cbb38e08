"""Names of columns in a draft: whether the first line has them, two that are the same, and that of the target."""

from pathlib import Path

import pyarrow as pa
import pytest

from understudy.drafts.categories import NOTE
from understudy.drafts.tables import draft_domain, draft_frame
from understudy.errors import InputUnusable
from understudy.table_files import MARK


def write(folder: Path, data: bytes) -> Path:
    path = folder / "rows.csv"
    path.write_bytes(data)
    return path


def test_two_columns_of_the_same_name(tmp_path: Path):
    with pytest.raises(InputUnusable, match="same name"):
        draft_domain(write(tmp_path, b"a,a\n1,2\n"), header=True)


@pytest.mark.parametrize(
    "data",
    [b"ward,code,secret,code\nA,x,1,2\nB,y,3,4\n", b"ward,secret,x,secret\nA,u,p,q\nB,v,p,r\n"],
    ids=["numbers below", "words below"],
)
def test_a_header_that_names_two_columns_alike_is_no_row(tmp_path: Path, data: bytes):
    path = write(tmp_path, data)
    with pytest.raises(InputUnusable, match=r"columns 2 and 4 have the same name") as refused:
        draft_domain(path)
    assert "secret" not in str(refused.value), "the first line may be a row"
    assert not draft_domain(path, header=False)["csv"]["header"]


def test_two_columns_of_a_frame_of_the_same_name():
    with pytest.raises(InputUnusable, match=r"columns 1 and 3 have the same name"):
        draft_frame(pa.table([[1, 2], [3, 4], [5, 6]], names=["a", "b", "a"]))


@pytest.mark.parametrize(
    ("header", "target"),
    [
        ("died,sex", "died"),
        ("Ausgang,Raucher", "Ausgang"),
        ("fallecido,fumador", "fallecido"),
        ("a,b", "b"),
        ("age,outcome", "outcome"),
        ("class,survived", "survived"),
    ],
)
def test_the_target_is_called_so_or_is_the_last_of_two_classes(tmp_path: Path, header: str, target: str):
    rows = "".join(f"{'yes' if n % 3 else 'no'},{'m' if n % 2 else 'f'}\n" for n in range(60))
    draft = draft_domain(write(tmp_path, (header + "\n" + rows).encode()), header=True)
    assert draft["target"] == target
    assert "target" in draft[MARK]


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"sex,dead\nm,yes\nf,no\n", True),
        (b"m,yes\nf,no\nm,no\n", False),
        (b"a,b\n1,2\n", True),
        (b"a,b\n", True),
        (b"sex,NA,K\nf,140,4.1\nm,138,3.9\nf,NA,4.4\n", True),
        (b"f,NA,x\nm,3,y\nf,4,x\n", False),
        (b"f,NA,4.1\nm,138,3.9\n", False),
    ],
)
def test_headers_are_guessed(tmp_path: Path, data: bytes, header: bool):
    path = write(tmp_path, data)
    if data == b"a,b\n":
        with pytest.raises(InputUnusable, match="no rows"):
            draft_domain(path)
        return
    draft = draft_domain(path)
    assert draft["csv"]["header"] is header
    assert ("No header was found" in draft[NOTE]) is not header
    assert "No header" not in draft_domain(path, header=False)[NOTE], "it was given"
