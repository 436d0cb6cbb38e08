"""Names of columns are compared without the blanks around them, as drafts name columns, and rows have the declared names."""

import gzip
from pathlib import Path

import pytest

from core.data.intake.intake import CSV, GZIP, PARQUET, ZIP
from tests.core.data.desk import CANARY, Desk, people
from tests.core.data.pictures import archive, images, noise, picture
from tests.core.data.test_intake_parquet import parquet
from tests.core.plan.domain.examples import table
from understudy.drafts.tables import draft_domain

ROWS = [{"age": 1, "work": "P"}, {"age": 2, "work": "Q"}]
SPACED = b"age ,\xc2\xa0work, note\t\n1,P,x\n2,Q,y\n"


def test_blanks_around_names_of_csv_do_not_count(desk: Desk):
    for data, kind in [
        (SPACED, CSV),
        (gzip.compress(SPACED), GZIP),
        (b'"work "," age",note\nP,1,x\nQ,2,y\n', CSV),
    ]:
        assert desk.take(data, people(), kind).rows_accepted == 2
        assert desk.rows(people()) == ROWS


def test_blanks_around_names_of_parquet_do_not_count(desk: Desk):
    data = parquet({"note ": ["x", "y"], " work": ["P", "Q"], "age\u00a0": [1, 2]})
    assert desk.take(data, people(), PARQUET).rows_accepted == 2
    assert desk.rows(people()) == ROWS
    nested = parquet({"note": ["x"], " work": [["P"]], "age": [1]})
    assert Desk(desk.folder / "nested").refuse(nested, people(), PARQUET).code == "domain-mismatch"


def test_a_name_that_is_declared_with_blanks_stays_as_it_is(desk: Desk):
    age = {"name": "age ", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99}
    plain = {**age, "name": "age"}
    desk.take(b"age \n7\n", table(age))
    assert desk.rows(table(age)) == [{"age ": 7}]
    desk.take(b"age\n8\n", table(age))
    assert desk.rows(table(age)) == [{"age ": 8}]
    both = table(age, plain)
    desk.take(b"age,age \n1,2\n", both)
    assert desk.rows(both) == [{"age ": 2, "age": 1}]


@pytest.mark.parametrize("kind", [CSV, PARQUET])
def test_names_that_differ_in_blanks_alone_are_refused(desk: Desk, kind: str):
    data = f"age,work,note,age \n1,P,{CANARY},2\n".encode()
    if kind == PARQUET:
        data = parquet({"age": [1], "work": ["P"], "note": [CANARY], "age ": [2]})
    error = desk.refuse(data, people(), kind)
    assert (error.code, error.facts["repeated"]) == ("wrong-header", ["age"])
    assert "repeated but for blanks around it: age" in error.detail


def test_another_delimiter_is_named_under_blanks_too(desk: Desk):
    assert desk.refuse(b"age; work ;note\n1;P;x\n", people()).facts["delimiter"] == ";"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_was_drafted_is_taken_in(desk: Desk, tmp_path: Path, suffix: str):
    file = tmp_path / f"rows{suffix}"
    names, ages = ["age ", " work"], [n % 50 for n in range(200)]
    if suffix == ".csv":
        file.write_text("\n".join([",".join(names), *(f"{n},{'PQ'[n % 2]}" for n in ages)]) + "\n")
    else:
        file.write_bytes(parquet({"age ": ages, " work": ["PQ"[n % 2] for n in ages]}))
    drafted = draft_domain(file)
    assert [column["name"] for column in drafted["columns"]] == ["age", "work"]


def test_blanks_around_names_of_a_label_file_do_not_count(desk: Desk):
    domain = images()
    one = noise(domain, 1)[0]
    files = {"a.png": picture(one), "labels.csv": b"file , label\na.png,0\n"}
    assert desk.take(archive(files), domain, ZIP).rows_accepted == 1
