"""What a process imports before it collects: another part than the others, and nothing where few tests are asked for."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.shared_rewriting import import_own_part, part

TESTPATHS = ["tests"]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 573])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_the_parts_are_all_modules_once_and_alike_in_size(count: int, parts: int) -> None:
    made = [part(range(count), number=number, parts=parts) for number in range(parts)]
    assert [item for each in made for item in each] == list(range(count))
    sizes = [len(each) for each in made]
    assert max(sizes) - min(sizes) <= 1


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four test modules, of which the second fails and the fourth skips; this process is the first of two."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    contents = (
        "",
        "raise RuntimeError",
        "",
        "import pytest\npytest.skip('not here', allow_module_level=True)",
    )
    for number, content in enumerate(contents):
        (folder / f"test_of_part_{number}.py").write_text(content)
    monkeypatch.setattr("tests.__path__", [str(folder)])
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    return tmp_path


def imported(folder: Path, *arguments: str) -> list[int]:
    """The numbers of the modules that are imported."""
    config = SimpleNamespace(
        rootpath=folder,
        getini=lambda _: TESTPATHS,
        args=arguments,
        invocation_params=SimpleNamespace(dir=folder),
    )
    try:
        import_own_part(config)  # type: ignore[arg-type]
        return [number for number in range(4) if f"tests.test_of_part_{number}" in sys.modules]
    finally:
        for number in range(4):
            sys.modules.pop(f"tests.test_of_part_{number}", None)


def test_a_process_imports_its_part_and_leaves_what_fails_to_the_collection(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported(modules, "tests") == [0]
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw1")
    assert imported(modules, "tests") == [2]


def test_nothing_is_imported_for_some_tests_or_by_a_single_process(
    modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imported(modules, "tests/test_of_part_0.py") == []
    monkeypatch.delenv("PYTEST_XDIST_WORKER")
    assert imported(modules, "tests") == []
