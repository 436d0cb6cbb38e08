"""An owner report as one HTML file: for the owner only, readable offline, without scripts.

`owner_report.html` holds the words and the plots, `owner_report.css` the style, which the file embeds. The file's own content
security policy forbids loading anything, also when it is opened from disk. The mark that it is not differentially
private stays visible while scrolling and on every printed page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from core.artifacts.reports.attacks import NEIGHBOURS
from core.artifacts.reports.columns import ReportColumn
from core.artifacts.reports.learning import Learning, Score
from core.artifacts.reports.owner_contents import REAL_ROWS, SEED, ColumnCompared, OwnerReportContents
from core.artifacts.reports.owner_summary import NO_LEAK, OwnerSummary, percent
from core.artifacts.reports.shares import Shares

MARK: Final = "Not differentially private – do not share"
FAILED: Final = Markup('<meta name="understudy-report" content="failed">')
"""Marks a file that explains why there is no report."""
MAPPED: Final = 40
"""Maximum number of columns in a map of pairs; beyond it those with the largest errors are shown."""
LONGEST_ACCOUNT: Final = 10_000
"""Characters kept from the end of a failure's account: its file must not be longer than a report."""
SHOWN_VALUES: Final = 10
"""Maximum number of categories drawn; the rest is one bar."""
_FOLDER: Final = Path(__file__).parent
# Bytes, each above what the page writes (tests compare with pages of many kinds).
_PAGE_BYTES: Final = 64 * 1024
_COLUMN_BYTES, _CODE_BYTES = 8000, 45
_MAPS, _CELL_BYTES, _LINE_BYTES = 4, 260, 300

Row = tuple[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a report is about.

    Attributes:
        title: display name of the dataset.
        facts: names and values that identify the release, in display order; all public.
    """

    title: str
    facts: tuple[tuple[str, str], ...]


def render(subject: Subject, contents: OwnerReportContents) -> str:
    """The whole file."""
    shown = _mapped(contents)
    square = np.ix_(shown, shown)
    real, made = contents.real_association[square], contents.synthetic_association[square]
    errors = contents.pair_errors[square]
    return _page(
        subject,
        contents,
        summary=OwnerSummary.of(contents),
        names=[contents.columns[index].column.name for index in shown],
        pair_errors=errors.tolist(),
        largest_error=max(0.2, float(errors.max())),
        associations=(
            ("Real", real.tolist(), 1.0, "a"),
            ("Synthetic", made.tolist(), 1.0, ""),
            ("Difference", np.abs(real - made).tolist(), 0.5, ""),
        ),
        column_rows=list(_column_rows(contents)),
        score_rows=[] if contents.learning is None else list(_score_rows(contents.learning)),
        distance_rows=list(_distance_rows(contents)),
        copy_rows=list(_copy_rows(contents)),
    )


def render_failure(subject: Subject, account: str) -> str:
    """The file in place of a report that could not be made, with an account of the failure, which may quote rows.

    It is sealed and stored like a report, so only the owner can tell them apart.
    """
    return _page(subject, None, summary=OwnerSummary.of_failure(), account=account[-LONGEST_ACCOUNT:])


def _page(subject: Subject, contents: OwnerReportContents | None, **facts: Any) -> str:  # noqa: ANN401 - a template's variables
    template = _environment().get_template("owner_report.html")
    return template.render(subject=subject, contents=contents, **facts) + "\n"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {
        "mark": MARK,
        "failed": FAILED,
        "style": Markup((_FOLDER / "owner_report.css").read_text()),  # noqa: S704 - a file of this package
        "seed": SEED,
        "most_rows": REAL_ROWS,
        "neighbours": NEIGHBOURS,
        "no_leak": NO_LEAK,
        "in_percent": _in_percent,
        "in_hundredths": _in_hundredths,
    }
    made.filters |= {
        "percent": percent,
        "points": _points,
        "count": "{:,}".format,
        "mean": fmean,
        "plot": _plot,
    }
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Histogram:
    """Paths over a square of 100 by 100, and the words at both ends."""

    area: str
    step: str
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """The shares of a column: a histogram of codes with a position on the scale, and a table of the others.

    Attributes:
        values: words with their real and synthetic shares.
        widest: the share of the longest bar.
    """

    histogram: _Histogram | None
    values: list[tuple[str, float, float]]
    widest: float


def _plot(compared: ColumnCompared) -> _Plot:
    column = compared.column
    if not column.is_ordered or column.codes <= SHOWN_VALUES:
        return _bars(column.words, compared.real, compared.synthetic)
    placed = np.flatnonzero(np.isfinite(column.places))
    others = np.flatnonzero(~np.isfinite(column.places))
    histogram = _histogram(
        compared.real[placed], compared.synthetic[placed], column.words[placed[0]], column.words[placed[-1]]
    )
    words = [column.words[code] for code in others]
    return _bars(words, compared.real[others], compared.synthetic[others], histogram=histogram)


def _histogram(real: Shares, synthetic: Shares, first: str, last: str) -> _Histogram:
    tallest = max(float(real.max()), float(synthetic.max()), 1e-9)
    width = 100 / len(real)
    real_steps, synthetic_steps = (
        [f"V{100 - 96 * share / tallest:.1f}H{width * (index + 1):.2f}" for index, share in enumerate(shares)]
        for shares in (real, synthetic)
    )
    step = "M0," + "".join(synthetic_steps).removeprefix("V")
    return _Histogram(area="M0,100" + "".join(real_steps) + "V100Z", step=step, first=first, last=last)


def _bars(
    words: Sequence[str], real: Shares, synthetic: Shares, *, histogram: _Histogram | None = None
) -> _Plot:
    order = np.argsort(-real, kind="stable")
    shown = [(words[code], float(real[code]), float(synthetic[code])) for code in order[:SHOWN_VALUES]]
    rest = order[SHOWN_VALUES:]
    if len(rest):
        shown.append((f"{len(rest)} more", float(real[rest].sum()), float(synthetic[rest].sum())))
    widest = max((share for _, *pair in shown for share in pair), default=0.0)
    return _Plot(histogram=histogram, values=shown, widest=widest or 1.0)


def _column_rows(contents: OwnerReportContents) -> Iterator[Row]:
    for index, compared in enumerate(contents.columns):
        cells = [percent(compared.variation), percent(compared.by_chance)]
        cells.append("–" if compared.pairs is None else percent(compared.pairs))
        if contents.attacks is None:
            cells += ["–"] * 5
        else:
            found = contents.attacks.inferences[index]
            cells += [percent(share) for share in (found.marginal, found.synthetic, found.others)]
            cells += [_points(found.lead), _points(found.excess)]
        yield compared.column.name, cells


def _score_rows(found: Learning) -> Iterator[Row]:
    for made, real in zip(found.from_synthetic, found.from_real, strict=True):
        yield made.model, ["synthetic rows", *_score(made)]
        yield real.model, ["real rows", *_score(real)]
    yield "always the most frequent answer", ["real rows", percent(found.majority), "", ""]


def _score(score: Score) -> list[str]:
    auroc = "–" if score.auroc is None else f"{score.auroc:.3f}"
    return [percent(score.accuracy), percent(score.balanced_accuracy), auroc]


def _distance_rows(contents: OwnerReportContents) -> Iterator[Row]:
    if contents.attacks is not None:
        near = contents.attacks.closeness
        yield "synthetic row", [f"{value:.3f}" for value in near.synthetic]
        yield "record of other people", [f"{value:.3f}" for value in near.others]


def _copy_rows(contents: OwnerReportContents) -> Iterator[Row]:
    if contents.attacks is not None:
        copied = contents.attacks.copies
        yield "synthetic rows", [percent(copied.synthetic)]
        yield "records of other people", [percent(copied.others)]
        yield "independent columns", [percent(copied.independent)]


def _mapped(contents: OwnerReportContents) -> list[int]:
    """The columns shown in maps, in file order."""
    worst = np.argsort(-contents.pair_errors.mean(axis=1), kind="stable")[:MAPPED]
    return sorted(int(index) for index in worst)


def _points(share: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "\u2212")


def _in_percent(value: float) -> str:
    return f"{100 * value:.0f}" if value >= 0.095 else f"{100 * value:.1f}"  # noqa: PLR2004 - two digits


def _in_hundredths(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".") if value < 1 else "1"


def most_bytes(columns: Sequence[ReportColumn]) -> int:
    """Return an upper bound on the bytes of a report on these columns, from public facts; every file is padded to it.

    The store reveals the length of its objects. A report's length depends on its columns and slightly on its contents,
    and an account of a failure is short. Padding makes all files of a domain the same length.
    """
    names = sorted((_escaped_bytes(column.name) for column in columns), reverse=True)
    mapped = names[:MAPPED]
    count = len(mapped)
    cells = _CELL_BYTES * count**2 + _LINE_BYTES * count + 2 * count * sum(mapped)
    plots = sum(
        _COLUMN_BYTES
        + _CODE_BYTES * column.codes
        + 4 * _escaped_bytes(column.name)
        + 2 * sum(map(_escaped_bytes, column.words))
        for column in columns
    )
    return _PAGE_BYTES + _MAPS * cells + plots


def _escaped_bytes(text: str) -> int:
    return len(escape(text).encode())
