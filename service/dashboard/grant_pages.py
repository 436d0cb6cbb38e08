"""Grants across all datasets: holder, remaining budget, expiry, and revocation after a confirmation page."""

from collections.abc import Mapping
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response

from core.errors import NotFound
from core.ledger.entries import GrantState
from service.dashboard.forms import Form
from service.dashboard.overview import dataset_names
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.grants.endpoints import list_all_grants, read_grant, revoke_grant
from service.grants.repository import GrantFilter, governed, granted_datasets, holders
from service.wire import Before
from service.wording.labels import disambiguated, newest

GRANTS: Final = 25
CHOICES: Final = 200
"""Maximum number of datasets and of holders offered in the filter."""

router = APIRouter(prefix="/grants", include_in_schema=False)

Words = Annotated[str, Query(max_length=200)]


async def _wanted(dataset: Words = "", holder: Words = "", state: Words = "") -> GrantFilter:
    """The requested filter; an empty field matches all grants.

    Raises:
        FormInvalid: A field that takes an id is not an id.
    """
    ids = Form({"dataset": [dataset], "holder": [holder]})
    return GrantFilter(
        dataset_id=ids.identity("dataset"),
        holder_id=ids.identity("holder"),
        state=GrantState(state) if state in set(GrantState) else None,
    )


@router.get("")
def grants_page(
    visit: CurrentVisit, wanted: Annotated[GrantFilter, Depends(_wanted)], before: Before = None
) -> Response:
    """List the grants that the visitor may see, newest first."""
    found = visit.ask(list_all_grants, wanted=wanted, limit=GRANTS, before=before)
    datasets = visit.read(lambda session: granted_datasets(session, visit.principal, limit=CHOICES))
    holding = visit.read(lambda session: holders(session, visit.principal, limit=CHOICES))
    asked = _asked(wanted)
    return page(
        visit,
        "grants.html",
        grants=found.items,
        names=dataset_names(visit, [one for grant in found.items for one in newest(grant.dataset_ids)]),
        people=visit.names_of([*holding, *(grant.holder_id for grant in found.items)]),
        datasets=disambiguated(dict(datasets)).items(),
        holders=holding,
        states=[known.value for known in GrantState],
        asked=asked,
        query=urlencode(asked),
        next_before=found.next_before,
        is_first=before is None,
        may_revoke=visit.may(revoke_grant),
    )


@router.get("/{grant_id}")
def grant_page(grant_id: UUID, visit: CurrentVisit) -> Response:
    """Show one grant and the consequences of revoking it."""
    grant = visit.ask(read_grant, grant_id=grant_id)
    return page(
        visit,
        "grant.html",
        grant=grant,
        names=dataset_names(visit, newest(grant.dataset_ids)),
        people=visit.names_of([grant.holder_id]),
        may_revoke=grant.state == GrantState.OPEN and visit.may(revoke_grant) and _governs(visit, grant_id),
    )


@router.post("/{grant_id}/revoke")
def end_grant(grant_id: UUID, visit: CurrentVisit) -> Response:
    """Revoke a grant: no further order can use it."""
    visit.ask(revoke_grant, grant_id=grant_id)
    return sent_on(f"/grants/{grant_id}?done=revoked")


def _governs(visit: Visit, grant_id: UUID) -> bool:
    """Whether the visitor may revoke this grant: an owner of another dataset who holds this grant may not."""
    try:
        visit.read(lambda session: governed(session, grant_id, visit.principal))
    except NotFound:
        return False
    return True


def _asked(wanted: GrantFilter) -> Mapping[str, Any]:
    named = {"dataset": wanted.dataset_id, "holder": wanted.holder_id, "state": wanted.state}
    return {name: str(value) for name, value in named.items() if value is not None}
