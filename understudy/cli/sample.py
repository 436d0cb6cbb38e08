"""``understudy sample``: draw synthetic rows from a release, or offline from a bundle file."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.calls import FORMATS
from understudy.cli.options import MOST_ROWS, DataFolderPath, Key, Url
from understudy.cli.screen import TerminalScreen
from understudy.connection import find_connection
from understudy.errors import InputUnusable, NotInstalled


def sample(
    rows: Annotated[int, typer.Option("--rows", min=1, max=MOST_ROWS, help="Number of synthetic rows.")],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Draw from this bundle file; no service is needed.")
    ] = None,
    release: Annotated[
        str | None, typer.Option("--release", help="Draw from this release of the service.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write; its ending is the format. Else synthetic.csv."),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv, parquet or jsonl; else by the ending of --out.")
    ] = None,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Draw synthetic rows from a release of the service, or offline from a bundle. It costs nothing, however many."""
    if (bundle is None) == (release is None):
        raise InputUnusable("give either --bundle FILE or --release ID")
    target = out or Path(f"synthetic.{file_format or FORMATS[0]}")
    chosen = file_format or target.suffix.lstrip(".")
    if chosen not in FORMATS:
        raise InputUnusable(f"unknown format {chosen!r}; --format is one of {', '.join(FORMATS)}")
    screen = TerminalScreen(Console())
    if bundle is not None:
        sample_offline(bundle, target, rows, chosen, screen)
    else:
        connection = find_connection(url=url, key=key, data_folder=data_folder)
        with connection.any_client() as client, screen.transfer(f"{rows} synthetic rows", None) as seen:
            client.download_samples(str(release), target, rows=rows, file_format=chosen, seen=seen)
    screen.say(f"{rows} synthetic rows: {target.resolve()}")


def sample_offline(bundle: Path, target: Path, rows: int, file_format: str, screen: TerminalScreen) -> None:
    """Draw from a bundle file with the engine of the service.

    Args:
        bundle: the bundle.
        target: the file to write.
        rows: number of rows.
        file_format: how they are written.
        screen: told of the progress.

    Raises:
        InputUnusable: if there is no such bundle.
        NotInstalled: if the engine is missing.
    """
    if not bundle.is_file():
        raise InputUnusable(f"there is no file {bundle}")
    try:
        from understudy.local import sample_to_file
    except ImportError as error:
        raise NotInstalled(
            f"sampling offline needs {error.name}: pip install 'understudy[offline]'; the README in the bundle shows a "
            "program without understudy"
        ) from None
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with screen.transfer(f"{rows} synthetic rows", None) as seen:
        sample_to_file(bundle, target, rows=rows, file_format=file_format, threads=threads, seen=seen)
