"""``understudy people``: create people, enrol them, recover them; accept an enrolment."""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import tell
from understudy.cli.keys import tell_secret
from understudy.cli.options import AsJson, DataFolderPath, Key, Url
from understudy.cli.screen import TerminalScreen
from understudy.client import Client
from understudy.connection import find_connection
from understudy.documents import Json

app = typer.Typer(help="Create people and enrol them; accept an enrolment.", no_args_is_help=True)

PrincipalId = Annotated[
    str, typer.Argument(metavar="PRINCIPAL", help="Id of the person; `understudy people list` shows it.")
]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What everybody calls the person.")],
    role: Annotated[
        list[str],
        typer.Option("--role", help="owner, analyst, admin or auditor; may be given several times."),
    ],
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Create a person and print the token to hand over. It is shown once, and works once."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        made = client.create_person(name=name, roles=role)
    _tell_token(made, made["enrolment"], as_json=as_json)


@app.command("list")
def list_people(
    as_json: AsJson = False, url: Url = None, key: Key = None, data_folder: DataFolderPath = None
) -> None:
    """List everybody, and who has enrolled."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        found = client.list_people()
    tell(found, map(person_line, found), as_json=as_json)


@app.command("enrol")
def enrol(
    principal: PrincipalId,
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make a new enrolment and print the token. For somebody who has had keys it is a recovery, and the person is told."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        made = client.create_enrolment(principal)
    _tell_token(made, made, as_json=as_json)


@app.command("enrolments")
def list_enrolments(
    as_json: AsJson = False, url: Url = None, key: Key = None, data_folder: DataFolderPath = None
) -> None:
    """List your enrolments; with an admin's or an auditor's key everybody's."""
    with find_connection(url=url, key=key, data_folder=data_folder).governing_client() as client:
        found = client.list_enrolments()
    tell(found, map(enrolment_line, found), as_json=as_json)


@app.command("cancel")
def cancel(
    enrolment: Annotated[str, typer.Argument(help="Id of the enrolment; `people enrolments` shows it.")],
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Take back an enrolment that waits, or a recovery that is still held, with the keys that came of it."""
    with find_connection(url=url, key=key, data_folder=data_folder).governing_client() as client:
        found = client.cancel_enrolment(enrolment)
    tell(found, [enrolment_line(found)], as_json=as_json)


@app.command("accept")
def accept(
    name: Annotated[str | None, typer.Option("--name", help="What people call the key.")] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", help='A moment such as 2027-01-31T12:00:00Z, or "never"; else the default.'
        ),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", help="A key that you still have; else UNDERSTUDY_KEY. With it a recovery holds nothing."
        ),
    ] = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make your first key with the token of an enrolment, read from standard input, and print it. It is shown once."""
    token = typer.prompt("Token", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    address = find_connection(url=url, key=key, data_folder=data_folder).url
    with Client(address, key=key or os.environ.get("UNDERSTUDY_KEY", "")) as client:
        made = client.accept_enrolment(token.strip(), name=name, expires_at=expires)
    tell_secret(made, as_json=as_json)
    if made.document.get("held_until"):
        TerminalScreen(Console(stderr=True)).say(
            f"what is sealed to you stays shut until {made.document['held_until']}"
        )


def person_line(found: Json) -> str:
    """Put a person on one line.

    Args:
        found: the person.
    """
    state = f"enrolled {found['enrolled_at']}" if found["enrolled_at"] else "not enrolled"
    parts = [found["principal_id"], found["name"] or "-", ",".join(found["roles"]), state]
    if found["held_until"]:
        parts.append(f"held until {found['held_until']}")
    return "  ".join(parts)


def enrolment_line(found: Json) -> str:
    """Put an enrolment on one line.

    Args:
        found: the enrolment.
    """
    kind = "recovery" if found["is_recovery"] else "enrolment"
    parts = [found["id"], kind, found["state"], f"of principal {found['principal_id']}"]
    parts.append(f"made {found['created_at']}")
    if found["held_until"]:
        parts.append(f"held until {found['held_until']}")
    return "  ".join(parts)


def _tell_token(made: Json, enrolment: Json, *, as_json: bool) -> None:
    """Print a token alone on standard output, so that it can be piped; what it is goes to standard error."""
    if not as_json:
        screen = TerminalScreen(Console(stderr=True))
        screen.say(enrolment_line(enrolment))
        screen.say(f"hand over the token; it works once, until {enrolment['expires_at']}")
    tell(made, [enrolment["token"]], as_json=as_json)
