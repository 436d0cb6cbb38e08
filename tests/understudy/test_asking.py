"""`understudy.ask` and `understudy ask`: a bundle's counts, for people and for programs."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import understudy
from core.artifacts.packing import pack
from core.artifacts.sampling.samples import open_samples
from tests.core.artifacts.certified import certified
from tests.core.artifacts.stand_in import bundle as stand_in
from understudy.cli import app
from understudy.errors import Conflict, InputUnusable, InvalidInput, NotInstalled

PACKED = certified({"critic": False}).packed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.zip"
    path.write_bytes(PACKED)
    return path


def run(*words: object) -> str:
    done = CliRunner().invoke(app, ["ask", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_file_and_its_content_are_asked(file: Path) -> None:
    answer = understudy.ask(file, "ward by sick")
    assert answer == understudy.ask(str(file), "ward by sick") == understudy.ask(PACKED, "ward by sick")
    assert answer.columns == ("ward", "sick")
    assert [row.values for row in answer.rows][:2] == [("A", "no"), ("A", "yes")]
    assert all(row.low <= row.estimate <= row.high for row in answer.rows if row.estimate is not None)


def test_a_target_is_predicted_from_the_counts_of_a_file(file: Path) -> None:
    predictor = understudy.predictor(file)
    rows = parquet.read_table(io.BytesIO(b"".join(open_samples(PACKED).write(20, "parquet", {}))))
    shares = predictor.predict_proba(rows)
    assert shares.shape == (20, 2)
    assert (predictor.predict(rows) == predictor.classes_[shares.argmax(axis=1)]).all()
    assert set(predictor.classes_) == set(rows["sick"].unique().to_pylist()), "comparable with the target"
    assert repr(predictor) == "Predictor(target: sick, classes: no, yes, from the noisy counts of 3 columns)"
    with pytest.raises(InvalidInput, match="missing: ward"):
        predictor.predict(rows.drop_columns(["ward"]))
    with pytest.raises(InvalidInput, match="repeated: age"):
        predictor.predict(rows.append_column("age", rows["age"]))


def test_every_row_has_its_answer_from_the_columns_that_are_known(file: Path) -> None:
    predictor = understudy.predictor(file)
    rows = parquet.read_table(io.BytesIO(b"".join(open_samples(PACKED).write(6, "parquet", {}))))
    expected = predictor.predict_proba(rows)
    scored = rows.drop_columns(["sick"]).append_column("note", [["not declared"] * 6])
    assert (predictor.predict_proba(scored) == expected).all()
    assert (predictor.predict_proba(rows.set_column(2, "sick", pa.nulls(6))) == expected).all()
    assert predictor.predict_proba(rows.slice(0, 0)).shape == (0, 2)
    wards = ["unheard of", None, *rows["ward"].to_pylist()[2:]]
    found = predictor.predict_proba(rows.set_column(0, "ward", [wards]))
    assert (found[2:] == expected[2:]).all(), "in the order of the rows"
    of_each = [
        predictor.predict_proba(rows.set_column(0, "ward", [[ward] * 6]))[:2]
        for ward in ("A", 'B, or "C"', "Ü")
    ]
    assert (found[:2] > np.min(of_each, axis=0)).all()
    assert (found[:2] < np.max(of_each, axis=0)).all()


def test_the_command_writes_a_table_csv_or_json(file: Path) -> None:
    told = run(file, "mean of age by sick where ward = A")
    assert told.splitlines()[0].split() == ["sick", "estimate", "low", "high", "standard", "error"]
    assert "95 % intervals; counted are records." in told
    assert "drawn rows are less accurate" in told
    rows = list(csv.DictReader(io.StringIO(run(file, "ward", "--csv"))))
    assert [row["ward"] for row in rows] == ["A", 'B, or "C"', "Ü"]
    document = json.loads(run(file, "ward", "--json"))
    assert document["schema"] == "understudy.answer/1"
    assert float(rows[0]["unbiased"]) == document["rows"][0]["unbiased"]
    with pytest.raises(InputUnusable, match="exclude each other"):
        run(file, "ward", "--json", "--csv")


def test_an_answer_by_assumption_says_so_in_every_form(file: Path) -> None:
    told = run(file, "ward by age by seen")
    assert "Intervals hold in 95 % of releases at least; counted are records." in told
    assert "Estimated, not counted: ward, age and seen were not counted together." in told
    assert json.loads(run(file, "ward by age by seen", "--json"))["basis"] == "assumed"
    rows = list(csv.DictReader(io.StringIO(run(file, "ward by age by seen", "--csv"))))
    assert {(row["standard_error"], row["basis"]) for row in rows} == {("", "assumed")}
    assert all(float(row["low"]) <= float(row["estimate"]) <= float(row["high"]) for row in rows)
    counted = understudy.ask(file, "ward by age")
    assert counted.basis == "counted"
    earlier = {name: value for name, value in counted.document.items() if name != "basis"}
    assert understudy.Answer.from_json(earlier).basis == "counted", "services of earlier versions"


def test_printed_and_in_a_notebook_an_answer_is_the_table_that_the_command_shows(file: Path) -> None:
    answer = understudy.ask(file, "ward by sick")
    assert str(answer) == run(file, "ward by sick").rstrip("\n")
    page = answer._repr_html_()  # private: what a notebook shows, by IPython's name
    assert "<pre>" in page
    assert "B, or &quot;C&quot;" in page


def test_a_large_group_is_named_in_short_in_the_table_alone() -> None:
    answer = understudy.ask(PACKED, "ward by sick")
    row = answer.document["rows"][0]
    towns = [f"town number {place}" for place in range(14)]
    short = "Stratford, upon Avon"

    def told(*words: str) -> list[str]:
        rows = [{**row, "values": [word, "no"]} for word in words]
        shown = understudy.Answer.from_json({**answer.document, "rows": rows})
        assert [one.values[0] for one in shown.rows] == list(words)
        return [line.partition("  ")[0] for line in shown.lines()][1 : 1 + len(words)]

    assert told(", ".join(towns), ", ".join(towns) + " and 1,180 more", short) == [
        "town number 0, town number 1 and 12 more", "town number 0, town number 1 and 1,192 more", short,
    ]  # fmt: skip
    one = "a" * 300
    assert told(one) == [one], "a single value is left as it is"


def test_what_cannot_be_answered_is_the_services_refusal(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        understudy.ask(file, "wrad")
    assert refused.value.code == "question-invalid"
    old = pack(stand_in(), readme="x")
    with pytest.raises(Conflict) as without:
        understudy.ask(old, "ward")
    assert without.value.code == "no-counts"
    with pytest.raises(InvalidInput) as damaged:
        understudy.ask(PACKED[:-50], "ward")
    assert damaged.value.code == "bundle-invalid"
    with pytest.raises(InputUnusable, match="there is no file"):
        understudy.ask(tmp_path / "none.zip", "ward")


def test_labels_of_a_stranger_steer_no_terminal(file: Path) -> None:
    answer = understudy.ask(file, "ward")
    steering = understudy.Answer.from_json(
        {**answer.document, "columns": ["\x1b[2J"], "counted": "a\nb", "notes": ["\x1b"]}
    )
    assert "\x1b" not in "\n".join(steering.lines())


def test_without_the_engine_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "understudy.local.sampling.asking", None)
    with pytest.raises(NotInstalled, match="the extra `offline` is enough"):
        understudy.ask(file, "ward")
