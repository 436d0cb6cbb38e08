"""Results of default orders before a change: their rows of the benchmark of tables, and the plans of image sets, at an earlier commit.

    python -m benchmarks.default_orders [REVISION]

Nothing is trained. Rows of tables are those that the revision's results hold; plans are made by the revision's own code. The page
`docs/default-orders.md` sets them beside today's.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.datasets import HERE
from benchmarks.results_file import RESULTS
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec

BEFORE: Final = "14d0b746^"
"""The commit before the first one for private models, several owners, and critics without an anchor."""
MEASURES: Final = (
    "one_way", "two_way", "three_way", "target_pairs", "auroc_trees", "auroc_logistic",
)  # fmt: skip
SIZES: Final = {"mnist": 60_000, "fashion_mnist": 60_000, "faces": 9_896}
"""Training images of each set, all of them private and declared."""
EPSILONS: Final = {"mnist": (1.0, 4.0, 10.0), "fashion_mnist": (1.0, 10.0), "faces": (10.0,)}
"""Epsilons at which default orders of a set were scored."""


def image_plans() -> dict[str, str]:
    """The digest of the plan of every scored default order of images, by this tree's code."""
    return {
        f"{name} epsilon {epsilon:g}": digest_of(image_plan(name, epsilon))
        for name, scored in EPSILONS.items()
        for epsilon in scored
    }


def digest_of(plan: Plan) -> str:
    """The digest of what a plan runs: all but its epsilons, whose last bits differ between processors."""
    document = {key: value for key, value in plan.to_json().items() if key != "epsilons"}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def image_plan(name: str, epsilon: float) -> Plan:
    """The plan of a default order of images, by this tree's code."""
    domain = ImageDomain.from_json(json.loads((HERE / "domains" / f"{name}.json").read_text()))
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-5),
        declared_size=SIZES[name],
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def image_rows(results: dict[str, Any]) -> dict[str, float]:
    """The accuracy of the scored default orders among results of images."""
    return {
        name: run["accuracy_cnn"]
        for name, run in results["runs"].items()
        if run["method"] == "anchor and critic" and run["epsilon"] in EPSILONS[run["dataset"]]
    }


def table_rows(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The scores of default orders among results of tables."""
    return {
        name: {measure: cell[measure] for measure in MEASURES if measure in cell}
        for name, cell in results["cells"].items()
        if cell["method"] == "understudy"
    }


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout


def _plans_at(commit: str) -> dict[str, str]:
    """The digests of plans by the code of another commit, which lacks this module."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            (tree / "benchmarks" / "default_orders.py").write_text(Path(__file__).read_text())
            script = "import json; from benchmarks.default_orders import image_plans; print(json.dumps(image_plans()))"
            environment = os.environ | {"PYTHONPATH": str(tree)}
            made = subprocess.run(
                [sys.executable, "-c", script],
                cwd=tree,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
        finally:
            _git("worktree", "remove", "--force", str(tree))
    plans: dict[str, str] = json.loads(made.stdout)
    return plans


def main() -> None:
    """Write the rows and digests of the revision."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", nargs="?", default=BEFORE)
    commit, date = _git(
        "log", "-1", "--format=%h %ad", "--abbrev=10", "--date=short", parser.parse_args().revision
    ).split()
    had = {
        "commit": commit,
        "date": date,
        "tables": table_rows(json.loads(_git("show", f"{commit}:benchmarks/results/tables.json"))),
        "images": image_rows(json.loads(_git("show", f"{commit}:benchmarks/results/images.json"))),
        "image_plans": _plans_at(commit),
    }
    (RESULTS / "default_orders.json").write_text(json.dumps(had, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
