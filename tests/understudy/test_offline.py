"""What the extra `offline` is for, in a process that sees no distribution but those that the extra installs."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import certified

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
absent, words = json.loads(sys.argv[1]), sys.argv[2:]

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
if words[0] == "predict":
    import understudy
    from pyarrow import csv
    rows = csv.read_csv("rows.csv")
    assert len(understudy.predictor("bundle.zip").predict(rows)) == rows.num_rows
    assert understudy.check_rules("bundle.zip") is not None
    assert understudy.generator("bundle.zip").sample(7, form="arrow").num_rows == 7
else:
    from understudy.cli import main
    sys.argv = ["understudy", *words]
    main()
"""


def absent() -> list[str]:
    """The packages of distributions that neither the extra brings nor what it brings needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"]["offline"]]
    seen: set[str] = set()
    while waiting:
        name = canonicalize_name(Requirement(waiting.pop()).name)
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = map(Requirement, requires(name) or [])
        except PackageNotFoundError:
            continue  # of another platform or version of Python
        waiting += [
            f"{one.name}{one.specifier}"
            for one in needed
            if one.marker is None or one.marker.evaluate({"extra": ""})
        ]
    return sorted(
        package
        for package, owners in packages_distributions().items()
        if not {"understudy", *seen} & {canonicalize_name(owner) for owner in owners}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bundle.zip").write_bytes(certified({"critic": False}).packed)
    (tmp_path / "images.zip").write_bytes(pack(image_stand_in.bundle(), readme="how to"))
    return tmp_path


def test_a_bundle_is_drawn_from_asked_and_predicts(folder: Path) -> None:
    packages = absent()
    assert {"torch", "pandas", "sqlalchemy", "cryptography"} <= set(packages)
    for words in (
        "sample --bundle bundle.zip --rows 50 --out rows.csv",
        "sample --bundle images.zip --rows 12 --out images.npz",
        "sample --bundle images.zip --rows 12 --out images.png",
        "ask bundle.zip ward",
        "check-rules bundle.zip",
        "domain draft rows.csv",
        "predict",
    ):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(packages), *words.split()],
            capture_output=True, text=True, check=False, cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
