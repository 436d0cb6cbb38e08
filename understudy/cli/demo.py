"""``understudy demo``: publish the simulated hospital admissions, or your own table, at epsilon 1."""

import os
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.jobs import statement_lines
from understudy.cli.options import (
    LARGEST_EPSILON,
    MOST_ROWS,
    SMALLEST_EPSILON,
    AsJson,
    DeclaredSize,
    Settings,
    delta_option,
    finite,
)
from understudy.cli.publish import check_guarantee, published_document, some_service, summary, warn
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Service
from understudy.errors import InputUnusable, library_missing
from understudy.extras import direct_reference
from understudy.order_options import parse_options
from understudy.publishing.order import Order
from understudy.publishing.publish import publish as publish_order
from understudy.sanity import sanity_lines
from understudy.table_files import read_table_files

ROWS = 50_000


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("understudy-demo"),
    table: Annotated[
        Path | None, typer.Option("--table", help="Your own rows. Default: simulated ones.")
    ] = None,
    domain: Annotated[Path | None, typer.Option("--domain", help="Domain file of your own rows.")] = None,
    declared_size: DeclaredSize = None,
    rows: Annotated[
        int, typer.Option("--rows", min=100, max=MOST_ROWS, help="Number of rows of the simulated table.")
    ] = ROWS,
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon",
            min=SMALLEST_EPSILON,
            max=LARGEST_EPSILON,
            callback=finite,
            help="Epsilon of the guarantee.",
        ),
    ] = 1.0,
    delta: Annotated[float, delta_option("Delta of the guarantee.")] = 1e-6,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Publish simulated hospital admissions, or your own rows, at epsilon 1 on a stack of its own."""
    screen = TerminalScreen(Console(stderr=as_json))
    check_guarantee(epsilon, delta)
    if (table is None) != (domain is None):
        raise InputUnusable("your own table needs both --table ROWS and --domain DOMAIN.json")
    name = None
    if table is None or domain is None:
        # Nobody is in a simulated table, so each demo may have a budget of its own; your own table keeps one.
        name = f"simulated-admissions-{secrets.token_hex(3)}"
        table, domain = simulated(out / "simulated-table", rows, screen)
    files = read_table_files(table, domain, declared_size=declared_size)
    order = Order(
        table=files,
        name=name or table.name.partition(".")[0],
        epsilon=epsilon,
        delta=delta,
        options=parse_options(settings or []),
        sample_rows=files.declared_size,
        out=out,
        purpose="See how a table is published.",
    )
    with some_service(Service(data_folder=out / "data-folder"), screen) as connection:
        published = publish_order(connection, order, screen)
    if as_json:
        write_answer(published_document(published), (), as_json=True)
        warn(published, screen)
        return
    for line in [
        *summary(published, order),
        "",
        "Ledger statement:",
        *statement_lines(published.statement),
        "",
    ]:
        screen.say(line)
    if published.sheet is not None:
        screen.show(published.sheet)
    else:
        for line in sanity_lines(published.files[0], files.domain):
            screen.say(line)
    warn(published, screen)


def simulated(folder: Path, rows: int, screen: TerminalScreen) -> tuple[Path, Path]:
    """Write the simulated table into a folder.

    Raises:
        NotInstalled: if numpy is missing, and uv did not start this.
    """
    try:
        from understudy.simulation import NOTE, write_table
    except ImportError as error:
        everything = direct_reference("all")
        if (uv := os.environ.get("UV")) and everything:
            screen.say(
                "The light client has no engine: uv fetches the extra `all`, whose torch is large. UV_TORCH_BACKEND=cpu takes its smaller build."
            )
            # The same command with everything installed, so that `uvx --from . understudy demo` needs no more words. The requirement has its
            # source: a bare name would run another project's code.
            os.execv(uv, [uv, "tool", "run", "--from", everything, "understudy", *sys.argv[1:]])  # noqa: S606 - no shell
        raise library_missing("the simulated table", error.name) from None
    screen.say(NOTE)
    return write_table(folder, rows=rows)
