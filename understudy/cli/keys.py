"""``understudy keys``: make, list, rotate and revoke API keys."""

from typing import Annotated

import typer
from rich.console import Console

from understudy import keys
from understudy.cli.answers import tell
from understudy.cli.options import AsJson, DataFolderPath, Key, Url
from understudy.cli.screen import TerminalScreen
from understudy.connection import find_connection
from understudy.keys import ApiKey

app = typer.Typer(help="Make, list, rotate and revoke API keys (admin).", no_args_is_help=True)

KeyId = Annotated[str, typer.Argument(help="Id of the key; `understudy keys list` shows it.")]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What people call the key.")],
    role: Annotated[
        list[str],
        typer.Option("--role", help="owner, analyst, admin or auditor; may be given several times."),
    ],
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="Narrow the key, such as datasets:write; may be given several times."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", help='A moment such as 2027-01-31T12:00:00Z, or "never"; else the default.'
        ),
    ] = None,
    principal: Annotated[
        str | None, typer.Option("--principal", help="Whom the key speaks for; else a new principal.")
    ] = None,
    principal_name: Annotated[
        str | None,
        typer.Option("--principal-name", help="What everybody calls the principal, shown beside its id."),
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make a key and print it. It is shown once."""
    call = keys.create_key(
        name=name,
        roles=role,
        scopes=scope or (),
        expires_at=expires,
        principal_id=principal,
        principal_name=principal_name,
    )
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        tell_secret(client.run(call), as_json=as_json)


@app.command("name")
def name_principal(
    principal: Annotated[str, typer.Argument(help="Id of the principal; `understudy keys list` shows it.")],
    called: Annotated[str, typer.Argument(metavar="NAME", help="What everybody calls it.")],
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Name a principal: requests, grants and members show the name beside the id. It gives no rights."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        document = client.run(keys.name_principal(principal, called))
    tell(document, [f"{document['principal_id']}  {document['name']}"], as_json=as_json)


@app.command("list")
def list_keys(
    as_json: AsJson = False, url: Url = None, key: Key = None, data_folder: DataFolderPath = None
) -> None:
    """List all keys, without their secrets."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        found = client.run(keys.list_keys())
    tell([each.document for each in found], map(key_line, found), as_json=as_json)


@app.command("rotate")
def rotate(
    key_id: KeyId,
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make a key's successor with the same rights and print it; the old one works on for a while."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        made = client.run(keys.rotate_key(key_id))
    tell_secret(made, as_json=as_json)
    TerminalScreen(Console(stderr=True)).say(f"the old key works until {made.document['old_key_ends_at']}")


@app.command("revoke")
def revoke(
    key_id: KeyId,
    as_json: AsJson = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make a key and its sessions useless from now on."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        found = client.run(keys.revoke_key(key_id))
    tell(found.document, [key_line(found)], as_json=as_json)


def tell_secret(made: ApiKey, *, as_json: bool) -> None:
    """Print a secret alone on standard output, so that it can be piped; what it is goes to standard error.

    Args:
        made: a key that was just made.
        as_json: write the whole answer instead, secret and all.
    """
    if not as_json:
        TerminalScreen(Console(stderr=True)).say(key_line(made))
    tell(made.document, [made.key or ""], as_json=as_json)


def key_line(found: ApiKey) -> str:
    """Put a key on one line.

    Args:
        found: the key.
    """
    parts = [found.id, f"us_{found.prefix}_...", ",".join(found.roles), found.name]
    if found.principal_name is not None:
        parts.append(f"of {found.principal_name}")
    parts.append(f"principal {found.principal_id}")
    if found.scopes:
        parts.append(f"only {','.join(found.scopes)}")
    if found.revoked_at is not None:
        return "  ".join([*parts, f"revoked {found.revoked_at}"])
    parts.append("never expires" if found.expires_at is None else f"expires {found.expires_at}")
    parts.append("never used" if found.last_used_at is None else f"last used {found.last_used_at}")
    return "  ".join(parts)
