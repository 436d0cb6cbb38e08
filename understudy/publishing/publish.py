"""Publish: from a private table to a folder with synthetic rows, the generator and its certificate.

Everything goes through the public HTTP API; this module only orders the calls.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.client import Client
from understudy.client.handles import Job
from understudy.connection import Connection
from understudy.documents import Json, take
from understudy.errors import InvalidInput, NotFound, Refused, ServiceUnreachable
from understudy.http.uploads import UploadNote
from understudy.publishing.grant_requests import introduce, obtain_grant, require_admissible, settle_pending
from understudy.publishing.intake import upload
from understudy.publishing.order import (
    Order,
    Published,
    Screen,
    budget_with_report,
    counts_several_records,
    sample_files,
    second_budgets,
    smallest_budget,
)
from understudy.results.budgets import Statement
from understudy.results.datasets import Dataset
from understudy.results.jobs import Quote
from understudy.sample_formats import IMAGE_FORMATS, formats_of
from understudy.wording.quotes import quote_lines

BUNDLE, CERTIFICATE, LEDGER = "bundle.zip", "certificate.json", "ledger.json"
FIGURES = "figures.html"
"""The released figures, to pass on."""
KEYS = "signing-keys.json"
"""The service's public keys, for `understudy verify --keys`."""
CANCEL_SECONDS = 30.0
CANCEL_LOOK_SECONDS = 0.3


def publish(connection: Connection, order: Order, screen: Screen) -> Published:
    """Declare, set the budget, ask for a grant, upload, order, watch, download.

    The connection has the keys of the owner and the analyst, and the admin's where there is one.

    Raises:
        ApprovalPending: if a budget request waits for another person; a later run draws on its grant.
        UnderstudyError: if anything else fails; a job that was ordered has then ended or been cancelled, unless the service
            stopped answering.
    """
    with (
        results_folder(order.out),
        connection.client("owner") as owner,
        connection.client("analyst") as analyst,
    ):
        same = same_population(owner, order)
        if same is not None:
            screen.say(
                f"A dataset named {order.name!r} exists: this one counts as a new version of the same population and "
                "shares its budget. If these are other people, give another --name."
            )
            settle_earlier(connection, owner, analyst, same, order, screen)
            if order.budget is None:
                require_room(analyst, same, order)
        dataset = declare(owner, order, same, screen)
        introduce(owner, analyst, dataset)
        amounts = quoted(analyst, dataset, order)
        set_budget(connection, dataset, order, amounts, screen)
        grant_id = obtain_grant(
            connection,
            analyst,
            dataset,
            ask=lambda grant_id: analyst.ask_quote(dataset.id, **order.terms, grant_id=grant_id),
            amounts=amounts,
            purpose=order.purpose or f"Publish {order.name!r}: {order.product}.",
            say=screen.say,
        )
        upload(owner, dataset, order, screen)
        job = train(analyst, dataset, order, grant_id, screen)
        return fetch(analyst, dataset, job, order, screen)


@contextmanager
def results_folder(out: Path) -> Iterator[None]:
    """Make the folder for the results, before anything is declared: it may be impossible. If nothing is published, none is left empty."""
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):  # it holds files
                out.rmdir()
        raise


def needed(analyst: Client, dataset: Dataset, order: Order) -> tuple[float, float]:
    """Return the epsilon and delta that the order needs of a cap and a grant; for a selection only a quote knows them."""
    if order.selection is None:
        return smallest_budget(order.epsilon, order.delta)
    return quoted(analyst, dataset, order)


def quoted(analyst: Client, dataset: Dataset, order: Order) -> tuple[float, float]:
    """Return the epsilon and delta that a quote of the order states, before any row is sent. The analyst is a member of the dataset.

    Raises:
        InvalidInput: if no plan can be made of the order.
    """
    (guarantee,) = take(analyst.ask_quote(dataset.id, **order.terms).document, "guarantee")
    return smallest_budget(guarantee["epsilon"], guarantee["delta"])


def settle_earlier(
    connection: Connection, owner: Client, analyst: Client, same: Dataset, order: Order, screen: Screen
) -> None:
    """Have a request of an earlier run approved, if it asked for as much as the order needs.

    Raises:
        ApprovalPending: if it still waits and no key here can approve it.
    """
    if order.selection is not None:
        introduce(owner, analyst, same)
    try:
        amounts = needed(analyst, same, order)
    except InvalidInput:
        # The earlier version has another domain, on which this selection is impossible: no request can be open for it.
        return
    settle_pending(connection, analyst, same.population_id, amounts, screen.say)


def require_room(analyst: Client, same: Dataset, order: Order) -> None:
    """Refuse an order that the cap of the population's newest dataset does not admit, before a new version is declared.

    An analyst who is not a member of the earlier version is not made one for this: then the new version's quote decides.

    Raises:
        JobDoesNotFit: if it does not fit.
    """
    try:
        quote = analyst.ask_quote(same.id, **order.terms)
    except (InvalidInput, NotFound):  # another domain, on which this order is impossible; or no member
        return
    require_admissible(quote, same)


def same_population(owner: Client, order: Order) -> Dataset | None:
    """Return the newest dataset of the same name, whose population the order's rows belong to."""
    return next((dataset for dataset in owner.list_datasets() if dataset.name == order.name), None)


def declare(owner: Client, order: Order, same: Dataset | None, screen: Screen) -> Dataset:
    """Declare the dataset, as a new version where one of the same name exists: it then inherits what was spent."""
    begun = interrupted(owner, order)
    if begun is not None:
        screen.say(f"Dataset {begun.id} is declared; its interrupted upload goes on.")
        return begun
    dataset = owner.declare_dataset(
        name=order.name,
        domain=order.table.domain,
        declared_size=order.table.declared_size,
        parent_dataset_id=None if same is None else same.id,
    )
    if same is None:
        others = [other for other in owner.list_datasets() if other.id != dataset.id]
        for line in second_budgets(dataset, others):
            screen.say(line)
    screen.say(f"Dataset {dataset.id}: {declared(order.table.domain)} declared.")
    for warning in dataset.document.get("warnings", ()):
        screen.say(f"{warning['pointer']} of the domain: {warning['detail']}")
    return dataset


def declared(domain: Json) -> str:
    """Summarise what a domain declares."""
    if formats_of(domain) == IMAGE_FORMATS:
        return f"images of {domain['height']} x {domain['width']} pixels, {len(domain['labels'])} labels"
    return f"{len(domain.get('columns', ()))} columns"


def interrupted(owner: Client, order: Order) -> Dataset | None:
    """Return the dataset of an interrupted upload of the same file under the same declaration, if there is one."""
    known = UploadNote.read(order.table.rows, url=owner.url)
    if known is None or known.declaration != order.declaration:
        return None
    try:
        dataset = owner.read_dataset(known.dataset_id)
    except NotFound:
        return None
    return dataset if dataset.state == "declared" else None


def set_budget(
    connection: Connection, dataset: Dataset, order: Order, amounts: tuple[float, float], screen: Screen
) -> None:
    """Set the cap that was asked for, or the smallest that admits the job and a utility report if the population has none yet.

    `amounts` is the smallest cap that admits the order alone. Without an admin's key the cap stays as it is; it is then up to the person who
    approves the budget request.

    Raises:
        NoKey: if a cap was asked for and there is no admin's key.
    """
    wanted, left = order.budget, ""
    if wanted is None and "admin" not in connection.keys:
        return
    with connection.client("admin") as admin:
        if wanted is None and admin.read_budget(dataset.id).cap is None:
            wanted = budget_with_report(order, amounts)
            epsilon, delta = wanted[0] - amounts[0], wanted[1] - amounts[1]
            if epsilon > 0:
                left = f" Of it epsilon {epsilon:.6g}, delta {delta:.6g} are left for one utility report."
        if wanted is None:
            return
        admin.set_budget(dataset.id, epsilon=wanted[0], delta=wanted[1], reason=order.budget_reason)
    screen.say(
        f"Budget of the population, for everybody together: epsilon {wanted[0]:g}, delta {wanted[1]:g}.{left}"
    )


def train(analyst: Client, dataset: Dataset, order: Order, grant_id: str, screen: Screen) -> Job:
    """Order the job on the stored rows and watch it to its end; if watching is interrupted, cancel it.

    Raises:
        JobEnded: if it ended without a release.
        ServiceUnreachable: if the service stops answering; the screen says that the job goes on.
    """
    quote = analyst.ask_quote(dataset.id, **order.terms, grant_id=grant_id)
    for line in quote_lines(quote):
        screen.say(line)
    ordered: Job | None = None
    try:
        ordered = analyst.order_job(dataset.id, **order.terms, grant_id=grant_id)
        screen.say(f"Job {ordered.id} ordered; its charge is reserved. {cancelling_line(quote)}")
        return watch(analyst, ordered, screen)
    except KeyboardInterrupt:
        for job in unanswered(analyst, dataset) if ordered is None else (ordered,):
            cancel(analyst, job, screen)
        raise
    except ServiceUnreachable:
        state = (
            "The order may have arrived"
            if ordered is None
            else f"Job {ordered.id} goes on without being watched"
        )
        screen.say(f"{state}: run `understudy status` once the service answers again.")
        raise


def cancelling_line(quote: Quote) -> str:
    """Say what cancelling the ordered job costs: what has begun is charged, and without steps that is everything."""
    charged = (
        "the whole order is charged."
        if quote.document.get("steps") == 0
        else "what has begun is charged: its measurements at once, its steps in twentieths."
    )
    return f"Ctrl-C cancels it, at no cost until it reads the rows. From then on {charged}"


def unanswered(analyst: Client, dataset: Dataset) -> tuple[Job, ...]:
    """Return the jobs on a dataset after an order whose answer never came. It was declared for this order, so every job on it comes from it."""
    with suppress(Refused, ServiceUnreachable):
        return tuple(job for job in analyst.list_jobs() if job.dataset_id == dataset.id and not job.ended)
    return ()


def watch(analyst: Client, ordered: Job, screen: Screen) -> Job:
    """Show a job until it ends.

    Raises:
        JobEnded: if it ended without a release.
    """
    job = ordered
    with screen.training() as show:
        for job in analyst.watch_job(ordered.id):
            show(job)
    job.require_release()
    return job


def cancel(analyst: Client, ordered: Job, screen: Screen) -> None:
    """Cancel a job, give its worker a moment to settle the charge, and say what was charged."""
    screen.say(f"Cancelling job {ordered.id} ...")
    where = f"`understudy ledger {ordered.dataset_id}`"
    try:
        job = ordered
        with suppress(Refused):  # it has ended
            job = analyst.cancel_job(ordered.id)
        deadline = time.monotonic() + CANCEL_SECONDS
        while not job.ended and time.monotonic() < deadline:
            time.sleep(CANCEL_LOOK_SECONDS)
            job = analyst.read_job(ordered.id)
        if job.ended:
            screen.say(charge_line(job, analyst.read_ledger(job.dataset_id)))
        else:
            screen.say(f"Job {job.id} has not stopped yet; {where} will say what it is charged.")
    except (Refused, ServiceUnreachable):
        screen.say(f"The service does not answer; {where} says what job {ordered.id} was charged.")


def charge_line(job: Job, statement: Statement) -> str:
    """Say what an ended job was charged."""
    reserved, *later = [entry for entry in statement.entries if entry.get("job_id") == job.id]
    last = later[-1] if later else reserved
    epsilon, delta = float(last["epsilon"]), float(last["delta"])
    if last["kind"] == "VOIDED" or epsilon == 0:
        charged = "nothing was charged"
    else:
        whole = ", the whole order" if epsilon == float(reserved["epsilon"]) else ""
        charged = f"charged: epsilon {epsilon:g}, delta {delta:g}{whole}"
    if job.state == "cancelled":
        return f"Job {job.id} was cancelled; {charged}."
    release = "" if job.release_id is None else f" `understudy status {job.id}` names its release."
    return f"Job {job.id} had {job.state} before; {charged}.{release}"


def fetch(analyst: Client, dataset: Dataset, job: Job, order: Order, screen: Screen) -> Published:
    """Download everything that is public about the release."""
    release_id = job.require_release()
    certificate = analyst.read_certificate(release_id)
    statement = analyst.read_ledger(dataset.id)
    out = order.out
    write_json(out / CERTIFICATE, certificate)
    write_json(out / LEDGER, statement.document)
    write_json(out / KEYS, {"items": analyst.auditing.list_signing_keys()})
    with screen.transfer("bundle", None) as seen:
        analyst.download_bundle(release_id, out / BUNDLE, seen=seen)
    analyst.download_figures(release_id, out / FIGURES)
    rows = 0 if order.model else rows_to_draw(analyst, release_id, order)
    samples = sample_files(order, rows)
    for name, drawn in samples.items():
        with screen.transfer(name, None) as seen:
            analyst.download_samples(
                release_id, out / name, rows=drawn, file_format=name.rpartition(".")[2], seen=seen
            )
    return Published(
        dataset=dataset,
        job=job,
        release_id=release_id,
        certificate=certificate,
        statement=statement,
        rows=rows,
        files=tuple(out / name for name in (*samples, FIGURES, BUNDLE, CERTIFICATE, LEDGER, KEYS)),
    )


def rows_to_draw(analyst: Client, release_id: str, order: Order) -> int:
    """Return how many rows to draw: what was asked for, else the declared size, or the count of records where several of a unit count."""
    if order.sample_rows is not None:
        return order.sample_rows
    if not counts_several_records(order):
        return order.table.declared_size
    (counted,) = analyst.ask_counts(release_id, "count").rows
    assert counted.estimate is not None, "only ratios have no estimate"
    return max(1, round(counted.estimate))


def write_json(file: Path, document: Json) -> None:
    """Write a document for people and programs."""
    file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
