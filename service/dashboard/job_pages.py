"""Jobs: the list, the live page of one job, and ordering after a price was shown."""

import json
from typing import Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Response

from core.plan.mechanism_forms import MOST_CANDIDATES
from service.budgets.endpoints import read_budget, read_ledger
from service.dashboard import order_form
from service.dashboard.dataset_pages import tabs
from service.dashboard.forms import Form, order
from service.dashboard.overview import dataset_names
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.endpoints import list_datasets, read_dataset
from service.datasets.schemas import DatasetView
from service.federations.endpoints import read_federation
from service.grants.endpoints import list_grants
from service.jobs.endpoints import cancel_job, create_job, list_jobs, read_job
from service.jobs.failure_note import read_failure_note
from service.jobs.repository import charged_ledgers
from service.jobs.schemas import JobView
from service.known_counts.endpoints import read_known_counts
from service.planning.orders import GeneratorOrder
from service.quotes.endpoints import create_quote
from service.wire import MAX_PAGE, Before
from service.wording.labels import newest

JOBS: Final = 25
MODEL: Final = "model"
OPEN_GRANT: Final = "open"
READY: Final = "ready"
FURTHER: Final = "further"
"""Form field with a dataset to train on together with the page's, once for each."""
ORDERED: Final = (
    "epsilon", "delta", "grant_id", "options", "candidates", "selection_epsilon", "choice_epsilon",
    "fresh", "kind", "device", "profile",
)  # fmt: skip
"""Form fields passed unchanged from the quote to the order button."""

router = APIRouter(include_in_schema=False)


@router.get("/jobs")
def jobs_page(visit: CurrentVisit, dataset_id: UUID | None = None, before: Before = None) -> Response:
    """List jobs on all visible datasets, or on one of them, newest first."""
    found = visit.ask(list_jobs, dataset_id=dataset_id, limit=JOBS, before=before)
    return page(
        visit,
        "jobs.html",
        jobs=found.items,
        names=dataset_names(visit, [one for job in found.items for one in newest(job.dataset_ids)]),
        people=visit.names_of([job.ordered_by for job in found.items]),
        next_before=found.next_before,
        is_first=before is None,
        dataset_id=dataset_id,
    )


@router.get("/jobs/{job_id}")
def job_page(job_id: UUID, visit: CurrentVisit) -> Response:
    """Show one job; as a fragment, only its live part."""
    job = JobView.model_validate_json(bytes(visit.ask(read_job, job_id=job_id).body))
    live = job.state in {"queued", "running"}
    # Reload the whole page when the job finishes: the link to the release appears outside the fragment.
    if visit.is_fragment:
        answer = page(visit, "job_live.html", job=job, live=live)
        if not live:
            answer.headers["HX-Refresh"] = "true"
        return answer
    is_joint = job.federation is not None or len(job.dataset_ids) > 1
    return page(
        visit,
        "job.html",
        job=job,
        live=live,
        ledgers=visit.read(lambda session: charged_ledgers(session, job_id, visit.principal))
        if is_joint and visit.may(read_ledger)
        else None,
        # Whether this service is the board of a federation that the visitor created.
        is_board=job.federation is not None
        and visit.find(read_federation, federation_id=job.federation.federation_id) is not None,
        names=dataset_names(visit, newest(job.dataset_ids)),
        people=visit.names_of([job.ordered_by]),
        may_read_note=visit.may(read_failure_note),
        may_cancel=live and visit.may(cancel_job) and not job.cancel_requested,
        may_order_again=job.state in {"failed", "cancelled"} and visit.may(create_job),
    )


@router.post("/jobs/{job_id}/cancel")
def cancel(job_id: UUID, visit: CurrentVisit) -> Response:
    """Cancel a queued job, or ask a running one to stop."""
    visit.ask(cancel_job, job_id=job_id)
    return sent_on(f"/jobs/{job_id}?done=cancelled")


@router.get("/datasets/{dataset_id}/order")
def order_page(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the order form."""
    visit.require(create_job)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    grants = visit.ask(list_grants, dataset_id=dataset_id).items
    return page(
        visit,
        "order.html",
        dataset=dataset,
        tabs=tabs(visit, dataset),
        budget=visit.ask(read_budget, dataset_id=dataset_id),
        options=order_form.known_options(),
        model_options=order_form.known_model_options(),
        known_counts=visit.find(read_known_counts, dataset_id=dataset_id),
        most_candidates=MOST_CANDIDATES,
        others=_others(visit, dataset),
        grants=[
            grant for grant in grants if grant.holder_id == visit.principal.id and grant.state == OPEN_GRANT
        ],
    )


@router.post("/datasets/{dataset_id}/quote")
def quote(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the price of an order, with a button that places exactly this order once."""
    wanted = _order(dataset_id, visit.form)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    priced = visit.ask(create_quote, order=wanted)
    template = "quote.html" if visit.is_fragment else "quote_page.html"
    return page(
        visit,
        template,
        dataset=dataset,
        tabs=tabs(visit, dataset),
        wanted=wanted,
        written=() if wanted.selection is None else order_form.written(wanted.selection),
        sent=[
            *((name, visit.form.text(name)) for name in ORDERED),
            *((FURTHER, each) for each in visit.form.all(FURTHER)),
        ],
        ledger_names={
            str(each): name
            for each, name in dataset_names(
                visit, [one.dataset_id for one in wanted.further_datasets]
            ).items()
        },
        quote=priced,
        once=uuid4(),
    )


@router.post("/datasets/{dataset_id}/jobs")
def place(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Reserve the price and queue the job, or refuse."""
    wanted = _order(dataset_id, visit.form)
    placed = visit.ask(create_job, order=wanted, idempotency_key=visit.form.once())
    job_id = UUID(json.loads(bytes(placed.body))["id"])
    return sent_on(f"/jobs/{job_id}?done=ordered")


def _others(visit: Visit, dataset: DatasetView) -> list[DatasetView]:
    """Datasets that a model can be trained on together with this one: of one domain, each of another population."""
    found = visit.ask(list_datasets, limit=MAX_PAGE).items
    return [
        one
        for one in found
        if one.domain == dataset.domain and one.population_id != dataset.population_id and one.state == READY
    ]


def _order(dataset_id: UUID, form: Form) -> GeneratorOrder:
    options = order_form.options_of(form)
    is_model = form.text("kind") == MODEL
    return order(
        GeneratorOrder,
        dataset_id=dataset_id,
        epsilon=form.number("epsilon"),
        delta=form.number("delta"),
        grant_id=form.identity("grant_id"),
        options={} if is_model else options,
        model=options if is_model else None,
        further_datasets=[{"dataset_id": each} for each in form.all(FURTHER)] or None,
        selection=order_form.selection_of(form),
        reuse=form.text("fresh") is None,
        device=form.text("device") or "auto",
    )
