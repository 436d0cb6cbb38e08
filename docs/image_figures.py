"""The tables of images of docs/benchmarks.md, written from benchmarks/results/images.json and published figures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.images.intervals import interval
from benchmarks.images.plots import plots
from benchmarks.images.published import ACCURACY, PAPER_FACES, PAPER_ROWS, Bars
from benchmarks.results_file import RESULTS
from docs.tables import machine, table

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "faces": "Faces, 32x32, gender as the class"}
_FIRST = ("real images", "anchor only", "critic only", "anchor and critic")
_INTRODUCTION = """\
`make bench-images`. Classifiers are trained on synthetic images with one public recipe and tested on the whole test file: the paper's
LeNet-type network, a perceptron, logistic regression. Inception score and the distance of features come from a classifier that
was trained on every other test image; features (Frechet) and pixels (sliced Wasserstein-1) are compared with the other half of the
test, up to 5,000 images a side, so "real images" shows the floor of both. "JS" is the paper's score, half of a symmetrised
divergence that has no bound; beside it a lower bound on the true Jensen-Shannon divergence (at most 0.693). Over
seeds: mean ± half of Student's 95 % interval; a figure without ± is one seed. Choices were made on a held-out part of the training
images. "DP-SGD on real images" publishes no images: it is one small convolutional network
trained privately on the real ones, what the same budget gives to somebody who wants a classifier only. Keys derive from seeds, so
nothing here is private. Seconds are of the training, with other work on the machine where the load says so.
"""
_CURVES = """\
Scores along the training, in development: trained without the held-out training images and scored on them. Seconds do not count
the scoring.
"""
_SCORES = (
    ("accuracy_cnn", "CNN", 2, True),
    ("accuracy_mlp", "MLP", 2, True),
    ("accuracy_logistic", "logistic", 2, True),
    ("inception_score", "inception", 2, False),
    ("frechet", "Frechet", 2, False),
    ("sliced_wasserstein", "sliced W1", 4, False),
    ("symmetrised_kl", "JS (paper's)", 2, False),
    ("jensen_shannon_bound", "JS bound", 3, False),
    ("seconds", "seconds", 0, False),
    ("load", "load", 1, False),
)
FILE = "images"
Run = Mapping[str, Any]


def images(result: Mapping[str, Any]) -> list[str]:
    """Every set of images with its measured rows, the bars and the paper's rows."""
    lines = [_INTRODUCTION]
    for name, title in TITLES.items():
        runs = [run for run in result.get("runs", {}).values() if run["dataset"] == name]
        if runs:
            lines += [f"### {title}\n", *_measured(runs), "", *_bars(name, runs), *_papers(name)]
            if any(run["epsilon"] is not None for run in runs):
                lines.append(f"![Accuracy against epsilon](benchmarks/{name}.svg)\n")
    if result.get("curves"):
        lines += [_CURVES, "![Scores against seconds of training](benchmarks/curves.svg)\n"]
    return [*lines, machine(result)]


def image_plots() -> dict[str, str]:
    """The plots that stand beside the page, by file name."""
    path = RESULTS / f"{FILE}.json"
    return plots(json.loads(path.read_text())) if path.exists() else {}


def _measured(runs: Iterable[Run]) -> list[str]:
    rows = []
    for (method, epsilon), group in grouped(runs).items():
        spent = "" if epsilon is None else f"{epsilon:g}"
        cells = [_over_seeds(group, key, digits, percent=percent) for key, _, digits, percent in _SCORES]
        rows.append([method, spent, str(len(group)), *cells])
    return table(["images from", "epsilon", "seeds", *(title for _, title, _, _ in _SCORES)], rows)


def _bars(name: str, runs: Iterable[Run]) -> list[str]:
    """Accuracy of the CNN beside the bars of its epsilon, with what is missing; of made images only."""
    rows = []
    made = [run for run in runs if "inception_score" in run]
    for (method, epsilon), group in grouped(made).items():
        bars = ACCURACY.get((name, epsilon)) if epsilon is not None else None
        if bars is not None:
            mean = interval([run["accuracy_cnn"] for run in group]).mean
            missing = "" if bars.bar is None else f"{100 * (mean - bars.bar):+.2f}"
            rows.append([method, f"{epsilon:g}", f"{100 * mean:.2f} %", *_percents(bars), missing])
    header = ["images from", "epsilon", "CNN", "bar", "hoped for", "the paper's claim", "best private GAN", "best of all", "over the bar, points"]  # fmt: skip
    return ["Beside the bars and the published figures:\n", *table(header, rows), ""] if rows else []


def _percents(bars: Bars) -> list[str]:
    return [
        "" if share is None else f"{100 * share:.1f} %"
        for share in (bars.bar, bars.hoped, bars.paper, bars.gan, bars.best)
    ]


def _papers(name: str) -> list[str]:
    if name in PAPER_ROWS:
        header = ["the paper's rows", "its epsilon", "CNN", "inception"]
        return ["What the paper prints (its epsilon is not a guarantee, [idpgan.md](idpgan.md)):\n", *table(header, PAPER_ROWS[name]), ""]  # fmt: skip
    if name == "faces":
        header = ["the paper's rows", "its epsilon", "JS (paper's)"]
        return ["What the paper prints for CelebA at 48x48, other faces than ours:\n", *table(header, PAPER_FACES), ""]  # fmt: skip
    return []


def grouped(runs: Iterable[Run]) -> dict[tuple[str, float | None], list[Run]]:
    """Runs by method and epsilon: the real images, ours, then baselines by name; epsilon rising."""
    groups: dict[tuple[str, float | None], list[Run]] = {}

    def place(run: Run) -> tuple[int, str, float, int]:
        first = _FIRST.index(run["method"]) if run["method"] in _FIRST else len(_FIRST)
        return first, run["method"], run["epsilon"] or 0.0, run["seed"]

    for run in sorted(runs, key=place):
        groups.setdefault((run["method"], run["epsilon"]), []).append(run)
    return groups


def _over_seeds(runs: Sequence[Run], key: str, digits: int, *, percent: bool) -> str:
    values = [float(run[key]) for run in runs if run.get(key) is not None]
    return interval(values).text(digits, percent=percent) if values else ""
