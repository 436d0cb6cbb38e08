"""A file holds one idea and can be read in one sitting."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("core", "service", "workers", "models", "understudy", "migrations", "benchmarks", "docs")
HARD_LIMIT = 500


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
