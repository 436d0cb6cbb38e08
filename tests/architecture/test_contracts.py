"""The import contracts of pyproject.toml hold, and see an import that breaks one."""

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        check=False, capture_output=True, text=True, cwd=folder,
    )  # fmt: skip


def test_every_contract_is_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


def require_no_circle(imports: dict[str, set[str]]) -> None:
    TopologicalSorter(imports).prepare()


def test_no_modules_import_each_other_in_a_circle():
    # The contract of siblings does not see a module that imports the package which holds it.
    graph = grimp.build_graph(
        "core", "service", "workers", "models", "understudy", "migrations", cache_dir=None
    )
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    require_no_circle(imports)
    imports["understudy.local.fitted"].add("understudy.local.synthesizer")
    with pytest.raises(CycleError, match="cycle"):
        require_no_circle(imports)


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        pytest.param(
            "models/tables/anchor.py",
            "import core.platform.secrets",
            "models never import the platform",
            marks=pytest.mark.long,
        ),
        ("core/ledger/admission.py", "import core.platform.settings", "what epsilon depends on"),
        pytest.param(
            "core/dp/guarantee.py", "import core.plan.spec", "Layers of core", marks=pytest.mark.long
        ),
        pytest.param(
            "service/app.py",
            "import core.data.private_rows",
            "only the training child",
            marks=pytest.mark.long,
        ),
    ],
)
def test_an_import_that_breaks_a_contract_is_seen(
    tmp_path: Path, module: str, line: str, contract: str
) -> None:
    for folder in ("core", "service", "workers", "models", "understudy", "migrations"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    # The one folder that differs is a copy.
    top = module.partition("/")[0]
    (tmp_path / top).unlink()
    for file in (ROOT / top).rglob("*.py"):
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    changed = tmp_path / module
    changed.write_text(f"{changed.read_text()}\n{line}\n")
    done = lint(tmp_path)
    assert done.returncode == 1
    (broken,) = [each for each in done.stdout.splitlines() if "BROKEN" in each and contract in each]
    assert broken
