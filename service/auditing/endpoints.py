"""The audit log: searched, exported and verified by auditors and admins."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import StringConstraints

from core.artifacts.signing import keyring
from core.ledger import audit_log
from core.ledger.audit_log import AuditFilter, link_waiting
from core.platform.witness.signed_heads import signed_audit_head
from core.platform.witness.verification import check_audit
from core.platform.witness.witness_store import Witnesses
from service.audit import record
from service.auditing.exporting import MEDIA_TYPES, ExportFormat, export_pieces
from service.auditing.schemas import AuditEventView, AuditPage, AuditVerification
from service.dependencies import CurrentPrincipal, InjectedContext
from service.edge.concurrency import ServiceBusy
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Moment, PageSize

router = APIRouter(prefix="/audit", tags=["audit"], route_class=StrictRoute)

Word = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]+$", max_length=200)]
_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events in chain order; the last line is the signed trailer.",
        "content": {media: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
    }
}


async def wanted_events(
    actor: Annotated[Word | None, Query(description="A principal, `principal/key`, or a process.")] = None,
    action: Annotated[Word | None, Query(description="Name of the action.")] = None,
    object_id: Annotated[Word | None, Query(alias="object", description="Id of the object.")] = None,
    outcome: Annotated[Word | None, Query(description="`done`, or the code of a refusal.")] = None,
    at_from: Annotated[Moment | None, Query(alias="from", description="Not before this moment.")] = None,
    at_to: Annotated[Moment | None, Query(alias="to", description="Before this moment.")] = None,
) -> AuditFilter:
    """The filter of a request."""
    return AuditFilter(
        actor=actor, action=action, object=object_id, outcome=outcome, at_from=at_from, at_to=at_to
    )


WantedEvents = Annotated[AuditFilter, Depends(wanted_events)]
BeforeSequence = Annotated[
    int | None, Query(ge=1, lt=2**63, description="The `next_before` of the previous page.")
]


@router.get("", summary="Search the audit log")
def list_audit_events(
    _principal: CurrentPrincipal,
    context: InjectedContext,
    wanted: WantedEvents,
    limit: PageSize = DEFAULT_PAGE,
    before: BeforeSequence = None,
) -> AuditPage:
    """List events, newest first, each with its position in the hash chain."""
    link_waiting(context.database)
    with context.database.read_only() as session:
        rows = audit_log.page(session, wanted, limit=limit + 1, before=before)
        items = [AuditEventView.of(event, link) for event, link in rows[:limit]]
    return AuditPage(items=items, next_before=items[-1].sequence if len(rows) > limit else None)


@router.get(
    "/export",
    summary="Export the audit log",
    response_class=StreamingResponse,
    responses={**problems(ServiceBusy), **_FILE},
)
def export_audit_log(
    principal: CurrentPrincipal,
    context: InjectedContext,
    wanted: WantedEvents,
    file_format: Annotated[
        ExportFormat, Query(alias="format", description="jsonl or csv.")
    ] = ExportFormat.JSONL,
) -> StreamingResponse:
    """Stream the selected events as a file in chain order, followed by a signed trailer. The export itself is logged."""
    with context.database.transaction() as session:
        record(session, principal, action="audit.export", object_id="audit-log", clock=context.clock)
    link_waiting(context.database)
    with context.database.transaction() as session:
        signer = keyring.signer(session, master_keys=context.settings.master_keys, clock=context.clock)
        head = audit_log.head(session)
    pieces = export_pieces(
        context.database, wanted, head=head, signer=signer, file_format=file_format, at=context.clock.now()
    )
    return context.sampling.streams.answer(
        pieces,
        media_type=MEDIA_TYPES[file_format],
        headers={"Content-Disposition": f'attachment; filename="audit-log.{file_format.value}"'},
    )


@router.get("/verification", summary="Verify the audit log")
def verify_audit_log(_principal: CurrentPrincipal, context: InjectedContext) -> AuditVerification:
    """Recompute the whole hash chain and compare it with the heads recorded outside the database."""
    link_waiting(context.database)
    with context.database.transaction() as session:
        signer = keyring.signer(session, master_keys=context.settings.master_keys, clock=context.clock)
        public_keys = keyring.public_keys(session)
    witnesses = Witnesses.of(context.settings, context.store)
    with context.database.read_only() as session:
        found = check_audit(session, witnesses=witnesses, public_keys=public_keys)
    head = signed_audit_head(signer, found.head, at=context.clock.now()).to_json() if found.intact else None
    return AuditVerification.of(found, head)
