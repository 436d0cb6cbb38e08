"""``understudy quality``: utility reports, which the API calls charged reports."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.options import AsJson, Epsilon, KeysFile, TrustedKeys, delta_option
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Commands, Service
from understudy.errors import InputUnusable, library_missing
from understudy.verifying.signatures import trusted_keys
from understudy.verifying.strict_json import read_object
from understudy.wording.utility_reports import quote_lines, report_lines

app = Commands(
    help="Order, read and verify utility reports: how good a release is, measured for a small epsilon.",
    no_args_is_help=True,
)

ReleaseId = Annotated[str, typer.Argument(help="Id of the release.")]
Delta = Annotated[
    float | None,
    delta_option(
        "Delta of the report. Default: a sixteenth of the cap's; less where the grant has less left."
    ),
]
Target = Annotated[
    str | None,
    typer.Option("--target", help="Column to predict. Default: the domain's target; for images, the label."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        help="Column to measure; for images label, brightness or detail. Repeatable. Default: all; fewer are measured more precisely.",
    ),
]
Grant = Annotated[
    str | None,
    typer.Option(
        "--grant", help="Id of the grant that pays. Default: your only open one in which the report fits."
    ),
]


@app.command("quote")
def quote(
    release: ReleaseId,
    epsilon: Epsilon,
    delta: Delta = None,
    target: Target = None,
    columns: Columns = None,
    grant: Grant = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show what a report would cost and how precise it would be. Nothing is spent and no record is read."""
    with service.client("analyst") as client:
        answer = client.quote_charged_report(
            release, epsilon=epsilon, delta=delta, target=target, columns=columns, grant_id=grant
        )
    write_answer(answer.document, quote_lines(answer), as_json=as_json)


@app.command("order")
def order(
    release: ReleaseId,
    epsilon: Epsilon,
    delta: Delta = None,
    target: Target = None,
    columns: Columns = None,
    grant: Grant = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the report.")] = True,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Order a report about a release, drawing on your grant, and show it."""
    screen = TerminalScreen(Console(stderr=as_json))
    with service.client("analyst") as client:
        job = client.order_charged_report(
            release, epsilon=epsilon, delta=delta, target=target, columns=columns, grant_id=grant
        )
        screen.say(f"job {job.id}: {job.state}; epsilon {epsilon:g} is reserved")
        if not wait:
            write_answer(job.document, [], as_json=as_json)
            return
        report = client.wait_for_charged_report(job.id, progress=not as_json)
    write_answer(report.document, report_lines(report), as_json=as_json)


@app.command("list")
def list_reports(release: ReleaseId, as_json: AsJson = False, *, service: Service) -> None:
    """List the reports about a release."""
    with service.any_client() as client:
        found = client.list_charged_reports(release)
    lines = [
        f"{entry.id}  epsilon {entry.epsilon:g}, delta {entry.delta:g}  predicted: {entry.target or 'nothing'}"
        for entry in found
    ]
    write_answer(
        [entry.document for entry in found], lines or ["nothing was measured of it yet"], as_json=as_json
    )


@app.command("show")
def show(
    report: Annotated[str, typer.Argument(help="Id of the report.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the signed report to this file.")
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show a report: score and errors with intervals, and the errors expected by chance."""
    with service.any_client() as client:
        found = client.read_charged_report(report)
    if out is not None:
        out.write_text(json.dumps(found.document, indent=2) + "\n", encoding="utf-8")
    write_answer(found.document, report_lines(found), as_json=as_json)


@app.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(help="Report that `understudy quality show --out` wrote.")],
    key: TrustedKeys = None,
    keys: KeysFile = None,
    as_json: AsJson = False,
) -> None:
    """Verify a report offline: form, signature, recomputed price, and that every interval follows from its noise.

    Needs the extra `audit`.

    Exit status: 0 if everything holds; 1 if the file cannot be read; 3 if something does not hold; 4 if everything that
    can be computed holds, but no trusted key has signed it.
    """
    try:
        from understudy.verifying.utility import verify_report
    except ImportError as error:
        raise library_missing("verifying", error.name, extra="audit") from None
    try:
        content = file.read_bytes()
    except OSError:
        message = f"there is no readable file {file}"
        raise InputUnusable(message) from None
    checked = verify_report(read_object(content, str(file)), public_keys=trusted_keys(key or (), keys))
    checks = [{"name": check.name, "holds": check.holds, "detail": check.detail} for check in checked.checks]
    words = {True: "holds", False: "REFUSED", None: "open"}
    lines = [f"{words[check.holds]:>8}  {check.name:<11} {check.detail}" for check in checked.checks]
    write_answer(
        {"outcome": checked.outcome.name.lower().replace("_", "-"), "checks": checks}, lines, as_json=as_json
    )
    raise typer.Exit(int(checked.outcome))
