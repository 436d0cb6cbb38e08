"""``understudy up``, ``sign-in``, ``backup`` and ``restore``: the whole stack on this machine."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.options import DataFolderPath
from understudy.connection import default_data_folder
from understudy.embedded import backups
from understudy.embedded.__main__ import stop_on_signals, under_nohup
from understudy.embedded.folder import DataFolder
from understudy.embedded.supervisor import Supervisor
from understudy.embedded.tasks import new_link

DEFAULT_PORT = 8321
FORGOTTEN = 1


def up(
    data_folder: Annotated[
        Path | None,
        typer.Option("--data-folder", help="Data folder; created if missing, readable by its user only."),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port of the API on this machine; 0 for a free one."),
    ] = DEFAULT_PORT,
) -> None:
    """Run Postgres, Redis, the API, a worker and upkeep on this machine until Ctrl-C, and print a link that signs you in.

    It also stops when its terminal closes or its parent process dies, unless it runs under nohup.
    """
    console = Console()

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    folder = DataFolder.prepare(data_folder or default_data_folder())
    supervisor = Supervisor(
        folder,
        port,
        notice=say,
        parent=None if under_nohup() else os.getppid(),
        with_link=console.is_terminal,
    )
    stop_on_signals(supervisor)
    say("Starting ...")
    supervisor.run(announce=lambda ready: say(announcement(ready, with_keys=console.is_terminal)))
    say("Stopped.")


def sign_in(data_folder: DataFolderPath = None) -> None:
    """Print a link that signs you in to the local stack's pages, as owner, analyst and admin at once.

    It works once, for ten minutes, on this machine.
    """
    typer.echo(new_link(DataFolder.prepare(data_folder or default_data_folder())))


def backup(
    folder: Annotated[Path, typer.Argument(help="Folder for this backup: new or empty.")],
    data_folder: DataFolderPath = None,
) -> None:
    """Back up the local stack's database and sealed objects, without the master key. The stack may be running."""
    backups.back_up(DataFolder.prepare(data_folder or default_data_folder()), folder.absolute())
    typer.echo(
        f"Backed up to {folder}. Keep master.key of the data folder elsewhere: nothing opens without it."
    )


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder that `understudy backup` wrote.")],
    data_folder: DataFolderPath = None,
) -> None:
    """Restore a backup into the local stack, which must be stopped. Exits with 1 if a ledger lost spends that were noted."""
    whole = backups.restore(
        DataFolder.prepare(data_folder or default_data_folder()), folder.absolute(), notice=typer.echo
    )
    if not whole:
        typer.echo("Datasets of broken ledgers are frozen: docs/operations.md, Restore, says what to do.")
        raise typer.Exit(FORGOTTEN)
    typer.echo("Restored; no ledger has forgotten anything.")


def announcement(supervisor: Supervisor, *, with_keys: bool) -> str:
    """Say where everything is, once the API answers. A log is no place for the API keys, nor for a link."""
    folder = supervisor.folder
    place = f"API keys (also in {folder.connection_file.name}, which the understudy command finds)"
    shown = "".join(f"\n  {role:<8} {key}" for role, key in folder.keys().items())
    keys = (
        f"{place}{shown}"
        if with_keys
        else f"API keys     {folder.connection_file}, which the understudy command finds"
    )
    return (
        f"understudy is up at {supervisor.url}\n"
        f"sign in      {supervisor.link or 'understudy sign-in prints a link for your browser'}\n"
        f"data folder  {folder.path}\n"
        f"logs         {folder.path / 'logs'}\n"
        f"{keys}\n"
        "Ctrl-C stops it; nothing is lost."
    )
