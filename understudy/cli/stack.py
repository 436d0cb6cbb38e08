"""``understudy up``: keep the whole stack running on this machine."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.connection import default_data_folder
from understudy.embedded.__main__ import stop_on_signals
from understudy.embedded.folder import DataFolder
from understudy.embedded.supervisor import Supervisor

DEFAULT_PORT = 8321


def up(
    data_folder: Annotated[
        Path | None,
        typer.Option(
            "--data-folder", help="Where everything is kept; made if missing, readable by its user only."
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port of the API on this machine; 0 for a free one."),
    ] = DEFAULT_PORT,
) -> None:
    """Run Postgres, Redis, the API, a worker and upkeep on this machine until Ctrl-C."""
    console = Console()

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    folder = DataFolder.prepare(data_folder or default_data_folder())
    supervisor = Supervisor(folder, port, notice=say)
    stop_on_signals(supervisor)
    say("Starting ...")
    supervisor.run(announce=lambda ready: say(announcement(ready, with_keys=console.is_terminal)))
    say("Stopped.")


def announcement(supervisor: Supervisor, *, with_keys: bool) -> str:
    """Say where everything is, once the API answers.

    Args:
        supervisor: the running supervisor.
        with_keys: show the API keys; a log is no place for them.
    """
    folder = supervisor.folder
    place = f"API keys (also in {folder.connection_file.name}, which the understudy command finds)"
    shown = "".join(f"\n  {role:<8} {key}" for role, key in folder.keys().items())
    keys = (
        f"{place}{shown}"
        if with_keys
        else f"API keys     {folder.connection_file}, which the understudy command finds"
    )
    return (
        f"understudy is up at {supervisor.url} (open it in a browser, and sign in with a key)\n"
        f"data folder  {folder.path}\n"
        f"logs         {folder.path / 'logs'}\n"
        f"{keys}\n"
        "Ctrl-C stops it; nothing is lost."
    )
