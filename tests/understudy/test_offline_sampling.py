import csv
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.stand_in import DOMAIN, bundle, even_bundle
from understudy import InputUnusable
from understudy.cli import main
from understudy.contact_sheet import read_sheet


@pytest.fixture
def bundle_file(tmp_path: Path) -> Path:
    file = tmp_path / "bundle.zip"
    file.write_bytes(pack(bundle(), readme="how to"))
    return file


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr("sys.argv", ["understudy", *map(str, words)])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arrow"])
def test_a_bundle_is_sampled_offline(
    bundle_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    target = tmp_path / f"rows.{ending}"
    assert run(monkeypatch, "sample", "--bundle", bundle_file, "--rows", 500, "--out", target) == 0
    assert target.stat().st_size > 500
    if ending == "csv":
        with target.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert len(rows) == 500
        assert {row["ward"] for row in rows} == {"A", 'B, or "C"', "Ü"}


def test_a_missing_folder_is_named_without_a_temporary_file(
    bundle_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "nowhere" / "rows.csv"
    assert run(monkeypatch, "sample", "--bundle", bundle_file, "--rows", 5, "--out", target) == 1
    assert f"there is no folder {target.parent}; make it first" in capsys.readouterr().err


def test_csv_is_drawn_for_a_spreadsheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [dict(column) for column in DOMAIN["columns"]]  # type: ignore[attr-defined]
    columns[0] |= {"categories": ["=A", "-B", "-1"]}
    file, target = tmp_path / "bundle.zip", tmp_path / "rows.csv"
    file.write_bytes(pack(replace(bundle(), domain=DOMAIN | {"columns": columns}), readme="how to"))
    words = ("sample", "--bundle", file, "--rows", 200, "--spreadsheet-safe")
    assert run(monkeypatch, *words, "--out", target) == 0
    with target.open(newline="") as stream:
        assert {row["ward"] for row in csv.DictReader(stream)} == {"'=A", "'-B", "-1"}
    assert run(monkeypatch, *words, "--out", tmp_path / "rows.parquet") == 1


def test_a_damaged_bundle_is_refused_and_leaves_no_file(
    bundle_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle_file.write_bytes(bundle_file.read_bytes()[:-100])
    words = ("sample", "--bundle", bundle_file, "--rows", 5, "--out", tmp_path / "rows.csv")
    assert run(monkeypatch, *words) == 1
    assert "understudy: " in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["bundle.zip"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sample", "--rows", 5), "either --bundle FILE or --release ID"),
        (("sample", "--rows", 5, "--bundle", "absent.zip"), "no file"),
        (("sample", "--rows", 5, "--bundle", "absent.zip", "--out", "rows.xlsx"), "unknown format"),
    ],
)
def test_wrong_words_are_explained(
    words: tuple[object, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *words) == 1
    assert message in capsys.readouterr().err


def test_a_bundle_error_is_an_error_of_the_client(tmp_path: Path) -> None:
    from understudy.local.sampling.bundle import open_bundle_samples

    file = tmp_path / "bundle.zip"
    file.write_text("no zip")
    with pytest.raises(InputUnusable, match=r"bundle\.zip"):
        open_bundle_samples(file, threads=1)


def test_columns_are_fixed(
    bundle_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = tmp_path / "rows.csv"
    words = ("--where", "sick=yes", "--where", "age=61", "--rows", 50, "--out", target)
    assert run(monkeypatch, "sample", "--bundle", bundle_file, *words) == 0
    with target.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 50
    assert {row["sick"] for row in rows} == {"yes"}
    assert all(50 <= int(row["age"]) <= 99 for row in rows), "the bin of the value is fixed"
    told = capsys.readouterr()
    assert told.err.splitlines() == ["age=61 fixes its bin, 50 to 99: each row has a value drawn within it."]
    assert "fixes" not in told.out


def test_a_refused_condition_is_explained_in_the_form_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = [
        *DOMAIN["columns"][:3],
        {"name": "gpa", "kind": "numeric", "type": "real", "lower": 0, "upper": 4, "specials": [4], "null": "category"},
    ]  # fmt: skip
    file, target = tmp_path / "bundle.zip", tmp_path / "rows.csv"
    file.write_bytes(pack(even_bundle(DOMAIN | {"columns": columns}), readme="how to"))
    words = ("sample", "--bundle", file, "--rows", 5, "--out", target, "--where")
    assert run(monkeypatch, *words, "gpa=") == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "its values lie between 0 and 4, or null for a missing value." in said
    assert "--where sick=yes, or --where COLUMN=null" in said
    assert "{" not in said
    assert run(monkeypatch, *words, "gpa=null") == 0
    assert "fixes its bin" not in capsys.readouterr().err
    with target.open(newline="") as stream:
        assert {row["gpa"] for row in csv.DictReader(stream)} == {""}
    assert run(monkeypatch, *words, "gpa=4") == 0
    assert "fixes its bin" not in capsys.readouterr().err, "a special value is a value of its own"


@pytest.fixture
def image_bundle(tmp_path: Path) -> Path:
    file = tmp_path / "images.bundle"
    file.write_bytes(pack(image_stand_in.bundle(), readme="how to"))
    return file


@pytest.mark.parametrize("ending", ["npz", "zip", "png"])
def test_a_bundle_of_images_is_sampled_offline(
    image_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ending: str,
) -> None:
    target = tmp_path / f"images.{ending}"
    assert run(monkeypatch, "sample", "--bundle", image_bundle, "--rows", 30, "--out", target) == 0
    assert "30 synthetic images: " in capsys.readouterr().out
    if ending == "npz":
        with np.load(target, allow_pickle=False) as arrays:
            assert len(arrays["images"]) == 30
    elif ending == "zip":
        assert len(zipfile.ZipFile(target).namelist()) == 31
    else:
        assert read_sheet(target).channels == 3


@pytest.mark.parametrize(
    ("kind", "name"), [("image_bundle", "synthetic.npz"), ("bundle_file", "synthetic.csv")]
)
def test_without_a_name_the_file_is_called_after_what_the_bundle_generates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, kind: str, name: str
) -> None:
    file = request.getfixturevalue(kind)
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "sample", "--bundle", file, "--rows", 5) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([file.name, name])


@pytest.mark.parametrize(
    ("kind", "words", "message"),
    [
        ("image_bundle", ("--rows", 5, "--out", "rows.csv"), "written as one of: npz, zip, png"),
        (
            "bundle_file",
            ("--rows", 5, "--out", "sheet.png", "--show"),
            "written as one of: csv, parquet, jsonl, arrow",
        ),
        ("image_bundle", ("--rows", 5, "--show"), "--show needs a contact sheet"),
        ("image_bundle", ("--rows", 5, "--out", "images.npz", "--show"), "--show needs a contact sheet"),
        (
            "bundle_file",
            ("--rows", 5, "--out", "rows.csv", "--where", "sick=maybe"),
            "cannot have this value",
        ),
        ("image_bundle", ("--rows", 10**9, "--out", "sheet.png"), "at most"),
    ],
)
def test_what_a_bundle_cannot_be_written_as_is_explained_and_leaves_no_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    kind: str,
    words: tuple[object, ...],
    message: str,
) -> None:
    file = request.getfixturevalue(kind)
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "sample", "--bundle", file, *words) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_a_sheet_is_shown_where_asked_for(
    image_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    words = ("sample", "--bundle", image_bundle, "--rows", 6, "--out", tmp_path / "sheet.png", "--show")
    assert run(monkeypatch, *words) == 0
    assert "▀" in capsys.readouterr().out
