"""Federations that the visitor created, and jobs of several owners; creating and joining stay with the API and the command."""

from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from service.dashboard.job_pages import JOBS
from service.dashboard.overview import dataset_names
from service.dashboard.rendering import PAGE_HEADERS, page, sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.federations.endpoints import MemberName, end_federation, list_federations, read_federation
from service.federations.errors import FederationNotFound
from service.federations.schemas import FederationView
from service.jobs.endpoints import list_jobs
from service.wire import Before
from service.wording.labels import newest

FEDERATIONS: Final = 25
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})

router = APIRouter(prefix="/federations", include_in_schema=False)


@router.get("")
def federations_page(visit: CurrentVisit, before: Before = None, before_job: Before = None) -> Response:
    """List the federations that the visitor created, and the jobs of several owners that the visitor may see."""
    visit.require(list_jobs)
    may_create = visit.may(list_federations)
    created = visit.ask(list_federations, limit=FEDERATIONS, before=before) if may_create else None
    jobs = visit.ask(list_jobs, joint=True, limit=JOBS, before=before_job)
    return page(
        visit,
        "federations.html",
        created=created,
        jobs=jobs.items,
        names=dataset_names(visit, [one for job in jobs.items for one in newest(job.dataset_ids)]),
        people=visit.names_of([job.ordered_by for job in jobs.items]),
        next_before=None if created is None else created.next_before,
        is_first=before is None,
        next_job=jobs.next_before,
        is_first_job=before_job is None,
        address=_address(visit),
    )


@router.get("/{federation_id}")
def federation_page(federation_id: UUID, visit: CurrentVisit) -> Response:
    """Show one federation; as a fragment, only its live part."""
    federation = visit.ask(read_federation, federation_id=federation_id)
    live = federation.state == "open"
    template = "federation_live.html" if visit.is_fragment else "federation.html"
    answer = page(
        visit,
        template,
        federation=federation,
        live=live,
        epsilon=_planned_epsilon(federation),
        address=_address(visit),
        may_end=live and visit.may(end_federation),
    )
    # Reload the whole page when the federation is over: the end button is outside the fragment.
    if visit.is_fragment and not live:
        answer.headers["HX-Refresh"] = "true"
    return answer


@router.post("/{federation_id}/end")
def end(federation_id: UUID, visit: CurrentVisit) -> Response:
    """End a federation: no further state is taken, and those that are kept are deleted."""
    visit.ask(end_federation, federation_id=federation_id)
    return sent_on(f"/federations/{federation_id}?done=federation-ended")


@router.get("/{federation_id}/certificates/{member}.json")
def member_certificate(federation_id: UUID, member: MemberName, visit: CurrentVisit) -> Response:
    """Download the certificate that a member has handed in, as the API returns it.

    Raises:
        FederationNotFound: No such federation, another principal's, or no certificate of such a member.
    """
    federation = visit.ask(read_federation, federation_id=federation_id)
    handed_in = {one.name: one.certificate for one in federation.members}
    certificate = handed_in.get(member)
    if certificate is None:
        raise FederationNotFound
    named = {"Content-Disposition": f'attachment; filename="certificate-{member}.json"'}
    return JSONResponse(certificate, headers=dict(PAGE_HEADERS) | named)


def _planned_epsilon(federation: FederationView) -> float:
    """Epsilon that every member's ledger is charged for the whole plan, as its accountant reports it."""
    epsilons = federation.plan["epsilons"]
    return float(min(epsilons["pld"], epsilons["rdp"]))


def _address(visit: Visit) -> str:
    """The address of this service as members call it: by https, whatever the proxy in front of it speaks."""
    seen = visit.request.base_url
    shown = seen if urlsplit(str(seen)).hostname in _LOOPBACK else seen.replace(scheme="https")
    return str(shown).rstrip("/")
