"""After publishing: the owner's summary, and the offer of one utility report."""

import sys
import time
from dataclasses import replace
from functools import partial
from typing import Final

import typer

from understudy.cli.screen import TerminalScreen
from understudy.client import Client
from understudy.connection import Connection
from understudy.errors import ApprovalPending, UnderstudyError
from understudy.publishing.grant_requests import HOPELESS, obtain_grant
from understudy.publishing.order import Order, Published, counts_several_records, report_part
from understudy.publishing.publish import LEDGER, write_json
from understudy.results.owner_reports import OwnerReport
from understudy.wording.utility_reports import quote_lines, report_lines

PATIENCE_SECONDS: Final = 300.0
LOOK_SECONDS: Final = 2.0
UTILITY_REPORT: Final = "utility-report.json"


def write_owner_summary(connection: Connection, published: Published, screen: TerminalScreen) -> None:
    """Wait for the owner report that the service makes by itself, and show its summary.

    Says nothing where there is none: of models, or because an operator turned it off. Ctrl-C ends the waiting alone.
    """
    release_id = published.release_id
    try:
        with connection.client("owner") as owner:
            report = next(iter(owner.reports.list(release_id)), None)
            if report is None:
                return
            screen.say(
                "Waiting for the owner report. It appears at the end of a fixed interval, of a minute by default, so that its time"
                " says nothing about the rows; Ctrl-C stops waiting."
            )
            report = _ended(owner, report)
            if report.state != "made":
                screen.say(f"It is not made yet: `understudy report {release_id}` waits for it.")
                return
            summary = owner.reports.summary(report.id)
    except UnderstudyError as refusal:
        screen.say(f"The owner report cannot be shown: {refusal}")
        return
    except KeyboardInterrupt:
        screen.say(f"Not waited for: `understudy report {release_id}` fetches it.")
        return
    screen.say("Owner report, for you alone and NOT differentially private:")
    for sentence in (*summary.sentences, *(summary.look_at or ("Nothing stands out.",))):
        screen.say(f"  {sentence}")
    screen.say(f"  All of it: `understudy report {release_id}`.")


def _ended(owner: Client, report: OwnerReport) -> OwnerReport:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not report.ended and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        report = owner.reports.read(report.id)
    return report


def offer_utility_report(
    connection: Connection, published: Published, order: Order, screen: TerminalScreen, *, may_ask: bool
) -> Published:
    """Offer one utility report: make it if the order names its epsilon, ask at a terminal, else print the command.

    Returns:
        What was published; with the file of the signed report and the ledger after it, if one was made.
    """
    if order.model:
        return published
    try:
        return _offered(connection, published, order, screen, may_ask=may_ask)
    except UnderstudyError as refusal:
        screen.say(f"No utility report was made: {refusal}")
        return published


def _offered(
    connection: Connection, published: Published, order: Order, screen: TerminalScreen, *, may_ask: bool
) -> Published:
    guarantee = published.certificate["privacy_parameters"]
    epsilon, delta = report_part(order, guarantee["epsilon"], guarantee["delta"])
    command = f"understudy quality order {published.release_id} --epsilon {epsilon:g} --delta {delta:g}"
    with connection.client("analyst") as analyst:
        ask = partial(analyst.quote_charged_report, published.release_id, epsilon=epsilon, delta=delta)
        quote = ask()
        if quote.refusal in HOPELESS:
            screen.say(
                f"The cap leaves nothing for a utility report of epsilon {epsilon:g} [{quote.refusal}]; an admin can raise it with a reason."
            )
            return published
        for line in quote_lines(quote, requests_grant=True):
            screen.say(line)
        if counts_several_records(order):
            screen.say(
                "  A utility report weighs all units alike, this release all records that count: the errors in the report include that difference"
            )
        if order.utility_report is None and not (
            may_ask
            and typer.confirm(f"Measure this release now, for epsilon {epsilon:g} of the budget?", err=True)
        ):
            screen.say("Nothing was spent on it. Later, with the id that the first command prints:")
            screen.say(
                f"  understudy budget request {published.dataset.id} --epsilon {epsilon:g} --delta {2 * delta:g}"
                ' --purpose "Measure the release"'
            )
            screen.say("  understudy budget approve REQUEST")
            screen.say(f"  {command}")
            return published
        try:
            grant_id = obtain_grant(
                connection,
                analyst,
                published.dataset,
                ask=lambda grant_id: ask(grant_id=grant_id),
                amounts=(epsilon, 2 * delta),
                purpose=f"Measure how good the release of {order.name!r} is.",
                say=screen.say,
            )
        except ApprovalPending:
            screen.say(
                f"The request waits for another person's approval (`understudy budget requests`). Then: {command}"
            )
            return published
        job = analyst.order_charged_report(
            published.release_id, epsilon=epsilon, delta=delta, grant_id=grant_id
        )
        report = analyst.wait_for_charged_report(job.id)
        statement = analyst.read_ledger(published.dataset.id)
    file = order.out / UTILITY_REPORT
    write_json(file, report.document)
    write_json(order.out / LEDGER, statement.document)
    for line in report_lines(report):
        screen.say(line)
    return replace(published, statement=statement, files=(*published.files, file))


def can_be_asked(screen: TerminalScreen) -> bool:
    """Whether a person sits at both ends of the terminal."""
    return sys.stdin.isatty() and screen.console.is_terminal
