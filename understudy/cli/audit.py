"""``understudy audit``: search, export and verify the log of who did what."""

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.options import AsJson, DatasetId
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Commands, Service
from understudy.client.auditing import EXPORT_FORMATS
from understudy.documents import Json
from understudy.errors import InputUnusable, VerificationFailed

app = Commands(
    help="Search, export and verify the audit log (admin; auditor with --key or UNDERSTUDY_KEY). Owners read the trail of their datasets.",
    no_args_is_help=True,
)

Actor = Annotated[str | None, typer.Option("--actor", help="Filter by principal, key or process.")]
Action = Annotated[str | None, typer.Option("--action", help="Filter by action, such as budget.set.")]
Object = Annotated[str | None, typer.Option("--object", help="Filter by the id of the object.")]
Outcome = Annotated[str | None, typer.Option("--outcome", help="Filter by outcome: done, or an error code.")]
From = Annotated[str | None, typer.Option("--from", help="Earliest time, with its time zone.")]
To = Annotated[str | None, typer.Option("--to", help="Events before this time, with its time zone.")]


@app.command("list")
def list_events(
    actor: Actor = None,
    action: Action = None,
    object_id: Object = None,
    outcome: Outcome = None,
    at_from: From = None,
    at_to: To = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Largest number of events.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
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
    dataset: DatasetId,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Largest number of events.")] = 50,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show the audit trail of a dataset and of its jobs, releases and grants, newest first (owner, admin, auditor)."""
    with service.client("owner") as client:
        found = list(islice(client.auditing.list_dataset_events(dataset), limit))
    write_answer(found, map(trail_line, found), as_json=as_json)


@app.command("export")
def export(
    out: Annotated[Path, typer.Option("--out", help="File to write; only a complete export replaces it.")],
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
    """Write events to a file in chain order, ending with a trailer signed by the service."""
    if file_format not in EXPORT_FORMATS:
        message = f"--format is one of: {', '.join(EXPORT_FORMATS)}"
        raise InputUnusable(message)
    filters = _filters(actor, action, object_id, outcome, at_from, at_to)
    with service.client("admin") as client:
        client.auditing.export_log(out, file_format=file_format, filters=filters)
    write_answer({"file": str(out.resolve()), "format": file_format}, [f"wrote {out}"], as_json=as_json)


@app.command("verify")
def verify(as_json: AsJson = False, *, service: Service) -> None:
    """Recompute the hash chain and compare it with the heads noted outside the database."""
    with service.client("admin") as client:
        found = client.auditing.verify_log()
    whole = [f"the audit log is whole: {found['checked']} events"] if found["intact"] else []
    write_answer(found, whole, as_json=as_json)
    if not found["intact"]:
        message = f"the audit log is broken: {found['problem']} (after {found['checked']} events)"
        raise VerificationFailed(message)


def trail_line(event: Json) -> str:
    """Format an event of a dataset's trail as one line."""
    return (
        f"{event['at']}  {event['action']:<22} {event['outcome']:<18} {event['about']} {event['object']}  "
        f"by {event['actor']}"
    )


def event_line(event: Json) -> str:
    """Format an event as one line."""
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
