"""Upload the rows of an order and report refused rows to the owner by place and kind, never by value."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from understudy.client import Client
from understudy.documents import Json
from understudy.errors import InputUnusable, Refused
from understudy.publishing.order import Order, Screen
from understudy.results.datasets import Dataset, IntakeReport

SHOWN = 5
"""Number of refused rows that are listed."""


def upload(owner: Client, dataset: Dataset, order: Order, screen: Screen) -> IntakeReport:
    """Send the rows and report to the owner, by line, column and kind, which were refused. Only the owner reads the screen.

    Raises:
        InputUnusable: if it refused more rows than the order allows; the screen shows why, and nothing is kept.
        UnderstudyError: if the service refuses them; if it refused every row, the screen shows why.
    """
    rows = order.table.rows
    try:
        with screen.transfer("upload", rows.stat().st_size) as seen:
            report = owner.upload_rows(
                dataset.id, rows, seen=seen, declaration=order.declaration, max_refused=order.max_refused
            )
    except Refused as refusal:
        for line in refused_rows(
            refusal.facts.get("report")
        ):  # nothing is stored, so the report cannot be read later
            screen.say(line)
        raise
    if report.waiting:
        _give_back(owner, dataset, report, screen)
    screen.say(f"Rows stored, encrypted: {report.rows_accepted} accepted, {report.rows_refused} refused.")
    if report.rows_refused:
        for line in refused_rows(report.document):
            screen.say(line)
        screen.say(f"All of them (owner only): GET /v1/datasets/{dataset.id}/intake-report")
    return report


def _give_back(owner: Client, dataset: Dataset, report: IntakeReport, screen: Screen) -> NoReturn:
    """Discard rows that wait for the owner's decision; the owner runs this command and can send them again."""
    for line in refused_rows(report.document):
        screen.say(line)
    owner.discard_rows(dataset.id)
    total = report.rows_accepted + report.rows_refused
    message = (
        f"{report.rows_refused} of {total} rows were refused, more than --max-refused allows; no row was kept and nothing "
        'was charged. Correct the domain or the rows (texts that mean "missing" stand in csv.null_values of the domain), or '
        "publish the others with a larger --max-refused"
    )
    raise InputUnusable(message)


def refused_rows(report: object) -> Sequence[str]:
    """Summarise why rows were refused and where the first ones are; empty if it is no intake report."""
    if not isinstance(report, Mapping):
        return ()
    refusals, problems = report.get("refusals") or {}, report.get("problems") or ()
    counted = report.get("position", "line")
    counts = [
        f"{count} {kind}{_of(column)}" for column, kinds in refusals.items() for kind, count in kinds.items()
    ]
    lines = [f"Refused: {', '.join(counts)}."] if counts else []
    if places := [_place(problem, counted) for problem in problems[:SHOWN]]:
        lines.append(f"The first: {', '.join(places)}.")
    return lines


def _of(column: str) -> str:
    return f" ({column})" if column else ""


def _place(problem: Json, counted: str) -> str:
    """Format a place, such as ``line 5``. The unit (line, row or entry) is also the key of the number."""
    return f"{counted} {problem[counted]}: {problem['kind']}{_of(problem['column'])}"
