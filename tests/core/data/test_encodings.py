"""CSV files in another declared encoding than UTF-8: decoded as they arrive, or refused with the line and never the bytes."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.data.intake.intake import CSV, GZIP
from core.data.intake.unpacking import IntakeLimits
from core.plan.domain.table import TableDomain
from tests.core.data.desk import CANARY, NOTE, Desk
from tests.core.plan.domain.examples import table

TEXT = 'Größe;Straße;note\n1,5;Läuferweg;"5 €\nx"\n2,5;Köln–Süd;y\n'
DECLARED = ("windows-1252", "iso-8859-15", "utf-16")


def clinic(**csv_format: object) -> TableDomain:
    size = {"name": "Größe", "kind": "numeric", "type": "real", "lower": 0, "upper": 9, "decimals": 1}
    street = {"name": "Straße", "kind": "categorical", "categories": ["Läuferweg", "Köln–Süd", "Köln"]}
    return table(size, street, NOTE, csv={"delimiter": ";", "decimal_mark": ",", "quote": '"'} | csv_format)


def bytes_of(text: str, encoding: str) -> bytes:
    return text.encode({"windows-1252": "cp1252"}.get(encoding, encoding), errors="strict")


def of(encoding: str) -> str:
    return TEXT.replace("–Süd", "") if encoding == "iso-8859-15" else TEXT


@pytest.mark.parametrize("encoding", DECLARED)
@pytest.mark.parametrize("kind", [CSV, GZIP])
@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
def test_a_file_is_read_by_its_declared_encoding(desk: Desk, encoding: str, kind: str, size: int):
    data = bytes_of(of(encoding), encoding)
    sent = gzip.compress(data) if kind == GZIP else data
    report = desk.take(
        [sent[at : at + size] for at in range(0, len(sent), size)], clinic(encoding=encoding), kind
    )
    found = desk.rows(clinic(encoding=encoding))
    assert (report.rows_accepted, report.rows_refused) == (2, 0)
    desk.take(of(encoding).encode(), clinic())
    assert found == desk.rows(clinic())


def test_utf_16_of_both_byte_orders_is_read(desk: Desk):
    for mark, codec in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        assert desk.take(mark + TEXT.encode(codec), clinic(encoding="utf-16")).rows_accepted == 2


@pytest.mark.parametrize(
    ("data", "encoding", "line"),
    [
        (b"Gr\xf6\xdfe;Stra\xdfe;note\n1;K\xf6ln;x\n2;K\xf6ln;\x81\n", "windows-1252", 3),
        (b"\x8d" + b"a" * 9, "windows-1252", 1),
        (TEXT.encode("utf-8-sig"), "windows-1252", 1),
        (TEXT.encode("utf-16"), "iso-8859-15", 1),
        (TEXT.encode("utf-8"), "utf-16", 1),
        (TEXT.encode("utf-16-le"), "utf-16", 1),
        (b"\xff\xfe" + "a\nb\n".encode("utf-16-le") + b"\x00\xdcx\x00", "utf-16", 3),
    ],
    ids=["undefined byte", "in the first line", "mark of UTF-8", "mark of UTF-16", "UTF-8", "without a mark", "surrogate"],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_another_encoding_than_the_declared_one_is_refused_with_the_line(
    desk: Desk, data: bytes, encoding: str, line: int, size: int
):
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    error = desk.refuse(pieces, clinic(encoding=encoding))  # type: ignore[arg-type]
    assert (error.code, error.facts["line"], error.facts["encoding"]) == ("wrong-encoding", line, encoding)
    assert "csv.encoding" in error.remedy


def test_an_error_of_decoding_shows_no_bytes(desk: Desk):
    error = desk.refuse(f"{CANARY};x;\n".encode() + b"\x81", clinic(encoding="windows-1252"))
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert "81" not in f"{error.detail} {error.remedy}"


def test_checks_of_text_hold_after_decoding(desk: Desk):
    for encoding in DECLARED:
        declared = clinic(encoding=encoding)
        head = "Größe;Straße;note\n"
        for text, code, line in (
            (f"{head}1;Köln;\0\n", "nul-byte", 2),
            (f'{head}1;Köln;5"\n2;Köln;6"\n', "stray-quote", 2),
            (f'{head}1;Köln;"x', "damaged-upload", 2),
            (f"{head}1;Köln;x\r2;Köln;x\n", "bare-carriage-return", 2),
            ("Größe;note\n1;x\n", "wrong-header", None),
        ):
            error = desk.refuse(bytes_of(text, encoding), declared)
            assert (error.code, error.facts.get("line")) == (code, line), (encoding, text)
        endless = bytes_of(f'{head}1;Köln;"{"ä" * 100_000}', encoding)
        limits = IntakeLimits(max_record_bytes=150_000)
        assert desk.refuse(endless, declared, limits=limits).code == "record-too-long"
    cut = TEXT.encode("utf-16") + b"x"
    error = desk.refuse(cut, clinic(encoding="utf-16"))
    assert (error.code, error.facts["line"]) == ("damaged-upload", 5)


def test_other_encodings_undeclared_are_refused_with_what_to_declare(desk: Desk):
    error = desk.refuse(bytes_of(TEXT, "windows-1252"), clinic())
    assert error.code == "not-utf8"
    assert '"encoding": "windows-1252"' in error.remedy
    assert "iconv -f WINDOWS-1252 -t UTF-8" in error.remedy
    error = desk.refuse(TEXT.encode("utf-16"), clinic())
    assert error.code == "not-utf8"
    assert '"encoding": "utf-16"' in error.remedy


def test_the_content_type_may_name_the_declared_encoding_only(desk: Desk):
    data = bytes_of(TEXT, "windows-1252")
    assert (
        desk.take(data, clinic(encoding="windows-1252"), "text/csv; charset=Windows-1252").rows_accepted == 2
    )
    desk.store.delete("rows")
    for charset, encoding in (
        ("utf-8", "windows-1252"),
        ("windows-1252", "utf-8"),
        ("utf-16", "windows-1252"),
    ):
        refused = desk.refuse(data, clinic(encoding=encoding), f"text/csv; charset={charset}")
        assert refused.code == "unsupported-upload"


PRINTABLE = st.characters(codec="cp1252", exclude_categories=("C", "Z"))
LETTERS = st.characters(codec="cp1252", exclude_characters="\0\r")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text(PRINTABLE, min_size=1, max_size=5), min_size=2, max_size=3, unique=True),
    rows=st.lists(st.tuples(*[st.text(LETTERS, max_size=4)] * 3), min_size=1, max_size=6),
)
def test_any_table_in_windows_1252_equals_the_same_table_in_utf_8(
    tmp_path: Path, names: list[str], rows: list[tuple[str, ...]]
):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([names, *(row[: len(names)] for row in rows)])
    text = out.getvalue()
    words = sorted({word for row in rows for word in row if word} | {"a", "b"})
    columns = [
        {"name": name, "kind": "categorical", "categories": words, "null": "category"} for name in names
    ]
    found = []
    for encoding in ("windows-1252", "utf-8"):
        domain = table(*columns, csv={"encoding": encoding})
        desk = Desk(tmp_path)
        report = desk.take(bytes_of(text, encoding), domain)
        found.append((report.to_json(), desk.rows(domain)))
    assert found[0] == found[1]
    assert len(found[0][1]) == len(rows)
