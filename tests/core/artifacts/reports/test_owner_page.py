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
from core.artifacts.reports.page import percent
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
    for section in ("In short", "Pairs of columns", "Privacy attacks", "Limits of this report"):
        assert section in html
    assert "outside the promise" in html
    assert "250\u202f000" in html


def test_a_failure_is_reported_in_a_file_of_the_same_kind():
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


def learning_of(synthetic: float, real: float, *, auroc: bool, tested: tuple[int, ...]) -> Learning:
    """Scores of a target that hardly ever is "yes": all are as right as the most frequent answer."""

    def scores(value: float) -> tuple[Score, ...]:
        return (
            Score(
                model="m",
                accuracy=0.958,
                balanced_accuracy=0.5 if auroc else value,
                auroc=value if auroc else None,
            ),
        )

    return Learning(
        question="", answers=("no", "yes", "rest")[: len(tested)], trained_rows=900, tested_rows=sum(tested), majority=0.958,
        tested_answers=tested, from_synthetic=scores(synthetic), from_real=scores(real),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("synthetic", "real", "auroc", "tested", "said"),
    [
        (0.668, 0.889, True, (9580, 420), "beyond the most frequent answer, 56.8\u202f% is lost: AUROC is 0.668 from synthetic rows and 0.889 from real rows"),
        (0.51, 0.889, True, (9580, 420), "no better than the most frequent answer: the target's dependence is lost"),
        (0.668, 0.889, True, (92, 8), "no better than the most frequent answer: the target's dependence is lost"),
        (0.51, 0.52, True, (9580, 420), "Even real rows teach no more than the most frequent answer"),
        (0.35, 0.71, False, (900, 60, 40), "no better than the most frequent answer: the target's dependence is lost"),
        (0.34, 0.35, False, (900, 60, 40), "Even real rows teach no more than the most frequent answer"),
        (0.45, 0.71, False, (900, 60, 40), "69.0\u202f% is lost: balanced accuracy is 45.0\u202f% from synthetic rows and 71.0\u202f%"),
        (0.87, 0.889, True, (9580, 420), None),
        (0.9, 0.7, True, (9580, 420), None),
    ],
)  # fmt: skip
def test_what_a_rare_target_lost_is_read_from_scores_that_count_its_rare_answer(
    synthetic: float, real: float, auroc: bool, tested: tuple[int, ...], said: str | None
):
    learning = learning_of(synthetic, real, auroc=auroc, tested=tested)
    contents = contents_of(domain_of(2), rows=60)
    before, told = summarise(contents).look_at, summarise(replace(contents, learning=learning))
    new = [sentence for sentence in told.look_at if sentence not in before]
    assert len(new) == (said is not None)
    assert said is None or said in new[0]
    name = "AUROC" if auroc else "Balanced accuracy"
    assert any(sentence.startswith(f"{name}, which counts a rare answer") for sentence in told.sentences)
    assert "of the best classifier trained on synthetic rows" in render(
        SUBJECT, replace(contents, learning=learning)
    )


@pytest.mark.parametrize(
    ("variation", "by_chance", "told"), [(0.6, 0.05, True), (0.6, 0.25, False), (0.09, 0.01, False)]
)
def test_a_pair_stands_out_three_times_beyond_chance(variation: float, by_chance: float, told: bool):
    pair = FarthestPair(names=("stay", "ward"), variation=variation, by_chance=by_chance, mean=0.05)
    found = summarise(replace(contents_of(domain_of(4), rows=60), farthest_listed=pair)).look_at
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
    assert contents.columns[0].unlisted == 1.0
    assert contents.columns[0].variation == 1.0, "no synthetic row has a real value"
    assert contents.pair_errors[0, 0] == 1.0
    assert contents.pair_errors[0, 1] == 1.0
    assert contents.columns[0].pairs == 1.0
    assert contents.farthest is not None
    assert contents.farthest.variation == 1.0
    assert contents.farthest_listed is None, "of one column alone"
    told = summarise(contents)
    mean = (1.0 + contents.columns[1].variation) / 2
    assert f"Single columns are {percent(mean)} away from the real rows on average" in told.sentences[0]
    assert any("Nearest is “sex”" in sentence for sentence in told.sentences)
    assert "farthest “start” (100.0\u202f%, by chance" in told.sentences[1]
    assert told.look_at[0].startswith(
        "The release does not list all values of “start” (100.0\u202f% of the real rows)"
    )
    html = render(Subject(title="t", facts=()), contents)
    assert f"<b>{percent(mean)}</b><span>mean distance of single columns" in html
    assert html.count("· 100.0\u202f% of the real rows have an unlisted value") == 1


def test_the_farthest_column_is_the_one_whose_printed_distance_is_the_largest(monkeypatch):
    monkeypatch.setattr(owner_contents, "SYNTHETIC_ROWS", 4000)
    columns = columns_of(
        TableDomain.from_json(
            {
                "schema": "understudy.domain/1",
                "target": "sex",
                "privacy_unit": None,
                "columns": [
                    {"name": "score", "kind": "categorical", "categories": ["350", "360"], "other": "other"},
                    {"name": "days", "kind": "categorical", "categories": ["179", "180"]},
                    {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
                ],
            }
        )
    )

    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        # A quarter of the scores are not listed; days are always 179.
        score = np.where(rng.random(count) < 0.25, 2, rng.integers(0, 2, count))
        return np.stack([score, np.zeros(count, int), rng.integers(0, 2, count)], axis=1).astype(np.int16)

    real = draw(4000, np.random.default_rng(3))
    real[:2800, 1] = 1
    contents = measure(real, np.arange(4000), draw, columns, target="sex")
    score, days, _ = contents.columns
    assert days.variation == pytest.approx(0.7)
    assert score.unlisted == pytest.approx(0.25, abs=0.03)
    assert score.unlisted <= score.variation < score.unlisted + 0.03
    told = summarise(contents)
    assert "farthest “days” (70.0\u202f%" in told.sentences[1]
    # Pairs count what is not listed too, and the hint to declare a rule is about columns that are listed.
    assert contents.farthest is not None
    assert contents.farthest.names == ("score", "days")
    assert contents.farthest_listed is not None
    assert contents.farthest_listed.names == ("days", "sex")
    assert (contents.pair_errors >= contents.pair_errors.diagonal()[:, None] - 1e-12).all()
    assert "Look first at “days”:" in told.look_at[1]


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
    assert "No model was trained" in html
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
