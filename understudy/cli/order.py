"""``understudy order``: a private model or a generator on datasets that their owners have declared, one or several together."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.jobs import job_line
from understudy.cli.options import AsJson, DefaultDelta, Epsilon, Settings
from understudy.cli.service import Service
from understudy.order_options import parse_options
from understudy.quote_labels import quote_lines


def order(
    datasets: Annotated[
        list[str],
        typer.Argument(help="Ids of datasets, each of another owner, declared with the same domain."),
    ],
    epsilon: Epsilon,
    delta: DefaultDelta = None,
    settings: Settings = None,
    generator: Annotated[
        bool,
        typer.Option(
            "--generator",
            help="Order a generator of tables, from the sums of all owners' counts, instead of a model.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Wait for the model and write its bundle to this file.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the quote and order nothing.")] = False,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Train a private model, or a generator, on the rows of one owner or of several together (analyst, with a grant on each dataset).

    Every owner's ledger is charged the whole job: all are reserved and spent together, or none is.
    """
    first, *further = datasets
    chosen = parse_options(settings or [])
    options, model = (chosen, None) if generator else (None, chosen)
    with service.client("analyst") as client:
        if dry_run:
            quote = client.ask_quote(
                first, epsilon=epsilon, delta=delta, options=options, model=model, further=further
            )
            tell(quote.document, quote_lines(quote), as_json=as_json)
            return
        job = client.order_job(
            first, epsilon=epsilon, delta=delta, options=options, model=model, further=further
        )
        if out is not None:
            job.wait(progress=not as_json).save(out)
            job = client.read_job(job.id)
    tell(job.document, [job_line(job), *([] if out is None else [f"bundle: {out}"])], as_json=as_json)
