"""``understudy domain``: help with declaring a domain."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import AsJson
from understudy.cli.service import Commands
from understudy.domain_draft import MARK, MOST_CODES, codes_at_most, draft_domain, render_draft
from understudy.errors import InputUnusable
from understudy.image_draft import draft_images, is_of_images, render_images
from understudy.whole_files import whole_file

app = Commands(
    help="Draft the domain of a table or of images.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Draft the domain of a table or of images."""


@app.command("draft")
def draft(
    rows: Annotated[
        Path, typer.Argument(help="The private rows or images: .csv, .csv.gz, .parquet, .zip or .npz.")
    ],
    out: Annotated[Path, typer.Option("--out", help="File to write.")] = Path("domain.json"),
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether the first line holds the column names. Default: guess."
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Field delimiter. Default: guess.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draft the domain of a file on this machine. Values taken from the data are marked for you to confirm; only you can read the file."""
    if out.exists() and not force:
        raise InputUnusable(f"{out} exists; give another --out, or --force to replace it")
    codes = 0
    if is_of_images(rows):
        if header is not None or delimiter is not None:
            raise InputUnusable("--header and --delimiter are about CSV; an archive of images has neither")
        text = render_images(draft_images(rows))
    else:
        drafted = draft_domain(rows, header=header, delimiter=delimiter)
        text, codes = render_draft(drafted), codes_at_most(drafted)
    # An unreviewed draft lists values of the private rows.
    with whole_file(out, private=True) as file:
        file.write(f"{text}\n".encode())
    lines = [
        f"Draft: {out.resolve()}",
        (
            f"Values listed under {MARK!r} come from the rows, and a domain is public: review each one, edit what would "
            "reveal something about a person, then delete the marks. Publishing refuses a domain that still has them."
        ),
    ]
    if codes > MOST_CODES:
        lines.append(
            f"The columns may have {codes:,} codes together; an order takes at most {MOST_CODES:,}. Declare fewer bins or "
            'categories, or columns as "ignored".'
        )
    tell({"file": str(out.resolve()), "to_confirm_under": MARK}, lines, as_json=as_json)
