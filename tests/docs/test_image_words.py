"""Pages that repeat scores of images say what was measured, to the last digit that they show."""

import json
import re
from pathlib import Path

from benchmarks.images.intervals import interval
from benchmarks.results_file import RESULTS

DOCS = Path(__file__).parents[2] / "docs"
SETS = {"MNIST": "mnist", "Fashion-MNIST": "fashion_mnist", "faces": "faces"}
METHODS = (
    "anchor only",
    "critic only",
    "critic only, standard",
    "critic only, long",
    "anchor and critic",
    "DP-SGD on real images",
)
RUNS = json.loads((RESULTS / "images.json").read_text())["runs"].values()


def score(title: str, method: str, epsilon: float | None, *, digits: int, absent: str) -> str:
    found = [
        run["accuracy_cnn"]
        for run in RUNS
        if (run["dataset"], run["method"], run["epsilon"]) == (SETS[title], method, epsilon)
    ]
    return interval(found).text(digits, percent=True) if found else absent


def test_the_table_of_what_each_part_earns_is_what_was_measured() -> None:
    page = (DOCS / "idpgan.md").read_text()
    rows = re.findall(r"^\| (MNIST|Fashion-MNIST|faces), epsilon (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 6
    for title, epsilon, cells in rows:
        made = [score(title, method, float(epsilon), digits=2, absent="not run") for method in METHODS]
        assert cells.split(" | ") == [*made, score(title, "real images", None, digits=2, absent="not run")]


def test_the_advice_on_epsilon_repeats_what_was_measured() -> None:
    page = (DOCS / "choosing-epsilon.md").read_text()
    rows = re.findall(r"^\| (MNIST|Fashion-MNIST), 60,000 images[^|]* \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 2
    for title, cells in rows:
        made = [
            score(title, "anchor and critic", epsilon, digits=1, absent="not measured")
            for epsilon in (1, 4, 10)
        ]
        assert cells.split(" | ") == [*made, score(title, "real images", None, digits=1, absent="")]


def test_the_table_of_baselines_is_what_was_measured() -> None:
    page = (DOCS / "mechanisms" / "baselines.md").read_text()
    rows = re.findall(r"^\| ([^|]+), ours \| (.*) \| [^|]*\|$", page, re.MULTILINE)
    names = ("mean embedding", "DPACGAN", "GANobfuscator, 200 images declared public", "DPGAN")
    rows += [
        row for name in names for row in re.findall(rf"^\| ({name}) \| (.*) \| [^|]*\|$", page, re.MULTILINE)
    ]
    assert len(rows) == 1 + len(names)
    for method, cells in rows:
        made = [score("MNIST", method, epsilon, digits=1, absent="not run") for epsilon in (4, 10)]
        assert cells.split(" | ") == made
    assert f"reaches {score('MNIST', 'WGAN-GP without privacy', None, digits=1, absent='')} with" in page
    ceiling = score("MNIST", "critic only, without privacy", None, digits=1, absent="")
    assert f"the rule's networks reach {ceiling} (one seed) after 24,000 moves" in page


def test_what_is_said_of_curves_is_what_their_ends_show():
    curves = json.loads((RESULTS / "images.json").read_text())["curves"]

    def end(name, method):
        return curves[f"{name} {method} epsilon 4 seed 0"]["points"][-1]

    for name in ("mnist", "fashion_mnist", "faces"):
        anchor, both = end(name, "anchor only"), end(name, "anchor and critic")
        assert both["sliced_wasserstein"] >= anchor["sliced_wasserstein"]
        assert both["accuracy_cnn"] <= anchor["accuracy_cnn"]
        assert anchor["processor_seconds"] < 1.0
    anchor, embedding = end("mnist", "anchor only"), end("mnist", "mean embedding")
    assert embedding["sliced_wasserstein"] < anchor["sliced_wasserstein"]
    assert embedding["accuracy_cnn"] < anchor["accuracy_cnn"]
