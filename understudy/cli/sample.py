"""``understudy sample``: draw synthetic rows or images from a release, or offline from a bundle file."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.options import MOST_ROWS, AsJson
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Service
from understudy.client import Client
from understudy.documents import Json, take
from understudy.errors import InputUnusable, InvalidInput, library_missing
from understudy.sample_conditions import FIX, declared_bin_notes, hidden_lines, parse_conditions
from understudy.sample_formats import FORMATS, IMAGE_FORMATS, formats_of

SHEET = "png"


def sample(
    rows: Annotated[
        int, typer.Option("--rows", min=1, max=MOST_ROWS, help="Number of synthetic rows or images.")
    ],
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Draw offline from this bundle file.")
    ] = None,
    release: Annotated[
        str | None, typer.Option("--release", help="Draw from this release of the service.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File to write; its extension sets the format. Default: synthetic.csv, or .npz for images.",
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Rows: csv, parquet, jsonl or arrow (a stream). Images: npz (arrays), zip (PNG files with a table of their labels) or "
            "png (one contact sheet). Default: the extension of --out.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            help="Fix a column to a value (for images: label=...), or to COLUMN=null, a missing one. A number, date or time "
            "is drawn within the bin of the value. Also COLUMN>=VALUE, with <=, > and <, 'COLUMN in A..B' and 'COLUMN in A,B'; "
            "2024-01 is a month. Repeatable. Refused if fewer than about one row in a thousand meets it.",
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula.",
        ),
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Also show the contact sheet in the terminal.")
    ] = False,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Draw synthetic rows or images from a release, or offline from a bundle. It costs no privacy budget."""
    if (bundle is None) == (release is None):
        raise InputUnusable("give either --bundle FILE or --release ID")
    chosen = file_format or (None if out is None else out.suffix.lstrip("."))
    if chosen is not None and chosen not in FORMATS:
        raise InputUnusable(f"unknown format {chosen!r}; --format is one of {', '.join(FORMATS)}")
    if show and chosen != SHEET:
        raise InputUnusable("--show needs a contact sheet of images: --out FILE.png")
    condition = parse_conditions(where or [])
    if show and as_json:
        raise InputUnusable("--show and --json exclude each other")
    screen = TerminalScreen(Console(stderr=as_json))
    if bundle is not None:
        target = sample_offline(
            bundle, out, rows, chosen, condition, screen, spreadsheet_safe=spreadsheet_safe
        )
    else:
        with service.any_client() as client:
            target = sample_online(
                client, str(release), out, rows, chosen, condition, screen, spreadsheet_safe=spreadsheet_safe
            )
    if as_json:
        facts = {"file": str(target.resolve()), "rows": rows, "format": target.suffix.lstrip(".")}
        write_answer(facts, (), as_json=True)
    if show:
        screen.show(target)


def sample_online(
    client: Client,
    release: str,
    out: Path | None,
    rows: int,
    file_format: str | None,
    where: Json,
    screen: TerminalScreen,
    *,
    spreadsheet_safe: bool,
) -> Path:
    """Have the service draw into a file, and return the file. It is called and written after what the release generates, unless named."""
    chosen = file_format or _usual_format(client, release)
    target = out or Path(f"synthetic.{chosen}")
    _note(declared_bin_notes(client, release, where) if where else [])
    try:
        with screen.transfer(title(rows, chosen), None) as seen:
            client.download_samples(
                release,
                target,
                rows=rows,
                file_format=chosen,
                where=where,
                spreadsheet_safe=spreadsheet_safe,
                seen=seen,
            )
    except InvalidInput as error:
        if error.code != "invalid-condition":
            raise
        document = {"code": error.code, "detail": error.detail, "remedy": FIX, "facts": error.facts}
        raise InvalidInput(error.status, document | {"request_id": error.request_id}) from error
    for line in hidden_lines(client, release, where) if where else ():
        screen.say(line)
    screen.say(f"{title(rows, chosen)}: {target.resolve()}")
    return target


def _note(lines: list[str]) -> None:
    """Show lines beside the output, which other programs may read."""
    beside = TerminalScreen(Console(stderr=True))
    for line in lines:
        beside.say(line)


def _usual_format(client: Client, release: str) -> str:
    dataset = client.read_dataset(client.read_release(release).dataset_id)
    (domain,) = take(dataset.document, "domain")
    return formats_of(domain)[0]


def title(rows: int, file_format: str) -> str:
    """Say what a file of a format holds."""
    return f"{rows} synthetic {'images' if file_format in IMAGE_FORMATS else 'rows'}"


def sample_offline(
    bundle: Path,
    out: Path | None,
    rows: int,
    file_format: str | None,
    where: Json,
    screen: TerminalScreen,
    *,
    spreadsheet_safe: bool,
) -> Path:
    """Draw from a bundle file with the engine of the service; otherwise as `sample_online`.

    Raises:
        InputUnusable: if there is no such bundle, or what it generates is not written so.
        NotInstalled: if the engine is missing.
    """
    if not bundle.is_file():
        raise InputUnusable(f"there is no file {bundle}")
    try:
        from understudy.local.sampling.bundle import (
            bin_notes,
            hidden_in_bundle,
            open_bundle_samples,
            sample_to_file,
            usual_format,
        )
    except ImportError as error:
        purpose = "sampling offline (not so the program in the bundle's README)"
        raise library_missing(purpose, error.name, extra="offline") from None
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    samples = open_bundle_samples(bundle, threads=threads)
    chosen = file_format or usual_format(samples)
    target = out or Path(f"synthetic.{chosen}")
    _note(bin_notes(samples, where))
    with screen.transfer(title(rows, chosen), None) as seen:
        sample_to_file(
            samples,
            target,
            rows=rows,
            file_format=chosen,
            where=where,
            spreadsheet_safe=spreadsheet_safe,
            seen=seen,
        )
    if where and (hidden := hidden_in_bundle(bundle, where)) is not None:
        screen.say(f"WARNING: {hidden}")
    screen.say(f"{title(rows, chosen)}: {target.resolve()}")
    return target
