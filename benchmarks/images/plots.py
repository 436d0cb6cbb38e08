"""The plots of images beside docs/benchmarks.md, from committed results alone; the same bytes for the same results."""

import io
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.images.intervals import interval
from benchmarks.images.published import ACCURACY

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#4a5568", "#b83280", "#975a16")
MARKS = "osD^vP*"
Result = Mapping[str, Any]


def svg(figure: Figure) -> str:
    """The figure without date and with fixed identifiers."""
    with mpl.rc_context({"svg.hashsalt": "understudy", "svg.fonttype": "path"}):
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    return "\n".join(line.rstrip() for line in out.getvalue().decode().splitlines()) + "\n"


def curves(entries: Result) -> Figure:
    """Sliced Wasserstein distance, and accuracy of the perceptron, against seconds of training."""
    figure = Figure(figsize=(7.6, 3.2))
    left, right = figure.subplots(1, 2)
    for index, (name, entry) in enumerate(entries.items()):
        seconds = [point["seconds"] for point in entry["points"]]
        for axes, key in ((left, "sliced_wasserstein"), (right, "accuracy_mlp")):
            if all(key in point for point in entry["points"]):
                values = [point[key] for point in entry["points"]]
                axes.plot(
                    seconds, values, marker="o", markersize=3, color=COLOURS[index % len(COLOURS)], label=name
                )
    left.set_yscale("log")
    left.set_ylabel("sliced Wasserstein-1, pixels")
    right.set_ylabel("accuracy on real images, perceptron")
    for axes in (left, right):
        axes.set_xlabel("seconds of training")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    left.legend(frameon=False, fontsize=7)
    figure.tight_layout()
    return figure


def accuracies(runs: Result, name: str) -> Figure:
    """Accuracy of the convolutional classifier against epsilon, beside the published figures."""
    found: dict[str, dict[float, list[float]]] = {}
    for run in runs.values():
        if run["dataset"] == name and run["epsilon"] is not None:
            found.setdefault(run["method"], {}).setdefault(run["epsilon"], []).append(run["accuracy_cnn"])
    figure = Figure(figsize=(6.4, 3.6))
    axes = figure.subplots()
    for index, (method, by_epsilon) in enumerate(sorted(found.items())):
        spread = [interval(by_epsilon[epsilon]) for epsilon in sorted(by_epsilon)]
        axes.errorbar(
            sorted(by_epsilon),
            [100 * one.mean for one in spread],
            yerr=[100 * (one.half_width or 0.0) for one in spread],
            color=COLOURS[index % len(COLOURS)],
            marker=MARKS[index % len(MARKS)],
            markersize=5,
            capsize=3,
            label=method,
        )
    for label, key, mark in (("the paper's claim", "paper", "x"), ("best private GAN", "gan", "+"), ("best published", "best", "1")):  # fmt: skip
        points = [
            (epsilon, 100 * getattr(bars, key))
            for (dataset, epsilon), bars in ACCURACY.items()
            if dataset == name and getattr(bars, key) is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), mark, color="black", markersize=8, label=label)
    axes.set_xscale("log")
    axes.set_xticks((1, 2, 4, 8, 10), ["1", "2", "4", "8", "10"])
    axes.minorticks_off()
    axes.set_xlabel("epsilon (delta 1e-5)")
    axes.set_ylabel("accuracy on real images, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def plots(result: Result) -> dict[str, str]:
    """File names and contents, for what a file of results holds."""
    made = {}
    if result.get("curves"):
        made["curves.svg"] = svg(curves(result["curves"]))
    for name in sorted(
        {run["dataset"] for run in result.get("runs", {}).values() if run["epsilon"] is not None}
    ):
        made[f"{name}.svg"] = svg(accuracies(result["runs"], name))
    return made
