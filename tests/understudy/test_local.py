import csv
from pathlib import Path

import pytest

from core.releases.bundle import pack
from tests.core.releases.stand_in import bundle
from understudy import InputUnusable
from understudy.cli import main


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


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
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
    from understudy.local import sample_bundle

    file = tmp_path / "bundle.zip"
    file.write_text("no zip")
    with pytest.raises(InputUnusable, match=r"bundle\.zip"):
        list(sample_bundle(file, rows=1, file_format="csv", threads=1))
