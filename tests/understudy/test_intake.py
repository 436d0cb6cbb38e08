"""What the command tells an owner of rows that were refused."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.understudy.scripted import Script, client_of
from understudy.errors import InputUnusable, InvalidInput
from understudy.publishing.intake import refused_rows, upload

REPORT: dict[str, Any] = {
    "rows_accepted": 18,
    "rows_refused": 2,
    "refusals": {"": {"damaged-image": 1}, "label": {"unknown-label": 1}},
    "problems": [
        {"line": 5, "column": "", "kind": "damaged-image"},
        {"line": 9, "column": "label", "kind": "unknown-label"},
    ],
}
SAID = [
    "Refused: 1 damaged-image, 1 unknown-label (label).",
    "The first: line 5: damaged-image, line 9: unknown-label (label).",
]


class Heard:
    """A screen that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    @contextmanager
    def transfer(self, title: str, total: int | None) -> Any:
        del title, total
        yield lambda count: None


def send(folder: Path, heard: Heard, *answers: httpx.Response) -> None:
    rows = folder / "pictures.zip"
    rows.write_bytes(b"PK")
    order: Any = SimpleNamespace(table=SimpleNamespace(rows=rows), declaration="", max_refused=None)
    dataset: Any = SimpleNamespace(id="d")
    upload(client_of(Script(*answers)), dataset, order, heard)


def test_why_rows_were_refused_is_said_and_where_the_rest_stands(tmp_path: Path) -> None:
    heard, clean = Heard(), Heard()
    send(tmp_path, heard, httpx.Response(201, json=REPORT))
    assert heard.lines == [
        "Rows stored, encrypted: 18 accepted, 2 refused.",
        *SAID,
        "All of them (owner only): GET /v1/datasets/d/intake-report",
    ]
    nothing = {"rows_accepted": 20, "rows_refused": 0, "refusals": {}, "problems": []}
    send(tmp_path, clean, httpx.Response(201, json=nothing))
    assert clean.lines == ["Rows stored, encrypted: 20 accepted, 0 refused."]


def test_where_every_row_was_refused_it_is_said_too(tmp_path: Path) -> None:
    """The answer was "the report says why", and of a refused upload there is no report to ask for."""
    heard, facts = Heard(), {"report": REPORT}
    problem = {"code": "no-acceptable-rows", "detail": "Every row was refused.", "facts": facts}
    with pytest.raises(InvalidInput, match="Every row was refused"):
        send(tmp_path, heard, httpx.Response(422, json=problem))
    assert heard.lines == SAID


@pytest.mark.parametrize("report", [None, "no", {}, {"refusals": {}, "problems": []}])
def test_without_a_report_nothing_is_said(report: object) -> None:
    assert list(refused_rows(report)) == []


def test_few_places_are_named() -> None:
    problems = [{"row": number, "column": "", "kind": "damaged-image"} for number in range(1, 40)]
    (line,) = refused_rows({"problems": problems, "position": "row"})
    assert line.count("row ") == 5


def test_rows_that_wait_are_given_back_and_nothing_goes_on(tmp_path: Path) -> None:
    heard = Heard()
    with pytest.raises(
        InputUnusable, match=r"2 of 20 rows were refused, more than --max-refused .* nothing was charged"
    ):
        send(tmp_path, heard, httpx.Response(201, json=REPORT | {"waiting": True}), httpx.Response(204))
    assert heard.lines == SAID
