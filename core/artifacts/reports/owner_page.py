"""An owner report as one HTML file: for the owner only, readable offline, without scripts.

`owner_report.html` holds the words of a table's report, `owner_frame.html` what reports of tables and images (`image_page`) share; plots, style and environment are those of every report (`core.artifacts.reports.page`). The file's own content
security policy forbids loading anything, also when it is opened from disk. The mark that it is not differentially
private stays visible while scrolling and on every printed page.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from markupsafe import Markup, escape

from core.artifacts.reports.attacks import NEIGHBOURS
from core.artifacts.reports.columns import ReportColumn
from core.artifacts.reports.learning import Learning, Score
from core.artifacts.reports.learning_findings import best_scores
from core.artifacts.reports.owner_contents import REAL_ROWS, SEED, UNLISTED, OwnerReportContents
from core.artifacts.reports.owner_findings import NO_LEAK, summarise
from core.artifacts.reports.owner_summary import OwnerSummary
from core.artifacts.reports.page import environment, percent

MARK: Final = "Not differentially private – do not share"
FAILED: Final = Markup('<meta name="understudy-report" content="failed">')
"""Marks a file that explains why there is no report."""
MAPPED: Final = 40
"""Maximum number of columns in a map of pairs; beyond it those with the largest errors are shown."""
LONGEST_ACCOUNT: Final = 10_000
"""Characters kept from the end of a failure's account: its file must not be longer than a report."""
# Bytes, each above what the page writes (tests compare with pages of many kinds).
_PAGE_BYTES: Final = 64 * 1024
_COLUMN_BYTES, _CODE_BYTES = 8000, 45
_MAPS, _CELL_BYTES, _LINE_BYTES = 4, 260, 300

Row = tuple[str, list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Subject of a report.

    Attributes:
        facts: names and values that identify the release, in display order; all public.
        why_free: why the report cost no budget, as the end of a sentence.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    why_free: str = "it is sealed: the service shows it only to the owner"


def render(subject: Subject, contents: OwnerReportContents) -> str:
    """The whole file."""
    shown = _mapped(contents)
    square = np.ix_(shown, shown)
    real, made = contents.real_association[square], contents.synthetic_association[square]
    errors = contents.pair_errors[square]
    return page(
        "owner_report.html",
        subject,
        contents,
        summary=summarise(contents),
        names=[contents.columns[index].column.name for index in shown],
        pair_errors=errors.tolist(),
        largest_error=max(0.2, float(errors.max())),
        associations=(
            ("Real", real.tolist(), 1.0, "a"),
            ("Synthetic", made.tolist(), 1.0, ""),
            ("Difference", np.abs(real - made).tolist(), 0.5, ""),
        ),
        best=None if contents.learning is None else best_scores(contents.learning),
        column_rows=list(_column_rows(contents)),
        score_rows=[] if contents.learning is None else list(score_rows(contents.learning, "rows")),
        distance_rows=list(_distance_rows(contents)),
        copy_rows=list(_copy_rows(contents)),
    )


def render_failure(subject: Subject, account: str) -> str:
    """The file in place of a report that could not be made, with an account of the failure, which may quote rows.

    It is sealed and stored like a report, so only the owner can distinguish them.
    """
    return page(
        "owner_frame.html",
        subject,
        None,
        summary=OwnerSummary.of_failure(),
        account=account[-LONGEST_ACCOUNT:],
    )


def page(name: str, subject: Subject, contents: object, **facts: Any) -> str:  # noqa: ANN401 - a template's variables
    """A file by its template; `contents` are None where the report could not be made."""
    fixed = {
        "mark": MARK,
        "failed": FAILED,
        "seed": SEED,
        "most_rows": REAL_ROWS,
        "neighbours": NEIGHBOURS,
        "no_leak": NO_LEAK,
        "unlisted": UNLISTED,
        "in_percent": _in_percent,
        "in_hundredths": _in_hundredths,
        "points": _points,
    }
    return (
        environment().get_template(name).render(subject=subject, contents=contents, **fixed, **facts) + "\n"
    )


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
    for compared in contents.made:
        yield compared.column.name, [percent(compared.variation), percent(compared.by_chance), *["–"] * 6]


def score_rows(found: Learning, records: str) -> Iterator[Row]:
    """The rows of the table of scores; `records` are "rows" or "images"."""
    for made, real in zip(found.from_synthetic, found.from_real, strict=True):
        yield made.model, [f"synthetic {records}", *_score(made)]
        yield real.model, [f"real {records}", *_score(real)]
    yield "majority-class baseline", [f"real {records}", percent(found.majority), "", ""]


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
    names = sorted((escaped_bytes(column.name) for column in columns), reverse=True)
    mapped = names[:MAPPED]
    count = len(mapped)
    cells = _CELL_BYTES * count**2 + _LINE_BYTES * count + 2 * count * sum(mapped)
    plots = sum(
        _COLUMN_BYTES
        + _CODE_BYTES * column.codes
        + 4 * escaped_bytes(column.name)
        + 2 * sum(map(escaped_bytes, column.words))
        for column in columns
    )
    return _PAGE_BYTES + _MAPS * cells + plots


def escaped_bytes(text: str) -> int:
    """Bytes of a text on a page."""
    return len(escape(text).encode())
