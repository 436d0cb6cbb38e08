"""Utility reports: view a report, or order one after seeing its price and precision."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Response
from sqlalchemy.orm import Session

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.errors import NoCounts
from core.artifacts.asking.result import Row
from core.artifacts.reports.utility_text import OF_IMAGES, READING
from core.ledger.entries import GrantState
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.utility_reports.columns import declared_target, measurable, predictable
from service.dashboard.forms import Form, order
from service.dashboard.overview import dataset_names
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.schemas import DatasetView
from service.grants.endpoints import list_all_grants
from service.grants.repository import GrantFilter
from service.grants.schemas import StandingGrant
from service.jobs.endpoints import create_job
from service.planning.orders import GeneratorOrder
from service.quotes.endpoints import create_quote
from service.releases import repository as releases
from service.releases.endpoints import ask_counts, opened_counts, read_release
from service.utility_reports import repository
from service.utility_reports.endpoints import list_charged_reports, read_charged_report
from service.utility_reports.schemas import ChargedReportView
from service.wire import DEFAULT_PAGE

ORDERED: Final = ("epsilon", "delta", "target", "grant_id")
"""Form fields passed unchanged from the quote to the order button."""
WORST_PAIRS: Final = 12
SCALES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""Possible upper ends of the axis in a table of errors."""
KINDS: Final[Mapping[str, str]] = {
    "columns": "Error of each column",
    "pairs": "Error of each pair",
    "score": "Score",
}

IN_WORDS_OF_THE_PAGE: Final[Mapping[str, str]] = {
    READING[
        3
    ]: "An error is the noisy number that the mechanism gave, cut to lie between 0 and 100 %. The number without noise lies within "
    "the 95 % interval in 95 of 100 such intervals.",
    READING[
        5
    ]: "“By chance” is the error that a perfect release would show on average, because dataset and synthetic records are samples: an "
    "error near it says nothing against the release.",
    READING[
        6
    ]: "Beside the score stand what the classifier reaches on further synthetic records, and the share of their most frequent class: a "
    "score is worth what it has above that share.",
}
"""Sentences of the signed document that name its members, as the page says them."""

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilityPart:
    """The utility report section of a release's page.

    Attributes:
        reports: Existing reports, newest first.
        of_images: Whether the release generates images. For images only the label can be predicted.
        target: The default prediction target; None if the domain declares none.
        grants: The visitor's open grants, newest first.
    """

    reports: Sequence[ChargedReportView]
    of_images: bool
    measured: Sequence[str]
    columns: Sequence[str]
    target: str | None
    may_order: bool
    grants: Sequence[StandingGrant]


def utility_part(visit: Visit, release_id: UUID, dataset: DatasetView | None) -> UtilityPart | None:
    """The section of a release's page; None if there is no report and the visitor cannot order one."""
    if dataset is None or not visit.may(list_charged_reports):
        return None
    found = visit.ask(list_charged_reports, release_id=release_id, limit=DEFAULT_PAGE, before=None)
    may_order = dataset.state == "ready" and visit.may(create_job)
    if not found.items and not may_order:
        return None
    domain = domain_from_json(dataset.domain)
    return UtilityPart(
        reports=found.items,
        of_images=isinstance(domain, ImageDomain),
        measured=measurable(domain),
        columns=predictable(domain),
        target=declared_target(domain),
        may_order=may_order,
        grants=_open_grants(visit, dataset.id) if may_order and visit.may(list_all_grants) else [],
    )


@router.post("/releases/{release_id}/charged-report/quote")
def quote(release_id: UUID, visit: CurrentVisit) -> Response:
    """Show price and precision of a report, with a button that orders exactly this report once."""
    release = visit.ask(read_release, release_id=release_id)
    wanted = _order(release.dataset_id, release_id, visit.form)
    return page(
        visit,
        "utility_quote.html" if visit.is_fragment else "utility_quote_page.html",
        dataset_id=release.dataset_id,
        release_id=release_id,
        wanted=wanted,
        sent={name: visit.form.text(name) for name in ORDERED},
        quote=visit.ask(create_quote, order=wanted),
        kinds=KINDS,
        once=uuid4(),
    )


@router.post("/releases/{release_id}/charged-report")
def place(release_id: UUID, visit: CurrentVisit) -> Response:
    """Reserve the price and queue the job, or refuse."""
    release = visit.ask(read_release, release_id=release_id)
    wanted = _order(release.dataset_id, release_id, visit.form)
    placed = visit.ask(create_job, order=wanted, idempotency_key=visit.form.once())
    return sent_on(f"/jobs/{UUID(json.loads(bytes(placed.body))['id'])}?done=ordered")


@router.get("/charged-reports/{report_id}")
def report_page(report_id: UUID, visit: CurrentVisit) -> Response:
    """Show one report: score and errors as bars, each with its interval and reference value."""
    visit.require(read_charged_report)
    document, domain = visit.read(partial(_report_and_domain, report_id=report_id, visit=visit))
    of_images = isinstance(domain, ImageDomain)
    results = document["results"]
    dataset_id = UUID(document["dataset_id"])
    pairs = sorted(results["pairs"], key=lambda pair: -pair["estimate"])
    return page(
        visit,
        "utility_report.html",
        report=document,
        results=results,
        worst=pairs[:WORST_PAIRS],
        scale=_scale([results["mean_of_columns"], results["mean_of_pairs"], *results["columns"], *pairs]),
        of_images=of_images,
        unlisted=_unlisted(visit, UUID(document["release_id"])),
        reading=[
            IN_WORDS_OF_THE_PAGE.get(one, one) for one in document["reading"] if of_images or one != OF_IMAGES
        ],
        dataset_id=dataset_id,
        names=dataset_names(visit, [dataset_id]),
    )


def _report_and_domain(
    session: Session, report_id: UUID, visit: CurrentVisit
) -> tuple[dict[str, Any], Domain]:
    """A report's document, and the domain of its dataset."""
    report = repository.visible(session, report_id, visit.principal)
    return dict(report.document), domain_from_json(repository.dataset_of(session, report).domain)


def _unlisted(visit: Visit, release_id: UUID) -> Mapping[str, Row]:
    """By column, the released noisy share of values that the release does not list; empty without counts or the right to ask them."""
    if not visit.may(ask_counts):
        return {}
    try:
        counts = visit.read(
            lambda session: opened_counts(
                visit.context, releases.visible(session, release_id, visit.principal)
            )
        )
    except NoCounts:
        return {}
    return _unlisted_shares(counts)


def _scale(errors: Sequence[Mapping[str, float] | None]) -> float:
    """The smallest scale that fits all intervals and reference marks."""
    ends = [max(one["high"], one["by_chance"]) for one in errors if one is not None]
    return next(scale for scale in SCALES if scale >= min(1.0, max(ends, default=1.0)))


def _open_grants(visit: Visit, dataset_id: UUID) -> Sequence[StandingGrant]:
    wanted = GrantFilter(dataset_id=dataset_id, holder_id=visit.principal.id, state=GrantState.OPEN)
    return visit.ask(list_all_grants, wanted=wanted, limit=DEFAULT_PAGE, before=None).items


def _order(dataset_id: UUID, release_id: UUID, form: Form) -> GeneratorOrder:
    return order(
        GeneratorOrder,
        dataset_id=dataset_id,
        epsilon=form.number("epsilon"),
        delta=form.number("delta"),
        grant_id=form.identity("grant_id"),
        report={"release_id": release_id, "target": form.text("target")},
    )


def _unlisted_shares(counts: OpenedCounts) -> dict[str, Row]:
    """By column with a word for values that are not listed, and with counts of its own: the share of the records that have it.

    Post-processing of released counts, free. Synthetic rows have one word for all such values, and an error that compares shares of
    codes counts them as one value: it can be near zero for a column of which little is left.
    """
    found = {}
    for place, column in enumerate(counts.domain.coded_columns):
        other = column.other_code if isinstance(column, LabelColumn) else None
        if other is not None and counts.estimates.are_counted((place,)):
            assert isinstance(column, LabelColumn), "only labels have such a word"
            answer = counts.answer(f"share of {_quoted(column.name)} = {_quoted(column.words[other])}")
            (found[column.name],) = answer.rows
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
