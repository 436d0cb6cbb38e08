"""Files in another encoding than UTF-8: a draft finds it, proposes it, marked, and the file is taken in as it is."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from core.plan.domain.table import ENCODINGS as OF_CORE
from tests.understudy.drafts.test_tables import accepted, column, write
from understudy.cli import app
from understudy.drafts.categories import NOTE
from understudy.drafts.marked_values import accept_kinds
from understudy.drafts.tables import draft_domain
from understudy.errors import InputUnusable
from understudy.table_files import MARK, read_table_files
from understudy.text_encoding import ENCODINGS, guessed_encoding

ROWS = 400
CODECS = {"windows-1252": "cp1252", "iso-8859-15": "iso-8859-15", "utf-16": "utf-16", "utf-8": "utf-8"}


def text(cities: tuple[str, ...] = ("Köln", "Gießen", "Fürth €")) -> str:
    """A table of German Excel."""
    lines = [f"{cities[n % 3]};{20 + n % 70};{50 + n % 97 * 0.7:.1f};x{n}" for n in range(ROWS)]
    return "\r\n".join(["Größe_Ort;Alter;Gewicht_ß;Schlüssel", *lines]).replace(".", ",") + "\r\n"


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_draft_proposes_the_encoding_and_its_domain_takes_the_file_in(
    tmp_path: Path, encoding: str, packed: bool
) -> None:
    data = text().encode(CODECS[encoding])
    path = write(tmp_path, gzip.compress(data) if packed else data, "rows.csv.gz" if packed else "rows.csv")
    draft = draft_domain(path)
    assert draft["csv"]["encoding"] == encoding
    assert "encoding" in draft["csv"][MARK]
    assert "The file is not UTF-8" in draft[NOTE]
    if encoding == "windows-1252":
        assert "every byte is a character of Windows-1252" in draft[NOTE]
        assert "Check words with accents" in draft[NOTE]
    assert sorted(column(draft, "Größe_Ort")["categories"]) == ["Fürth €", "Gießen", "Köln"]
    if not packed:
        assert accepted(path, draft) == (ROWS, 0)
    as_utf8 = draft_domain(write(tmp_path, text().encode(), "utf8.csv"))
    assert "encoding" not in as_utf8["csv"]
    assert draft["columns"] == as_utf8["columns"]


def test_the_command_drafts_confirms_and_checks_such_a_file(tmp_path: Path) -> None:
    path, domain = write(tmp_path, text().encode("cp1252")), tmp_path / "domain.json"
    done = CliRunner().invoke(app, ["domain", "draft", str(path), "--out", str(domain)])
    assert done.exit_code == 0, done.output
    assert "every byte is a character of Windows-1252" in done.output
    document = json.loads(domain.read_text())
    accept_kinds(document, ["names", "kinds", "size", "unit", "target", "bounds", "words", "rules"])
    assert "encoding" in document["csv"][MARK], "it is part of the format of the file"
    done = CliRunner().invoke(app, ["domain", "confirm", str(domain), "--accept", "all"])
    assert done.exit_code == 0, done.output
    files = read_table_files(path, domain, declared_size=None)
    assert files.domain["csv"]["encoding"] == "windows-1252"


def test_the_encoding_may_be_given(tmp_path: Path) -> None:
    path = write(tmp_path, text().encode("iso-8859-15"))
    assert "Fürth ¤" in column(draft_domain(path), "Größe_Ort")["categories"]
    draft = draft_domain(path, encoding="iso-8859-15")
    assert "Fürth €" in column(draft, "Größe_Ort")["categories"]
    assert "encoding" not in draft["csv"][MARK]
    assert "not UTF-8" not in draft[NOTE]
    assert accepted(path, draft) == (ROWS, 0)
    done = CliRunner().invoke(
        app, ["domain", "draft", str(path), "--encoding", "iso-8859-15", "--out", str(tmp_path / "d.json")]
    )
    assert done.exit_code == 0, done.output
    assert '"encoding": "iso-8859-15"' in (tmp_path / "d.json").read_text()


def declared(folder: Path, names: list[str], csv: dict[str, Any]) -> Path:
    file = folder / "domain.json"
    columns = [{"name": name, "kind": "categorical"} for name in names]
    file.write_text(json.dumps({"columns": columns, "csv": csv, "declared_size": 3}))
    return file


def test_columns_are_compared_by_the_declared_encoding(tmp_path: Path) -> None:
    names = ["Größe", "Straße"]
    for encoding in ENCODINGS:
        rows = write(tmp_path, "Größe,Straße\n1,2\n".encode(CODECS[encoding]))
        assert read_table_files(rows, declared(tmp_path, names, {"encoding": encoding}), declared_size=None)
    rows = write(tmp_path, "Größe,Straße\n1,2\n".encode("cp1252"))
    with pytest.raises(InputUnusable) as refused:
        read_table_files(rows, declared(tmp_path, names, {}), declared_size=None)
    assert 'declare "encoding": "windows-1252" under "csv"' in str(refused.value)
    assert "understudy domain draft" in str(refused.value)
    assert "iconv -f WINDOWS-1252 -t UTF-8" in str(refused.value)
    with pytest.raises(InputUnusable, match="is not in utf-16"):
        read_table_files(rows, declared(tmp_path, names, {"encoding": "utf-16"}), declared_size=None)
    # What the service alone refuses.
    assert read_table_files(rows, declared(tmp_path, names, {"encoding": "latin-1"}), declared_size=None)


def test_the_service_knows_the_same_encodings() -> None:
    assert ENCODINGS == OF_CORE


@pytest.mark.parametrize(
    ("data", "guess"),
    [
        (b"caf\xe9", "windows-1252"),
        (b"\x80 5", "windows-1252"),
        (b"a\x81", None),
        (b"\xe9\0", None),
        ("Köln, Fürth".encode() + b"\xe9", None),
        ("Spaß“, Köln, Fürth".encode("cp1252"), "windows-1252"),
        (b"\xff\xfea\0", "utf-16"),
        (b"\xfe\xff\0a", "utf-16"),
        (b"\xff\xfea", None),
        (b"\xff\xfe\0\xd8", None),
        (b"\xff\xfea\0\0\0", None),
        (b"x" * 200_000 + b"\xe4", "windows-1252"),
    ],
)
def test_guesses_of_files_that_are_not_utf_8(tmp_path: Path, data: bytes, guess: str | None) -> None:
    with write(tmp_path, data).open("rb") as file:
        assert guessed_encoding(file) == guess


LETTERS = st.characters(codec="cp1252", exclude_categories=("C", "Z"), exclude_characters='",;\t|')


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.text(LETTERS, min_size=1, max_size=6), min_size=3, max_size=3, unique=True))
def test_a_draft_of_any_words_is_that_of_the_same_table_in_utf_8(tmp_path: Path, words: list[str]) -> None:
    written = text((words[0], words[1], words[2]))
    drafts = [
        draft_domain(write(tmp_path, written.encode(CODECS[encoding])), encoding=encoding)
        for encoding in ("windows-1252", "utf-16", "utf-8")
    ]
    assert drafts[0]["csv"].pop("encoding") == "windows-1252"
    assert drafts[1]["csv"].pop("encoding") == "utf-16"
    assert drafts[0] == drafts[1] == drafts[2]
