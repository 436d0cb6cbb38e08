"""The picture of docs/architecture.md says what the code is. That it is fresh, `test_pages.py` checks with the other generated files."""

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs.architecture_picture import (
    DECISIVE,
    HEADINGS,
    PRIVATE_STEP,
    ROOT,
    WAYS,
    architecture_plots,
    folder_of,
    lanes,
    linked,
    modules,
)

STATIONS = [
    (way, number, station) for way, stations in WAYS.items() for number, station in enumerate(stations)
]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("way", "number", "station"), STATIONS, ids=lambda value: getattr(value, "module", value)
)
def test_a_station_is_a_module_that_meets_the_one_before_it(way, number, station):
    chain = [*station.via, station.module]
    assert set(chain) <= modules().keys()
    if number:
        chain = [WAYS[way][number - 1].module, *chain]
    apart = [pair for pair in itertools.pairwise(chain) if not linked(*pair)]
    assert not apart, "neither imports or starts the other"


def test_modules_that_do_not_meet_are_separated():
    assert not linked("core.dp.gaussian", "service.datasets.upload")


def test_every_folder_of_code_is_one_lane():
    folders = {path.parent.relative_to(ROOT).parts for path in modules().values()}
    inner = {f"core.{parts[1]}" for parts in folders if parts[0] == "core" and parts[1:]}
    outer = {parts[0] for parts in folders} - {"core"}
    assert sorted(lanes()) == sorted(inner | outer | {PRIVATE_STEP})
    assert set(DECISIVE) <= set(lanes())
    assert {folder_of(module) for module in modules()} == {*lanes(), None}


@pytest.mark.parametrize("name", ["wide.svg", "narrow.svg"])
def test_a_picture_is_described_in_words_and_marks_every_station(name):
    root = ET.fromstring(architecture_plots()[name])
    labels = {label.get("id"): label.text for label in root if label.get("id")}
    assert set(root.get("aria-labelledby", "").split()) == labels.keys() == {"title", "desc"}
    assert all(station.module in labels["desc"] for _, _, station in STATIONS)
    texts = {text.text: float(text.get("y", "nan")) for text in root.findall(f"{SVG}text") if text.get("y")}
    assert set(HEADINGS.values()) <= texts.keys()
    stops = [mark for mark in root.findall(f"{SVG}rect") if (mark.get("class") or "").startswith("stop")]
    drawn = [float(mark.get("y", "nan")) + float(mark.get("height", "nan")) / 2 for mark in stops]
    expected = [texts[str(folder_of(station.module)).removeprefix("core.")] for _, _, station in STATIONS]
    assert drawn == pytest.approx(expected, abs=5), "a station stands on the lane of its folder"
    assert "prefers-color-scheme: dark" in architecture_plots()[name]


def test_the_page_shows_both_forms():
    page = Path(ROOT, "docs", "architecture.md").read_text()
    assert set(re.findall(r'"architecture/(\w+\.svg)"', page)) == architecture_plots().keys()
