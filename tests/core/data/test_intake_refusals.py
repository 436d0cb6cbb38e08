"""Files that are refused: wrong, damaged or hostile ones, with a clear code and nothing left behind."""

import gzip
from collections.abc import Callable

import pytest

from core.data.errors import NoAcceptableRows
from core.data.intake.intake import GZIP
from core.data.intake.unpacking import IntakeLimits
from tests.core.data.desk import CANARY, Desk, people

WRONG_FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty-upload"),
    "header only": (b"age,work,note\n", "empty-upload"),
    "blank lines only": (b"age,work,note\n\n\n", "empty-upload"),
    "missing column": (f"age,work\n1,{CANARY}\n".encode(), "wrong-header"),
    "undeclared column": (f"age,work,note,{CANARY}\n1,P,x,y\n".encode(), "wrong-header"),
    "column twice": (b"age,work,note,age\n1,P,x,1\n", "wrong-header"),
    "no header": (f"1,P,{CANARY}\n".encode(), "wrong-header"),
    "other delimiter": (b"age;work;note\n1;P;x\n", "wrong-header"),
    "latin-1": (b"age,work,note\n1,P,caf\xe9\n", "not-utf8"),
    "utf-16": ("age,work,note\n1,P,x\n".encode("utf-16"), "not-utf8"),
    "utf-16 without mark": ("age,work,note\n1,P,x\n".encode("utf-16-le"), "nul-byte"),
    "nul": (b"age,work,note\n1,P,\0\n", "nul-byte"),
    "quote in field": (f'age,work,note\n1,P,5"{CANARY}\n2,P,6"\n'.encode(), "stray-quote"),
    "text after quote": (b'age,work,note\n1,P,"a"b\n', "stray-quote"),
    "open quote": (f'age,work,note\n1,P,"{CANARY}\n'.encode(), "stray-quote"),
    "cut in a record": (f"age,work,note\n1,P,x\n2,{CANARY}".encode(), "damaged-upload"),
    "cut in the only record": (b"age,work,note\n1,P", "damaged-upload"),
    "cut in a quoted field": (f'age,work,note\n1,P,"{CANARY}'.encode(), "damaged-upload"),
    "cut in a character": ("age,work,note\n1,P,caf\u00e9".encode()[:-1], "damaged-upload"),
    "cut in a long character": ("age,work,note\n1,P,\U0001f600".encode()[:-1], "damaged-upload"),
    "old mac line ends": (b"age,work,note\n1,P,x\r2,P,x\n", "bare-carriage-return"),
    "old mac line ends of the header too": (
        f"age,work,note\r1,P,{CANARY}\r2,P,x\n".encode(),
        "bare-carriage-return",
    ),
    "longer than any name": (f"{CANARY * 20_000}\n1,P,x\n".encode(), "wrong-header"),
    "a quoted one longer than any name": (f'"{CANARY * 20_000}"\n1,P,x\n'.encode(), "wrong-header"),
    "gzip as csv": (gzip.compress(b"age,work,note\n1,P,x\n"), "content-disagrees"),
    "zip": (b"PK\x03\x04 and so on", "content-disagrees"),
    "every row refused": (f"age,work,note\n{CANARY},P,x\n".encode(), "no-acceptable-rows"),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_wrong_files_are_clear_errors_and_leave_nothing(desk: Desk, name: str):
    data, code = WRONG_FILES[name]
    assert desk.refuse(data, people()).code == code


def test_errors_say_the_line(desk: Desk):
    assert desk.refuse(b"age,work,note\n1,P,x\n1,P,caf\xe9\n", people()).facts["line"] == 3
    assert desk.refuse(b'age,work,note\n1,P,"x\ny"\n1,P,"z\n', people()).facts["line"] == 4
    assert desk.refuse(b'age,work,note\n1,P,"x\ny"\n1,P,\0\n', people()).facts["line"] == 4


def test_a_wrong_header_names_declared_columns_and_positions_only(desk: Desk):
    error = desk.refuse(f"age,{CANARY},note\n".encode(), people())
    assert error.facts == {"missing": ["work"], "repeated": [], "undeclared_positions": [2]}


@pytest.mark.parametrize(("sign", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_another_delimiter_than_the_declared_one_is_named(desk: Desk, sign: str, name: str):
    rows = ["note,work,age", f'"{CANARY}, and ""more""",P,1', '"x",P,2']
    lines = [rows[0].replace(",", sign), *(line.replace(",P,", f"{sign}P{sign}") for line in rows[1:])]
    for end in ("\n", "\r\n"):
        error = desk.refuse(b"\xef\xbb\xbf" + end.join([*lines, ""]).encode(), people())
        assert error.code == "wrong-header"
        assert error.detail == f"The first line has {name} between its fields; the domain declares commas."
        assert error.facts["delimiter"] == sign
        assert repr(sign) in error.remedy
    declared = people(delimiter=sign)
    assert desk.refuse(b"age,work,note\n1,P,x\n", declared).facts["delimiter"] == ","
    other = desk.refuse(f"age{sign}work\n1{sign}P\n".encode(), people())
    assert "delimiter" not in other.facts, "the names are not the declared ones either way"


def test_a_report_comes_with_the_error_when_nothing_is_acceptable(desk: Desk):
    error = desk.refuse(b"age,work,note\nx,P,x\n", people())
    assert isinstance(error, NoAcceptableRows)
    assert error.facts["report"]["rows_refused"] == 1  # type: ignore[index]


def test_a_record_without_end_does_not_fill_memory(desk: Desk):
    endless = b'age,work,note\n1,P,"' + b"x" * 300_000
    error = desk.refuse(endless, people(), limits=IntakeLimits(max_record_bytes=100_000))
    assert (error.code, error.facts["line"]) == ("record-too-long", 2)
    late = b"age,work,note\n" + b"1,P,x\n" * 20_000 + b"1,P," + b"x" * 200_000
    assert (
        desk.refuse(late, people(), limits=IntakeLimits(max_record_bytes=100_000)).code == "record-too-long"
    )


def test_too_many_bytes(desk: Desk):
    assert (
        desk.refuse(b"age,work,note\n1,P,x\n", people(), limits=IntakeLimits(max_bytes=10)).code
        == "upload-too-large"
    )


def test_an_upload_that_breaks_off_leaves_nothing(desk: Desk):
    def broken():
        yield b"age,work,note\n1,P,x\n" * 1
        yield b"1,P,x\n" * 100_000
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        desk.take(broken(), people())  # type: ignore[arg-type]
    assert not desk.store.exists("rows")


def test_unknown_content_types(desk: Desk):
    assert desk.refuse(b"x", people(), "application/json").code == "unsupported-upload"
    desk.take(b"age,work,note\n1,P,x\n", people(), "Text/CSV; charset=utf-8")


# A cut without compression


@pytest.mark.parametrize("records", [1, 40_000, 400_000])
def test_a_file_that_was_cut_says_where_and_keeps_nothing(desk: Desk, records: int):
    whole = b"age,work,note\r\n" + b'1,P,"a\nb"\r\n' * records
    error = desk.refuse(whole + b"2,P", people())
    assert (error.code, error.facts) == ("damaged-upload", {"line": 2 + 2 * records})
    assert "it looks cut off" in error.detail
    assert "send it again" in error.remedy


@pytest.mark.parametrize(
    "end", ["1,P,x", "1,P,", '1,P,"x"', "1,P,x\r", "1,P,caf\u00e9", "1,P,\U0001f600", "1,P\n", "1,P,x,y"]
)
def test_a_last_record_without_a_line_end_is_ordinary(desk: Desk, end: str):
    report = desk.take(b"age,work,note\n1,P,x\n" + end.encode(), people())
    refused = end in {"1,P\n", "1,P,x,y"}
    assert (report.rows_accepted, report.rows_refused) == (1 if refused else 2, int(refused))


# gzip


def test_gzip_of_several_members(desk: Desk):
    data = gzip.compress(b"age,work,note\n5,P,x\n") + gzip.compress(b"7,Q,y\n")
    desk.take([data[at : at + 3] for at in range(0, len(data), 3)], people(), GZIP)
    assert len(desk.rows(people())) == 2


GZIP_CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-9],
    "cut early": lambda data: data[:5],
    "changed": lambda data: data[:20] + bytes([data[20] ^ 255]) + data[21:],
    "trailing garbage": lambda data: data + b"garbage",
}


@pytest.mark.parametrize("change", GZIP_CHANGES)
def test_damaged_gzip(desk: Desk, change: str):
    data = gzip.compress(b"age,work,note\n" + b"5,P,x\n" * 1000)
    assert desk.refuse(GZIP_CHANGES[change](data), people(), GZIP).code == "damaged-upload"


def test_a_bomb_is_refused_by_ratio_and_by_size(desk: Desk):
    bomb = gzip.compress(b"age,work,note\n" + (b"1,P," + b"x" * 999_000 + b"\n") * 70, compresslevel=9)
    assert len(bomb) < 300_000
    assert desk.refuse(bomb, people(), GZIP).code == "decompression-bomb"
    small = gzip.compress(b"age,work,note\n" + b"1,P,x\n" * 100_000)
    assert (
        desk.refuse(small, people(), GZIP, limits=IntakeLimits(max_unpacked_bytes=99_999)).code
        == "decompression-bomb"
    )
