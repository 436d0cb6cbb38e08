"""The picture of an order's life, drawn from the states of the code: of requests, of jobs and of reservations.

A line runs down through the stations of an order that succeeds. From the queue to the end of the job it has two colours, one for the job and
one for its reservation in the ledger: a capsule names both states, which change in one transaction. Whatever else may happen
leaves the line to the right. `tests/docs/test_order_life.py` holds states, transitions and the functions that make them against the code.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from core.jobs.states import Cause, JobState
from core.ledger.reservation import EntryKind
from core.platform.budget_requests.states import RequestState

_STYLES: Final = [
    Path(__file__).with_name("architecture") / name for name in ("picture.css", "order_life.css")
]
NOTHING: Final = "charged: nothing"
PART: Final = "charged: a part"
ALL: Final = "charged: all"
_FILLED: Final = {NOTHING: 0.0, PART: 0.45, ALL: 1.0}

Q, R, S, F, C = JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED
RESERVED, SPENT, VOIDED, SETTLED = EntryKind.RESERVED, EntryKind.SPENT, EntryKind.VOIDED, EntryKind.SETTLED


@dataclass(frozen=True)
class Turn:
    """What one transaction does to a job and to its reservation.

    Attributes:
        job: its state before and after; None before the order.
        reservation: the same of the ledger; equal if nothing is appended.
        functions: those of `core.jobs` that do it.
    """

    job: tuple[JobState | None, JobState]
    reservation: tuple[EntryKind | None, EntryKind]
    functions: tuple[str, ...]


@dataclass(frozen=True)
class Branch:
    """What else may happen at a station.

    Attributes:
        states: one capsule each; a pair is a job's and its reservation's.
        charge: what the ledger has charged once it has ended; None if the order goes on or was not placed.
        returns: whether the order goes on at this station.
        causes: the causes of a failed attempt that lead here.
    """

    states: tuple[str | tuple[str, str], ...]
    text: str
    charge: str | None = None
    returns: bool = False
    causes: frozenset[Cause] = frozenset()
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Station:
    """One station of an order that succeeds.

    Attributes:
        state: the capsule on the line; None for a dot.
        stages: dots on the line, each with its words.
        twin: whether job and reservation go on below it.
    """

    title: str
    text: str
    state: str | tuple[str, str] | None = None
    turns: tuple[Turn, ...] = ()
    stages: tuple[tuple[str, str], ...] = ()
    branches: tuple[Branch, ...] = ()
    twin: bool = False


def _ending(
    text: str, charge: str, *turns: Turn, returns: bool = False, causes: frozenset[Cause] = frozenset()
) -> Branch:
    first = turns[0]
    return Branch(
        ((first.job[1], first.reservation[1]),), text, None if returns else charge, returns, causes, turns
    )


STATIONS: Final = (
    Station(
        "Quote",
        "The planner fixes steps, sampling and noise from public facts, and states the price. No row is opened and nothing is recorded.",
    ),
    Station(
        "Request",
        "An analyst asks for a part of the budget and states a purpose. Admins decide.",
        RequestState.OPEN,
        branches=(
            Branch(
                (RequestState.DENIED, RequestState.WITHDRAWN, RequestState.EXPIRED),
                "Nothing is granted. All three are final.",
            ),
        ),
    ),
    Station(
        "Grant",
        "A sub-cap for one analyst, under the dataset's cap. A grant spends nothing: orders do.",
        RequestState.APPROVED,
    ),
    Station(
        "Admission",
        "Under a row lock the ledger adds the plan's charge to all that is spent and reserved, and asks the filters of cap and grant.",
        branches=(
            Branch(
                ("refused",),
                "It does not fit, or the dataset is frozen: there is no job and no entry.",
            ),
        ),
    ),
    Station(
        "Queue",
        "Job and reservation are rows of one transaction. The message to the workers follows its commit. People take turns.",
        (Q, RESERVED),
        turns=(Turn((None, Q), (None, RESERVED), ("orders.place_order",)),),
        branches=(
            _ending(
                "Cancelled before a worker claimed it.",
                NOTHING,
                Turn((Q, C), (RESERVED, VOIDED), ("endings.end_cancelled",)),
            ),
            _ending(
                "The stored plan is not the reserved one, or another owner withdrew.",
                NOTHING,
                Turn((Q, F), (RESERVED, VOIDED), ("claims._refuse_altered", "claims._spent")),
            ),
        ),
        twin=True,
    ),
    Station(
        "Claim",
        "A worker takes a lease with a fence, and the reservation is spent. The spend is noted outside the database. Only then are rows opened.",
        (R, SPENT),
        turns=(Turn((Q, R), (RESERVED, SPENT), ("claims.claim",)),),
        stages=(
            ("measure", "noisy counts of columns and pairs"),
            ("pretrain", "on those counts, without rows"),
            ("train", "private steps: clip, add noise"),
            ("export", "the generator is packed"),
        ),
        branches=(
            _ending(
                "The lease ran out without a heartbeat: another worker goes on from the checkpoint, with the same noise.",
                NOTHING,
                Turn((R, R), (SPENT, SPENT), ("claims.claim",)),
                returns=True,
            ),
            _ending(
                "The worker stopped or the attempt failed, and attempts are left: the next claim spends nothing more.",
                NOTHING,
                Turn((R, Q), (SPENT, SPENT), ("endings.requeue",)),
                Turn((Q, R), (SPENT, SPENT), ("claims.claim",)),
                returns=True,
            ),
            _ending(
                "A person cancelled it, while it ran or waited again: the steps begun are charged.",
                PART,
                Turn(
                    (R, C),
                    (SPENT, SETTLED),
                    ("endings.stop", "endings.fail", "endings.hand_back", "endings.end_cancelled"),
                ),
                Turn((Q, C), (SPENT, SETTLED), ("endings.end_cancelled",)),
            ),
            _ending(
                "Attempts are used up: the machinery failed, or workers fell silent before a training step. What began is charged.",
                PART,
                Turn((R, F), (SPENT, SETTLED), ("endings.fail", "endings.give_up")),
                causes=frozenset({Cause.MACHINERY, Cause.UNKNOWN}),
            ),
            _ending(
                "Rows may have been the cause, or the stored plan was altered after the claim.",
                ALL,
                Turn((R, F), (SPENT, SPENT), ("endings.fail", "endings.give_up", "claims._refuse_altered")),
                Turn((Q, F), (SPENT, SPENT), ("claims._refuse_altered",)),
                causes=frozenset({Cause.ROWS, Cause.UNKNOWN}),
            ),
        ),
        twin=True,
    ),
    Station(
        "Release",
        "Job, generator and signed certificate are published together. The key of the noise is destroyed. Rows are drawn without a charge.",
        (S, SPENT),
        turns=(Turn((R, S), (SPENT, SPENT), ("endings.finish", "endings.finish_report")),),
    ),
    Station(
        "Verification",
        "A verifier that shares no code with the service computes epsilon again and checks files and signature.",
    ),
)
MARKS: Final = "A mark is durable before its steps begin. Heartbeats renew the lease. Checkpoints are sealed."


def branches() -> Iterator[Branch]:
    """Every branch of every station."""
    for station in STATIONS:
        yield from station.branches


def turns() -> Iterator[Turn]:
    """Everything that the picture lets happen to a job and its reservation."""
    for station in STATIONS:
        yield from station.turns
        for branch in station.branches:
            yield from branch.turns


@dataclass(frozen=True)
class Form:
    """The measures of one form of the picture, in pixels and characters.

    Attributes:
        trunk: where the line runs.
        capsule: width of a capsule.
        main: left edge of the capsules on the line.
        words: left edge of a station's words, and how many characters fit.
        side: left edge of the branches, and how many characters fit.
        beside: whether branches stand beside the words of their station, or below them.
    """

    width: int
    trunk: int
    capsule: int
    main: int
    words: tuple[int, int]
    side: tuple[int, int]
    beside: bool


FORMS: Final = {
    "order-wide": Form(800, 340, 180, 250, (20, 33), (470, 46), beside=True),
    "order-narrow": Form(360, 24, 166, 8, (46, 44), (62, 42), beside=False),
}
_HIGH: Final = 24
_LINE: Final = 16
_GAP: Final = 20
_APART: Final = 3.0
_RADIUS: Final = 13.0


@cache
def order_life_plots() -> dict[str, str]:
    """Both forms, by file name."""
    return {f"{name}.svg": "\n".join(_picture(form)) + "\n" for name, form in FORMS.items()}


def _picture(form: Form) -> Iterator[str]:
    lines: list[str] = []
    marks: list[str] = []
    y = 66.0 if form.beside else 84.0
    start, twin = y + _HIGH / 2, False
    for station in STATIONS:
        if station.twin and not twin:
            lines.append(_trunk(form, start, y + _HIGH / 2, twin=False))
            start, twin = y + _HIGH / 2, True
        elif twin and not station.twin:
            lines.append(_trunk(form, start, y + _HIGH / 2, twin=True))
            start, twin = y + _HIGH / 2, False
        last = y + _HIGH / 2
        y += _station(form, station, y, lines, marks) + _GAP
    lines.append(_trunk(form, start, last, twin=False))
    height = y
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {form.width} {height:.0f}" width="{form.width}" height="{height:.0f}" '
        'role="img" aria-labelledby="title desc">'
    )
    yield '<title id="title">The life of an order</title>'
    yield f'<desc id="desc">{escape(_description())}</desc>'
    yield "<style>\n" + "".join(style.read_text() for style in _STYLES) + "</style>"
    yield f'<rect class="paper" width="{form.width}" height="{height:.0f}" rx="10"/>'
    yield from _legend(form)
    yield from lines
    yield from marks
    yield "</svg>"


def _legend(form: Form) -> Iterator[str]:
    left = form.words[0] if form.beside else 14
    yield f'<text class="head" x="{left}" y="30">The life of an order</text>'
    x, y = (form.side[0], 14) if form.beside else (14, 42)
    yield from _capsule(x, y, ("job", "ledger"), form.capsule)
    yield f'<text class="note" x="{x + form.capsule + 8}" y="{y + 16}">in one transaction</text>'


def _station(form: Form, station: Station, y: float, lines: list[str], marks: list[str]) -> float:
    """Draw one station with its branches. Returns its height."""
    left, most = form.words
    if station.state is None:
        marks.append(f'<circle class="dot" cx="{form.trunk}" cy="{y + _HIGH / 2:.1f}" r="6.5"/>')
    else:
        wide = form.capsule * (1 if station.turns else 0.6)
        left_of_it = form.trunk - wide / 2 if form.beside else form.main
        marks.extend(_capsule(left_of_it, y, station.state, wide))
    down = y + (0 if form.beside or station.state is None else _HIGH + 8)
    marks.append(f'<text class="stop-name" x="{left}" y="{down + 17:.0f}">{station.title}</text>')
    down = _words(marks, left, down + 21, station.text, most)
    if station.stages:
        down = _stages(form, station, down + 6, marks)
    side = y if form.beside else down + 12
    for branch in station.branches:
        lines.extend(_siding(form, branch, side + _HIGH / 2, straight=side == y))
        side = _branch(form, branch, side, marks) + 14
    return max(down, side - 14 if station.branches else 0) - y


def _stages(form: Form, station: Station, y: float, marks: list[str]) -> float:
    left, most = form.words
    for name, text in station.stages:
        y += 8
        cy = y + _LINE - 4.5
        marks.append(f'<circle class="stage" cx="{form.trunk}" cy="{cy:.1f}" r="5"/>')
        if form.beside:
            marks.append(f'<path class="lead" d="M{left + 215} {cy:.1f}H{form.trunk - 10}"/>')
        marks.append(
            f'<text class="text" x="{left}" y="{y + _LINE:.0f}"><tspan class="stage-name">{name}</tspan></text>'
        )
        y = _words(marks, left, y + _LINE, text, most)
    return _words(marks, left, y + 10, MARKS, most)


def _siding(form: Form, branch: Branch, y: float, *, straight: bool) -> Iterator[str]:
    """The line to a branch, and back to the trunk where the order goes on; straight from a capsule at its height."""
    pair = not isinstance(branch.states[0], str)
    for colour, off in (("job", _APART), ("entry", -_APART)) if pair else (("", 0.0),):
        end, x = form.side[0] + 8, form.trunk - off
        r = _RADIUS + off
        out = (
            f"M{x:.1f} {y + off:.1f}"
            if straight
            else f"M{x:.1f} {y + off - r:.1f}a{r:.1f} {r:.1f} 0 0 0 {r:.1f} {r:.1f}"
        )
        yield f'<path class="line {colour}" d="{out}H{end}"/>'
        if branch.returns:
            r, x = _RADIUS - off, form.trunk + off
            yield f'<path class="line {colour}" d="M{end} {y + off:.1f}H{x + r:.1f}a{r:.1f} {r:.1f} 0 0 0 -{r:.1f} {r:.1f}"/>'
    if branch.returns:
        tip = form.trunk + (form.capsule / 2 + 9 if straight else 13)
        yield f'<path class="tip" d="M{tip:.1f} {y:.1f}l13 -8v16z"/>'


def _branch(form: Form, branch: Branch, y: float, marks: list[str]) -> float:
    """Draw the capsules and the words of one branch. Returns where it ends."""
    left, most = form.side
    x = float(left)
    for state in branch.states:
        wide = form.capsule * (0.52 if isinstance(state, str) else 1)
        marks.extend(_capsule(x, y, state, wide))
        x += wide + 8
    if branch.charge is not None:
        marks.append(f'<text class="note" x="{x:.0f}" y="{y + 10:.0f}">{branch.charge}</text>')
        for name, part in (("meter", 1.0), ("charged", _FILLED[branch.charge])):
            if part:
                marks.append(
                    f'<rect class="{name}" x="{x:.0f}" y="{y + 16:.0f}" width="{64 * part:.0f}" height="6" rx="3"/>'
                )
    elif branch.returns:
        marks.append(f'<text class="note" x="{x:.0f}" y="{y + 16:.0f}">and goes on</text>')
    return _words(marks, left, y + _HIGH + 2, branch.text, most)


def _words(marks: list[str], x: float, y: float, text: str, most: int) -> float:
    """Set a text in lines below `y`. Returns where it ends."""
    for line in textwrap.wrap(text, most):
        y += _LINE
        marks.append(f'<text class="text" x="{x:.0f}" y="{y - 2:.0f}">{escape(line)}</text>')
    return y + 2


def _capsule(x: float, y: float, state: str | tuple[str, str], width: float) -> Iterator[str]:
    r = _HIGH / 2
    if isinstance(state, str):
        yield f'<rect class="capsule" x="{x:.0f}" y="{y:.1f}" width="{width:.0f}" height="{_HIGH}" rx="{r}"/>'
        yield f'<text class="state open" x="{x + width / 2:.1f}" y="{y + 16:.1f}">{state}</text>'
        return
    half = width / 2
    yield f'<path class="job-half" d="M{x + half:.1f} {y:.1f}H{x + r:.1f}a{r} {r} 0 0 0 0 {_HIGH}H{x + half:.1f}z"/>'
    yield f'<path class="entry-half" d="M{x + half:.1f} {y:.1f}H{x + width - r:.1f}a{r} {r} 0 0 1 0 {_HIGH}H{x + half:.1f}z"/>'
    for middle, text in zip((half / 2 + 3, 1.5 * half - 3), state, strict=True):
        yield f'<text class="state" x="{x + middle:.1f}" y="{y + 16:.1f}">{text.lower()}</text>'


def _trunk(form: Form, start: float, end: float, *, twin: bool) -> str:
    if not twin:
        return f'<path class="line" d="M{form.trunk} {start:.1f}V{end:.1f}"/>'
    return "".join(
        f'<path class="line {colour}" d="M{form.trunk + off} {start:.1f}V{end:.1f}"/>'
        for colour, off in (("job", -_APART), ("entry", _APART))
    )


def _description() -> str:
    return " ".join(f"{station.title}: {station.text} {_details(station)}".strip() for station in STATIONS)


def _details(station: Station) -> str:
    stages = [f"{name}, {text}" for name, text in station.stages]
    others = [f"{_named(branch)}: {branch.text}" for branch in station.branches]
    return " ".join([*(["Stages: " + "; ".join(stages) + "."] if stages else []), *others])


def _named(branch: Branch) -> str:
    states = ", ".join(
        one if isinstance(one, str) else f"{one[0]} and {one[1].lower()}" for one in branch.states
    )
    return f"Or {states}" + ("" if branch.charge is None else f" ({branch.charge})")
