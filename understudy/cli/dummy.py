"""``understudy dummy``: a file of fake rows of a declared domain, to write and test code with."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import write_answer
from understudy.cli.domain_file import require_rules
from understudy.cli.options import AsJson
from understudy.dummies.drawing import dummy_file
from understudy.dummies.files import MOST_ROWS
from understudy.dummies.refusals import DummyRefusal
from understudy.errors import InputUnusable, library_missing, refusal
from understudy.sample_conditions import parse_conditions
from understudy.sample_formats import FORMATS, formats_of
from understudy.table_files import DECLARED_SIZE, marked, read_domain


def dummy(
    domain: Annotated[
        Path, typer.Option("--domain", help="Domain file, JSON, as `understudy domain draft` writes it.")
    ],
    rows: Annotated[int, typer.Option("--rows", min=1, max=MOST_ROWS, help="Number of fake rows or images.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File to write; its extension sets the format. Default: dummy.csv, or .npz for images.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            help="Fix a column to a value, or restrict it, as `understudy sample --where` does.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write fake rows drawn from the domain alone. No data is read, no service is asked, nothing is charged."""
    document = read_domain(domain)
    document.pop(DECLARED_SIZE, None)
    if marked(document):
        raise InputUnusable(
            f"{domain} is a draft; go through it first with: understudy domain confirm {domain}"
        )
    require_rules(document, domain)
    chosen = formats_of(document)[0] if out is None else out.suffix.lstrip(".")
    if chosen not in FORMATS:
        raise InputUnusable(f"unknown format {chosen!r}; --out ends in one of {', '.join(FORMATS)}")
    target = out or Path(f"dummy.{chosen}")
    try:
        content = dummy_file(document, rows=rows, file_format=chosen, where=parse_conditions(where or []))
    except DummyRefusal as no:
        raise refusal(no.status, no.problem) from None
    except ModuleNotFoundError as error:
        raise library_missing(f"a file of {chosen}", error.name) from None
    target.write_bytes(content)
    line = f"{rows} FAKE records, uniform draws from the declared domain: {target.resolve()}"
    write_answer(
        {"file": str(target.resolve()), "rows": rows, "format": chosen, "fake": True}, [line], as_json=as_json
    )
