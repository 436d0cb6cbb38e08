"""``understudy notify``: webhooks and e-mail addresses."""

from itertools import islice
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.options import AsJson
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Commands, Service
from understudy.documents import Json

app = Commands(
    help="Manage notifications of requests, decisions, jobs and releases, by webhook or e-mail.",
    no_args_is_help=True,
)

EndpointId = Annotated[str, typer.Argument(help="Id of the endpoint; `understudy notify list` shows it.")]
As = Annotated[
    str, typer.Option("--as", help="Which of the local stack's keys to use: owner, analyst or admin.")
]


@app.command("add")
def add(
    target: Annotated[str, typer.Argument(help="https://... for a webhook, name@example.org for e-mail.")],
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Event to deliver, such as job.succeeded. Repeatable. Default: all."),
    ] = None,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Add an endpoint. A webhook's secret is printed once; an e-mail address gets a code to confirm."""
    with service.client(role) as client:
        notifications = client.notifications
        is_web = target.startswith(("https://", "http://"))
        made = (notifications.add_webhook if is_web else notifications.add_email)(target, kinds=kind or ())
    if not as_json:
        TerminalScreen(Console(stderr=True)).say(endpoint_line(made))
    write_answer(made, [] if made["secret"] is None else [made["secret"]], as_json=as_json)


@app.command("list")
def list_endpoints(as_json: AsJson = False, role: As = "owner", *, service: Service) -> None:
    """List your endpoints."""
    with service.client(role) as client:
        found = client.notifications.list_endpoints()
    write_answer(found, map(endpoint_line, found), as_json=as_json)


@app.command("log")
def log(
    endpoint: EndpointId,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Largest number of deliveries.")] = 20,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Show the deliveries to an endpoint, newest first."""
    with service.client(role) as client:
        found = list(islice(client.notifications.list_deliveries(endpoint), limit))
    write_answer(found, map(delivery_line, found), as_json=as_json)


@app.command("test")
def send_test(endpoint: EndpointId, as_json: AsJson = False, role: As = "owner", *, service: Service) -> None:
    """Send a test message; `understudy notify log` shows the outcome."""
    with service.client(role) as client:
        client.notifications.send_test(endpoint)
    write_answer({"id": endpoint, "test": "sent"}, ["a test is on its way"], as_json=as_json)


@app.command("confirm")
def confirm(
    endpoint: EndpointId,
    code: Annotated[str, typer.Argument(help="Code that was sent to the address.")],
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Confirm an e-mail address."""
    with service.client(role) as client:
        found = client.notifications.confirm(endpoint, code)
    write_answer(found, [endpoint_line(found)], as_json=as_json)


@app.command("rotate")
def rotate(endpoint: EndpointId, as_json: AsJson = False, role: As = "owner", *, service: Service) -> None:
    """Replace the secret of a webhook and print the new one; for a while messages are signed with both."""
    with service.client(role) as client:
        found = client.notifications.rotate(endpoint)
    write_answer(found, [found["secret"]], as_json=as_json)


@app.command("resume")
def resume(endpoint: EndpointId, as_json: AsJson = False, role: As = "owner", *, service: Service) -> None:
    """Resume a paused endpoint. Events that it missed are not delivered."""
    with service.client(role) as client:
        found = client.notifications.resume(endpoint)
    write_answer(found, [endpoint_line(found)], as_json=as_json)


@app.command("remove")
def remove(endpoint: EndpointId, as_json: AsJson = False, role: As = "owner", *, service: Service) -> None:
    """Delete an endpoint, its address and its secret."""
    with service.client(role) as client:
        client.notifications.remove(endpoint)
    write_answer({"id": endpoint, "state": "removed"}, [f"removed {endpoint}"], as_json=as_json)


def endpoint_line(found: Json) -> str:
    """Format an endpoint as one line."""
    state = found["state"] if found["paused_because"] is None else f"paused: {found['paused_because']}"
    kinds = ",".join(found["kinds"]) or "everything"
    return f"{found['id']}  {found['channel']:<7}  {state:<12}  {found['target']}  {kinds}"


def delivery_line(found: Json) -> str:
    """Format a delivery as one line."""
    about = " ".join(f"{name}={identity}" for name, identity in sorted(found["about"].items()))
    result = f"{found['state']} ({found['outcome'] or 'not tried yet'}, {found['attempts']} tries)"
    return f"{found['happened_at']}  {found['kind']:<24} {result:<36} {about}"
