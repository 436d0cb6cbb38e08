"""The subject of a utility report order: its release, as stated by the certificate."""

from sqlalchemy.orm import Session

from core.artifacts.bundle import MANIFEST
from core.artifacts.private_models.certificate_form import SCHEMAS as MODELS
from core.plan.errors import InvalidReport
from core.plan.utility_reports.planning import ReportSpec
from core.platform.access.roles import Principal
from service.planning.orders import GeneratorOrder
from service.releases import repository
from service.releases.errors import ReleaseNotFound


def report_of(session: Session, order: GeneratorOrder, principal: Principal) -> ReportSpec | None:
    """The report to make; None if a generator is ordered.

    Raises:
        ReleaseNotFound: The dataset has no such release.
        InvalidReport: The release's certificate does not identify its generator.
    """
    wanted = order.report
    if wanted is None:
        return None
    release = repository.visible(session, wanted.release_id, principal)
    if release.dataset_id != order.dataset_id:
        raise ReleaseNotFound
    certificate = release.certificate
    if certificate.get("schema") in MODELS:
        raise InvalidReport(f"release {release.id} is a private model and generates nothing to compare")
    digest = certificate.get("artefacts", {}).get(MANIFEST, {}).get("sha256")
    if digest is None:
        raise InvalidReport(f"the certificate of release {release.id} lists no generator file")
    return ReportSpec(
        release_id=release.id,
        manifest_sha256=digest,
        target=wanted.target,
        columns=None if wanted.columns is None else tuple(wanted.columns),
    )
