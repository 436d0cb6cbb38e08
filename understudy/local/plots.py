"""Plots of a generator's draws, alone or beside the owner's real rows.

A plot of draws is post-processing and free. A plot with real rows shows them without noise: like an owner report it is for the owner
alone, and is marked as such. Shares are those of the declared bins and words (`core.plan.domain.codec`).
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from core.artifacts.bundle import unpack
from core.artifacts.reports.association import associations
from core.artifacts.reports.columns import ReportColumn, columns_of
from core.artifacts.reports.errors import ReportForTablesOnly
from core.artifacts.reports.owner_contents import SEED, SYNTHETIC_ROWS
from core.artifacts.reports.owner_page import MAPPED, MARK
from core.artifacts.reports.page import SHOWN_VALUES
from core.artifacts.reports.shares import Matrix, joint_counts, shares
from core.artifacts.sampling.sampler import Sampler
from core.plan.domain.codec import Codes
from core.plan.domain.declared import domain_from_json
from core.plan.domain.images import ImageDomain
from understudy.drafts.differences import DIFFERENCE
from understudy.errors import InputUnusable
from understudy.local.ledger.accounts import answered
from understudy.local.reporting import owner_rows
from understudy.near_names import suggestion

MOST_PANELS: Final = 24
"""Default number of columns in a plot of marginals."""
_MOST_BINS: Final = 40
_MOST_SHARES: Final = 4
"""Number of steps on the axis of horizontal bars: labels of more steps would overlap."""
_MOST_NUMBERS: Final = 12
"""Maximum columns of an association map with numbers in its cells."""
_LONGEST_WORD: Final = 22
_ACROSS: Final = 3
_SYNTHETIC, _REAL, _WARNING = "#c2560c", "#2f6db3", "#c53030"  # as in owner reports
_COLOURS: Final = {"synthetic": _SYNTHETIC, "real": _REAL}
_GAP, _SPECIAL = 0.06, 0.045
"""Gap between a scale and its special values, and the width of a special value, as parts of the scale."""
_TIMES: Final = ("date", "time")
_EQUAL: Final = 0.5
"""Bins count as equally wide if their widths differ by less than this part of the mean, such as by rounding to whole numbers."""


class Plot(Figure):
    """A figure of matplotlib that a notebook displays; `savefig` writes it."""

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=110)
        return written.getvalue()


@dataclass(frozen=True, kw_only=True, eq=False)
class Plots:
    """Rows to plot, with one method for each plot.

    `tables` are (rows, columns) codes by name: "synthetic", and "real" if the owner gave rows.
    """

    columns: tuple[ReportColumn, ...]
    tables: dict[str, Codes] = field(repr=False)

    def position(self, name: str) -> int:
        """Return a column's position.

        Raises:
            InputUnusable: there is no such modelled column.
        """
        names = [column.name for column in self.columns]
        if name not in names and f"{name}.{DIFFERENCE}" in names:
            name = f"{name}.{DIFFERENCE}"  # the column is modelled as its distance from another one
        if name not in names:
            message = f"there is no modelled column {name!r}{suggestion(name, names)}"
            raise InputUnusable(message)
        return names.index(name)

    def marginals(self, names: Sequence[str] | None) -> Plot:
        """Plot the share of each bin or word, with one panel per column; without names of the first `MOST_PANELS`.

        Raises:
            InputUnusable: there is no such modelled column.
        """
        chosen = [*range(len(self.columns))][:MOST_PANELS] if names is None else [*map(self.position, names)]
        if not chosen:
            raise InputUnusable("name at least one column")
        across = min(_ACROSS, len(chosen))
        down = -(-len(chosen) // across)
        figure = _figure(self, 3.6 * across, 2.7 * down)
        panels = [*figure.subplots(down, across, squeeze=False).flat]
        for axes, position in zip(panels, chosen, strict=False):
            _draw_marginal(axes, self, position)
        for axes in panels[len(chosen) :]:
            axes.axis("off")
        if len(self.tables) > 1:
            figure.axes[0].legend(fontsize=7, frameon=False)
        self._say_first(figure, len(chosen), named=names is not None)
        return figure

    def pair(self, first: str, second: str) -> Plot:
        """Plot the joint shares of two columns as a heat map, the first on the horizontal axis.

        Raises:
            InputUnusable: there is no such modelled column.
        """
        positions = [self.position(name) for name in (first, second)]
        across, up = (_groups(self, position) for position in positions)
        maps = {
            name: joint_counts(
                np.stack([across.group[codes[:, positions[0]]], up.group[codes[:, positions[1]]]], axis=1),
                0,
                1,
                (len(across.labels), len(up.labels)),
            ).T
            / max(1, len(codes))
            for name, codes in self.tables.items()
        }
        figure, panels = _maps(self, maps, 4.6, 3.9, largest=max(found.max() for found in maps.values()))
        for axes in panels:
            axes.set_xlabel(first)
            axes.set_ylabel(second)
            if up.upright:
                axes.invert_yaxis()
            axes.set_xticks(across.ticks, [across.labels[at] for at in across.ticks], rotation=45, ha="right")
            axes.set_yticks(up.ticks, [up.labels[at] for at in up.ticks])
        return figure

    def associations(self, names: Sequence[str] | None = None) -> Plot:
        """Plot the association of every two columns: Cramér's V, from 0 (independent) to 1 (one determines the other).

        Without names of the first `MAPPED` columns.

        Raises:
            InputUnusable: there is no such modelled column, or fewer than two or more than `MAPPED` are named.
        """
        chosen = [*range(len(self.columns))][:MAPPED] if names is None else [*map(self.position, names)]
        if names is not None and not 1 < len(set(chosen)) == len(chosen) <= MAPPED:
            raise InputUnusable(f"name 2 to {MAPPED} columns, each once")
        columns = [self.columns[position] for position in chosen]
        cells = tuple(column.codes for column in columns)
        maps = {name: associations(codes[:, chosen], cells) for name, codes in self.tables.items()}
        side = max(3.4, 0.38 * len(columns) + 1.6)
        figure, panels = _maps(self, maps, side + 0.6, side, largest=1.0)
        labels = [_short(column.name) for column in columns]
        for axes, found in zip(panels, maps.values(), strict=True):
            axes.set_xticks(range(len(labels)), labels, rotation=45, ha="right")
            axes.set_yticks(range(len(labels)), labels)
            if len(labels) <= _MOST_NUMBERS:
                for (row, column), value in np.ndenumerate(found):
                    colour = "white" if value > 0.6 else "black"  # noqa: PLR2004 - dark cells
                    axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color=colour)
        self._say_first(figure, len(columns), named=names is not None)
        return figure

    def _say_first(self, figure: Plot, shown: int, *, named: bool) -> None:
        """Note in a figure that it shows the first columns only, and how to choose others."""
        if not named and shown < len(self.columns):
            said = f"The first {shown} of {len(self.columns)} columns; columns=[...] chooses others"
            figure.supxlabel(said, fontsize=8)


def plots_of(bundle: bytes, real: object | None) -> Plots:
    """Draw as many rows as an owner report does, with its fixed seed, and code the owner's rows if there are any.

    Raises:
        InvalidInput: the generator makes images.
        InputUnusable: the frame is unusable.
    """
    opened = unpack(bundle)
    with answered():
        domain = domain_from_json(opened.domain)
        if isinstance(domain, ImageDomain):
            raise ReportForTablesOnly
        tables = {} if real is None else {"real": owner_rows(real, domain)[0]}
    rng = np.random.default_rng(SEED)
    return Plots(
        columns=columns_of(domain), tables=tables | {"synthetic": Sampler(opened).codes(SYNTHETIC_ROWS, rng)}
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """The codes of one column, in few enough groups to be readable.

    Attributes:
        group: (codes,) the group of each code.
        ticks: groups with a label on the axis.
        upright: whether the groups are bins of a scale.
        spans: (groups, 2) start and end of each group on the scale's axis; special values are set apart behind the scale.
        end: label of the scale's upper end, which replaces the last tick's label; empty if that label stays.
    """

    labels: list[str]
    group: NDArray[np.int64]
    ticks: list[int]
    upright: bool
    spans: NDArray[np.float64]
    end: str = ""


def _groups(plots: Plots, position: int) -> _Groups:
    """Join neighbouring bins of a scale and keep special values; keep the most frequent synthetic words."""
    column = plots.columns[position]
    group = np.zeros(column.codes, dtype=np.int64)
    placed = np.flatnonzero(np.isfinite(column.places))
    if column.is_ordered and column.codes > SHOWN_VALUES:
        others = np.flatnonzero(~np.isfinite(column.places))
        joined = -(-len(placed) // _MOST_BINS)
        group[placed] = np.arange(len(placed)) // joined
        labels = [column.words[code].partition(" to ")[0] for code in placed[::joined]]
        bins = len(labels)
        group[others] = bins + np.arange(len(others))
        spans = _spans(column, joined, len(others))
        wanted = np.linspace(0, 1, 4)[: 3 if len(others) else 4]
        ticks = sorted({int(np.abs(spans[:bins, 0] - at).argmin()) for at in wanted})
        labels += [f"= {_short(column.words[code])}".replace("= (", "(") for code in others]
        return _Groups(
            labels=labels,
            group=group,
            ticks=[*ticks, *range(bins, bins + len(others))],
            upright=True,
            spans=spans,
            end="" if len(others) else column.words[placed[-1]].partition(" to ")[2],
        )
    order = np.arange(column.codes)
    if not column.keeps_order or column.codes > SHOWN_VALUES:
        order = np.argsort(-shares(plots.tables["synthetic"][:, position], column.codes), kind="stable")
    group[order] = np.minimum(np.arange(column.codes), SHOWN_VALUES)
    labels = [_short(column.words[code]) for code in order[:SHOWN_VALUES]]
    if column.codes > SHOWN_VALUES:
        labels.append(f"{column.codes - SHOWN_VALUES} more")
    places = np.arange(len(labels), dtype=np.float64)
    spans = np.stack([places, places + 1], axis=1)
    return _Groups(labels=labels, group=group, ticks=[*range(len(labels))], upright=False, spans=spans)


def _spans(column: ReportColumn, joined: int, others: int) -> NDArray[np.float64]:
    """Start and end of groups of neighbouring bins on the axis, with the special values after a gap."""
    spans = column.spans
    if spans is None:  # levels have equal widths
        edges = np.linspace(0, 1, int(np.isfinite(column.places).sum()) + 1)
        spans = np.stack([edges[:-1], edges[1:]], axis=1)
    last = np.minimum(np.arange(joined - 1, len(spans) + joined - 1, joined), len(spans) - 1)
    bins = np.stack([spans[::joined, 0], spans[last, 1]], axis=1)
    begins = 1 + _GAP + 2 * _SPECIAL * np.arange(others)
    return np.concatenate([bins, np.stack([begins, begins + _SPECIAL], axis=1)])


def _draw_marginal(axes: Any, plots: Plots, position: int) -> None:  # noqa: ANN401 - matplotlib has no types here
    groups = _groups(plots, position)
    share = PercentFormatter(1, decimals=None)
    labels = [groups.labels[at] for at in groups.ticks]
    if groups.upright:
        _draw_scale(axes, plots, position, groups)
        spans = groups.spans[groups.ticks]
        bins = spans[:, 1] <= 1 + _GAP / 2
        # A bin is labelled at its lower edge, a special value below its bar.
        at = np.where(bins, spans[:, 0], spans.mean(axis=1))
        if groups.end:
            at[-1], labels[-1] = 1.0, groups.end
        axes.set_xticks(at, labels, rotation=30, ha="right")
        axes.yaxis.set_major_formatter(share)
    else:
        places = np.arange(len(groups.labels))
        width = 0.86 / len(plots.tables)
        for number, (name, codes) in enumerate(plots.tables.items()):
            distribution = shares(groups.group[codes[:, position]], len(places))
            moved = places + (number - (len(plots.tables) - 1) / 2) * width
            axes.barh(moved, distribution, width, label=name, color=_COLOURS[name])
        axes.set_yticks(groups.ticks, labels)
        axes.invert_yaxis()
        axes.xaxis.set_major_formatter(share)
        axes.xaxis.set_major_locator(MaxNLocator(_MOST_SHARES))
    axes.set_title(_short(plots.columns[position].name), fontsize=9, loc="left")
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_scale(axes: Any, plots: Plots, position: int, groups: _Groups) -> None:  # noqa: ANN401 - matplotlib has no types here
    """Bars with the widths of their bins and the shares as areas: real rows filled, synthetic rows as an outline in front."""
    column, spans = plots.columns[position], groups.spans
    bins = spans[:, 0] < 1
    widths = spans[:, 1] - spans[:, 0]
    for name, codes in plots.tables.items():
        distribution = shares(groups.group[codes[:, position]], len(spans))
        heights = np.append(column.heights(distribution[bins], spans[bins]), distribution[~bins])
        if name == "synthetic" and len(plots.tables) > 1:
            edges = np.append(spans[bins, 0], spans[bins][-1:, 1])
            axes.stairs(heights[bins], edges, label=name, color=_SYNTHETIC, linewidth=1.1)
            apart, look = ~bins, {"fill": False, "edgecolor": _SYNTHETIC, "linewidth": 1.1}
        else:
            apart, look = np.ones(len(spans), dtype=bool), {"color": _COLOURS[name], "label": name}
        axes.bar(spans[apart, 0], heights[apart], widths[apart], align="edge", **look)
    if not bins.all():
        axes.axvline(1 + _GAP / 2, color="#718096", linewidth=0.7, linestyle=":")
    if column.length and np.ptp(widths[bins]) > _EQUAL * widths[bins].mean():
        days = " days" if column.kind in _TIMES else ""
        axes.set_ylabel(f"share per {column.length * widths[bins].mean():.3g}{days}", fontsize=7)
    if column.is_logarithmic:
        axes.set_xlabel("logarithmic scale", fontsize=7)


def _figure(plots: Plots, width: float, height: float) -> Plot:
    private = "real" in plots.tables
    figure = Plot(figsize=(width, height + 0.4 * private), layout="constrained")
    if private:
        figure.suptitle(MARK, color=_WARNING, fontsize=11, fontweight="bold")
    return figure


def _maps(
    plots: Plots, maps: dict[str, Matrix], width: float, height: float, *, largest: float
) -> tuple[Plot, list[Any]]:
    """One heat map per table, with one colour scale."""
    figure = _figure(plots, width * len(maps), height)
    panels = [*figure.subplots(1, len(maps), squeeze=False)[0]]
    for axes, (name, found) in zip(panels, maps.items(), strict=True):
        axes.imshow(found, cmap="Blues", vmin=0, vmax=largest, aspect="auto")
        axes.set_title(name, fontsize=9, loc="left")
        axes.tick_params(labelsize=7)
    bar = figure.colorbar(
        panels[-1].images[0], ax=panels, format=PercentFormatter(1) if largest < 1 else None
    )
    bar.ax.tick_params(labelsize=7)
    return figure, panels


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"
