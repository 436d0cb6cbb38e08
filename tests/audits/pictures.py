"""The plots of docs/audits.md, from committed results alone; the same bytes for the same results."""

import io
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, RED, GREY, GREEN = "#2b6cb0", "#c05621", "#4a5568", "#2f855a"
FEWEST_ALARMS = 5
"""Points that rest on fewer false alarms are left out."""
Result = Mapping[str, Any]


def svg(figure: Figure) -> str:
    """The figure without date and with fixed identifiers."""
    with mpl.rc_context({"svg.hashsalt": "understudy", "svg.fonttype": "path"}):
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    lines = [line.rstrip() for line in out.getvalue().decode().splitlines()]
    return "\n".join(lines) + "\n"


def white_box(result: Result) -> Figure:
    """Measured mu over claimed mu, of sound jobs and of twins, with bounds of 99.9 % confidence."""
    rows = [
        (name, entry, kind == "twins")
        for kind in ("sound", "twins")
        for name, entry in result.get(kind, {}).items()
        if "mu" in entry
    ]
    figure = Figure(figsize=(7.2, 0.42 * len(rows) + 1.1))
    axes = figure.subplots()
    for place, (_, entry, twin) in enumerate(reversed(rows)):
        claim = entry["claimed_mu"]
        low, middle, high = (entry[key] / claim for key in ("mu_lower", "mu", "mu_upper"))
        colour = RED if twin else BLUE
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot([middle], [place], "o", color=colour, markersize=5)
    axes.axvline(1.0, color=GREY, linewidth=1)
    axes.axvline(0.9, color=GREY, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(rows)), [("twin: " if twin else "") + name for name, _, twin in reversed(rows)])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xscale("log")
    ticks = (0.5, 0.75, 1.0, 1.5, 2, 3, 4, 6)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("measured mu over claimed mu (solid line: the claim, dotted: 90 % of it)")
    _plain(axes)
    return figure


def curves(result: Result) -> Figure:
    """Measured trade-off points beside the claim's curve, of a job without and of one with sampling."""
    names = [name for name in ("flat", "sampled") if name in result.get("sound", {})]
    figure = Figure(figsize=(7.2, 3.4))
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    for axes, name in zip(panels, names, strict=True):
        curve = np.array(result["sound"][name]["curve"])
        curve = curve[curve[:, 0] * result["sound"][name]["games"] >= FEWEST_ALARMS]
        axes.plot(curve[:, 0], curve[:, 2], color=GREY, linewidth=1.5, label="the most the claim allows")
        axes.plot(curve[:, 0], curve[:, 1], "o", color=BLUE, markersize=5, label="measured")
        axes.plot(
            guesses := np.geomspace(1e-3, 1.0, 50),
            guesses,
            color=GREY,
            linewidth=0.7,
            linestyle=":",
            label="guessing",
        )
        axes.set_xscale("log")
        axes.set_ylim(0.0, 1.03)
        axes.set_xlabel("share of the absent accused")
        axes.set_ylabel("share of the present found")
        axes.set_title(f"{name}, sampling rate {result['sound'][name]['sampling_rate']:g}", fontsize=10)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
        _plain(axes)
    figure.tight_layout()
    return figure


def one_run(result: Result) -> Figure:
    """Lower bound, claim and ceiling of every job."""
    jobs = result["jobs"]
    figure = Figure(figsize=(7.2, 0.5 * len(jobs) + 1.2))
    axes = figure.subplots()
    for place, entry in enumerate(reversed(jobs.values())):
        bound = entry["bounds"]["0.95"]
        axes.barh([place], [bound["epsilon_lower"]], color=RED if entry["twin"] else BLUE, height=0.5)
        axes.plot([entry["claimed_epsilon"]] * 2, [place - 0.38, place + 0.38], color=GREY, linewidth=2.5)
        axes.plot(
            [bound["ceiling"]] * 2, [place - 0.38, place + 0.38], color=GREEN, linestyle=":", linewidth=2
        )
    axes.set_yticks(range(len(jobs)), list(reversed(jobs)))
    axes.set_xlabel(
        "epsilon: bar measured from below (95 %), solid the claim, dotted the instrument's ceiling"
    )
    _plain(axes)
    return figure


def attacks(result: Result) -> Figure:
    """Area of the membership attack, and members' lead in attribute inference, by output."""
    outputs = result["outputs"]
    figure = Figure(figsize=(7.2, 0.42 * len(outputs) + 1.3))
    left, right = figure.subplots(1, 2, sharey=True)
    for place, entry in enumerate(reversed(outputs.values())):
        for axes, found in ((left, entry["area"]), (right, entry["inference"]["advantage"])):
            axes.plot([found["lower"], found["upper"]], [place, place], color=BLUE, linewidth=2)
            axes.plot([found["estimate"]], [place], "o", color=BLUE, markersize=5)
        if "area_allowed" in entry:
            left.plot([entry["area_allowed"]], [place], "|", color=GREY, markersize=16, markeredgewidth=2)
    left.set_yticks(range(len(outputs)), list(reversed(outputs)))
    left.set_ylim(-0.6, len(outputs) - 0.4)
    left.axvline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    right.axvline(0.0, color=GREY, linewidth=0.8, linestyle=":")
    left.set_xlabel("membership: area under the curve\n(grey: the most the claim allows)")
    right.set_xlabel("attribute: members' lead\nover non-members")
    for axes in (left, right):
        _plain(axes)
    figure.tight_layout()
    return figure


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)
