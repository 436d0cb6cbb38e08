"""A file holds one idea and can be read in one sitting."""

import re
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("core", "service", "workers", "models", "understudy", "migrations", "benchmarks", "docs")
PRODUCT = ("core", "service", "workers", "models", "understudy")
HARD_LIMIT = 500
SHORT = 60
SHORT_FILES_WITH_ONE_IMPORTER = {
    "models.classifier.components": "a mechanism, with the argument for its sensitivity",
    "models.dp.noise_ahead": "a thread, apart from the mathematics of a step",
    "models.idpgan.synthesizer": "one of the synthesizers that the registry names",
    "models.selection.choice": "a mechanism, with the argument for its exactness",
    "models.weight_clusters": "one of the paper's three ideas, found by its name",
    "service.dashboard.pages": "the list of all pages, as service.app is the list of all routes",
    "service.dossier.promise": "words that a data protection officer reviews, and no code",
    "service.edge.head": "one middleware",
    "service.edge.termination": "signals of the process, apart from requests",
    "service.openapi": "the published document, apart from the application that serves it",
    "service.owner_reports.repository": "the SQL of a folder, where that of every folder is",
    "service.witness.errors": "the errors of a folder, where those of every folder are",
    "understudy.cli.members": "one group of commands, as the files beside it",
    "understudy.embedded.__main__": "a program that other commands start",
}


def _lengths(*folders: str) -> dict[str, int]:
    return {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py"
    }


def test_no_file_is_longer_than_the_hard_limit():
    lengths = _lengths(*SOURCES, "tests")
    assert len(lengths) > 50, "the folders are not where this test looks"
    too_long = {name: lines for name, lines in lengths.items() if lines > HARD_LIMIT}
    assert not too_long


def test_no_folder_is_a_grab_bag():
    names = {"utils", "util", "common", "helpers", "misc"}
    found = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.stem in names]
    assert not found


def test_a_short_file_that_one_other_imports_is_part_of_it_or_has_a_reason():
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    paths = {module: ROOT / (module.replace(".", "/") + ".py") for module in graph.modules}
    short = {
        module
        for module, path in paths.items()
        if len(graph.find_modules_that_directly_import(module)) == 1
        and path.is_file()
        and len(path.read_text().splitlines()) < SHORT
    }
    assert short == set(SHORT_FILES_WITH_ONE_IMPORTER)


MAPPED = (
    *(
        "core",
        "core.artifacts",
        "core.data.intake",
        "core.db",
        "core.dp",
        "core.jobs",
        "core.ledger",
        "core.plan",
    ),
    *("models", "models.critic", "models.idpgan", "understudy.verifying"),
    *("core.plan.images", "core.plan.private_models", "core.plan.selections"),
    *("core.plan.several_owners", "core.plan.utility_reports"),
    *("core.plan.domain", "core.plan.domain.cleaning", "core.plan.domain.columns", "core.plan.domain.rules"),
    *("understudy.drafts", "understudy.local", "understudy.local.ledger", "understudy.local.rows"),
    *("understudy.http", "understudy.local.sampling", "understudy.local.training", "understudy.publishing"),
    *("core.platform", "core.platform.access", "service.dashboard", "service.wording", "understudy.wording"),
    *(
        "workers",
        "core.data",
        "core.artifacts.asking",
        "core.artifacts.reports",
        "core.artifacts.sampling",
        "core.artifacts.private_models",
    ),
    *(
        "models.classifier",
        "models.devices",
        "models.dp",
        "models.graphical",
        "models.images",
        "service.edge",
    ),
    *("core.platform.notifications", "core.platform.witness"),
)


@pytest.mark.parametrize("folder", MAPPED)
def test_the_map_of_a_folder_names_each_part_after_those_that_it_imports(folder: str) -> None:
    text = (ROOT / folder.replace(".", "/") / "__init__.py").read_text()
    graph = grimp.build_graph(folder.partition(".")[0], cache_dir=None)
    places = {name: place for place, name in enumerate(re.findall(r"^\* `(\w+)`", text, re.MULTILINE))}
    assert places.keys() == {module.rpartition(".")[2] for module in graph.find_children(folder)}
    imported = {
        (name, other.removeprefix(f"{folder}.").partition(".")[0])
        for name in places
        for module in {f"{folder}.{name}", *graph.find_descendants(f"{folder}.{name}")}
        for other in graph.find_modules_directly_imported_by(module)
        if other.startswith(f"{folder}.")
    }
    assert not [(name, other) for name, other in imported if places[other] > places[name]]
