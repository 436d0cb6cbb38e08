"""The plots of images beside docs/benchmarks.md, from committed results alone; the same bytes for the same results."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.images.intervals import Interval, interval
from benchmarks.images.published import ACCURACY

COLOURS = (
    "#2b6cb0",
    "#c05621",
    "#2f855a",
    "#dd9a1f",
    "#6b46c1",
    "#4a5568",
    "#b83280",
    "#975a16",
    "#0987a0",
    "#822727",
    "#3f6212",
    "#1a202c",
    "#7f9cf5",
    "#a0aec0",
)
MARKS = "osDp^vP*Xh8<>d"
REAL = "real images"
SETS = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "faces": "Faces"}
"""Those of the curves, in their order, as the plot names them."""
OURS = (
    "anchor only",
    "critic only",
    "anchor and critic",
    "critic only, standard",
    "critic only, long",
)
PUBLISHED = (("this project's bar", "bar", "_"), ("the paper's claim", "paper", "x"), ("best private GAN", "gan", "+"), ("best published", "best", "1"))  # fmt: skip
TICKS = (
    0.0,
    20.0,
    40.0,
    60.0,
    70.0,
    75.0,
    80.0,
    82.0,
    84.0,
    86.0,
    88.0,
    90.0,
    92.0,
    94.0,
    95.0,
    96.0,
    97.0,
    98.0,
    99.0,
    99.5,
)
DISTANCES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5)
LEAST_ERROR = 0.1
CLOSEST = 0.07
"""Least distance of two ticks, as a share of the axis."""
BESIDE = 1.03
"""Ratio of the places of two methods at one epsilon."""
_HASHED = re.compile(r"\b[a-z][0-9a-f]{10}\b")
_COORDINATE = re.compile(r'(?<!scale\()(?<!version=")-?\b\d+\.\d+\b')
Floats = npt.NDArray[np.float64]
Result = Mapping[str, Any]


def svg(figure: Figure) -> str:
    """The figure without date, numbers to three decimals and identifiers in their order of appearance.

    Matplotlib hashes an identifier from the last digits of floats, which differ between processors.
    """
    with mpl.rc_context({"svg.hashsalt": "understudy", "svg.fonttype": "path"}):
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    drawn = "\n".join(line.rstrip() for line in out.getvalue().decode().splitlines()) + "\n"
    names: dict[str, str] = {}
    named = _HASHED.sub(lambda found: names.setdefault(found[0], f"{found[0][0]}{len(names)}"), drawn)
    # Adding zero makes a rounded -0.0 positive.
    return _COORDINATE.sub(
        lambda found: f"{round(float(found[0]), 3) + 0.0:.3f}".rstrip("0").rstrip("."), named
    )


def curves(entries: Result) -> Figure:
    """Sliced Wasserstein distance, and accuracy of the paper's network, against processor seconds: a row of panels for every set.

    A method looks alike in all rows. One with a single point is drawn as a mark: it is ready then, and not before.
    """
    sets = [name for name in SETS if any(_set(key) == name for key in entries)]
    sets += sorted({_set(key) for key in entries} - set(SETS))
    methods = sorted({_method(key) for key in entries} - {REAL}, key=_place)
    figure = Figure(figsize=(8.2, 3.3 * len(sets)))
    rows = figure.subplots(len(sets), 2, squeeze=False)
    for name, panels in zip(sets, rows, strict=True):
        of_set = {_method(key): entry["points"] for key, entry in entries.items() if _set(key) == name}
        _curves_of_set(panels, of_set, methods)
        panels[0].set_title(SETS.get(name, name), fontsize=12, loc="left", fontweight="bold")
    for axes in rows[-1]:
        axes.set_xlabel("processor seconds of training", fontsize=11)
    drawn = {
        label: line
        for axes in rows[:, 0]
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    shown = [label for label in (*methods, REAL) if label in drawn]
    figure.legend(
        [drawn[label] for label in shown],
        shown,
        loc="lower center",
        ncols=3,
        frameon=False,
        fontsize=10,
        bbox_to_anchor=(0.5, 1.0),
    )
    figure.tight_layout(h_pad=1.5, w_pad=2.0)
    return figure


def _curves_of_set(panels: Sequence[Axes], found: Mapping[str, Any], methods: Sequence[str]) -> None:
    """The two panels of one set: points of its methods, real images as a line."""
    for axes, key in zip(panels, ("sliced_wasserstein", "accuracy_cnn"), strict=True):
        scale = 100 if key == "accuracy_cnn" else 1
        for method, points in found.items():
            values = [scale * point[key] for point in points]
            if method == REAL:
                axes.axhline(values[0], color="#718096", linewidth=1, linestyle=":", label=REAL)
                continue
            place, seconds = methods.index(method), [point["processor_seconds"] for point in points]
            axes.plot(
                seconds,
                values,
                color=COLOURS[place],
                marker=MARKS[place],
                markersize=4 if len(values) > 1 else 9,
                label=method,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(axis="y", color="#e2e8f0", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yscale("log")
    panels[0].minorticks_off()
    shortest, longest = panels[0].get_ylim()
    panels[0].set_yticks([tick for tick in DISTANCES if shortest <= tick <= longest])
    panels[0].yaxis.set_major_formatter("{x:g}")
    panels[0].set_ylabel("sliced Wasserstein-1, pixels", fontsize=11)
    panels[1].set_yscale("function", functions=(_of_error, _of_scale))
    _accuracy_ticks(panels[1], [100 * point["accuracy_cnn"] for points in found.values() for point in points])
    panels[1].set_ylabel("CNN's accuracy, real images, %", fontsize=11)


def _place(method: str) -> tuple[int, str]:
    """Ours first, in their order, so that their colours stay whatever stands beside them."""
    return (OURS.index(method) if method in OURS else len(OURS) + (method == REAL)), method


def _set(name: str) -> str:
    """The data set of a curve."""
    return name.partition(" ")[0]


def _method(name: str) -> str:
    """A curve's name without its data set and seed, which the caption has."""
    return name.partition(" ")[2].partition(" seed")[0].replace(" epsilon 4", "")


def accuracies(runs: Result, name: str) -> Figure:
    """Accuracy of the convolutional classifier against epsilon, beside the bars and the published figures.

    The scale is that of the logarithm of the error, so that methods far apart and methods near the top can both be told
    apart; methods at one epsilon stand side by side.
    """
    found: dict[str, dict[float, list[float]]] = {}
    for run in runs.values():
        if run["dataset"] == name and run["epsilon"] is not None:
            found.setdefault(run["method"], {}).setdefault(run["epsilon"], []).append(run["accuracy_cnn"])
    figure = Figure(figsize=(4.8, 4.2))
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("function", functions=(_of_error, _of_scale))
    methods = sorted(found, key=_place)
    for index, method in enumerate(methods):
        aside = BESIDE ** (index - (len(methods) - 1) / 2)
        spread = {epsilon: interval(values) for epsilon, values in sorted(found[method].items())}
        low, high = zip(*(_ends(one) for one in spread.values()), strict=True)
        axes.errorbar(
            [epsilon * aside for epsilon in spread],
            [100 * one.mean for one in spread.values()],
            yerr=(low, high),
            color=COLOURS[index % len(COLOURS)],
            marker=MARKS[index % len(MARKS)],
            markersize=5,
            linewidth=1.2,
            capsize=3,
            label=method,
        )
    drawn = [100 * interval(values).mean for by_epsilon in found.values() for values in by_epsilon.values()]
    for label, key, mark in PUBLISHED:
        points = [
            (epsilon, 100 * getattr(bars, key))
            for (dataset, epsilon), bars in ACCURACY.items()
            if dataset == name and getattr(bars, key) is not None
        ]
        if points:
            drawn += [accuracy for _, accuracy in points]
            axes.plot(*zip(*points, strict=True), mark, color="black", markersize=8, label=label)
    ceiling = [100 * run["accuracy_cnn"] for run in runs.values() if (run["dataset"], run["method"]) == (name, REAL)]  # fmt: skip
    if ceiling:
        axes.axhline(sum(ceiling) / len(ceiling), color="#718096", linewidth=1, linestyle=":", label=REAL)  # fmt: skip
    _accuracy_ticks(axes, drawn + ceiling)
    _finish(axes)
    figure.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=9)
    figure.tight_layout()
    return figure


def _accuracy_ticks(axes: Axes, shown: Sequence[float]) -> None:
    """An axis of accuracies, wide enough for what is shown; an interval may reach beyond."""
    lowest = max((tick for tick in TICKS if tick <= min(shown) - 0.3), default=TICKS[0])
    highest = min((tick for tick in TICKS if tick >= max(shown) + 0.3), default=TICKS[-1])
    bottom, top = _of_error(np.array([lowest, highest], dtype=np.float64))
    kept = [highest]
    for tick in reversed(TICKS):
        here, last = _of_error(np.array([tick, kept[-1]], dtype=np.float64))
        if lowest <= tick < highest and last - here >= CLOSEST * (top - bottom):
            kept.append(tick)
    axes.set_ylim(lowest, highest)
    axes.set_yticks(kept, [f"{tick:g}" for tick in kept])


def _finish(axes: Axes) -> None:
    """The axis of epsilons, labels and lines."""
    axes.set_xlim(0.8, 12.8)
    axes.set_xticks((1, 2, 4, 10), ["1", "2", "4", "10"])
    axes.minorticks_off()
    axes.tick_params(labelsize=10)
    axes.grid(axis="y", color="#e2e8f0", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("epsilon (delta 1e-5)", fontsize=11)
    axes.set_ylabel("CNN's accuracy on real images, %", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def _of_error(accuracy: Floats) -> Floats:
    """Minus the logarithm of the error in percent."""
    found: Floats = -np.log10(np.maximum(100.0 - accuracy, LEAST_ERROR))
    return found


def _of_scale(value: Floats) -> Floats:
    """The accuracy whose `_of_error` it is."""
    found: Floats = 100.0 - 10.0 ** (-value)
    return found


def _ends(one: Interval) -> tuple[float, float]:
    """How far the interval reaches below and above its mean, in percent, inside 0 to 100."""
    half = 100 * (one.half_width or 0.0)
    return min(half, 100 * one.mean), min(half, 100 - 100 * one.mean)


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
