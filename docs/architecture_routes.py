"""Where boxes stand in the picture of docs/architecture.md, and how the ways run between them.

Boxes stand in the columns of a grid, row under row. A way runs only in the gaps between rows and in the gutters between columns, so it
crosses no box but at its own stations. Order within a row is found by search: the arrangement with the shortest ways.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final

from docs.architecture_map import WAYS, Folder, Map, folder_of

Stop = tuple[str, int]
"""A way and the index of one of its stations."""
_SLOT: Final = 25.0
_EDGE: Final = 17.0
_TURN: Final = 4.0
_BESIDE: Final = 6.5
_COMPANY: Final = 60.0
_CROSSING: Final = 70.0


@cache
def stops_of(folder: str) -> list[Stop]:
    """The stations inside one box."""
    return [
        (way, index)
        for way, stations in WAYS.items()
        for index, station in enumerate(stations)
        if folder_of(station.module) == folder
    ]


@cache
def spans() -> dict[str, int]:
    """Columns of the boxes that need more than one."""
    names = {folder_of(station.module) for stations in WAYS.values() for station in stations}
    return {name: 2 for name in names if name is not None and len(stops_of(name)) > 1}


@dataclass(frozen=True)
class Grid:
    """The measures of a picture, in its own units."""

    columns: int
    left: float
    column: float
    gutter: float

    def start(self, column: int) -> float:
        """The left edge of a column."""
        return self.left + column * (self.column + self.gutter)

    def width(self, span: int) -> float:
        """The width of a box over some columns."""
        return span * self.column + (span - 1) * self.gutter

    def channel(self, number: int) -> float:
        """The middle of the gutter to the left of a column."""
        return self.start(number) - self.gutter / 2

    @property
    def right(self) -> float:
        """The right edge of the last column."""
        return self.start(self.columns) - self.gutter


@dataclass(frozen=True)
class Placed:
    """A box in its row."""

    folder: Folder
    row: int
    column: int
    span: int


@dataclass
class Run:
    """A horizontal piece of a way: in a gap, between two vertical pieces that come from above or from below."""

    gap: int
    ends: tuple[tuple[float, bool], tuple[float, bool]]
    """Each end's x, and whether the vertical piece there comes from above."""
    track: int = 0

    @property
    def low(self) -> float:
        """Its left end."""
        return min(x for x, _ in self.ends)

    @property
    def high(self) -> float:
        """Its right end."""
        return max(x for x, _ in self.ends)


@dataclass
class Hop:
    """One way's piece between two stations: its runs, the first and the last of which begin and end at a box.

    Attributes:
        channel: the gutter in which a hop over several rows has its vertical piece.
    """

    way: str
    start: Stop
    end: Stop
    runs: list[Run] = field(default_factory=list)
    channel: int | None = None

    def move(self, x: float) -> None:
        """Put the vertical piece elsewhere in its gutter."""
        first, last = self.runs
        first.ends = first.ends[0], (x, first.ends[1][1])
        last.ends = (x, last.ends[0][1]), last.ends[1]

    @property
    def gaps(self) -> tuple[int, int]:
        """The gaps between which the vertical piece runs, the upper one first."""
        first, last = sorted(run.gap for run in self.runs)
        return first, last


Arrangement = list[list[Folder | None]]


class Plane:
    """One arrangement of the boxes, with the ways routed through it."""

    def __init__(self, grid: Grid, arrangement: Arrangement, order: Mapping[str, Sequence[Stop]]) -> None:
        self.grid = grid
        self.boxes: dict[str, Placed] = {}
        wide = spans()
        for row, folders in enumerate(arrangement):
            column = 0
            for folder in folders:
                span = 1 if folder is None else wide.get(folder.name, 1)
                if folder is not None:
                    self.boxes[folder.name] = Placed(folder, row, column, span)
                column += span
        self.rows = len(arrangement)
        self._blocked = {
            (box.row, box.column + inner) for box in self.boxes.values() for inner in range(1, box.span)
        }
        self.at: dict[Stop, tuple[int, float]] = {}
        for name, stops in order.items():
            box = self.boxes[name]
            right = grid.start(box.column) + grid.width(box.span)
            for place, stop in enumerate(reversed(stops)):
                self.at[stop] = box.row, right - _EDGE - place * _SLOT
        self.order = order
        self.arrangement = arrangement
        self._taken: dict[int, list[tuple[int, int]]] = {}
        self.hops = [hop for way in WAYS for hop in self._way(way)]

    def _way(self, way: str) -> Iterator[Hop]:
        stops = [(way, index) for index in range(len(WAYS[way]))]
        for start, end in itertools.pairwise(stops):
            yield self._hop(way, start, end)

    def inside(self, start: Stop, end: Stop) -> bool:
        """Whether two stations share a box."""
        return any(start in stops and end in stops for stops in self.order.values())

    def _hop(self, way: str, start: Stop, end: Stop) -> Hop:
        if self.inside(start, end):
            return Hop(way, start, end)
        row, other = self.at[start][0], self.at[end][0]
        below, above = self._leaves_below(start), self._entered_above(end)
        x, y = self.port(start, leaving=True), self.port(end, leaving=False)
        if abs(x - y) < 2 * _TURN:
            y = x
        first, last = row + below, other + (not above)
        passed = range(min(first, last), max(first, last))
        if self._open(passed, y):
            return Hop(way, start, end, [Run(first, ((x, below), (y, not above)))])
        channel = self._channel(passed, x, y)
        middle = self.grid.channel(channel)
        runs = [Run(first, ((x, below), (middle, not below))), Run(last, ((middle, below), (y, not above)))]
        return Hop(way, start, end, runs, channel)

    def _open(self, passed: range, x: float) -> bool:
        """Whether a vertical piece meets no box in the rows that it passes."""
        start, width = self.grid.start, self.grid.width
        return not any(
            box.row in passed and start(box.column) < x < start(box.column) + width(box.span)
            for box in self.boxes.values()
        )

    def _leaves_below(self, stop: Stop) -> bool:
        return self.at[stop[0], stop[1] + 1][0] >= self.at[stop][0]

    def _entered_above(self, stop: Stop) -> bool:
        return self.at[stop[0], stop[1] - 1][0] < self.at[stop][0]

    def port(self, stop: Stop, *, leaving: bool) -> float:
        """The x at which a way enters or leaves a station; apart where it does both on one side."""
        way, index = stop
        x = self.at[stop][1]
        if not 0 < index < len(WAYS[way]) - 1:
            return x
        before, after = (way, index - 1), (way, index + 1)
        if self.inside(before, stop) or self.inside(stop, after):
            return x
        if self._leaves_below(stop) == self._entered_above(stop):
            return x
        from_left = self.at[before][1] < self.at[after][1]
        return x + (_TURN if leaving == from_left else -_TURN)

    def _channel(self, passed: range, x: float, y: float) -> int:
        """The gutter that no box blocks in the rows to be passed; the nearest, or one with fewer hops beside."""

        def cost(number: int) -> float:
            beside = sum(
                low < passed.stop and passed.start < high for low, high in self._taken.get(number, ())
            )
            middle = self.grid.channel(number)
            return abs(middle - x) + abs(middle - y) + _COMPANY * max(0, beside - 1)

        free = (
            number
            for number in range(self.grid.columns + 1)
            if not any((row, number) in self._blocked for row in passed)
        )
        number = min(free, key=cost)
        self._taken.setdefault(number, []).append((passed.start, passed.stop))
        return number

    @cached_property
    def cost(self) -> float:
        """Length of the ways, and what they cross."""
        runs = [run for hop in self.hops for run in hop.runs]
        length = sum(run.high - run.low for run in runs)
        tracks = itertools.combinations(runs, 2)
        shared = sum(one.gap == two.gap and one.low < two.high and two.low < one.high for one, two in tracks)
        crossed = sum(self._crossed(hop) for hop in self.hops)
        apart = 0.0
        for hop in self.hops:
            if not hop.runs:
                apart += 400.0 * (abs(self.at[hop.start][1] - self.at[hop.end][1]) > _SLOT + 1)
        long = [hop for hop in self.hops if hop.channel is not None]
        beside = sum(
            one.channel == two.channel and one.gaps[0] < two.gaps[1] and two.gaps[0] < one.gaps[1]
            for one, two in itertools.combinations(long, 2)
        )
        return length + _COMPANY * beside + 0.4 * _CROSSING * shared + _CROSSING * crossed + apart

    def _crossed(self, hop: Hop) -> int:
        """The runs of other hops that the vertical piece of a hop meets on its way through gaps."""
        if hop.channel is None:
            return 0
        x = hop.runs[0].ends[1][0]
        gaps = sorted(run.gap for run in hop.runs)
        return sum(
            gaps[0] < run.gap < gaps[1] and run.low < x < run.high
            for other in self.hops
            for run in other.runs
        )

    def settle(self) -> dict[int, int]:
        """Give the runs in each gap and the hops in each gutter places with few crossings; returns the tracks of each gap."""
        for channel in range(self.grid.columns + 1):
            hops = [hop for hop in self.hops if hop.channel == channel]
            apart = min(_BESIDE, (self.grid.gutter - _BESIDE) / max(1, len(hops) - 1))
            places = [
                self.grid.channel(channel) + (place - (len(hops) - 1) / 2) * apart
                for place in range(len(hops))
            ]

            def cost(order: Sequence[float], hops: Sequence[Hop] = hops) -> int:
                for hop, x in zip(hops, order, strict=True):
                    hop.move(x)
                return sum(found for found, _ in map(self._tracks, range(self.rows + 1)))

            cost(min(itertools.permutations(places), key=cost))
        for gap in range(self.rows + 1):
            for run, track in zip(self._in(gap), self._tracks(gap)[1], strict=True):
                run.track = track
        return {gap: len(self._in(gap)) for gap in range(self.rows + 1)}

    def _in(self, gap: int) -> list[Run]:
        return [run for hop in self.hops for run in hop.runs if run.gap == gap]

    def _tracks(self, gap: int) -> tuple[int, tuple[int, ...]]:
        """The fewest crossings in a gap, and the tracks that give them."""
        runs = self._in(gap)
        return min((_crossings(runs, tracks), tracks) for tracks in itertools.permutations(range(len(runs))))


def _crossings(runs: Sequence[Run], tracks: Sequence[int]) -> int:
    found = 0
    for (one, first), (two, second) in itertools.permutations(zip(runs, tracks, strict=True), 2):
        for x, above in two.ends:
            passes = second > first if above else second < first
            found += passes and one.low - 2 < x < one.high + 2
            # Two vertical pieces on one line must not overlap.
            found += 20 * any(
                above and not other and abs(x - there) < _TURN and second >= first
                for there, other in one.ends
            )
    return found


def arrange(grid: Grid, drawn: Map) -> tuple[Plane, list[int]]:
    """The best arrangement that a descent finds, and the layer of each row."""
    wide = spans()
    arrangement: Arrangement = []
    layer_of: list[int] = []
    for number, layer in enumerate(drawn.layers):
        rows: list[list[Folder | None]] = []
        for folder in sorted(layer, key=lambda one: (-wide.get(one.name, 1), -len(stops_of(one.name)))):
            span = wide.get(folder.name, 1)
            fitting = (row for row in rows if _used(row) + span <= grid.columns)
            row = next(fitting, None)
            if row is None:
                rows.append(row := [])
            row.append(folder)
        for row in rows:
            arrangement.append([*row, *[None] * (grid.columns - _used(row))])
            layer_of.append(number)
    order = {
        folder.name: tuple(stops)
        for layer in drawn.layers
        for folder in layer
        if (stops := stops_of(folder.name))
    }
    best = Plane(grid, arrangement, order)
    improved = True
    while improved:
        improved = False
        for near in _near(best, layer_of):
            found = Plane(grid, *near)
            if found.cost < best.cost - 1e-6:
                best, improved = found, True
                break
    return best, layer_of


def _near(
    plane: Plane, layer_of: Sequence[int]
) -> Iterator[tuple[Arrangement, Mapping[str, Sequence[Stop]]]]:
    """Arrangements that differ in one row, in one exchange between rows of a layer, or in the order of stations in one box."""
    rows, order = plane.arrangement, plane.order
    for name, stops in order.items():
        for other in itertools.permutations(stops):
            yield rows, {**order, name: other}
    for number, row in enumerate(rows):
        for other_row in itertools.permutations(row):
            yield [*rows[:number], list(other_row), *rows[number + 1 :]], order
    wide = spans()
    for one, two in itertools.combinations(range(len(rows)), 2):
        if layer_of[one] != layer_of[two]:
            continue
        for i, j in itertools.product(range(len(rows[one])), range(len(rows[two]))):
            first, second = rows[one][i], rows[two][j]
            if wide.get(first.name if first else "", 1) == wide.get(second.name if second else "", 1):
                changed = [list(row) for row in rows]
                changed[one][i], changed[two][j] = second, first
                yield changed, order


def _used(row: Sequence[Folder | None]) -> int:
    wide = spans()
    return sum(1 if folder is None else wide.get(folder.name, 1) for folder in row)
