"""``understudy people``: create people, enrol them, recover them; accept an enrolment."""

import os
import sys
from typing import Annotated

import typer

from understudy.cli.answers import write_answer, write_secret
from understudy.cli.keys import key_line
from understudy.cli.options import AsJson, DataFolderPath, Url
from understudy.cli.service import Commands, Service
from understudy.client import Client
from understudy.documents import Json

app = Commands(help="Create and enrol people; accept an enrolment.", no_args_is_help=True)

PrincipalId = Annotated[
    str, typer.Argument(metavar="PRINCIPAL", help="Id of the person; `understudy people list` shows it.")
]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Display name of the person.")],
    role: Annotated[list[str], typer.Option("--role", help="owner, analyst, admin or auditor. Repeatable.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Create a person and print the enrolment token. It is shown once and works once."""
    with service.client("admin") as client:
        made = client.create_person(name=name, roles=role)
    _tell_token(made, made["enrolment"], as_json=as_json)


@app.command("list")
def list_people(as_json: AsJson = False, *, service: Service) -> None:
    """List all people, and who has enrolled."""
    with service.client("admin") as client:
        found = client.list_people()
    write_answer(found, map(person_line, found), as_json=as_json)


@app.command("enrol")
def enrol(principal: PrincipalId, as_json: AsJson = False, *, service: Service) -> None:
    """Create an enrolment and print its token. For a person who has had keys it is a recovery; the person is notified."""
    with service.client("admin") as client:
        made = client.create_enrolment(principal)
    _tell_token(made, made, as_json=as_json)


@app.command("enrolments")
def list_enrolments(as_json: AsJson = False, *, service: Service) -> None:
    """List your enrolments, or everybody's with an admin's or auditor's key."""
    with service.governing_client() as client:
        found = client.list_enrolments()
    write_answer(found, map(enrolment_line, found), as_json=as_json)


@app.command("cancel")
def cancel(
    enrolment: Annotated[str, typer.Argument(help="Id of the enrolment; `people enrolments` shows it.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Cancel a pending enrolment, or a held recovery and the keys made with it."""
    with service.governing_client() as client:
        found = client.cancel_enrolment(enrolment)
    write_answer(found, [enrolment_line(found)], as_json=as_json)


@app.command("accept")
def accept(
    name: Annotated[str | None, typer.Option("--name", help="Label of the key.")] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help='Expiry, such as 2027-01-31T12:00:00Z, or "never".')
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="A key that you still have. Default: UNDERSTUDY_KEY. With it a recovery is not held.",
        ),
    ] = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make your first key with an enrolment token, read from standard input. The key is printed once."""
    token = typer.prompt("Token", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    address = Service(url, key, data_folder).connect().url
    with Client(address, key=key or os.environ.get("UNDERSTUDY_KEY", "")) as client:
        made = client.accept_enrolment(token.strip(), name=name, expires_at=expires)
    notes = [key_line(made.facts)]
    if held_until := made.document.get("held_until"):
        notes.append(f"what is sealed to you stays shut until {held_until}")
    write_secret(made.document, made.key, notes, as_json=as_json)


def person_line(found: Json) -> str:
    """Format a person as one line."""
    state = f"enrolled {found['enrolled_at']}" if found["enrolled_at"] else "not enrolled"
    parts = [found["principal_id"], found["name"] or "-", ",".join(found["roles"]), state]
    if found["held_until"]:
        parts.append(f"held until {found['held_until']}")
    return "  ".join(parts)


def enrolment_line(found: Json) -> str:
    """Format an enrolment as one line."""
    kind = "recovery" if found["is_recovery"] else "enrolment"
    parts = [found["id"], kind, found["state"], f"of principal {found['principal_id']}"]
    parts.append(f"made {found['created_at']}")
    if found["held_until"]:
        parts.append(f"held until {found['held_until']}")
    return "  ".join(parts)


def _tell_token(made: Json, enrolment: Json, *, as_json: bool) -> None:
    notes = [
        enrolment_line(enrolment),
        f"hand over the token; it works once, until {enrolment['expires_at']}",
    ]
    write_secret(made, enrolment["token"], notes, as_json=as_json)
