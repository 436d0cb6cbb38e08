"""The picture of docs/architecture.md, in a wide and in a narrow form: boxes on layers, imports between layers, and two ways through them."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from docs.architecture_map import CORE, DECISIVE, WAYS, Map, read_map
from docs.architecture_routes import Grid, Hop, Placed, Run, Stop, arrange, spans

_STYLE: Final = Path(__file__).with_name("architecture") / "picture.css"
WIDE: Final = Grid(columns=5, left=62, column=120, gutter=34)
NARROW: Final = Grid(columns=3, left=52, column=116, gutter=28)
_BOX: Final = 50.0
_TRACK: Final = 7.5
_GAP: Final = 18.0
_PAD: Final = 10.0
_TOP: Final = 14.0
_BEND: Final = 7.0
_TITLE: Final = "The folders of understudy, and two ways through them"
_LEGEND_STEP: Final = 23.0
_LEGEND_COLUMN: Final = 208.0

Point = tuple[float, float]


@cache
def architecture_plots() -> dict[str, str]:
    """Both forms, by file name."""
    drawn = read_map(WIDE.columns, spans())
    return {
        f"{name}.svg": _Picture(grid, drawn, lane).text()
        for name, grid, lane in (("wide", WIDE, 7.0), ("narrow", NARROW, 5.0))
    }


class _Picture:
    def __init__(self, grid: Grid, drawn: Map, lane: float) -> None:
        self._grid, self._map, self._lane = grid, drawn, lane
        self._margin = grid.gutter - 4
        self._plane, self._layer_of = arrange(grid, drawn)
        tracks = self._plane.settle()
        self._top: list[float] = []
        self._first_track: list[float] = []
        y = _TOP
        for row in range(self._plane.rows + 1):
            between = row > 0 and (row == self._plane.rows or self._layer_of[row] != self._layer_of[row - 1])
            edge = _PAD if between else 0.0
            height = max(
                _GAP if 0 < row < self._plane.rows else 0.0,
                (tracks[row] + 1) * _TRACK if tracks[row] else 0.0,
            )
            self._first_track.append(y + edge + (height - (tracks[row] - 1) * _TRACK) / 2)
            y += height + edge + (_PAD if row == 0 or (between and row < self._plane.rows) else 0.0)
            if row < self._plane.rows:
                self._top.append(y)
                y += _BOX
        self._bottom = y
        self._rail, self._rail_width = self._lanes()

    def text(self) -> str:
        legend = list(self._legend())
        width = self._grid.right + self._margin + self._rail_width
        in_row = max(1, int((width - self._grid.left) // _LEGEND_COLUMN))
        height = self._bottom + 20 + _LEGEND_STEP * math.ceil(len(legend) / in_row)
        parts = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
                'role="img" aria-labelledby="title desc">'
            ),
            f'<title id="title">{_TITLE}</title>',
            f'<desc id="desc">{escape(self._description())}</desc>',
            f"<style>\n{_STYLE.read_text()}</style>",
            f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="10"/>',
            *self._layers(),
            *self._imports(),
            *(self._box(box) for box in self._plane.boxes.values()),
            *self._ways(),
            *(
                f'<g transform="translate({self._grid.left + number % in_row * _LEGEND_COLUMN:.0f} '
                f'{self._bottom + 26 + number // in_row * _LEGEND_STEP:.0f})">{line}</g>'
                for number, line in enumerate(legend)
            ),
            "</svg>\n",
        ]
        return "\n".join(parts)

    def _description(self) -> str:
        layers = "; ".join(", ".join(folder.label for folder in layer) for layer in self._map.layers)
        ways = ". ".join(
            f"The way of one {'order' if way == 'order' else 'private row'}: "
            + ", ".join(one.module for one in stations)
            for way, stations in WAYS.items()
        )
        return f"Layers from top to bottom: {layers}. Imports go to lower layers, but for {self._map.upward}. {ways}."

    def _extent(self, layer: int) -> tuple[float, float]:
        rows = [row for row, of in enumerate(self._layer_of) if of == layer]
        return self._top[rows[0]] - _PAD, self._top[rows[-1]] + _BOX + _PAD

    def _layers(self) -> Iterator[str]:
        start = self._grid.left - self._margin
        width = self._grid.right + self._margin - start
        for layer in range(len(self._map.layers)):
            top, bottom = self._extent(layer)
            yield f'<rect class="layer" x="{start:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}" rx="8"/>'
        top, bottom = self._extent(self._map.core)[0], self._extent(len(self._map.layers) - 1)[1]
        x, middle = start - 10, (top + bottom) / 2
        yield f'<path class="brace" d="M{x + 4:.1f} {top:.1f}h-4V{bottom:.1f}h4"/>'
        yield f'<text class="name" text-anchor="middle" transform="translate({x - 7:.1f} {middle:.1f}) rotate(-90)">{CORE}</text>'

    def _box(self, box: Placed) -> str:
        x, y = self._grid.start(box.column), self._top[box.row]
        kind = " decisive" if box.folder.name in DECISIVE else ""
        return (
            f'<rect class="box{kind}" x="{x:.1f}" y="{y:.1f}" width="{self._grid.width(box.span):.1f}" height="{_BOX:.0f}" rx="6"/>'
            f'<text class="name{kind}" x="{x + 9:.1f}" y="{y + 22:.1f}">{box.folder.label}</text>'
            f'<text class="size" x="{x + 9:.1f}" y="{y + 38:.1f}">{box.folder.size}</text>'
        )

    def _lanes(self) -> tuple[dict[tuple[int, int], int], float]:
        """The lane of each arrow to the right of the boxes; arrows over many layers run outside those over few."""
        lanes: dict[tuple[int, int], int] = {}
        for pair in sorted(self._map.imports, key=lambda one: (one[1] - one[0], one)):
            inside = [lane for other, lane in lanes.items() if other[0] < pair[1] and pair[0] < other[1]]
            lanes[pair] = max(inside, default=-1) + 1
        return lanes, 19 + (max(lanes.values()) + 1) * self._lane

    def _imports(self) -> Iterator[str]:
        edge = self._grid.right + self._margin
        for pair, lane in self._rail.items():
            thick = 0.8 + 0.75 * max(0, math.floor(math.log2(self._map.imports[pair])) - 2)
            start, end = self._slot(pair[0], pair, leaving=True), self._slot(pair[1], pair, leaving=False)
            x = edge + 15 + lane * self._lane
            head = 3 + thick
            points = [(edge, start), (x, start), (x, end), (edge + head, end)]
            yield f'<path class="import" stroke-width="{thick:.2f}" d="{_rounded(points)}"/>'
            yield (
                f'<path class="head" d="M{edge + 1:.1f} {end:.1f}l{head + 1:.1f} {-0.55 * head - 0.8:.1f}v{1.1 * head + 1.6:.1f}z"/>'
            )

    def _slot(self, layer: int, pair: tuple[int, int], *, leaving: bool) -> float:
        """The height at which an arrow leaves or enters a layer: entries in the upper part, exits in the lower, none crossing another."""
        entries = sorted((one for one in self._rail if one[1] == layer), key=lambda one: self._rail[one])
        exits = sorted((one for one in self._rail if one[0] == layer), key=lambda one: -self._rail[one])
        places = [(one, False) for one in entries] + [(one, True) for one in exits]
        top, bottom = self._extent(layer)
        return top + (bottom - top) * (places.index((pair, leaving)) + 1) / (len(places) + 1)

    def _ways(self) -> Iterator[str]:
        lines = [(hop.way, _rounded(self._points(hop))) for hop in self._plane.hops]
        for way, line in lines:
            yield f'<path class="casing" d="{line}"/>'
            yield f'<path class="{way} way" d="{line}"/>'
        for stop in self._plane.at:
            yield self._badge(stop)

    def _centre(self, stop: Stop) -> Point:
        row, x = self._plane.at[stop]
        return x, self._top[row] + _BOX / 2

    def _points(self, hop: Hop) -> list[Point]:
        start, end = self._centre(hop.start), self._centre(hop.end)
        if not hop.runs:
            return [start, end]
        points = [(hop.runs[0].ends[0][0], start[1])]
        for run in hop.runs:
            points += [(x, self._level(run)) for x, _ in run.ends]
        return [*points, (hop.runs[-1].ends[1][0], end[1])]

    def _level(self, run: Run) -> float:
        return self._first_track[run.gap] + run.track * _TRACK

    def _badge(self, stop: Stop) -> str:
        x, y = self._centre(stop)
        return _mark(stop[0], str(stop[1] + 1), x, y)

    def _legend(self) -> Iterator[str]:
        yield _mark("order", "1", 9, -4) + _note(24, "the way of one order")
        yield _mark("row", "1", 9, -4) + _note(24, "the way of one private row")
        yield '<rect class="box decisive" x="0" y="-13" width="18" height="16" rx="4"/>' + _note(
            24, "epsilon is decided here"
        )
        yield '<path class="import" stroke-width="4" d="M0 -4h18"/>' + _note(
            24, f"imports ({self._map.upward} upward: not drawn)"
        )


def _mark(way: str, number: str, x: float, y: float) -> str:
    shape = (
        f'<circle class="order stop" cx="{x:.1f}" cy="{y:.1f}" r="9.5"/>'
        if way == "order"
        else f'<rect class="row stop" x="{x - 9:.1f}" y="{y - 9:.1f}" width="18" height="18" rx="3.5"/>'
    )
    return f'{shape}<text class="number" x="{x:.1f}" y="{y + 4:.1f}">{number}</text>'


def _note(x: float, text: str) -> str:
    return f'<text class="note" x="{x:.0f}" y="0">{escape(text)}</text>'


def _rounded(points: Sequence[Point]) -> str:
    """A path of straight pieces with rounded corners."""
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        bend = min(_BEND, math.dist(before, corner) / 2, math.dist(corner, after) / 2)
        (x, y), (u, v) = _towards(corner, before, bend), _towards(corner, after, bend)
        parts.append(f"L{x:.1f} {y:.1f}Q{corner[0]:.1f} {corner[1]:.1f} {u:.1f} {v:.1f}")
    return "".join([*parts, f"L{points[-1][0]:.1f} {points[-1][1]:.1f}"])


def _towards(point: Point, other: Point, far: float) -> Point:
    share = far / (math.dist(point, other) or 1.0)
    return point[0] + (other[0] - point[0]) * share, point[1] + (other[1] - point[1]) * share
