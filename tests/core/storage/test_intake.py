import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.domain import TableDomain
from core.errors import UnderstudyError
from core.storage import csv_records
from core.storage.errors import NoAcceptableRows, SealBroken
from core.storage.intake import CSV, GZIP, PARQUET, store_rows
from core.storage.intake_report import IntakeReport
from core.storage.objects import ObjectStore, open_store
from core.storage.private_rows import open_private_rows
from core.storage.unpacking import IntakeLimits
from tests.core.domain.examples import table

KEY = bytes(range(32))
CANARY = "canary7391"

AGE = {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99}
WORK = {"name": "work", "kind": "categorical", "categories": ["P", "Q"]}
NOTE = {"name": "note", "kind": "ignored"}


def people(**csv: object) -> TableDomain:
    return table(AGE, WORK, NOTE, csv=csv)


class Desk:
    """Takes uploads in and reads back what was stored."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.store: ObjectStore = open_store("memory://")

    def take(
        self,
        data: bytes | list[bytes],
        domain: TableDomain,
        kind: str = CSV,
        limits: IntakeLimits | None = None,
    ) -> IntakeReport:
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        try:
            return store_rows(
                stream, content_type=kind, domain=domain, store=self.store, key="rows", data_key=KEY,
                scratch_folder=self.scratch, limits=limits,
            )  # fmt: skip
        finally:
            assert list(self.scratch.iterdir()) == []

    def rows(self, domain: TableDomain) -> list[dict[str, object]]:
        found = pa.Table.from_batches(open_private_rows(self.store, "rows", KEY, domain))
        return found.to_pylist()  # type: ignore[no-any-return]

    def refuse(self, data: bytes, domain: TableDomain, kind: str = CSV, **more: object) -> UnderstudyError:
        with pytest.raises(UnderstudyError) as caught:
            self.take(data, domain, kind, **more)  # type: ignore[arg-type]
        assert not self.store.exists("rows")
        assert (
            CANARY not in f"{caught.value.detail} {caught.value.remedy} {caught.value.facts} {caught.value!r}"
        )
        return caught.value


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_rows_come_back_clean_and_ignored_columns_are_not_stored(desk: Desk):
    report = desk.take(b"age,work,note\n5,P,x\n7,Q,y\n", people())
    assert (report.rows_accepted, report.rows_refused, report.problems) == (2, 0, ())
    assert desk.rows(people()) == [{"age": 5, "work": "P"}, {"age": 7, "work": "Q"}]


@pytest.mark.parametrize(
    "data",
    [
        b"age,work,note\r\n5,P,x\r\n7,Q,y\r\n",
        b"\xef\xbb\xbfage,work,note\n5,P,x\n7,Q,y",
        b'"age","work","note"\n"5","P","a ""b"", c"\n7,Q,\n',
        b'age,work,"note"\n5,P,"over\ntwo\r\nlines"\n7,Q,""\n',
        b"note,work,age\nx,P,5\ny,Q,7\n",
        b"age,work,note\n\n5,P,x\n\r\n7,Q,y\n\n\n",
    ],
    ids=[
        "crlf",
        "utf8 mark and no last line end",
        "quoted",
        "quoted line ends",
        "other order",
        "blank lines",
    ],
)
def test_dialects_that_mean_the_same_rows(desk: Desk, data: bytes):
    report = desk.take(data, people())
    assert report.rows_refused == 0
    assert desk.rows(people()) == [{"age": 5, "work": "P"}, {"age": 7, "work": "Q"}]


def test_declared_dialects(desk: Desk):
    domain = people(delimiter=";", header=False, strip_spaces=True, null_values=["?"], quote=None)
    report = desk.take(b' 5 ; P ;5" pipe\n?;Q;x\n7;Q;y\n', domain)
    assert desk.rows(domain) == [{"age": 5, "work": "P"}, {"age": 7, "work": "Q"}]
    assert report.refusals == {"age": {"missing-value": 1}}


def test_a_blank_line_of_a_single_column_is_a_missing_value(desk: Desk):
    domain = table(AGE | {"null": "category"})
    desk.take(b"age\n1\n\n3\n", domain)
    assert desk.rows(domain) == [{"age": 1}, {"age": None}, {"age": 3}]


def test_every_refused_row_is_listed_by_line_column_and_kind(desk: Desk):
    data = b"""age,work,note
3.7,P,x
inf,P,x
,P,x
nan,P,x
abc,P,x
5,Z,x
5,,x
5,P
5,P,x,y
0x10,P,"two
lines"
1e999,P,x
1_000,W,x
5,P,x
"""
    report = desk.take(data, people())
    assert [(p.line, p.column, p.kind) for p in report.problems] == [
        (2, "age", "not-an-integer"), (3, "age", "infinite"), (4, "age", "missing-value"), (5, "age", "missing-value"),
        (6, "age", "not-a-number"), (7, "work", "unknown-category"), (8, "work", "missing-value"),
        (9, "", "wrong-number-of-fields"), (10, "", "wrong-number-of-fields"), (11, "age", "not-a-number"),
        (13, "age", "infinite"), (14, "age", "not-a-number"), (14, "work", "unknown-category"),
    ]  # fmt: skip
    assert (report.rows_accepted, report.rows_refused) == (1, 12)
    assert report.refusals["age"] == {
        "infinite": 2,
        "missing-value": 2,
        "not-a-number": 3,
        "not-an-integer": 1,
    }
    assert report.to_json()["problems"][0] == {"line": 2, "column": "age", "kind": "not-an-integer"}  # type: ignore[index]
    assert desk.rows(people()) == [{"age": 5, "work": "P"}]


def test_declared_mappings_change_values_and_are_counted(desk: Desk):
    domain = table(
        AGE
        | {
            "fraction": "round",
            "infinite": "clamp",
            "specials": [-1],
            "null": {"use": 50},
            "unreadable": "null",
        },
        WORK | {"other": "Z", "null": "category"},
        {
            "name": "x",
            "kind": "numeric",
            "type": "real",
            "lower": 0,
            "upper": 1,
            "outside": "null",
            "null": "category",
        },
    )
    data = b"age,work,x\n3.7,R,0.5\n-inf,,7\n200,Z,-1\n-1,P,nan\n,P,inf\nabc,P,1\n"
    report = desk.take(data, domain)
    assert desk.rows(domain) == [
        {"age": 4, "work": "Z", "x": 0.5}, {"age": 0, "work": None, "x": None}, {"age": 99, "work": "Z", "x": None},
        {"age": -1, "work": "P", "x": None}, {"age": 50, "work": "P", "x": 1.0},
    ]  # fmt: skip
    assert report.changes == {
        "age": {"clamped": 2, "mapped-to-null": 1, "null-replaced": 1, "rounded": 1},
        "work": {"mapped-to-other": 1},
        "x": {"mapped-to-null": 2},
    }
    assert report.refusals == {"x": {"infinite": 1}}


def test_dates(desk: Desk):
    domain = table(
        {"name": "day", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "outside": "refuse"},
        {"name": "at", "kind": "datetime", "lower": "2020-01-01", "upper": "2020-12-31", "null": "category",
         "unreadable": "null"},
        {"name": "own", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "format": "%d.%m.%Y"},
    )  # fmt: skip
    data = b"""day,at,own
2020-02-29,2020-01-01 10:11,01.03.2020
2020-02-30,2020-01-01,01.03.2020
2020-02-03,2020-01-01T23:30:00.75-02:00,31.02.2020
2021-02-03,2019-01-01,01.03.2020
2020-05-06 23:59:59,nonsense,01.03.2020
"""
    report = desk.take(data, domain)
    assert [(p.line, p.column, p.kind) for p in report.problems] == [
        (3, "day", "not-a-date"), (4, "own", "not-a-date"), (5, "day", "outside-bounds")
    ]  # fmt: skip
    assert [str(row["day"]) for row in desk.rows(domain)] == ["2020-02-29", "2020-05-06"]
    assert [str(row["at"]) for row in desk.rows(domain)] == ["2020-01-01 10:11:00", "None"]


def test_the_unit_column_is_stored_as_text_and_never_missing(desk: Desk):
    domain = table(AGE, {"name": "who", "kind": "unit"}, privacy_unit="who")
    report = desk.take(b"age,who\n1,007\n2,\n3," + b"x" * 257 + b"\n4,b\n", domain)
    assert desk.rows(domain) == [{"age": 1, "who": "007"}, {"age": 4, "who": "b"}]
    assert report.refusals == {"who": {"missing-value": 1, "unit-too-long": 1}}


def test_problems_are_capped_but_counted(desk: Desk):
    report = desk.take(b"age,work,note\n" + b"x,P,\n" * 3000 + b"1,P,\n", people())
    assert len(report.problems) == 1000
    assert report.problems[-1].line == 1001
    assert report.problems_unlisted == 2000


def test_broken_rows_of_a_single_column(desk: Desk):
    report = desk.take(b"age\n1\n2,3\n4\n", table(AGE))
    assert desk.rows(table(AGE)) == [{"age": 1}, {"age": 4}]
    assert [(p.line, p.kind) for p in report.problems] == [(3, "wrong-number-of-fields")]


@pytest.mark.parametrize("block", [1, 7, 64, 4096])
def test_lines_are_right_across_blocks_and_pieces(desk: Desk, monkeypatch: pytest.MonkeyPatch, block: int):
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", block)
    body = b'1,P,"a\nb"\nbad,P,x\n\n2,Q,"c ""d"""\n' * 50
    data = b"age,work,note\n" + body
    report = desk.take([data[at : at + 5] for at in range(0, len(data), 5)], people())
    assert [p.line for p in report.problems] == [4 + 5 * i for i in range(50)]
    assert len(desk.rows(people())) == 100


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
    "old mac line ends": (b"age,work,note\n1,P,x\r2,P,x\n", "bare-carriage-return"),
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


# Parquet


def parquet(data: dict[str, object], **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(data), sink, **options)
    return sink.getvalue()


def test_parquet_rows_and_their_numbers(desk: Desk):
    data = parquet({
        "note": ["x"] * 5, "work": ["P", "Q", None, "Z", "P"], "age": [5.0, 3.5, 7.0, 8.0, 9.0],
    }, row_group_size=2)  # fmt: skip
    report = desk.take(data, people(), PARQUET)
    assert [(p.line, p.column, p.kind) for p in report.problems] == [
        (2, "age", "not-an-integer"), (3, "work", "missing-value"), (4, "work", "unknown-category")
    ]  # fmt: skip
    assert report.to_json()["problems"][0] == {"row": 2, "column": "age", "kind": "not-an-integer"}  # type: ignore[index]
    assert desk.rows(people()) == [{"age": 5, "work": "P"}, {"age": 9, "work": "P"}]


def test_parquet_types_that_mean_the_same(desk: Desk):
    domain = table(
        AGE, WORK, {"name": "day", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"},
        {"name": "ok", "kind": "boolean"}, {"name": "who", "kind": "unit"}, privacy_unit="who",
    )  # fmt: skip
    day = pa.array(["2020-05-06"] * 2)
    variants = [
        {"age": pa.array(["5", "7"]), "work": pa.array(["P", "Q"]).dictionary_encode(), "day": day,
         "ok": pa.array(["true", "false"]), "who": pa.array([1, 2])},
        {"age": pa.array([5, 7], pa.int8()), "work": pa.array(["P", "Q"], pa.large_string()),
         "day": day.cast(pa.date32()), "ok": [True, False], "who": ["1", "2"]},
        {"age": pa.array([5, 7]).cast(pa.decimal128(22, 2)), "work": ["P", "Q"],
         "day": day.cast(pa.timestamp("ns")).cast(pa.timestamp("ns", "UTC")), "ok": [True, False], "who": [1.0, 2.0]},
    ]  # fmt: skip
    for columns in variants:
        desk.take(parquet(columns), domain, PARQUET)
        assert [tuple(map(str, row.values())) for row in desk.rows(domain)] == [
            ("5", "P", "2020-05-06", "True", "1"), ("7", "Q", "2020-05-06", "False", "2")
        ]  # fmt: skip


def test_numbers_as_repeated_text_in_parquet_follow_the_same_rules(desk: Desk):
    domain = table(AGE | {"null": {"use": 1}, "unreadable": "null", "outside": "refuse"})
    desk.take(parquet({"age": ["5", None, "x", "5", "500"]}), domain, PARQUET)
    assert desk.rows(domain) == [{"age": 5}, {"age": 1}, {"age": 1}, {"age": 5}]


@pytest.mark.parametrize(
    "columns",
    [
        {"age": [[1], [2]], "work": ["P", "Q"], "note": ["", ""]},
        {"age": [1, 2], "work": [{"a": 1}, {"a": 2}], "note": ["", ""]},
    ],
)
def test_parquet_types_that_cannot_be_read(desk: Desk, columns):
    assert desk.refuse(parquet(columns), people(), PARQUET).code == "domain-mismatch"


def test_parquet_with_a_wrong_header_or_without_rows(desk: Desk):
    assert desk.refuse(parquet({"age": [1]}), people(), PARQUET).code == "wrong-header"
    no_rows = {
        "age": pa.array([], pa.int64()),
        "work": pa.array([], pa.string()),
        "note": pa.array([], pa.string()),
    }
    assert desk.refuse(parquet(no_rows), people(), PARQUET).code == "empty-upload"


@pytest.mark.parametrize("seed", range(25))
def test_damaged_parquet_never_crashes(desk: Desk, seed: int):
    data = bytearray(parquet({"age": list(range(50)), "work": ["P"] * 50, "note": ["x"] * 50}))
    if seed < 10:
        data = data[: len(data) * seed // 10]
    else:
        data[(seed * 7919) % len(data)] ^= 0x5A
    try:
        desk.take(bytes(data), people(), PARQUET)
    except UnderstudyError as error:
        assert error.status < 500  # noqa: PT017
        assert not desk.store.exists("rows")


def test_cut_parquet_is_damaged(desk: Desk):
    data = parquet({"age": [1, 2], "work": ["P", "P"], "note": ["x", "x"]})
    assert desk.refuse(data[: len(data) // 2], people(), PARQUET).code == "damaged-upload"


def test_a_parquet_footer_that_promises_too_much(desk: Desk):
    data = parquet({"age": [1] * 9000, "work": ["x" * 100] * 9000, "note": [""] * 9000}, use_dictionary=False)
    limits = IntakeLimits(max_column_chunk_bytes=100_000)
    assert desk.refuse(data, people(), PARQUET, limits=limits).code == "decompression-bomb"


def test_a_long_text_repeated_a_million_times_costs_it_once(desk: Desk):
    domain = table(WORK | {"other": True})
    report = desk.take(
        parquet({"work": pa.array(["x" * 50_000]).dictionary_encode().take(pa.array([0] * 10**5))}),
        domain,
        PARQUET,
    )
    assert report.changes == {"work": {"mapped-to-other": 10**5}}


# What is stored


def test_stored_rows_hold_no_plaintext_and_open_in_their_place_only(desk: Desk):
    domain = table(AGE, {"name": "who", "kind": "unit"}, privacy_unit="who")
    desk.take(f"age,who\n1,{CANARY}\n".encode(), domain)
    sealed = desk.store.get_bytes("rows")
    assert CANARY.encode() not in sealed
    desk.store.put_bytes("elsewhere", sealed)
    for key, data_key, other in [
        ("elsewhere", KEY, domain),
        ("rows", bytes(32), domain),
        ("rows", KEY, table(AGE)),
    ]:
        with pytest.raises(SealBroken):
            list(open_private_rows(desk.store, key, data_key, other))


def test_sealed_bytes_that_are_not_rows_do_not_open(desk: Desk):
    from core.storage.sealing import SealedWriter

    raw = io.BytesIO()
    with SealedWriter(raw, key=KEY, context="rows:rows") as writer:
        writer.write(b"not arrow")
    desk.store.put_bytes("rows", raw.getvalue())
    with pytest.raises(SealBroken):
        list(open_private_rows(desk.store, "rows", KEY, table(AGE)))
