"""The dossier of a dataset, for a data protection officer to read and sign."""

import json
from enum import StrEnum
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query, Response

from core.artifacts.signing import keyring
from core.artifacts.signing.contexts import DOSSIER
from core.platform.witness.signed_heads import signed_ledger_head
from core.platform.witness.verification import check_ledger
from core.platform.witness.witness_store import Witnesses
from service.audit import record
from service.datasets import repository as datasets
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext
from service.dossier.collecting import ACTION, collect
from service.dossier.rendering import render
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(tags=["dossier"], route_class=StrictRoute)


class DossierFormat(StrEnum):
    """The file format."""

    HTML = "html"
    JSON = "json"


_MEDIA_TYPES: Final = {
    DossierFormat.HTML: "text/html; charset=utf-8",
    DossierFormat.JSON: "application/json",
}
_FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The file: HTML that prints on A4, or the same content as a signed JSON document.",
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}


@router.get(
    "/datasets/{dataset_id}/dossier",
    summary="Export the dossier of a dataset",
    response_class=Response,
    responses={**problems(DatasetNotFound), **_FILE},
)
def export_dossier(
    dataset_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    file_format: Annotated[
        DossierFormat, Query(alias="format", description="html or json.")
    ] = DossierFormat.HTML,
) -> Response:
    """Privacy guarantee, declared facts, members, budget, grants, requests, jobs, releases with certificates, and the ledger.

    One self-contained file for a data protection officer. The dataset's owner, admins and auditors can export it. It
    contains public facts and decisions, nothing derived from rows. The export is logged, and listed in the file.
    """
    now = context.clock.now()
    with context.database.transaction() as session:
        population_id = datasets.overseen(session, dataset_id, principal).population_id
        record(session, principal, action=ACTION, object_id=dataset_id, clock=context.clock)
        signer = keyring.signer(session, master_keys=context.settings.master_keys, clock=context.clock)
        public_keys = keyring.public_keys(session)
    with context.database.read_only() as session:
        found = check_ledger(
            session,
            population_id,
            witnesses=Witnesses.of(context.settings, context.store),
            public_keys=public_keys,
        )
        document = collect(
            session,
            datasets.overseen(session, dataset_id, principal),
            found=found,
            head=signed_ledger_head(signer, population_id, found.head, at=now).to_json(),
            at=now,
            by=principal.id,
        )
    signed = signer.sign(document, context=DOSSIER).to_json()
    text = render(signed) if file_format is DossierFormat.HTML else json.dumps(signed, indent=1) + "\n"
    return Response(
        text,
        media_type=_MEDIA_TYPES[file_format],
        headers={"Content-Disposition": f'attachment; filename="dossier-{dataset_id}.{file_format.value}"'},
    )
