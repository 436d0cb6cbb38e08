"""``understudy publish``: from a private table to synthetic rows, a generator and a certificate."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Final
from zipfile import ZipFile

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.domain_file import placed, require_rules
from understudy.cli.options import (
    LARGEST_EPSILON,
    MOST_ROWS,
    SMALLEST_DELTA,
    SMALLEST_EPSILON,
    AsJson,
    Candidates,
    ChoiceEpsilon,
    DeclaredSize,
    Delta,
    Epsilon,
    Model,
    NoReuse,
    OnDevice,
    Profile,
    SelectionEpsilon,
    Settings,
    Synthesizer,
    finite,
)
from understudy.cli.quality_offer import can_be_asked, offer_utility_report, write_owner_summary
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Service
from understudy.connection import Connection, announced_connection, default_data_folder, existing_connection
from understudy.documents import Json
from understudy.embedded.background import background_stack, used_stack
from understudy.errors import InputUnusable, InvalidInput, NoService
from understudy.order_options import parse_options, parse_selection, require_alone, with_profile
from understudy.plain_text import one_line
from understudy.publishing.order import Order, Published, Screen, counts_several_records
from understudy.publishing.publish import BUNDLE
from understudy.publishing.publish import publish as publish_order
from understudy.table_files import read_table_files

DEGENERATE: Final = 3
"""Exit status where what was published hardly varies, or answers one class."""

_NAMED = 10
"""Columns that a summary names at most."""
_NOTE = "> "
"""How a note in a bundle's README begins."""


def publish(
    rows: Annotated[
        Path, typer.Argument(help="The private rows or images: .csv, .csv.gz, .parquet, .zip or .npz.")
    ],
    domain: Annotated[
        Path, typer.Option("--domain", help="Domain file, JSON, as `understudy domain draft` writes it.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")],
    sample_rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            min=1,
            max=MOST_ROWS,
            help="Number of synthetic rows. Default: the declared size, because the file's number of rows is private; or, where several records of a unit count, their noisy count.",
        ),
    ] = None,
    declared_size: DeclaredSize = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="Name of the dataset; datasets of one name share a budget. Default: the file's name.",
        ),
    ] = None,
    synthesizer: Synthesizer = "idpgan",
    profile: Profile = None,
    settings: Settings = None,
    candidates: Candidates = None,
    selection_epsilon: SelectionEpsilon = None,
    choice_epsilon: ChoiceEpsilon = None,
    model: Model = False,
    no_reuse: NoReuse = False,
    device: OnDevice = "auto",
    budget_epsilon: Annotated[
        float | None,
        typer.Option(
            "--budget-epsilon",
            min=SMALLEST_EPSILON,
            max=LARGEST_EPSILON,
            callback=finite,
            help="Set the population's cap to this epsilon.",
        ),
    ] = None,
    budget_delta: Annotated[
        float | None,
        typer.Option(
            "--budget-delta",
            min=SMALLEST_DELTA,
            max=1,
            callback=finite,
            help="Set the population's cap to this delta.",
        ),
    ] = None,
    budget_reason: Annotated[
        str | None,
        typer.Option("--budget-reason", help="Reason for raising an existing cap; kept in the ledger."),
    ] = None,
    purpose: Annotated[
        str | None, typer.Option("--purpose", help="Purpose stated in the budget request.")
    ] = None,
    max_refused: Annotated[
        float | None,
        typer.Option(
            "--max-refused",
            min=0,
            max=1,
            callback=finite,
            help="Largest share of refused rows with which to publish. Default: 0.02.",
        ),
    ] = None,
    utility_report: Annotated[
        float | None,
        typer.Option(
            "--utility-report",
            min=SMALLEST_EPSILON,
            max=LARGEST_EPSILON,
            callback=finite,
            help="Measure the release afterwards, with noise, for this epsilon. Default: offer it for a tenth of --epsilon.",
        ),
    ] = None,
    no_owner_report: Annotated[
        bool, typer.Option("--no-owner-report", help="Do not wait for the owner report's summary.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the files of an earlier release in --out.")
    ] = False,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Publish a private table or images: writes synthetic.csv, bundle.zip, certificate.json and ledger.json.

    For images, synthetic.npz and contact-sheet.png replace synthetic.csv. With --model there are no synthetic records: the
    bundle holds a private classifier and a script that predicts with it.

    Uses the service named by --url or running on the data folder; otherwise starts the local stack and stops it at the
    end. The analyst asks for a grant and an admin or the owner approves it. If none of the keys may approve, the request
    stays open; run the same command again once it is approved. Ctrl-C cancels the job. For a selection among candidates,
    the quote shows both prices before the order. With --json, progress goes to standard error.

    Once all files are written, the command waits for the owner report's summary, usually less than a minute, and offers a utility
    report: how good the release is, measured with noise for a tenth of the epsilon. Where this command sets the cap itself, it leaves
    that much; it never raises a cap for it.

    Exit status: 0 if everything was published; 1 if nothing was; 3 if everything was published but the generator is
    degenerate or the model answers one class to all records, with a warning that says what to change.
    """
    check_guarantee(epsilon, delta)
    options = with_profile(parse_options(settings or []), profile)
    selection = parse_selection(
        candidates or [], epsilon=selection_epsilon, choice_epsilon=choice_epsilon, settings=list(options)
    )
    if model and utility_report is not None:
        raise InputUnusable("--model and --utility-report exclude each other: no rows are drawn from a model")
    require_alone(model=model, profile=profile, selection=selection)
    require_new(out, force=force)
    table = read_table_files(rows, domain, declared_size=declared_size)
    require_rules(table.domain, domain)
    order = Order(
        table=table,
        name=name or rows.name.partition(".")[0] or rows.name,
        epsilon=epsilon,
        delta=delta,
        synthesizer=synthesizer,
        options=options,
        selection=selection,
        model=model,
        reuse=not no_reuse,
        device=device,
        sample_rows=sample_rows,
        out=out,
        budget=chosen_budget(budget_epsilon, budget_delta),
        budget_reason=budget_reason,
        purpose=purpose,
        max_refused=max_refused,
        utility_report=utility_report,
    )
    screen = TerminalScreen(Console(stderr=as_json))
    with some_service(service, screen) as connection:
        try:
            published = publish_order(connection, order, screen)
        except InvalidInput as refusal:
            raise placed(refusal, domain) from None
        if not as_json:
            write_answer({}, summary(published, order), as_json=False)
            if published.sheet is not None:
                screen.show(published.sheet)
        if not no_owner_report:
            write_owner_summary(connection, published, screen)
        may_ask = not as_json and can_be_asked(screen)
        measured = offer_utility_report(connection, published, order, screen, may_ask=may_ask)
    if as_json:
        write_answer(published_document(measured), (), as_json=True)
    elif measured is not published:
        write_answer({}, (f"  {measured.files[-1].resolve()}", paid(measured)), as_json=False)
    warn(published, screen)


def require_new(out: Path, *, force: bool) -> None:
    """Refuse to write over an earlier release, whose budget is spent, unless forced.

    Raises:
        InputUnusable: if the folder holds a bundle.
    """
    if not force and (out / BUNDLE).exists():
        raise InputUnusable(
            f"{out} holds an earlier release; give another --out, or --force to replace its files"
        )


def warn(published: Published, screen: Screen) -> None:
    """Warn about a degenerate generator or a constant model, and exit with its status."""
    if published.job.warning is not None:
        screen.say(f"WARNING: {published.job.warning}")
        raise typer.Exit(DEGENERATE)


def check_guarantee(epsilon: float, delta: float) -> None:
    """Refuse what cannot be a guarantee, before anything is started."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InputUnusable("--epsilon must be a positive number; 1 is a common choice")
    if not 0 < delta < 1:
        raise InputUnusable(
            "--delta must lie between 0 and 1; well below one over the declared size, such as 1e-6"
        )


def chosen_budget(epsilon: float | None, delta: float | None) -> tuple[float, float] | None:
    """Pair the two halves of a cap, which are both given or both left out."""
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise InputUnusable("--budget-epsilon and --budget-delta come together")
    return epsilon, delta


@contextmanager
def some_service(service: Service, screen: Screen) -> Iterator[Connection]:
    """Yield a service: the named one, the one running on the data folder, or one started for the duration of the command."""
    folder = service.data_folder or default_data_folder()
    is_announced = service.url is None and announced_connection(folder) is not None
    with used_stack(folder) if is_announced else nullcontext():
        found = existing_connection(url=service.url, key=service.key, data_folder=service.data_folder)
        if found is not None:
            screen.say(f"Using the service at {found.url}.")
            yield found
            return
    screen.say(f"Starting the local stack on {folder}; the first start makes its database ...")

    def waiting() -> None:
        screen.say("Another command uses it: it stops when that one is done ...")

    with background_stack(folder, waiting=waiting) as address:
        connection = announced_connection(folder)
        if connection is None:
            raise NoService("the local stack started but did not announce its keys; see its logs")
        screen.say(f"The local stack answers at {address}.")
        yield connection.acting_with(service.key, data_folder=service.data_folder)
        screen.say("Stopping the local stack; `understudy up` starts it again, for the commands above ...")


def summary(published: Published, order: Order) -> list[str]:
    """Summarise the files and what was spent."""
    guarantee = published.certificate["privacy_parameters"]
    made = "a private classifier" if order.model else f"{published.rows} synthetic records"
    headline = (
        f"Published {order.name!r}: {made} under (epsilon {guarantee['epsilon']:g}, "
        f"delta {guarantee['delta']:g}) differential privacy."
    )
    files = (f"  {file.resolve()}" for file in published.files)
    notes = notes_of(published.files)
    return [
        "",
        headline,
        *accuracy_lines(published.certificate),
        *notes,
        *columns_left_out(order),
        *files,
        paid(published),
        what_is_free(order),
    ]


def accuracy_lines(certificate: Json) -> list[str]:
    """State the accuracy of a private model, in a line; none where none was measured."""
    accuracy = certificate.get("accuracy")
    if accuracy is None:
        return []
    return [
        (
            f"Accuracy on about {accuracy['held_out_size']:,} held-out units: {accuracy['estimate']:.1%}, between {accuracy['low']:.1%} and "
            f"{accuracy['high']:.1%} for the noise at 95 %."
        )
    ]


def notes_of(files: Iterable[Path]) -> list[str]:
    """Return the notes at the top of the bundle's README: what its counts contradict, and what their noise hides; none without a bundle."""
    bundle = next((file for file in files if file.name == BUNDLE), None)
    if bundle is None:
        return []
    with ZipFile(bundle) as archive:
        lines = archive.read("README.md").decode().splitlines() if "README.md" in archive.namelist() else []
    return [f"NOTE: {one_line(line.removeprefix(_NOTE))}" for line in lines if line.startswith(_NOTE)]


def columns_left_out(order: Order) -> list[str]:
    """Say which columns of the file are not released, in a line; none if all are."""
    columns = order.table.domain.get("columns", [])
    left_out = [column["name"] for column in columns if column["kind"] in {"ignored", "unit"}]
    if not left_out:
        return []
    named = f"{', '.join(left_out[:_NAMED])}{' and more' if len(left_out) > _NAMED else ''}"
    released = len(columns) - len(left_out)
    was = "was" if released == 1 else "were"
    return [f"{released} of {len(columns)} columns {was} modelled. Left out by the domain: {named}."]


def what_is_free(order: Order) -> str:
    """Say what costs nothing from now on, and why as many rows were drawn as were."""
    if order.model:
        return "Predictions cost nothing: unzip the bundle, then python predict.py FILE predictions.csv"
    sample = f"understudy sample --bundle {order.out / 'bundle.zip'} --rows N"
    if order.sample_rows not in {None, order.table.declared_size}:
        return f"More synthetic rows cost nothing: {sample}"
    several = counts_several_records(order) and order.sample_rows is None
    many = (
        "as records were counted, with noise: the domain bounds how many of each unit count, so they may be fewer than the file's rows"
        if several
        else "as the declared size, because the file's number of rows is private"
    )
    return f"Synthetic rows are as many {many}. Any other number costs nothing: {sample}"


def paid(published: Published) -> str:
    """State what the population has spent of its cap."""
    spent, cap = published.statement.spent, published.statement.cap or {}
    return (
        f"Spent so far by this population: epsilon {_shown(spent, 'epsilon')}, delta {_shown(spent, 'delta')} "
        f"of a cap of epsilon {_shown(cap, 'epsilon')}, delta {_shown(cap, 'delta')} "
        f"(carried by filter {published.statement.carried_by})."
    )


def _shown(amounts: Json, key: str) -> str:
    return f"{float(amounts[key]):g}" if key in amounts else "unknown"


def published_document(published: Published) -> Json:
    """Return the summary as a JSON document."""
    statement = published.statement
    return {
        "dataset_id": published.dataset.id,
        "job_id": published.job.id,
        "release_id": published.release_id,
        "privacy_parameters": published.certificate["privacy_parameters"],
        "spent": statement.spent,
        "cap": statement.cap,
        "carried_by": statement.carried_by,
        "files": [str(file.resolve()) for file in published.files],
        "warning": published.job.document.get("warning"),
    }
