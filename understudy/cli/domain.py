"""``understudy domain``: help with declaring a domain."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.answers import write_answer
from understudy.cli.domain_file import require_rules
from understudy.cli.options import AsJson
from understudy.cli.service import Commands
from understudy.drafts.categories import NOTE
from understudy.drafts.changes import change
from understudy.drafts.chosen_unit import require_decided
from understudy.drafts.code_counts import codes_at_most
from understudy.drafts.confirmation import Quit, walk
from understudy.drafts.hints import declare_orders, order_of_times, rules_of, target_line, warnings_of
from understudy.drafts.images import choices_of_images, draft_images, is_of_images
from understudy.drafts.marked_values import KINDS, Mark, accept_kinds, marks_of
from understudy.drafts.tables import DRAFT, MOST_CODES, draft_domain, render_draft
from understudy.errors import InputUnusable
from understudy.table_files import MARK, read_domain, without_notes
from understudy.text_encoding import ENCODINGS
from understudy.whole_files import whole_file

app = Commands(
    help="Draft the domain of a table or of images, and confirm the draft.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Draft the domain of a table or of images, and confirm the draft."""


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
    decimal_mark: Annotated[
        str | None,
        typer.Option("--decimal-mark", help="The point or comma before decimals, in CSV. Default: guess."),
    ] = None,
    privacy_unit: Annotated[
        str | None,
        typer.Option(
            "--privacy-unit",
            metavar="COLUMN|none",
            help="The column that says whose row it is, or none if each row is another person's. Default: propose.",
        ),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help=f"One of {', '.join(ENCODINGS)}, of CSV. Default: guess.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draft the domain of a file on this machine. Values taken from the data are marked for you to confirm; only you can read the file."""
    if out.exists() and not force:
        raise InputUnusable(f"{out} exists; give another --out, or --force to replace it")
    codes, choices = 0, list[str]()
    if is_of_images(rows):
        if (header, delimiter, decimal_mark, encoding, privacy_unit) != (None,) * 5:
            raise InputUnusable(
                "--header, --delimiter, --decimal-mark and --encoding are about CSV, --privacy-unit about tables; an archive of images has none"
            )
        drafted = draft_images(rows)
        choices = choices_of_images(drafted)
    else:
        drafted = draft_domain(
            rows,
            header=header,
            delimiter=delimiter,
            decimal_mark=decimal_mark,
            encoding=encoding,
            privacy_unit=privacy_unit,
        )
        codes = codes_at_most(drafted)
        choices = _choices(drafted)
    # An unreviewed draft lists values of the private rows.
    with whole_file(out, private=True) as file:
        file.write(f"{render_draft(drafted)}\n".encode())
    lines = [
        *choices,
        f"Draft: {out.resolve()}",
        f"It quotes the rows, and a domain is public. Go through the quoted values with: understudy domain confirm {out}",
    ]
    if codes > MOST_CODES:
        lines.append(
            f"The columns may have {codes:,} codes together; an order takes at most {MOST_CODES:,}. Declare fewer bins or "
            'categories, or columns as "ignored".'
        )
    write_answer({"file": str(out.resolve()), "to_confirm_under": MARK}, lines, as_json=as_json)


@app.command("confirm")
def confirm(
    file: Annotated[Path, typer.Argument(help="The draft, as `understudy domain draft` wrote it.")],
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="KIND",
            help=f"Accept all values of a kind without a question: {', '.join(KINDS)}, or all. Repeatable.",
        ),
    ] = None,
    privacy_unit: Annotated[
        str | None,
        typer.Option(
            "--privacy-unit",
            metavar="COLUMN|none",
            help="Decide whose row a row is: the column that says it, or none if each row is another person's.",
        ),
    ] = None,
    in_order: Annotated[
        list[str] | None,
        typer.Option(
            "--in-order",
            metavar="FIRST,LAST",
            help="Declare that no synthetic row has FIRST after LAST, two dates or numbers, such as admitted,discharged. Repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Go through the values of a draft that come from the rows: accept, edit, explain, stop and go on later.

    Answers are read from standard input, one a line. Exit status: 0 if nothing is left to confirm, else 1.
    """
    document = read_domain(file)
    screen = sys.stderr if as_json else sys.stdout
    if privacy_unit is not None:
        unit = Mark(document, "privacy_unit", None)
        change(document, unit, privacy_unit)
        unit.accept()
    if {"unit", "all"} & {*(accept or ())}:
        require_decided(document, answer=lambda name: f"--privacy-unit {shlex.quote(name)}")
    accept_kinds(document, accept or ())
    declare_orders(document, in_order or ())
    is_interrupted = False
    try:
        walk(document, _ask_on(screen), lambda line: print(line, file=screen))
    except (Quit, KeyboardInterrupt) as stopped:
        is_interrupted = isinstance(stopped, KeyboardInterrupt)
        print(file=screen)
    left = marks_of(document)
    if not left:
        document = without_notes(document)
    with whole_file(file, private=True) as out:
        out.write(render_draft(document).encode())
    if not left:
        require_rules(document, file)
    counts = {kind: sum(mark.kind == kind for mark in left) for kind in KINDS}
    found = {kind: count for kind, count in counts.items() if count}
    lines = (
        [f"{len(left)} values are left to confirm. Go on with: understudy domain confirm {file}"]
        if left
        else [
            *order_of_times(document, answer=f"understudy domain confirm {file} --in-order FIRST,LAST"),
            f"Confirmed: {file}. See fakes of it: understudy dummy --domain {file} --rows 1000",
        ]
    )
    write_answer({"file": str(file.resolve()), "left": found}, lines, as_json=as_json)
    if is_interrupted:
        raise KeyboardInterrupt
    if left:
        raise typer.Exit(1)


def _choices(drafted: dict[str, Any]) -> list[str]:
    """One line for each column: what it was taken for, and why."""
    lines = [
        f"{column['name']}: {column['kind']}. {column.get(NOTE, '')}".rstrip()
        for column in drafted["columns"]
    ]
    return [
        *lines,
        "",
        *warnings_of(drafted),
        *rules_of(drafted, answer="the answer 'd' of `understudy domain confirm`"),
        str(drafted[NOTE]).removeprefix(DRAFT).strip(),
        f"{target_line(drafted)} Declared size: {drafted['declared_size']:,}.",
    ]


def _ask_on(screen: Any) -> Any:  # noqa: ANN401 - a text stream, and a function of it
    def ask(question: str) -> str | None:
        print(question, end="", file=screen, flush=True)
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None

    return ask
