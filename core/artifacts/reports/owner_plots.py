"""Inline SVG plots of an owner report: the two distributions of a column, and maps of pairs.

Numbers are drawn with as many digits as are meaningful; every text is escaped.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

import numpy as np

from core.artifacts.reports.owner_contents import ColumnCompared
from core.artifacts.reports.shares import Matrix, Shares

SHOWN_VALUES: Final = 10
"""Maximum number of categories drawn; the rest is one bar."""
_CELL: Final = 30
_NAME: Final = 150
_HEAD: Final = 22
_VALUES_UP_TO: Final = 18
"""Maps of more columns than this do not write values into the cells."""
_LONGEST_NAME: Final = 20
_STRONG: Final = 0.6
"""From this strength on a cell's value is written in a contrasting colour."""


def percent(share: float) -> str:
    """A share as a percentage; tiny shares are not rounded to zero."""
    return "<\u202f0.1\u202f%" if 0 < share < 0.001 else f"{100 * share:.1f}\u202f%"  # noqa: PLR2004 - a tenth of a percent


def column_plot(compared: ColumnCompared) -> str:
    """The shares of a column: a histogram for an ordered one, and a table of codes without a position on the scale."""
    column = compared.column
    if not column.is_ordered or column.codes <= SHOWN_VALUES:
        return _bars(column.words, compared.real, compared.synthetic)
    placed = np.flatnonzero(np.isfinite(column.places))
    others = np.flatnonzero(~np.isfinite(column.places))
    words = [column.words[code] for code in others]
    apart = _bars(words, compared.real[others], compared.synthetic[others]) if len(others) else ""
    ends = f'<p class="ends"><span>{escape(column.words[placed[0]])}</span><span>{escape(column.words[placed[-1]])}</span></p>'
    return _histogram(compared.real[placed], compared.synthetic[placed]) + ends + apart


def _histogram(real: Shares, synthetic: Shares) -> str:
    """Real shares as an area, synthetic ones as a line."""
    tallest = max(float(real.max()), float(synthetic.max()), 1e-9)
    heights = [100 - 96 * shares / tallest for shares in (real, synthetic)]
    width = 100 / len(real)
    area = "".join(f"V{y:.1f}H{width * (index + 1):.2f}" for index, y in enumerate(heights[0]))
    step = "".join(
        f"{'M0,' if index == 0 else 'V'}{y:.1f}H{width * (index + 1):.2f}"
        for index, y in enumerate(heights[1])
    )
    return (
        '<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="area" d="M0,100{area}V100Z"/><path class="step" d="{step}"/>'
        '<path class="base" d="M0,100H100"/></svg>'
    )  # fmt: skip


def _bars(words: Sequence[str], real: Shares, synthetic: Shares) -> str:
    """A table of values, the most frequent first, with two bars each."""
    order = np.argsort(-real, kind="stable")
    shown = [(words[code], float(real[code]), float(synthetic[code])) for code in order[:SHOWN_VALUES]]
    rest = order[SHOWN_VALUES:]
    if len(rest):
        shown.append((f"{len(rest)} more", float(real[rest].sum()), float(synthetic[rest].sum())))
    widest = max(max(pair[1:]) for pair in shown) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{escape(word)}</th><td class="b"><svg viewBox="0 0 100 16" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect class="real" width="{100 * a / widest:.1f}" height="7"/>'
        f'<rect class="synthetic" y="8" width="{100 * b / widest:.1f}" height="7"/></svg></td>'
        f'<td class="n">{percent(a)}</td><td class="n">{percent(b)}</td></tr>'
        for word, a, b in shown
    )
    return f'<table class="shares"><tbody>{rows}</tbody></table>'


def heat_map(
    names: Sequence[str], values: Matrix, *, full: float, kind: str = "", label: Callable[[float], str]
) -> str:
    """A square map of pairs of columns.

    Args:
        values: (columns, columns), nonnegative.
        full: the value of the darkest cell.
        kind: an additional CSS class of the cells.
        label: formats a value for the cell and its tooltip.
    """
    count = len(names)
    width, height = _NAME + _CELL * count, _HEAD + _CELL * count
    parts = []
    for i, name in enumerate(names):
        middle = _HEAD + _CELL * i + _CELL / 2 + 4
        parts.append(f'<text x="0" y="{middle:g}">{i + 1} {escape(_short(name))}</text>')
        parts.append(f'<text class="h" x="{_NAME + _CELL * i + _CELL / 2:g}" y="14">{i + 1}</text>')
    for i in range(count):
        for j in range(count):
            value = float(values[i, j])
            x, y = _NAME + _CELL * j, _HEAD + _CELL * i
            strength = min(1.0, max(0.0, value / full)) if full > 0 else 0.0
            parts.append(
                f'<rect class="cell {kind}" x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="{_CELL - 2}" rx="3" '
                f'fill-opacity="{0.04 + 0.76 * strength:.2f}"><title>{escape(names[i])} and {escape(names[j])}: '
                f"{label(value)}</title></rect>"
            )
            if count <= _VALUES_UP_TO:
                parts.append(
                    f'<text class="v{" on" if strength > _STRONG else ""}" x="{x + _CELL / 2:g}" y="{y + _CELL / 2 + 3.5:g}">{label(value)}</text>'
                )
    least = min(width, 330)
    return (
        f'<div class="wide map"><svg viewBox="0 0 {width} {height}" style="max-width:{1.25 * width:.0f}px;'
        f'min-width:{max(least, round(0.8 * width))}px" role="img" aria-label="Map of pairs of columns">'
        f"{''.join(parts)}</svg></div>"
    )  # fmt: skip


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
