"""The released figures as one HTML file to pass on: the certificate in words, the expected error, counts, pictures."""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from core.artifacts.reports.release_page import ReleaseFigures, released_figures, render_release
from core.db.tables.dataset import Dataset
from core.db.tables.release import Release
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.edge.concurrency import ServiceBusy
from service.edge.streaming import Pieces
from service.jobs.schemas import JobWarning
from service.planning.facts import DatasetFacts
from service.problem import problems
from service.releases import repository
from service.releases.errors import ReleaseNotFound
from service.releases.precision import expected_error_of
from service.strict_route import StrictRoute
from service.wording import certificate_text
from service.wording.amounts import count, delta_up, epsilon_up

POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)
_FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "One HTML file.", "content": {"text/html": {"schema": {"type": "string"}}}}
}

router = APIRouter(prefix="/releases", tags=["releases"], route_class=StrictRoute)


@router.get(
    "/{release_id}/figures",
    summary="Download the released figures as one HTML file",
    response_class=StreamingResponse,
    responses={**problems(ReleaseNotFound, ServiceBusy), **_FILE},
)
def download_figures(
    release_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> StreamingResponse:
    """The guarantee in words, the expected error, noisy counts and pictures of synthetic data, to pass on. This costs no privacy.

    One file without scripts that loads nothing. It holds what the release and its certificate hold; no record is read.
    """
    release = repository.visible(session, release_id, principal)
    known = figures_of(release, DatasetFacts.of(session.get_one(Dataset, release.dataset_id)))
    bundle_key = release.bundle_key

    def pieces() -> Pieces:
        drawn = released_figures(context.store.get_bytes(bundle_key))
        yield render_release(ReleaseFigures(**known, **drawn)).encode()

    return context.sampling.streams.answer(
        pieces(),
        media_type="text/html; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="release-{release_id}.html"',
            "Content-Security-Policy": POLICY,
        },
    )


def figures_of(release: Release, facts: DatasetFacts) -> dict[str, Any]:
    """The members of `ReleaseFigures` that need no bundle."""
    certificate = release.certificate
    warning = JobWarning.of_certificate(certificate)
    return {
        "id": str(release.id),
        "facts": tuple(_facts(release, facts)),
        "warning": None if warning is None else warning.detail,
        "sentences": certificate_text.in_words(certificate),
        "not_covered": certificate_text.not_covered(certificate),
        "expected_error": expected_error_of(certificate, facts)["expected_error"],
    }


def _facts(release: Release, facts: DatasetFacts) -> Iterator[tuple[str, str]]:
    yield "Release", str(release.id)
    yield "Released", f"{release.created_at:%Y-%m-%d %H:%M} UTC"
    promised = release.certificate.get("privacy_parameters")
    if promised:
        yield "Guarantee", f"ε {epsilon_up(promised['epsilon'])}, δ {delta_up(promised['delta'])}"
    yield "Declared size", count(facts.declared_size)
