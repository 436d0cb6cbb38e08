"""Rows of an upload: cleaned, counted, refused by line and kind, and sealed."""

import io

import pytest

from core.data.errors import SealBroken
from core.data.intake import csv_records
from core.data.private_rows import open_private_rows
from tests.core.data.desk import AGE, CANARY, KEY, WORK, Desk, people
from tests.core.plan.domain.examples import table


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
    from core.data.sealing import SealedWriter

    raw = io.BytesIO()
    with SealedWriter(raw, key=KEY, context="rows:rows") as writer:
        writer.write(b"not arrow")
    desk.store.put_bytes("rows", raw.getvalue())
    with pytest.raises(SealBroken):
        list(open_private_rows(desk.store, "rows", KEY, table(AGE)))
