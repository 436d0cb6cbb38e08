"""The file: complete, marked everywhere, needs nothing from anywhere, and makes hostile names harmless."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from uuid import UUID

import numpy as np
import pytest

from core.artifacts.reports import owner_contents
from core.artifacts.reports.columns import columns_of, target_note
from core.artifacts.reports.learning import Learning, Score
from core.artifacts.reports.owner_contents import FarthestPair, OwnerReportContents, measure
from core.artifacts.reports.owner_files import STEP_BYTES, report_key, write_report
from core.artifacts.reports.owner_findings import summarise
from core.artifacts.reports.owner_page import (
    FAILED,
    MAPPED,
    MARK,
    Subject,
    most_bytes,
    render,
    render_failure,
)
from core.data.objects import open_store
from core.plan.domain.table import TableDomain

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
SUBJECT = Subject(title=HOSTILE, facts=((HOSTILE, HOSTILE),))
VOID = {"meta"}


class Strict(HTMLParser):
    """Every tag that is opened is closed, in order; collects what could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def domain_of(columns: int, *, hostile: bool = False) -> TableDomain:
    name = HOSTILE if hostile else "word"
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": None,
            "privacy_unit": None,
            "columns": [
                {"name": name, "kind": "categorical", "categories": [HOSTILE, "b", *map(str, range(20))]},
                {"name": "amount", "kind": "numeric", "type": "real", "lower": 0, "upper": 250_000, "specials": [0]},
                *({"name": f"flag {index}", "kind": "boolean"} for index in range(columns - 2)),
            ],
        }
    )  # fmt: skip


def contents_of(domain: TableDomain, *, rows: int = 60) -> OwnerReportContents:
    rng = np.random.default_rng(1)

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([rng.integers(0, cells, count) for cells in domain.cardinalities], axis=1).astype(
            np.int16
        )

    return measure(draw(rows, rng), np.arange(rows), draw, columns_of(domain), target="amount")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_contents, "SYNTHETIC_ROWS", 200)
    monkeypatch.setattr(owner_contents, "learn", lambda *_, **__: None)


def checked(html: str) -> Strict:
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert html.count(MARK) >= 2, "in the title and on every screen"
    assert ".mark {\n  position: fixed" in html
    assert not parser.tags & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "use",
        "image",
    }
    assert not {
        name for name in parser.attributes if name.startswith("on") or name in {"src", "action", "xlink:href"}
    }
    assert not re.search(r"https?:|javascript:|@import|url\(", html)
    assert set(re.findall(r'href="(.)', html)) <= {"#"}
    assert HOSTILE not in html
    return parser


def test_the_file_needs_nothing_and_hostile_names_do_nothing():
    html = render(SUBJECT, contents_of(domain_of(4, hostile=True)))
    parser = checked(html)
    assert {"svg", "table", "style", "title"} <= parser.tags
    for section in ("In short", "Pairs of columns", "Privacy attacks", "What this report does not say"):
        assert section in html
    assert "outside the promise" in html
    assert "250,000" in html


def test_a_failure_is_told_in_a_file_of_the_same_kind():
    html = render_failure(SUBJECT, f"ValueError: {HOSTILE}")
    checked(html)
    assert FAILED in html
    assert "ValueError" in html


def test_a_wide_table_maps_the_columns_with_the_largest_errors(monkeypatch):
    monkeypatch.setattr(owner_contents, "SYNTHETIC_ROWS", 2000)
    domain = domain_of(MAPPED + 5)
    html = render(Subject(title="wide", facts=()), contents_of(domain, rows=600))
    assert "&lt;\u202f0.1" in html, "a tiny share is escaped too"
    assert "<\u202f" not in html
    assert f"the {MAPPED} of {MAPPED + 5} columns" in html
    assert html.count("<figure") == MAPPED + 5, "every column has its plot"


@pytest.mark.parametrize(
    ("real", "said"), [(0.9, "dependence is lost"), (0.63, "Even real rows teach no more")]
)
def test_a_classifier_is_blamed_only_where_real_rows_teach_more(real: float, said: str):
    def scores(accuracy: float) -> tuple[Score, ...]:
        return (Score(model="m", accuracy=accuracy, balanced_accuracy=0.5, auroc=None),)

    learning = Learning(
        question="", answers=("no", "yes"), trained_rows=900, tested_rows=900, majority=0.6,
        from_synthetic=scores(0.6), from_real=scores(real),
    )  # fmt: skip
    contents = replace(contents_of(domain_of(2), rows=60), learning=learning)
    assert any(said in sentence for sentence in summarise(contents).look_at)


@pytest.mark.parametrize(
    ("variation", "by_chance", "told"), [(0.6, 0.05, True), (0.6, 0.25, False), (0.09, 0.01, False)]
)
def test_a_pair_stands_out_three_times_beyond_chance(variation: float, by_chance: float, told: bool):
    pair = FarthestPair(names=("stay", "ward"), variation=variation, by_chance=by_chance, mean=0.05)
    found = summarise(replace(contents_of(domain_of(4), rows=60), farthest=pair)).look_at
    assert any(sentence.startswith("“stay” and “ward” together") for sentence in found) == told


def test_the_farthest_pair_is_that_of_columns_that_tell_each_other(monkeypatch):
    monkeypatch.setattr(owner_contents, "SYNTHETIC_ROWS", 4000)
    columns = columns_of(domain_of(4))
    rng = np.random.default_rng(2)

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([rng.integers(0, column.codes, count) for column in columns], axis=1)

    real = draw(4000, rng)
    real[:, 2] = real[:, 1] % columns[2].codes
    pair = measure(real, np.arange(4000), draw, columns, target="amount").farthest
    assert pair is not None
    assert pair.names == (columns[1].name, columns[2].name)
    assert pair.variation > 3 * pair.by_chance
    # Half the sum over k cells, as likely each, of the mean absolute difference of two shares from 4,000 rows each.
    cells = columns[1].codes
    assert pair.by_chance == pytest.approx(np.sqrt(cells / (4000 * np.pi)), rel=0.05)


def test_a_column_whose_values_the_release_does_not_list_is_not_called_the_nearest(monkeypatch):
    monkeypatch.setattr(owner_contents, "SYNTHETIC_ROWS", 4000)
    columns = columns_of(
        TableDomain.from_json(
            {
                "schema": "understudy.domain/1",
                "target": "sex",
                "privacy_unit": None,
                "columns": [
                    {"name": "start", "kind": "categorical", "categories": ["2020-01-01"], "other": "other"},
                    {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
                ],
            }
        )
    )

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([np.ones(count, np.int16), rng.integers(0, 2, count)], axis=1)

    real = draw(4000, np.random.default_rng(3))
    contents = measure(real, np.arange(4000), draw, columns, target="sex")
    assert contents.columns[0].variation == 0.0
    assert contents.columns[0].unlisted == 1.0
    told = summarise(contents)
    assert any("Nearest is “sex”" in sentence for sentence in told.sentences)
    assert "farthest “start”" in told.sentences[1]
    assert told.look_at[0].startswith(
        "The release does not list all values of “start” (100.0\u202f% of the real rows)"
    )
    html = render(Subject(title="t", facts=()), contents)
    assert html.count("have a value that the release does not list") == 1


def test_one_column_and_one_unit_are_reported_without_what_they_cannot_have():
    domain = TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": None,
            "privacy_unit": None,
            "columns": [{"name": "flag", "kind": "boolean"}],
        }
    )
    ones = np.ones((3, 1), dtype=np.int16)
    contents = measure(
        ones, np.zeros(3, dtype=np.int64), lambda rows, _: np.ones((rows, 1), np.int16), columns_of(domain), target="flag",
        target_note=target_note(domain, "flag"),
    )  # fmt: skip
    html = render(Subject(title="one", facts=()), contents)
    assert contents.attacks is None
    assert "There is nothing to learn" in html
    assert "The domain declares no target. Predicted is" in html
    assert "records of at least two units" in html


def test_of_a_large_table_a_public_number_of_records_is_looked_at(monkeypatch):
    monkeypatch.setattr(owner_contents, "REAL_ROWS", 50)
    contents = contents_of(domain_of(2), rows=80)
    assert (contents.real_rows, contents.synthetic_rows) == (50, 200)
    again = contents_of(domain_of(2), rows=80)
    assert render(SUBJECT, contents) == render(SUBJECT, again)


@pytest.mark.parametrize("columns", [2, 18, MAPPED + 5])
@pytest.mark.parametrize("hostile", [False, True], ids=["plain", "hostile"])
def test_a_report_and_the_account_of_a_failure_take_as_much_room_in_the_store(columns, hostile):
    domain = domain_of(columns, hostile=hostile)
    pages = render(SUBJECT, contents_of(domain)), render_failure(SUBJECT, "ValueError")
    room = most_bytes(columns_of(domain))
    assert len(pages[0].encode()) <= room < 3 * len(pages[0].encode()) + STEP_BYTES
    store, sizes = open_store("memory://"), []
    for number, page in enumerate(pages):
        key = report_key(UUID(int=0), UUID(int=0), number)
        write_report(store, key, page, data_key=bytes(32), room=room)
        sizes.append(len(store.get_bytes(key)))
    assert sizes[0] == sizes[1]
