"""Pages for admins and auditors: keys, workers and queue, system health, audit log."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AfterValidator

from core.ledger.audit_log import AuditFilter
from core.platform.access.errors import KeyNotFound
from core.platform.health import figures
from service.auditing.endpoints import (
    BeforeSequence,
    export_audit_log,
    list_audit_events,
    verify_audit_log,
)
from service.auditing.schemas import AuditEventView
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import order
from service.dashboard.long_lists import From, part_of
from service.dashboard.overview import own_recoveries
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit
from service.diagnosis.endpoints import only_one, read_health_report
from service.principals.endpoints import name_principal
from service.principals.key_endpoints import create_key, list_keys, revoke_key, rotate_key
from service.principals.key_schemas import KeyOrder
from service.principals.schemas import NameOrder
from service.wire import plain_text
from service.wording.labels import ACTIONS, OUTCOMES, REFUSALS, action, principal_in

EVENTS: Final = 50

router = APIRouter(include_in_schema=False)

Words = Annotated[str, Query(max_length=200), AfterValidator(plain_text)]


@router.get("/keys")
def keys_page(visit: CurrentVisit, start: From = 0) -> Response:
    """List the visitor's own keys; for an admin, all keys with their principals."""
    keys = part_of(visit.ask(list_keys).items, start)
    # A principal without a name is listed under the name of its first key.
    principals = {key.principal_id: key.principal_name or key.name for key in reversed(keys.items)}
    return page(
        visit,
        "keys.html",
        keys=keys,
        principals=principals,
        now=visit.context.clock.now(),
        own_key=visit.principal.key_id,
        enrolments=own_recoveries(visit),
        may_create=visit.may(create_key),
        may_name=visit.may(name_principal),
    )


@router.post("/keys")
def make_key(visit: CurrentVisit) -> Response:
    """Create a further key for the visitor. Only this response contains the secret; no URL leads back to it."""
    form = visit.form
    wanted = order(
        KeyOrder,
        name=form.text("name"),
        roles=set(form.all("roles")),
    )
    made = visit.ask(create_key, order=wanted)
    return page(visit, "new_key.html", key=made, old_ends_at=None, recovered_until=None)


@router.post("/keys/names")
def call_principal(visit: CurrentVisit) -> Response:
    """Set the name of a principal."""
    principal_id = visit.form.identity("principal_id")
    if principal_id is None:
        raise FormInvalid("The principal id is missing.", remedy="Choose one from the list or paste an id.")
    visit.ask(
        name_principal, principal_id=principal_id, order=order(NameOrder, name=visit.form.text("called"))
    )
    return sent_on("/keys?done=named")


@router.post("/keys/{key_id}/rotate")
def replace_key(key_id: UUID, visit: CurrentVisit) -> Response:
    """Rotate a key; the old secret keeps working for a while."""
    made = visit.ask(rotate_key, key_id=key_id)
    return page(visit, "new_key.html", key=made, old_ends_at=made.old_key_ends_at, recovered_until=None)


@router.get("/keys/{key_id}/revoke")
def ending_key_page(key_id: UUID, visit: CurrentVisit) -> Response:
    """Show the consequences of revoking a key, and ask for confirmation."""
    visit.require(revoke_key)
    key = next((known for known in visit.ask(list_keys).items if known.id == key_id), None)
    if key is None:
        raise KeyNotFound
    return page(visit, "revoke_key.html", key=key, is_own=key.id == visit.principal.key_id)


@router.post("/keys/{key_id}/revoke")
def end_key(key_id: UUID, visit: CurrentVisit) -> Response:
    """Revoke a key and end its sessions."""
    visit.ask(revoke_key, key_id=key_id)
    return sent_on("/keys?done=key-revoked")


@router.get("/system")
def system_page(visit: CurrentVisit) -> Response:
    """Show workers, queue and maintenance tasks; the findings come afterwards."""
    visit.require(read_health_report)
    now = visit.context.clock.now()
    workers = visit.read(lambda session: figures.worker_figures(session, at=now))
    return page(
        visit,
        "system.html",
        workers=workers,
        queues=visit.read(lambda session: figures.queue_figures(session, workers, at=now)),
        jobs=visit.read(lambda session: figures.job_figures(session, at=now)),
        chores=visit.read(figures.chore_figures),
    )


@router.get("/system/findings")
def system_findings(visit: CurrentVisit) -> Response:
    """Examine the deployment, which takes longer than a page may: a fragment for htmx, a full page without JavaScript."""
    template = "system_findings.html" if visit.is_fragment else "system_findings_page.html"
    return page(visit, template, report=visit.ask(read_health_report, limit=only_one()))


async def _wanted(
    actor: Words = "",
    action: Words = "",
    thing: Annotated[Words, Query(alias="object")] = "",
    outcome: Words = "",
) -> AuditFilter:
    """The requested filter; an empty field matches all events."""
    return AuditFilter(
        actor=actor or None,
        action=action or None,
        object=thing or None,
        outcome=outcome or None,
        at_from=None,
        at_to=None,
    )


@router.get("/audit")
def audit_page(
    visit: CurrentVisit,
    wanted: Annotated[AuditFilter, Depends(_wanted)],
    before: BeforeSequence = None,
) -> Response:
    """List audit events, newest first."""
    found = visit.ask(list_audit_events, wanted=wanted, limit=EVENTS, before=before)
    asked = _asked(wanted)
    people = visit.names_of(
        principal_in(text) for event in found.items for text in (event.actor, event.object)
    )
    return page(
        visit,
        "audit.html",
        events=found.items,
        people=people,
        known=_known(found.items, people),
        asked=asked,
        query=urlencode(asked),
        next_before=found.next_before,
        is_first=before is None,
        may_export=visit.may(export_audit_log),
    )


def _known(
    events: Sequence[AuditEventView], people: Mapping[UUID, str]
) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Values to offer for each field of the search, with their words: fixed ones, and those of the events on the page.

    All values of the whole log would take a read of all of it.
    """
    actors = {event.actor.partition("/")[0] for event in events}
    names = {str(principal_id): name for principal_id, name in people.items()}
    actions = dict(ACTIONS) | {event.action: action(event.action) for event in events}
    outcomes = dict.fromkeys([*REFUSALS, *(event.outcome for event in events)], "refused")
    outcomes |= {outcome: words for outcome, (words, _) in OUTCOMES.items()}
    return {
        "actor": sorted((actor, names.get(actor, "")) for actor in actors),
        "action": sorted(actions.items()),
        "object": sorted({(event.object, names.get(event.object, "")) for event in events}),
        "outcome": sorted(outcomes.items()),
    }


@router.get("/audit/verification")
def audit_verification(visit: CurrentVisit) -> Response:
    """Verify the whole chain, which takes as long as the log: a fragment for htmx, a full page without JavaScript."""
    return page(
        visit,
        "verification.html" if visit.is_fragment else "verification_page.html",
        title="Audit log integrity",
        noun="position",
        plural="events",
        back="/audit",
        verified=visit.ask(verify_audit_log),
    )


def _asked(wanted: AuditFilter) -> Mapping[str, Any]:
    named = {
        "actor": wanted.actor,
        "action": wanted.action,
        "object": wanted.object,
        "outcome": wanted.outcome,
    }
    return {name: text for name, text in named.items() if text is not None}
