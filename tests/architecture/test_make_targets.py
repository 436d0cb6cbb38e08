"""Targets of make run on a fresh clone, where the files that are made from others are not there yet."""

import re
from pathlib import Path

import grimp

MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text()
MADE = "understudy.client"
"""The package of the synchronous client, which `make docs` writes."""
_TARGET = re.compile(r"^([a-z-]+):((?: \S+)*?)(?: ##.*)?\n((?:\t.*\n)+)", re.MULTILINE)
_MODULE = re.compile(r"-m ((?:tests|benchmarks|docs)\.[\w.]+)")
_FILE = re.compile(r"(tests/\S+)\.py")


def test_targets_that_use_a_made_file_make_it_first():
    graph = grimp.build_graph(
        "core", "service", "workers", "models", "understudy", "tests", "benchmarks", "docs", cache_dir=None
    )
    made = [MADE, *graph.find_descendants(MADE)]
    using = {}
    for name, needs, recipe in _TARGET.findall(MAKEFILE):
        found = {*_MODULE.findall(recipe), *(file.replace("/", ".") for file in _FILE.findall(recipe))}
        modules = {
            f"{module}.__main__" if f"{module}.__main__" in graph.modules else module for module in found
        }
        if any(graph.find_shortest_chain(module, one) for module in modules for one in made):
            using[name] = needs.split()
    assert {"drill", "goldens", "accounting"} <= set(using), "the recipes are not where this test looks"
    assert [name for name, needs in using.items() if "docs" not in needs] == []
