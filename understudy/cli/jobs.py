"""``understudy quote``, ``status`` and ``ledger``: the price of a job, its progress, and the ledger."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.options import (
    AsJson,
    Candidates,
    ChoiceEpsilon,
    DatasetId,
    DefaultDelta,
    Epsilon,
    Model,
    NoReuse,
    OnDevice,
    Profile,
    SelectionEpsilon,
    Settings,
    Synthesizer,
)
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Service
from understudy.documents import Json
from understudy.order_options import parse_options, parse_selection, require_alone, with_profile
from understudy.results.budgets import Statement
from understudy.results.jobs import JobFacts
from understudy.training_bar import left_text, stage_text
from understudy.wording.budgets import amounts, number, total_lines
from understudy.wording.quotes import quote_lines

AMOUNTS = frozenset({"epsilon", "delta"})


def quote(
    dataset: DatasetId,
    epsilon: Epsilon,
    delta: DefaultDelta = None,
    synthesizer: Synthesizer = "idpgan",
    profile: Profile = None,
    settings: Settings = None,
    candidates: Candidates = None,
    selection_epsilon: SelectionEpsilon = None,
    choice_epsilon: ChoiceEpsilon = None,
    model: Model = False,
    no_reuse: NoReuse = False,
    device: OnDevice = "auto",
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show what a job would do, what it would cost and what would remain. Nothing is spent and no row is read.

    For a selection among candidates it shows both prices: selecting, and training the winner. Of a private classifier
    (--model) it shows the network, the noise, and cautions where its options make a useless model likely.
    """
    options = with_profile(parse_options(settings or []), profile)
    selection = parse_selection(
        candidates or [], epsilon=selection_epsilon, choice_epsilon=choice_epsilon, settings=list(options)
    )
    require_alone(model=model, profile=profile, selection=selection)
    ordered: dict[str, Any] = (
        {"model": options}
        if model
        else {"synthesizer": synthesizer, "options": options, "selection": selection}
    )
    with service.client("analyst") as client:
        answer = client.ask_quote(
            dataset, epsilon=epsilon, delta=delta, reuse=not no_reuse, device=device, **ordered
        )
    write_answer(answer.document, quote_lines(answer), as_json=as_json)


def status(
    job: Annotated[str | None, typer.Argument(help="Id of a job. Default: list the newest jobs.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Wait until the job has ended.")] = False,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Show the progress of a job, or list the newest jobs.

    Epsilon so far is that of the part of the plan that has begun. The ledger keeps the whole plan's charge until the job ends.
    """
    screen = TerminalScreen(Console(stderr=as_json))
    with service.any_client() as client:
        if job is not None and watch:
            with screen.training() as show:
                for found in client.watch_job(job):
                    show(found)
        jobs = client.list_jobs() if job is None else (client.read_job(job),)
    documents = [found.document for found in jobs]
    lines = list(map(job_line, jobs)) or ["no jobs yet"]
    write_answer(documents if job is None else documents[0], lines, as_json=as_json)


def ledger(dataset: DatasetId, as_json: AsJson = False, *, service: Service) -> None:
    """Show the ledger of a dataset's population, entry by entry."""
    with service.any_client() as client:
        statement = client.read_ledger(dataset)
    write_answer(statement.document, statement_lines(statement), as_json=as_json)


def job_line(job: JobFacts) -> str:
    """Format a job as one line."""
    parts = [job.id, job.state]
    if not job.ended:
        parts += [stage_text(job), f"{job.progress.percent:.0f} %", left_text(job)]
    if job.waiting is not None:
        parts.append(f"WAITING: {job.waiting}")
    if job.release_id is not None:
        parts.append(f"release {job.release_id}")
    if (report_id := job.document.get("report_id")) is not None:
        parts.append(f"report {report_id}")
    if job.failure is not None:
        parts.append(job.failure)
    if job.warning is not None:
        parts.append(f"WARNING: {job.warning}")
    return "  ".join(part for part in parts if part)


def statement_lines(statement: Statement) -> list[str]:
    """Format a ledger statement as lines."""
    return [
        *total_lines(statement),
        f"carried by filter {statement.carried_by}",
        *map(entry_line, statement.entries),
    ]


def entry_line(entry: Json) -> str:
    """Format a ledger entry as one line."""
    start = f"{entry['sequence']:>5}  {entry['at']}  {entry['kind']:<12}"
    if "job_id" in entry:
        happened = f"{amounts(entry)}  job {entry['job_id']}"
    else:
        terms = {name: value for name, value in entry["terms"].items() if value is not None}
        happened = "  ".join(
            f"{name} {number(value) if name in AMOUNTS else value}" for name, value in terms.items()
        )
    return f"{start} {happened}  {str(entry['hash'])[:12]}"


def order(
    datasets: Annotated[
        list[str],
        typer.Argument(
            help="Names or ids of datasets, each of another owner, declared with the same domain."
        ),
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
            write_answer(quote.document, quote_lines(quote), as_json=as_json)
            return
        job = client.order_job(
            first, epsilon=epsilon, delta=delta, options=options, model=model, further=further
        )
        if out is not None:
            job.wait(progress=not as_json).save(out)
            job = client.read_job(job.id)
    write_answer(job.document, [job_line(job), *([] if out is None else [f"bundle: {out}"])], as_json=as_json)
