"""Templates and plots that all reports share.

A page is one file that needs nothing: `report.css` is embedded, no script runs, nothing is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Final

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from core.artifacts.reports.columns import ReportColumn
from core.artifacts.reports.shares import Shares

SHOWN_VALUES: Final = 10
"""Maximum number of categories drawn; the rest is one bar."""
_FOLDER: Final = Path(__file__).parent


def percent(share: float) -> str:
    """A share as a percentage; tiny shares are not rounded to zero."""
    return "<\u202f0.1\u202f%" if 0 < share < 0.001 else f"{100 * share:.1f}\u202f%"  # noqa: PLR2004 - a tenth of a percent


def count(number: int) -> str:
    """An integer with its digits grouped in threes, as the service's pages write it."""
    return f"{number:,}".replace(",", "\u202f")


def decimal(number: float) -> str:
    """A number to one decimal, grouped likewise."""
    return f"{number:,.1f}".replace(",", "\u202f")


@cache
def environment() -> Environment:
    """The templates of reports, with the filters `percent`, `count`, `decimal`, `mean` and `plot` and the embedded style."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["style"] = Markup((_FOLDER / "report.css").read_text())  # noqa: S704 - a file of this package
    made.filters |= {
        "percent": percent,
        "count": count,
        "decimal": decimal,
        "mean": fmean,
        "plot": plot,
    }
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Paths over a square of 100 by 100, and the words at both ends."""

    area: str
    step: str
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The shares of a column: a histogram of codes with a position on the scale, and a table of the others.

    Attributes:
        values: words with their shares, the second None if only one table is shown.
    """

    histogram: Histogram | None
    values: list[tuple[str, float, float | None]]
    widest: float


def plot(column: ReportColumn, first: Shares, second: Shares | None) -> Plot:
    """Lay out the shares of a column's codes in one or two tables.

    Args:
        first: (codes,) shares, which also order the values of a column without a scale.
        second: (codes,) shares to compare with; None to show one table.
    """
    if not column.is_ordered or column.codes <= SHOWN_VALUES:
        in_order = column.keeps_order and column.codes <= SHOWN_VALUES
        return _bars(column.words, first, second, in_order=in_order)
    placed = np.flatnonzero(np.isfinite(column.places))
    others = np.flatnonzero(~np.isfinite(column.places))
    spans = column.spans
    if spans is None:  # levels are equally wide
        edges = np.arange(len(placed) + 1) / len(placed)
        spans = np.stack([edges[:-1], edges[1:]], axis=1)
    histogram = _histogram(
        column.heights(first[placed], spans),
        None if second is None else column.heights(second[placed], spans),
        spans,
        (
            column.words[placed[0]],
            column.words[placed[-1]] + (" (logarithmic scale)" if column.is_logarithmic else ""),
        ),
    )
    words = [column.words[code] for code in others]
    return _bars(words, first[others], None if second is None else second[others], histogram=histogram)


def _histogram(first: Shares, second: Shares | None, spans: Shares, ends: tuple[str, str]) -> Histogram:
    tallest = max(float(first.max()), 0.0 if second is None else float(second.max()), 1e-9)

    def path(heights: Shares) -> str:
        return "".join(
            f"V{100 - 96 * height / tallest:.1f}H{100 * end:.2f}"
            for height, (_, end) in zip(heights, spans, strict=True)
        )

    return Histogram(
        area="M0,100" + path(first) + "V100Z",
        step="" if second is None else "M0," + path(second).removeprefix("V"),
        first=ends[0],
        last=ends[1],
    )


def _bars(
    words: Sequence[str],
    first: Shares,
    second: Shares | None,
    *,
    histogram: Histogram | None = None,
    in_order: bool = False,
) -> Plot:
    def pair(codes: NDArray[np.intp]) -> tuple[float, float | None]:
        return float(first[codes].sum()), None if second is None else float(second[codes].sum())

    order = np.arange(len(first)) if in_order else np.argsort(-first, kind="stable")
    shown = [
        (words[code], *pair(order[index : index + 1])) for index, code in enumerate(order[:SHOWN_VALUES])
    ]
    rest = order[SHOWN_VALUES:]
    if len(rest):
        shown.append((f"{len(rest)} more", *pair(rest)))
    widest = max((share for _, *both in shown for share in both if share is not None), default=0.0)
    return Plot(histogram=histogram, values=shown, widest=widest or 1.0)
