"""A figure on a page written by hand stands in a result file, is a constant of the code, or follows from what the registry names.

A figure is a number with a unit (a share, a ratio, a time, a size), a number in a column of a table headed by a unit, a Frechet
distance, or a number with three digits after its point (a score). One with digits after its point may match any number of the files
that the page names, to the last digit shown; a whole number would match by chance, so it is registered. Generated pages are compared
with their files elsewhere; code, and rows of a table that name the test of their claim, are left out.
"""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.images.intervals import interval
from benchmarks.results_file import RESULTS
from core.platform.settings import Settings
from tests.docs.figure_sources import COMPUTED, DERIVED, LIMITS, SOURCES

DOCS = Path(__file__).parents[2] / "docs"
GENERATED = {
    "audits.md",
    "benchmarks.md",
    "ablations.md",
    "kill-matrix.md",
    "long-proofs.md",
    "large-tables.md",
    "tables-beside-peers.md",
    "wide-tables.md",
    "federated.md",
    "private-models.md",
    "unit-records.md",
    "reuse.md",
    "default-orders.md",
    "relevance-weights.md",
}
PAGES = {
    str(path.relative_to(DOCS)): path for path in sorted(DOCS.rglob("*.md")) if path.name not in GENERATED
} | {"README.md": DOCS.parent / "README.md"}
UNITS = {
    "%": 0.01, "points": 0.01, "percentage points": 0.01, "times": 1, "ns": 1e-9, "microseconds": 1e-6, "ms": 1e-3, "milliseconds": 1e-3,
    "s": 1, "seconds": 1, "minutes": 60, "hours": 3600, "h": 3600, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "a second": 1,
    "of an ordinary": 1, "of it": 1, "of one": 1,
}  # fmt: skip
SINGULAR = {"second": "seconds", "minute": "minutes", "hour": "hours", "point": "points", "millisecond": "ms"}
UNIT = "|".join(sorted([*map(re.escape, UNITS), *SINGULAR], key=len, reverse=True))
WHOLE, POINT = r"\d+(?:,\d{3})*(?:\.\d+)?", r"\d+(?:,\d{3})*\.\d+"
LIST = rf"(?:{WHOLE},? to |{WHOLE} or |{WHOLE} / |{WHOLE}, (?=\d)|{WHOLE} ± ?|{POINT},? and |(?<=, ){WHOLE} and )*"
FIGURE = re.compile(
    rf"(?<![\w.,^+/-])({LIST}{WHOLE})[ -]?(?:(?:rows|requests|images|jobs) )?({UNIT})(?![\w/^])"
)
SCORE = re.compile(
    r"(?:(?<=AUROC )|(?<=AUROC of )|(?<=accuracy of ))\d\.\d+(?! ?%)|(?<![\w.,^+/-])\d\.\d{3,}(?![\w%]|\.\d| ?%)"
)
FRECHET = re.compile(r"Frechet distance (?:of )?([\d.]*\d)")
NO_SHARES = (
    "seconds",
    "bytes",
    "load",
    "load_average",
    "delta",
    "learning_rate",
    "largest_rounding",
)
HEADER = re.compile(r"\b(seconds|milliseconds|ms|MB|MiB|GB|points|times)\b|(%)")


def numbers(node: object, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result file, with the name of its member."""
    if isinstance(node, dict):
        for key, member in node.items():
            yield from numbers(member, str(key))
    elif isinstance(node, list):
        for entry in node:
            yield from numbers(entry, name)
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield name, float(node)


def images() -> Iterator[tuple[str, float]]:
    """Only scores: of every run, and their means and intervals over seeds."""
    groups: dict[tuple[object, ...], list[float]] = {}
    for run in json.loads((RESULTS / "images.json").read_text())["runs"].values():
        for name, value in run.items():
            if name.startswith(("accuracy", "told_apart")) and isinstance(value, float):
                yield name, value
                groups.setdefault((run["dataset"], run["method"], run["epsilon"], name), []).append(value)
    for values in groups.values():
        yield from (
            ("accuracy", float(text) / 100)
            for text in re.findall(r"[\d.]+", interval(values).text(2, percent=True))
        )


def measured(page: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for source in SOURCES.get(page, ()):
        found += (
            images() if source == "images" else numbers(json.loads((RESULTS / f"{source}.json").read_text()))
        )
    return found


def in_tables(text: str) -> Iterator[str]:
    """Numbers of the columns whose header names a unit, each with that unit."""
    for table in re.findall(r"^\|.*\n\|[-|: ]+\|\n(?:\|.*\n?)+", text, re.MULTILINE):
        header, _, *rows = (line.strip("| ").split(" | ") for line in table.splitlines())
        for column, title in enumerate(header):
            if unit := HEADER.search(title):
                for row in rows:
                    cell = row[column] if column < len(row) else ""
                    yield from (
                        f"{number} {unit[0]}" for number in re.findall(WHOLE, cell) if "%" not in cell
                    )


def figures(text: str) -> list[str]:
    """Each as its number and its unit."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    prose = re.sub(r"^\|.*tests/.*\n", "", prose, flags=re.MULTILINE)
    prose = re.sub(r"`[^`\n]*`|\]\([^)\n]*\)|^(?: {4}).*$", "", prose, flags=re.MULTILINE)
    found = [
        f"{number} {SINGULAR.get(match[2], match[2])}"
        for match in FIGURE.finditer(prose)
        for number in re.findall(WHOLE, match[1])
    ]
    found += [f"{number} score" for number in SCORE.findall(prose)]
    found += [f"{number} Frechet" for number in FRECHET.findall(prose)]
    return [*found, *in_tables(prose)]


def stands(figure: str, known: list[tuple[str, float]]) -> bool:
    number, _, unit = figure.partition(" ")
    if "." not in number:
        return False
    value, half = float(number.replace(",", "")), 0.5 * 10.0 ** -len(number.partition(".")[2]) + 1e-9
    if UNITS.get(unit) == UNITS["%"]:
        return any(abs(100 * entry - value) <= half for name, entry in known if not name.endswith(NO_SHARES))
    if unit in {"score", "times", "of an ordinary", "of it", "of one"}:
        return any(abs(entry - value) <= half for _, entry in known)
    kinds = {"milliseconds": 1e-3, "seconds": 1.0, "kilobytes": 1e3, "megabytes": 1e6, "bytes": 1.0}
    return any(
        abs(entry * size / UNITS.get(unit, 1) - value) <= half
        for name, entry in known
        for kind, size in kinds.items()
        if name.endswith(kind) and not name.endswith(f"milli{kind}")
    )


def limit(name: str) -> float:
    """The constant `module:NAME`, the default of a dataclass's field, or that of a setting."""
    module, _, path = name.partition(":")
    if module == "Settings":
        default = Settings.model_fields[path].default
        return float(default) * (UNITS["hours"] if path.endswith("_hours") else 1)
    owner, _, attribute = path.rpartition(".")
    found = import_module(module)
    if owner:
        return float(getattr(found, owner).__dataclass_fields__[attribute].default)
    found = getattr(found, attribute)
    return float(found.total_seconds() if hasattr(found, "total_seconds") else found)


def unsupported(page: str, text: str) -> list[str]:
    known = measured(page)
    registered = {*LIMITS.get(page, {}), *DERIVED.get(page, {})}
    if page in COMPUTED:
        registered |= COMPUTED[page]()
    return [figure for figure in figures(text) if figure not in registered and not stands(figure, known)]


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_has_a_source(page: str) -> None:
    assert not unsupported(page, PAGES[page].read_text()), (
        "name the result file in SOURCES or COMPUTED, the constant in LIMITS, or leave the figure out"
    )


@pytest.mark.parametrize("page", sorted({*LIMITS, *DERIVED}))
def test_the_registry_names_what_stands_on_the_page(page: str) -> None:
    on_page = set(figures(PAGES[page].read_text()))
    assert not [figure for figure in (*LIMITS.get(page, {}), *DERIVED.get(page, {})) if figure not in on_page]


@pytest.mark.parametrize("page", LIMITS)
def test_a_limit_has_the_value_that_the_code_has(page: str) -> None:
    for figure, name in LIMITS[page].items():
        number, _, unit = figure.partition(" ")
        assert float(number.replace(",", "")) * UNITS[unit] == pytest.approx(limit(name)), (figure, name)


@pytest.mark.parametrize("unit", ["%", "times", "s", "minutes", "MB", "GiB", "rows a second"])
def test_a_figure_without_a_source_is_found(unit: str) -> None:
    shown = unit.removeprefix("rows ")
    assert unsupported("gpu.md", f"it takes 123.45 {unit}") == [f"123.45 {shown}"]
    assert unsupported("start.md", f"it takes 13 to 31 {unit}") == [f"13 {shown}", f"31 {shown}"]


def test_scores_and_columns_without_a_source_are_found() -> None:
    assert unsupported("idpgan.md", "an AUROC of 0.1234") == ["0.1234 score"]
    assert unsupported("gpu.md", "(Frechet distance 139)") == ["139 Frechet"]
    assert unsupported("start.md", "| step | seconds, quiet |\n|---|---|\n| demo | 123 |\n") == [
        "123 seconds"
    ]


def test_numbers_of_a_list_have_its_unit() -> None:
    assert figures("78.3, 67.8 and 57.7 %, 96.76 ± 0.18 %, up to epsilon 1 and 90 %, 1.5 s; `2 s`") == [
        "78.3 %",
        "67.8 %",
        "57.7 %",
        "96.76 %",
        "0.18 %",
        "90 %",
        "1.5 s",
    ]


def test_the_gpu_page_states_the_whole_range_of_each_ratio() -> None:
    shapes = json.loads((RESULTS / "gpu_step.json").read_text())["shapes"]
    page = " ".join((DOCS / "gpu.md").read_text().split())

    def ends(kind: str, ratio: str) -> tuple[float, float]:
        values = [shape[ratio] for shape in shapes if shape["critic"].startswith(kind)]
        return min(values), max(values)

    for kind, ratio, words in (
        ("of images", "private_over_ordinary", "{:.2f} to {:.2f} of an ordinary one's time"),
        ("of images", "private_over_played", "{:.2f} to {:.2f} of one that is captured"),
        ("linear", "private_over_ordinary", "of tables {:.2f} to {:.2f}, and"),
        ("linear", "private_over_played", "{:.1f} to {:.0f} times a captured one"),
        ("labels", "private_over_ordinary", "labels {:.1f} to {:.1f} times a classifier"),
    ):
        assert words.format(*ends(kind, ratio)) in page, (kind, ratio)
