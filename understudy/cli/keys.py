"""``understudy keys``: make, list, rotate and revoke API keys."""

from typing import Annotated

import typer
from rich.console import Console

from understudy import keys
from understudy.cli.options import DataFolderPath, Key, Url
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
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Make a key and print it. It is shown once."""
    call = keys.create_key(name=name, roles=role, scopes=scope or (), expires_at=expires)
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        tell_secret(client.run(call))


@app.command("list")
def list_keys(url: Url = None, key: Key = None, data_folder: DataFolderPath = None) -> None:
    """List all keys, without their secrets."""
    screen = TerminalScreen(Console())
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        for found in client.run(keys.list_keys()):
            screen.say(key_line(found))


@app.command("rotate")
def rotate(key_id: KeyId, url: Url = None, key: Key = None, data_folder: DataFolderPath = None) -> None:
    """Make a key's successor with the same rights and print it; the old one works on for a while."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        made = client.run(keys.rotate_key(key_id))
    tell_secret(made)
    TerminalScreen(Console(stderr=True)).say(f"the old key works until {made.document['old_key_ends_at']}")


@app.command("revoke")
def revoke(key_id: KeyId, url: Url = None, key: Key = None, data_folder: DataFolderPath = None) -> None:
    """Make a key and its sessions useless from now on."""
    with find_connection(url=url, key=key, data_folder=data_folder).client("admin") as client:
        TerminalScreen(Console()).say(key_line(client.run(keys.revoke_key(key_id))))


def tell_secret(made: ApiKey) -> None:
    """Print a secret alone on standard output, so that it can be piped; what it is goes to standard error.

    Args:
        made: a key that was just made.
    """
    TerminalScreen(Console(stderr=True)).say(key_line(made))
    TerminalScreen(Console()).say(made.key or "")


def key_line(found: ApiKey) -> str:
    """Put a key on one line.

    Args:
        found: the key.
    """
    parts = [found.id, f"us_{found.prefix}_...", ",".join(found.roles), found.name]
    if found.scopes:
        parts.append(f"only {','.join(found.scopes)}")
    if found.revoked_at is not None:
        return "  ".join([*parts, f"revoked {found.revoked_at}"])
    parts.append("never expires" if found.expires_at is None else f"expires {found.expires_at}")
    parts.append("never used" if found.last_used_at is None else f"last used {found.last_used_at}")
    return "  ".join(parts)
