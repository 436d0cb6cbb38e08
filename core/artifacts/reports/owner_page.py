"""An owner report as one HTML file: for the owner only, readable offline, without scripts.

The file's own content security policy forbids loading anything, also when it is opened from disk. The mark
that it is not differentially private stays visible while scrolling and on every printed page.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np

from core.artifacts.reports import owner_text as labels
from core.artifacts.reports.columns import ReportColumn
from core.artifacts.reports.learning import Learning, Score
from core.artifacts.reports.owner_contents import SEED, ColumnCompared, OwnerReportContents
from core.artifacts.reports.owner_plots import column_plot, heat_map, percent
from core.artifacts.reports.owner_style import STYLE

MARK: Final = "Not differentially private – do not share"
MAPPED: Final = 40
"""Maximum number of columns in a map of pairs; beyond it those with the largest errors are shown."""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# Bytes, each above what the page writes (tests compare with pages of many kinds).
_PAGE_BYTES: Final = 64 * 1024
_COLUMN_BYTES, _CODE_BYTES = 8000, 45
_MAPS, _CELL_BYTES, _LINE_BYTES = 4, 260, 300
_LEGEND: Final = '<p class="fine"><span class="key r"></span>real<span class="key s"></span>synthetic</p>'


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a report is about.

    Attributes:
        title: display name of the dataset.
        facts: names and values that identify the release, in display order; all public.
    """

    title: str
    facts: tuple[tuple[str, str], ...]


LONGEST_ACCOUNT: Final = 10_000
"""Characters kept from the end of a failure's account: its file must not be longer than a report."""
FAILED: Final = '<meta name="understudy-report" content="failed">'
"""Marks a file that explains why there is no report."""


def render(subject: Subject, contents: OwnerReportContents) -> str:
    """The whole file."""
    sections = "".join(
        f'<section id="{name}"><h2>{escape(head)}</h2>{"".join(body(contents))}</section>'
        for name, head, body in _SECTIONS
    )
    menu = "".join(f'<li><a href="#{name}">{escape(head)}</a></li>' for name, head, _ in _SECTIONS)
    return _document(subject, f"<p>{labels.PURPOSE}</p>", f"<nav><ul>{menu}</ul></nav>{sections}")


def render_failure(subject: Subject, account: str) -> str:
    """The file in place of a report that could not be made, with an account of the failure, which may quote rows.

    It is sealed and stored like a report, so only the owner can tell them apart.
    """
    kept = escape(account[-LONGEST_ACCOUNT:])
    body = f'<h2>The report could not be made</h2>{labels.FAILURE}<pre class="card">{kept}</pre>'
    return _document(subject, "", body, head=FAILED)


def _document(subject: Subject, purpose: str, body: str, *, head: str = "") -> str:
    title = escape(f"Owner report: {subject.title}")
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in subject.facts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">{head}'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>{title} – {escape(MARK)}</title><style>{STYLE}</style></head><body>"
        f'<div class="mark" role="note">{escape(MARK)}</div><main><h1>{title}</h1>'
        f'{purpose}<dl class="facts">{facts}</dl>{body}</main></body></html>\n'
    )


def _short(contents: OwnerReportContents) -> Iterator[str]:
    yield '<div class="grid three">'
    for value, what, reference in labels.in_short(contents):
        yield (
            f'<div class="card figure"><b>{escape(value)}</b><span>{escape(what)}</span>'
            f'<span class="fine">{escape(reference)}</span></div>'
        )
    yield f'</div><div class="note">{labels.WARNING}</div>'


def _columns(contents: OwnerReportContents) -> Iterator[str]:
    yield labels.COLUMNS + _LEGEND + '<div class="grid columns">'
    for compared in contents.columns:
        yield (
            f'<figure class="card"><figcaption>{escape(compared.column.name)}</figcaption>'
            f'<p class="fine">{escape(compared.column.kind)} · distance {percent(compared.variation)}, by chance '
            f"{percent(compared.by_chance)}</p>{column_plot(compared)}</figure>"
        )
    yield "</div>"


def _table(contents: OwnerReportContents) -> Iterator[str]:
    yield labels.EVERY_COLUMN
    heads = (
        "Distance",
        "By chance",
        "Pairs with it",
        "Guessed: marginal",
        "synthetic",
        "other people",
        "Lead",
        "Excess",
    )
    rows = (
        (compared.column.name, [percent(compared.variation), percent(compared.by_chance), *_pairs(compared), *_guesses(contents, index)])
        for index, compared in enumerate(contents.columns)
    )  # fmt: skip
    yield _rows(("Column", *heads), rows)


def _pairs(compared: ColumnCompared) -> list[str]:
    return ["–" if compared.pairs is None else percent(compared.pairs)]


def _guesses(contents: OwnerReportContents, index: int) -> list[str]:
    if contents.attacks is None:
        return ["–"] * 5
    found = contents.attacks.inferences[index]
    points = [labels.signed(points) for points in (found.lead, found.excess)]
    return [percent(found.marginal), percent(found.synthetic), percent(found.others), *points]


def _pair_map(contents: OwnerReportContents) -> Iterator[str]:
    yield labels.PAIRS
    shown = _mapped(contents)
    if len(shown) < len(contents.columns):
        yield f'<p class="fine">Showing the {len(shown)} of {len(contents.columns)} columns with the largest errors.</p>'
    errors = contents.pair_errors[np.ix_(shown, shown)]
    yield '<div class="card">' + heat_map(_names(contents, shown), errors, full=max(0.2, float(errors.max())), label=_whole) + "</div>"  # fmt: skip


def _association(contents: OwnerReportContents) -> Iterator[str]:
    yield labels.ASSOCIATION
    shown = _mapped(contents)
    names = _names(contents, shown)
    real, made = (
        matrix[np.ix_(shown, shown)] for matrix in (contents.real_association, contents.synthetic_association)
    )
    for head, values, full, kind in (
        ("Real", real, 1.0, "a"),
        ("Synthetic", made, 1.0, ""),
        ("Difference", np.abs(real - made), 0.5, ""),
    ):
        label: Callable[[float], str] = _hundredths
        yield f'<h3>{head}</h3><div class="card">{heat_map(names, values, full=full, kind=kind, label=label)}</div>'


def _learning(contents: OwnerReportContents) -> Iterator[str]:
    found = contents.learning
    if found is None:
        yield "<p>There is nothing to learn: there is only one column, one class or one unit.</p>"
        return
    yield labels.learning(found)
    yield _rows(("Model", "Learnt from", "Accuracy", "Balanced accuracy", "AUROC"), _scores(found))
    yield labels.LEARNING_LIMITS


def _scores(found: Learning) -> Iterator[tuple[str, list[str]]]:
    for made, real in zip(found.from_synthetic, found.from_real, strict=True):
        yield made.model, ["synthetic rows", *_score(made)]
        yield real.model, ["real rows", *_score(real)]
    yield "always the most frequent answer", ["real rows", percent(found.majority), "", ""]


def _score(score: Score) -> list[str]:
    auroc = "–" if score.auroc is None else f"{score.auroc:.3f}"
    return [percent(score.accuracy), percent(score.balanced_accuracy), auroc]


def _attacks(contents: OwnerReportContents) -> Iterator[str]:
    found = contents.attacks
    if found is None:
        yield "<p>Attacks need records of at least two units.</p>"
        return
    yield labels.ATTACKS
    near, copied = found.closeness, found.copies
    yield "<h3>Distance to the closest row</h3>" + labels.closeness(near)
    heads = ("Closest", "5 % of records within", "Median", "95 % within")
    quantiles = (("synthetic row", near.synthetic), ("record of other people", near.others))
    yield _rows(heads, ((name, [f"{value:.3f}" for value in found]) for name, found in quantiles))
    yield labels.CLOSENESS_LIMITS + "<h3>Exact copies</h3>" + labels.copies(copied)
    kinds = (("synthetic rows", copied.synthetic), ("records of other people", copied.others), ("independent columns", copied.independent))  # fmt: skip
    yield _rows(
        ("Rows", "equal a record in every column"), ((name, [percent(share)]) for name, share in kinds)
    )
    yield labels.COPIES_LIMITS + "<h3>Guessing a value from all others</h3>"
    yield labels.inference(found.inferences[contents.target], contents.columns[contents.target].column.name)
    yield labels.INFERENCE_LIMITS


def _limits(contents: OwnerReportContents) -> Iterator[str]:
    yield labels.limits(contents, seed=SEED)


_SECTIONS: Final[Sequence[tuple[str, str, Callable[[OwnerReportContents], Iterator[str]]]]] = (
    ("short", "In short", _short),
    ("columns", "Every column, real and synthetic", _columns),
    ("table", "Every column in numbers", _table),
    ("pairs", "Pairs of columns", _pair_map),
    ("association", "Association of columns", _association),
    ("learning", "What can be learnt from it", _learning),
    ("attacks", "Privacy attacks", _attacks),
    ("limits", "What this report does not say", _limits),
)


def _rows(heads: Sequence[str], rows: Iterator[tuple[str, list[str]]]) -> str:
    """A table whose first column names the row; numbers are right-aligned."""
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="{"" if cell[:1].isalpha() else "n"}">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    head = "".join(
        f'<th scope="col"{"" if index == 0 or name == "Learnt from" else " class=n"}>{escape(name)}</th>'
        for index, name in enumerate(heads)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _mapped(contents: OwnerReportContents) -> list[int]:
    """The columns shown in maps, in file order."""
    worst = np.argsort(-contents.pair_errors.mean(axis=1), kind="stable")[:MAPPED]
    return sorted(int(index) for index in worst)


def _names(contents: OwnerReportContents, shown: list[int]) -> list[str]:
    return [contents.columns[index].column.name for index in shown]


def _whole(value: float) -> str:
    return f"{100 * value:.0f}" if value >= 0.095 else f"{100 * value:.1f}"  # noqa: PLR2004 - two digits


def _hundredths(value: float) -> str:
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
