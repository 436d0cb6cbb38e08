"""Names of columns in a draft: two that are the same, and that of the target."""

from pathlib import Path

import pyarrow as pa
import pytest

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
