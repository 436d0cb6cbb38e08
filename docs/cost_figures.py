"""What privacy costs a step, for docs/benchmarks.md: tables and one plot, from benchmarks/results/cost.json."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MultipleLocator

from benchmarks.images.plots import COLOURS, svg
from benchmarks.results_file import RESULTS
from docs.tables import machine, table

FILE = "cost"
NETWORKS = {"linear": "linear layers", "convolution": "convolutions"}
MARKS = {"linear": "o", "convolution": "s"}
_INTRODUCTION = """\
`make bench-cost`: one complete private step over one ordinary step of the same critic by plain autograd (the faster of two layouts of
memory for convolutions), in rounds that take all contenders in turn. Ratios are of processor seconds of all threads: the median over the
rounds, with quartiles. *Linear layers*: 588 one-hot cells, two hidden layers; *convolutions*: 28x28, two convolutions, ten classes.
While one thing changes, the others stay at width 256 and batch 512, or 16 channels and batch 256, with one clipping group; batches
are as large as expected. A peak is by how much a fresh process grew while the step was built and made three times: the private step worked in chunks of one size, so its memory
hardly grows with the batch. Linear layers were measured with chunks of 128 records; chunks of tables have since grown to the expected
batch, which costs memory and makes narrow critics faster (the private critic step, above). Work that does not depend on the batch (noise,
grid, Adam) is what small batches and small critics pay.
"""
Entry = Mapping[str, Any]


def cost(result: Mapping[str, Any]) -> list[str]:
    """The section: introduction, plot, a table for every axis that was measured."""
    lines = [_INTRODUCTION, "![Cost of a private step](benchmarks/cost.svg)\n"]
    if result.get("batch"):
        lines += ["Against the expected batch:\n", *_simple(result["batch"], "batch", "batch"), ""]
    if result.get("parameters"):
        entries = result["parameters"]
        lines += ["Against the number of parameters:\n", *_simple(entries, "width", "width or channels"), ""]
    if result.get("groups"):
        lines += _groups(result["groups"], int(result["refresh_every"]))
    return [*lines, machine(result)]


def cost_plots() -> dict[str, str]:
    """The plot that stands beside the page, by file name."""
    path = RESULTS / f"{FILE}.json"
    return {"cost.svg": svg(figure(json.loads(path.read_text())))} if path.exists() else {}


def figure(result: Mapping[str, Any]) -> Figure:
    """Three panels, one above the other, so that they can be read on a narrow screen."""
    made = Figure(figsize=(4.6, 9.0))
    batch, parameters, groups = made.subplots(3, 1)
    for index, (network, title) in enumerate(NETWORKS.items()):
        for axes, axis, key in ((batch, "batch", "batch"), (parameters, "parameters", "parameters")):
            entries = _of(result.get(axis, ()), network)
            _line(axes, entries, key, "private", colour=COLOURS[index], mark=MARKS[network], label=title)
        entries = [entry for entry in _of(result.get("groups", ()), network) if entry["grouping"] != "layers"]
        for name, label, line in (
            ("private", "thresholds given", "-"),
            ("acts+wc, refresh", "refresh with clusters", ":"),
        ):
            _line(groups, entries, "groups", name, colour=COLOURS[index], mark=MARKS[network], label=f"{title}, {label}", line=line)  # fmt: skip
    for axes, text in (
        (batch, "expected batch"),
        (parameters, "parameters of the critic"),
        (groups, "clipping groups"),
    ):
        axes.axhline(1.0, color="#4a5568", linewidth=1, linestyle="--")
        axes.set_xscale("log", base=10 if axes is parameters else 2)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(text, fontsize=11)
        axes.set_ylabel("private / ordinary", fontsize=11)
        axes.tick_params(labelsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9, loc="lower right")
        axes.yaxis.set_major_formatter("{x:.1f}")
        axes.yaxis.set_major_locator(MultipleLocator(0.5))
        axes.xaxis.set_major_formatter(EngFormatter(sep=" ") if axes is parameters else "{x:.0f}")
    made.tight_layout(h_pad=1.6)
    return made


def _line(axes: Axes, entries: Sequence[Entry], key: str, name: str, *, colour: str, mark: str, label: str, line: str = "-") -> None:  # fmt: skip
    entries = sorted((entry for entry in entries if name in entry), key=lambda entry: int(entry[key]))
    if not entries:
        return
    across = [entry[key] for entry in entries]
    low, middle, high = ([entry[name][part] for entry in entries] for part in ("lower_quartile", "over_ordinary", "upper_quartile"))  # fmt: skip
    axes.plot(
        across,
        middle,
        line,
        marker=mark,
        markersize=5,
        color=colour,
        label=label,
        markerfacecolor="white" if line == ":" else colour,
    )
    axes.fill_between(across, low, high, color=colour, alpha=0.15, linewidth=0)


def _of(entries: Iterable[Entry], network: str) -> list[Entry]:
    return [entry for entry in entries if entry["network"] == network]


def _simple(entries: Iterable[Entry], key: str, title: str) -> list[str]:
    rows = [
        [NETWORKS[entry["network"]], str(entry[key]), f"{entry['parameters']:,}", _ratio(entry["private"]),
         f"{entry['private']['wall_over_ordinary']:.2f}", f"{entry['private']['milliseconds']:.1f}", f"{entry['ordinary_milliseconds']:.1f}",
         *(f"{entry[f'{name}_megabytes']:.0f}" for name in ("private", "ordinary")), str(entry["rounds"]), str(entry["load_average"])]
        for entry in entries
    ]  # fmt: skip
    header = ["critic", title, "parameters", "private / ordinary", "wall", "private ms", "ordinary ms", "private peak MB", "ordinary peak MB", "rounds", "load"]  # fmt: skip
    return table(header, rows)


def _groups(entries: Sequence[Entry], every: int) -> list[str]:
    rows = []
    for entry in entries:
        grouping = f"rows, {entry['row_blocks']}" if entry["grouping"] == "rows" else entry["grouping"]
        row = [NETWORKS[entry["network"]], grouping, str(entry["groups"]), _ratio(entry["private"])]
        for name in ("acts", "acts+wc"):
            row += [_averaged(entry, name, every), _ratio(entry.get(f"{name}, refresh"))]
        left = entry["groups_in_use"].get("acts+wc")
        rows.append(
            [*row, "" if left is None else str(left), str(entry["rounds"]), str(entry["load_average"])]
        )
    header = ["critic", "groups by", "groups", "thresholds given", "ACTS", "its refresh step", "ACTS and clusters", "its refresh step", "groups left", "rounds", "load"]  # fmt: skip
    text = f"Against the number of clipping groups; with ACTS the mean over a refresh and the {every - 1} steps after it, and the refresh step alone:\n"
    return [text, *table(header, rows), "", _conclusion(entries), ""]


def _conclusion(entries: Sequence[Entry]) -> str:
    """What the rows say, in one sentence."""
    parts = []
    for network, title in NETWORKS.items():
        here = sorted(_of(entries, network), key=lambda entry: int(entry["groups"]))
        if here:
            one, most = here[0], here[-1]
            times = most["private"]["over_ordinary"] / one["private"]["over_ordinary"]
            parts.append(
                f"{title}: {most['groups']} groups cost {times:.2f} times what {one['groups']} costs"
            )
    refreshes = [
        entry[f"{name}, refresh"]["over_ordinary"] / entry[name]["over_ordinary"]
        for entry in entries
        for name in ("acts", "acts+wc")
        if name in entry
    ]
    if refreshes:
        parts.append(f"a refresh step costs at most {max(refreshes):.2f} times the step without")
    return "; ".join(parts).capitalize() + "."


def _averaged(entry: Entry, name: str, every: int) -> str:
    if name not in entry:
        return ""
    plain, refresh = (entry[key]["over_ordinary"] for key in (name, f"{name}, refresh"))
    return f"{(refresh + (every - 1) * plain) / every:.2f}"


def _ratio(measured: Mapping[str, float] | None) -> str:
    if measured is None:
        return ""
    low, high = measured["lower_quartile"], measured["upper_quartile"]
    return f"{measured['over_ordinary']:.2f} ({low:.2f} to {high:.2f})"
