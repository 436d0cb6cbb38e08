"""``understudy notify``: be told of what happens, by webhook or e-mail."""

from itertools import islice
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Commands, Service
from understudy.documents import Json

app = Commands(
    help="Be told of requests, decisions, jobs and releases by webhook or e-mail.", no_args_is_help=True
)

EndpointId = Annotated[str, typer.Argument(help="Id of the endpoint; `understudy notify list` shows it.")]
As = Annotated[
    str, typer.Option("--as", help="Of the local stack's own keys, whose: owner, analyst or admin.")
]


@app.command("add")
def add(
    target: Annotated[str, typer.Argument(help="https://... for a program, name@example.org for a person.")],
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", help="Only this, such as job.succeeded; may be given several times."),
    ] = None,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Register an endpoint. A webhook's secret is printed, once; an e-mail address is sent a code to confirm."""
    with service.client(role) as client:
        notifications = client.notifications
        is_web = target.startswith(("https://", "http://"))
        made = (notifications.add_webhook if is_web else notifications.add_email)(target, kinds=kind or ())
    if not as_json:
        TerminalScreen(Console(stderr=True)).say(endpoint_line(made))
    tell(made, [] if made["secret"] is None else [made["secret"]], as_json=as_json)


@app.command("list")
def list_endpoints(
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """List your endpoints."""
    with service.client(role) as client:
        found = client.notifications.list_endpoints()
    tell(found, map(endpoint_line, found), as_json=as_json)


@app.command("log")
def log(
    endpoint: EndpointId,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many deliveries at most.")] = 20,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Show what was told to an endpoint, newest first."""
    with service.client(role) as client:
        found = list(islice(client.notifications.list_deliveries(endpoint), limit))
    tell(found, map(delivery_line, found), as_json=as_json)


@app.command("test")
def send_test(
    endpoint: EndpointId,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Have a test told; `understudy notify log` shows what became of it."""
    with service.client(role) as client:
        client.notifications.send_test(endpoint)
    tell({"id": endpoint, "test": "sent"}, ["a test is on its way"], as_json=as_json)


@app.command("confirm")
def confirm(
    endpoint: EndpointId,
    code: Annotated[str, typer.Argument(help="The code that was sent to the address.")],
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Confirm an e-mail address."""
    with service.client(role) as client:
        found = client.notifications.confirm(endpoint, code)
    tell(found, [endpoint_line(found)], as_json=as_json)


@app.command("rotate")
def rotate(
    endpoint: EndpointId,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Give a webhook a new secret and print it; messages are signed with both for a while."""
    with service.client(role) as client:
        found = client.notifications.rotate(endpoint)
    tell(found, [found["secret"]], as_json=as_json)


@app.command("resume")
def resume(
    endpoint: EndpointId,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Have a paused endpoint told again, from now on."""
    with service.client(role) as client:
        found = client.notifications.resume(endpoint)
    tell(found, [endpoint_line(found)], as_json=as_json)


@app.command("remove")
def remove(
    endpoint: EndpointId,
    as_json: AsJson = False,
    role: As = "owner",
    *,
    service: Service,
) -> None:
    """Forget an endpoint, its address and its secret."""
    with service.client(role) as client:
        client.notifications.remove(endpoint)
    tell({"id": endpoint, "state": "removed"}, [f"removed {endpoint}"], as_json=as_json)


def endpoint_line(found: Json) -> str:
    """Put an endpoint on one line.

    Args:
        found: the endpoint.
    """
    state = found["state"] if found["paused_because"] is None else f"paused: {found['paused_because']}"
    told = ",".join(found["kinds"]) or "everything"
    return f"{found['id']}  {found['channel']:<7}  {state:<12}  {found['target']}  {told}"


def delivery_line(found: Json) -> str:
    """Put a delivery on one line.

    Args:
        found: the delivery.
    """
    about = " ".join(f"{name}={identity}" for name, identity in sorted(found["about"].items()))
    told = f"{found['state']} ({found['outcome'] or 'not tried yet'}, {found['attempts']} tries)"
    return f"{found['happened_at']}  {found['kind']:<24} {told:<36} {about}"
