"""``understudy dossier``: one file about a dataset for the data protection officer."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Service
from understudy.client.auditing import DOSSIER_FORMATS
from understudy.errors import InputUnusable


def dossier(
    dataset: Annotated[str, typer.Argument(help="Id of the dataset.")],
    out: Annotated[Path, typer.Option("--out", help="File to write: .html to print, .json for signed JSON.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Write the dossier of a dataset: promise, budget, requests, releases, certificates, ledger (owner, admin, auditor)."""
    file_format = out.suffix.removeprefix(".")
    if file_format not in DOSSIER_FORMATS:
        message = "--out ends in .html (a paper that prints) or in .json (the same, signed)"
        raise InputUnusable(message)
    with service.client("admin") as client:
        client.auditing.export_dossier(dataset, out, file_format=file_format)
    if as_json:
        tell({"file": str(out.resolve()), "format": file_format}, (), as_json=True)
    else:
        TerminalScreen(Console(stderr=True)).say(f"wrote {out}")
