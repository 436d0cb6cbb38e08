"""The picture of docs/architecture.md says what the code is. That it is fresh, `test_pages.py` checks with the other generated files."""

import itertools
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from docs.architecture_map import DECISIVE, ROOT, WAYS, folder_of, linked, modules, read_map
from docs.architecture_plot import NARROW, WIDE, architecture_plots
from docs.architecture_routes import arrange, spans

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


def test_modules_that_do_not_meet_are_told_apart():
    assert not linked("core.dp.gaussian", "service.datasets.upload")


def test_every_folder_of_code_is_one_box():
    drawn = [folder.name for layer in read_map(WIDE.columns, spans()).layers for folder in layer]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {
        folder for module in modules() if module != "core" and (folder := folder_of(module))
    } - {"core"}
    assert set(DECISIVE) <= set(drawn)


def test_layers_are_in_the_order_of_the_imports():
    drawn = read_map(WIDE.columns, spans())
    assert sum(drawn.imports.values()) > 50 * drawn.upward
    assert all(above < below for above, below in drawn.imports)


@pytest.mark.parametrize("grid", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_way_crosses_no_box(grid):
    plane, _ = arrange(grid, read_map(WIDE.columns, spans()))
    plane.settle()
    passed = 0
    for hop in (hop for hop in plane.hops if hop.runs):
        x = hop.runs[0].ends[1][0]
        first, last = sorted((plane.at[hop.start][0], plane.at[hop.end][0]))
        for box in plane.boxes.values():
            if first < box.row < last:
                passed += 1
                start = grid.start(box.column)
                assert x < start - 1 or x > start + grid.width(box.span) + 1, (hop, box)
    assert passed > 10, "the ways pass no row"


@pytest.mark.parametrize("name", ["wide.svg", "narrow.svg"])
def test_a_picture_is_told_in_words_and_marks_every_station(name):
    root = ET.fromstring(architecture_plots()[name])
    labels = {label.get("id"): label.text for label in root if label.get("id")}
    assert set(root.get("aria-labelledby", "").split()) == labels.keys() == {"title", "desc"}
    assert all(station.module in labels["desc"] for _, _, station in STATIONS)
    numbers = [text.text for text in root.findall(f"{SVG}text") if text.get("class") == "number"]
    assert sorted(numbers) == sorted(str(number + 1) for _, number, _ in STATIONS)
    assert "prefers-color-scheme: dark" in architecture_plots()[name]


def test_the_page_shows_both_forms():
    page = Path(ROOT, "docs", "architecture.md").read_text()
    assert set(re.findall(r'"architecture/(\w+\.svg)"', page)) == architecture_plots().keys()
