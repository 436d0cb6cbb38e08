"""The script of a model's bundle reads a file as the domain declares it: its codes and predictions are those of `FittedClassifier`."""

import csv
import io
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from core.artifacts.private_models.script import render_predictor
from core.plan.domain.table import TableDomain
from tests.cases import daily
from understudy.local import FeaturesRefused, FittedClassifier, fit_classifier, set_cap
from understudy.local.sampling.predicting import UNKNOWN, features_of

GARBAGE = ["", "NA", " ", "?", "x", "1,5", "1.5", "1.234,5", "1,234.5", "nan", "inf", "-inf", "1e3", "+7", "3.", "17:45", "5:45 pm",
           "2020-02-30", "31.12.2020", "2020-12-31T23:59:59.5+05:30", "2020-12-31T10:00Z", "12 %", "€ 5", " 7 ", "1_0", "a;b", "a'b",
           "2020-12-31 23:10", "Tuesday", "None", "0x10", "1\u202f234", "1 234,5", "-5", "400000"]  # fmt: skip
FORMATS = [None, "%d.%m.%Y", "%F", "%m/%d/%Y", "%d %b %Y"]
MOMENTS = [None, "%d.%m.%Y %H:%M", "%FT%R", "%Y-%m-%d %I:%M %p"]


def loaded(script: str) -> ModuleType:
    module = ModuleType("predict")
    exec(compile(script, "predict.py", "exec"), module.__dict__)
    return module


def random_domain(rng: np.random.Generator) -> dict[str, Any]:
    """A domain with a column of every kind, each with options at random."""

    def one_of(*choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    def policies(stand_in: Any, *keys: str) -> dict[str, Any]:
        null = one_of("refuse", "category", {"use": stand_in})
        words = {"outside": ("clamp", "null", "refuse"), "infinite": ("clamp", "null", "refuse")}
        chosen = {key: one_of(*words.get(key, ("null", "refuse"))) for key in keys}
        return {"null": null} | {
            key: "refuse" if null == "refuse" and word == "null" else word for key, word in chosen.items()
        }

    mark = one_of(".", ",")
    number_format = one_of(
        None, {"thousands": ","}, {"thousands": ".", "decimal_mark": ","}, {"affixes": ["%", "€"]}, {"clock": True},
        {"thousands": " "}, {"decimal_mark": one_of(".", ",")}, {"thousands": "'", "affixes": ["CHF"]},
    )  # fmt: skip
    columns: list[dict[str, Any]] = [
        {"name": "whole", "kind": "numeric", "type": "integer", "lower": 0, "upper": 400, "specials": one_of([], [-1]),
         "fraction": one_of("round", "refuse"), **policies(7, "outside", "infinite", "unreadable")},
        {"name": "real", "kind": "numeric", "type": "real", "lower": -50, "upper": 2000, "decimals": 2,
         **policies(3, "outside", "infinite", "unreadable")},
        {"name": "beyond", "kind": "numeric", "type": "real", "lower": -50, "upper": 2100, "decimals": 2,
         "null": "category", "difference": {"from": "real", "lower": -10, "upper": 90}},
        {"name": "day", "kind": "date", "lower": "2019-01-01", "upper": "2021-06-30", "format": one_of(*FORMATS),
         "resolution": one_of("day", "month", "week"), **policies("2020-05-04", "outside", "unreadable")},
        {"name": "moment", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:59:00", "resolution": "minute",
         "patterns": ["weekday", "hour"], "format": one_of(*MOMENTS), **policies("2020-05-04T10:00:00", "outside", "unreadable")},
        {"name": "word", "kind": "categorical", "categories": ["a", "b;", "c"], "other": one_of(True, False), **policies("a", "unknown")},
        {"name": "well", "kind": "boolean", "true": one_of("yes", "true"), "false": one_of("no", "false"), **policies("", "unknown")},
        {"name": "unused", "kind": "ignored"},
        {"name": " sick ", "kind": "categorical", "categories": ["x", "y", "z"]},
        {"name": "code", "kind": "categorical", "other": True, "null": "category",
         **one_of({"categories": ["E11", "I1"], "prefix": 3}, {"categories": ["LS", "M"], "prefix": "letters"})},
    ]  # fmt: skip
    if number_format is not None:
        columns[0]["number_format"] = number_format
    for key in ("format",):
        for column in columns:
            if key in column and column[key] is None:
                del column[key]
    if isinstance(columns[6]["null"], dict):
        columns[6]["null"] = {"use": columns[6]["true"]}
    if columns[5]["other"] and columns[5]["unknown"] == "refuse":
        columns[5]["unknown"] = "other"
    if columns[1]["null"] == "refuse" or isinstance(columns[1]["null"], dict):
        columns[2]["null"] = one_of("category", "refuse")
    rng.shuffle(columns)  # type: ignore[arg-type]
    return {
        "schema": "understudy.domain/1",
        "target": " sick ",
        "privacy_unit": None,
        "csv": {
            "delimiter": one_of(",", ";", "\t", "|"),
            "quote": one_of('"', "'", '"'),
            "header": one_of(True, True, False),
            "null_values": one_of([""], ["", "NA"], ["?"], []),
            "strip_spaces": one_of(True, False),
            "decimal_mark": mark,
        },
        "columns": columns,
    }


def random_texts(document: dict[str, Any], rng: np.random.Generator, rows: int) -> dict[str, list[str]]:
    """Texts of every column: mostly in its format, some in another one."""

    def fine(column: dict[str, Any]) -> str:
        if column["kind"] == "numeric":
            number = float(np.round(rng.uniform(-60, 2200), 2))
            text = str(int(number)) if column["type"] == "integer" else str(number)
            return text.replace(".", document["csv"]["decimal_mark"])
        if column["kind"] in {"date", "datetime"}:
            moment = pd.Timestamp("2018-12-20") + pd.Timedelta(minutes=int(rng.integers(0, 1_350_000)))
            moment = moment if rng.random() > 0.2 else moment.replace(day=int(rng.integers(1, 4)))
            usual = "%Y-%m-%d" if column["kind"] == "date" else "%Y-%m-%dT%H:%M:%S"
            return moment.strftime(column.get("format") or usual)
        words = column.get("categories") or [column.get("true", "u"), column.get("false", "v")]
        return str(words[int(rng.integers(len(words)))]) + (".9 A" if "prefix" in column else "")

    return {
        column["name"]: [
            str(rng.choice(GARBAGE)) if column["name"] != " sick " and rng.random() < 0.15 else fine(column)
            for _ in range(rows)
        ]
        for column in document["columns"]
    }


def written(document: dict[str, Any], texts: dict[str, list[str]]) -> str:
    dialect = document["csv"]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=dialect["delimiter"], quotechar=dialect["quote"])
    if dialect["header"]:
        writer.writerow(texts)
    writer.writerows(zip(*texts.values(), strict=True))
    return file.getvalue()


@pytest.mark.parametrize("seed", daily(range(60), some=range(20)))
def test_the_script_codes_every_row_of_any_file_as_the_domain_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    document = random_domain(rng)
    domain = TableDomain.from_json(document)
    texts = random_texts(document, rng, 400)
    read = [place for place in range(len(domain.coded)) if place != domain.target_index]
    expected = features_of(domain, pa.table(texts)).codes[:, read].astype(int)
    for index, place in enumerate(read):
        code = domain.coded[place].null_code
        if code is not None:
            expected[:, index] = np.where(expected[:, index] == UNKNOWN, code, expected[:, index])
    module = loaded(render_predictor(document))
    lines = io.StringIO(written(document, texts), newline="")
    records = list(module.records_of(lines, module.LAYOUT))
    places = module.places_of(module.LAYOUT, module.FEATURES, records[0][1])
    rows = records[1:] if document["csv"]["header"] else records
    found, without, _ = module.RowReader(module.LAYOUT, module.FEATURES, module.CODED).codes(
        [[record[place] for place in places] for _, record in rows]
    )
    assert (without == (expected == UNKNOWN).any(axis=1)).all()
    assert (found == np.where(expected == UNKNOWN, 0, expected)).all()
    assert 0 < without.sum() < len(without) or all(
        column["null"] == "category" for column in document["columns"] if "null" in column
    )


GERMAN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "ill",
    "privacy_unit": None,
    "csv": {"delimiter": ";", "decimal_mark": ",", "null_values": ["", "k. A."]},
    "columns": [
        {"name": "income", "kind": "numeric", "type": "integer", "lower": 18000, "upper": 90000, "null": "category",
         "number_format": {"thousands": ".", "affixes": ["€"]}},
        {"name": "seen", "kind": "date", "lower": "2024-01-01", "upper": "2024-12-31", "format": "%d.%m.%Y"},
        {"name": "score", "kind": "numeric", "type": "real", "lower": -3, "upper": 3},
        {"name": "ill", "kind": "categorical", "categories": ["no", "maybe", "yes"]},
    ],
}  # fmt: skip


def german_rows(count: int = 700) -> dict[str, list[str]]:
    rng = np.random.default_rng(2)
    income, score = rng.integers(18000, 90000, count), np.round(rng.uniform(-3, 3, count), 2)
    days = [pd.Timestamp("2024-01-01") + pd.Timedelta(days=int(day)) for day in rng.integers(0, 366, count)]
    ill = np.where(score + (income - 54000) / 20000 > 1, "yes", np.where(score < -1, "no", "maybe"))
    return {
        "income": [f"{one:,} €".replace(",", ".") for one in income],
        "seen": [day.strftime("%d.%m.%Y") for day in days],
        "score": [str(one).replace(".", ",") for one in score],
        "ill": ill.tolist(),
    }


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> tuple[FittedClassifier, Path]:
    """A classifier of a file in another country's format, and its unzipped bundle."""
    folder = tmp_path_factory.mktemp("german")
    set_cap("german", epsilon=400.0, delta=1e-2, ledgers=folder)
    fitted = fit_classifier(
        pa.table(german_rows()), GERMAN, (50.0, 1e-4), dataset="german", declared_size=700, ledgers=folder
    )
    with zipfile.ZipFile(fitted.save(folder / "bundle.zip")) as archive:
        archive.extractall(folder)
    return fitted, folder


def run(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(folder / "predict.py"), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def answers(file: Path) -> list[str | None]:
    with file.open(encoding="utf-8", newline="") as stream:
        return [row["prediction"] or None for row in csv.DictReader(stream)]


def test_a_file_in_the_declared_format_has_the_predictions_of_the_fitted_model(
    german: tuple[FittedClassifier, Path], tmp_path: Path
) -> None:
    fitted, folder = german
    texts = german_rows()
    (tmp_path / "rows.csv").write_text(
        "\ufeff" + written({"csv": GERMAN["csv"] | {"quote": '"', "header": True}}, texts)
    )
    done = run(folder, tmp_path / "rows.csv", tmp_path / "out.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert answers(tmp_path / "out.csv") == fitted.predict(pa.table(texts)).tolist()
    assert len(set(answers(tmp_path / "out.csv"))) > 1
    unlabelled = {name: texts[name] for name in ("score", "income", "seen")}
    (tmp_path / "rows.csv").write_text(
        written({"csv": GERMAN["csv"] | {"quote": '"', "header": True}}, unlabelled)
    )
    assert run(folder, tmp_path / "rows.csv", tmp_path / "few.csv").returncode == 0
    assert (tmp_path / "few.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


@pytest.mark.parametrize("encoding", daily(["windows-1252", "utf-16"], some=["utf-16"]))
def test_a_file_in_the_declared_encoding_has_the_predictions_of_the_fitted_model(
    tmp_path: Path, encoding: str
) -> None:
    document = GERMAN | {"csv": GERMAN["csv"] | {"encoding": encoding}}
    set_cap("encoded", epsilon=400.0, delta=1e-2, ledgers=tmp_path)
    fitted = fit_classifier(
        pa.table(german_rows()),
        document,
        (50.0, 1e-4),
        dataset="encoded",
        declared_size=700,
        ledgers=tmp_path,
    )
    with zipfile.ZipFile(fitted.save(tmp_path / "bundle.zip")) as archive:
        archive.extractall(tmp_path)
    texts = german_rows(40)
    text = written({"csv": GERMAN["csv"] | {"quote": '"', "header": True}}, texts)
    (tmp_path / "rows.csv").write_text(text, encoding=encoding, newline="")
    done = run(tmp_path, tmp_path / "rows.csv", tmp_path / "out.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert answers(tmp_path / "out.csv") == fitted.predict(pa.table(texts)).tolist()
    (tmp_path / "rows.csv").write_bytes(b"income;\x81\n")
    done = run(tmp_path, tmp_path / "rows.csv", tmp_path / "again.csv")
    assert (done.returncode, f"the text is not {encoding}" in done.stderr) == (2, True)
    assert not (tmp_path / "again.csv").exists()


def test_a_row_that_the_domain_refuses_has_an_empty_prediction_and_is_counted(
    german: tuple[FittedClassifier, Path], tmp_path: Path
) -> None:
    fitted, folder = german
    lines = [
        "income;seen;score", "20.000 €;05.05.2024;0,5", "20x000;05.05.2024;0,5", "", "k. A.;05.05.2024;0.5",
        '"20.000";"31.04.2024\n";', "20.000;05.05.2024", "20.000;05.05.2024;0,5", "k. A.;05.05.2024;0,5",
    ]  # fmt: skip
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    done = run(folder, tmp_path / "rows.csv", tmp_path / "out.csv")
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "3 of 7 rows have no prediction (wrong-number-of-fields 1, income: not-a-number 1, score: missing-value 1, score: not-a-number 1, seen: not-a-date 1)",
        "line 3: income (not-a-number)",
        "line 5: score (not-a-number), no prediction",
        "line 6: seen (not-a-date), score (missing-value), no prediction",
        "line 8: wrong-number-of-fields, no prediction",
    ]
    found = answers(tmp_path / "out.csv")
    assert [answer is None for answer in found] == [False, False, True, True, True, False, False]
    frame = {
        "income": ["20.000 €", "20x000", "k. A.", "20.000", "20.000", "k. A."],
        "seen": ["05.05.2024", "05.05.2024", "05.05.2024", "31.04.2024\n", "05.05.2024", "05.05.2024"],
        "score": ["0,5", "0,5", "0.5", "", "0,5", "0,5"],
    }
    with pytest.warns(FeaturesRefused, match="2 of 6 rows have no prediction"):
        assert [*found[:4], *found[5:]] == fitted.predict(pa.table(frame)).tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("income,seen,score\n1,2,3\n", "columns are missing: income, seen, score; the domain declares ';'"),
        ("income;seen\n1;2\n", "columns are missing: score; the domain declares ';'"),
        ("income;seen;score;score\n1;2;3;4\n", "columns are there twice: score"),
        ('income;seen;score\n1;2;3\n4;"5"6;7\n', "line 3 is no record"),
        ("", "the file has no lines"),
        (b"\xff\xfei\0", "the text is not UTF-8"),
        (b"income;seen;score\n20.000;05.05.2024;\xe4\n", "the text is not UTF-8"),
        (None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read_ends_in_one_line_and_writes_nothing(
    german: tuple[FittedClassifier, Path], tmp_path: Path, text: str | bytes | None, said: str
) -> None:
    _, folder = german
    if text is not None:
        (tmp_path / "rows.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    done = run(folder, tmp_path / "rows.csv", tmp_path / "out.csv")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not [file for file in tmp_path.iterdir() if file.name != "rows.csv"]


def test_the_command_needs_two_files_that_differ(
    german: tuple[FittedClassifier, Path], tmp_path: Path
) -> None:
    _, folder = german
    done = run(folder, tmp_path / "rows.csv")
    assert done.returncode == 2
    assert "the following arguments are required: predictions.csv" in done.stderr
    (tmp_path / "rows.csv").write_text("income;seen;score\n")
    done = run(folder, tmp_path / "rows.csv", tmp_path / "rows.csv")
    assert done.returncode == 2
    assert "name another file" in done.stderr
    assert run(folder, tmp_path / "rows.csv", tmp_path / "nowhere" / "out.csv").returncode == 2


@pytest.mark.parametrize("seed", daily([101, 102, 103], some=[101]))
def test_the_script_predicts_every_row_of_any_file_as_the_fitted_model_does(
    seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    document = random_domain(rng)
    texts = random_texts(document, rng, 1500)
    # A target that follows a feature: a model of unrelated columns may by chance answer one class.
    true = next(column["true"] for column in document["columns"] if column["name"] == "well")
    texts[" sick "] = ["x" if word == true else "y" for word in texts["well"]]
    set_cap("any", epsilon=400.0, delta=1e-2, ledgers=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = fit_classifier(
            pa.table(texts), document, (100.0, 1e-4), dataset="any", declared_size=1500, max_refused=1.0,
            options={"steps": 20, "learning_rate": 60.0}, ledgers=tmp_path,
        )  # fmt: skip
        expected = fitted.predict(pa.table(texts)).tolist()
    with zipfile.ZipFile(fitted.save(tmp_path / "bundle.zip")) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "rows.csv").write_text(written(document, texts), encoding="utf-8", newline="")
    done = run(tmp_path, tmp_path / "rows.csv", tmp_path / "out.csv")
    assert done.returncode == (3 if None in expected else 0), done.stderr
    assert answers(tmp_path / "out.csv") == expected
    assert len(set(expected) - {None}) > 1
