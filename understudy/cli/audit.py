"""``understudy audit``: search, export and verify the log of who did what."""

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Commands, Service
from understudy.client.auditing import EXPORT_FORMATS
from understudy.documents import Json
from understudy.errors import InputUnusable, VerificationFailed

app = Commands(
    help="Search, export and verify the audit log; for auditors (with --key or UNDERSTUDY_KEY) and admins. Owners read the trail of a dataset.",
    no_args_is_help=True,
)

Actor = Annotated[str | None, typer.Option("--actor", help="Only of this principal, key or process.")]
Action = Annotated[str | None, typer.Option("--action", help="Only this action, such as budget.set.")]
Object = Annotated[str | None, typer.Option("--object", help="Only on the thing with this id.")]
Outcome = Annotated[str | None, typer.Option("--outcome", help="Only with this outcome: done, or a code.")]
From = Annotated[str | None, typer.Option("--from", help="Not before this moment, with its time zone.")]
To = Annotated[str | None, typer.Option("--to", help="Before this moment, with its time zone.")]


@app.command("list")
def list_events(
    actor: Actor = None,
    action: Action = None,
    object_id: Object = None,
    outcome: Outcome = None,
    at_from: From = None,
    at_to: To = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many events at most.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
    *,
    service: Service,
) -> None:
    """Show events, newest first."""
    filters = _filters(actor, action, object_id, outcome, at_from, at_to)
    screen = TerminalScreen(Console())
    with service.client("admin") as client:
        for event in islice(client.auditing.list_events(filters), limit):
            if as_json:
                print(json.dumps(event))
            else:
                screen.say(event_line(event))


@app.command("trail")
def trail(
    dataset: Annotated[str, typer.Argument(help="Id of the dataset.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many events at most.")] = 50,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show what was done with one dataset and all that hangs on it, newest first (its owner, admins, auditors)."""
    with service.client("owner") as client:
        found = list(islice(client.auditing.list_dataset_events(dataset), limit))
    tell(found, map(trail_line, found), as_json=as_json)


@app.command("export")
def export(
    out: Annotated[Path, typer.Option("--out", help="The file to write; replaced only by a complete one.")],
    file_format: Annotated[str, typer.Option("--format", help="jsonl or csv.")] = "jsonl",
    actor: Actor = None,
    action: Action = None,
    object_id: Object = None,
    outcome: Outcome = None,
    at_from: From = None,
    at_to: To = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Write events to a file in the order of the chain, ended by a trailer that the service has signed."""
    if file_format not in EXPORT_FORMATS:
        message = f"--format is one of: {', '.join(EXPORT_FORMATS)}"
        raise InputUnusable(message)
    filters = _filters(actor, action, object_id, outcome, at_from, at_to)
    with service.client("admin") as client:
        client.auditing.export_log(out, file_format=file_format, filters=filters)
    tell({"file": str(out.resolve()), "format": file_format}, [f"wrote {out}"], as_json=as_json)


@app.command("verify")
def verify(
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Have the whole chain recomputed and compared with the heads noted outside the database."""
    with service.client("admin") as client:
        found = client.auditing.verify_log()
    whole = [f"the audit log is whole: {found['checked']} events"] if found["intact"] else []
    tell(found, whole, as_json=as_json)
    if not found["intact"]:
        message = f"the audit log is broken: {found['problem']} (after {found['checked']} events)"
        raise VerificationFailed(message)


def trail_line(event: Json) -> str:
    """Put an event of a dataset's trail on one line.

    Args:
        event: the event.
    """
    return (
        f"{event['at']}  {event['action']:<22} {event['outcome']:<18} {event['about']} {event['object']}  "
        f"by {event['actor']}"
    )


def event_line(event: Json) -> str:
    """Put an event on one line.

    Args:
        event: the event.
    """
    place = "-" if event["position"] is None else str(event["position"])
    where = event["client_address"] or "-"
    return (
        f"{place:>7}  {event['at']}  {event['action']:<22} {event['outcome']:<18} "
        f"{event['object']}  by {event['actor']}  from {where}"
    )


def _filters(
    actor: str | None,
    action: str | None,
    object_id: str | None,
    outcome: str | None,
    at_from: str | None,
    at_to: str | None,
) -> dict[str, str]:
    given = {
        "actor": actor, "action": action, "object": object_id, "outcome": outcome, "from": at_from, "to": at_to,
    }  # fmt: skip
    return {name: text for name, text in given.items() if text}
