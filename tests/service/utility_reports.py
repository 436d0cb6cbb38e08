"""A utility report as a worker would have left it."""

from typing import Any
from uuid import UUID, uuid4

from core.artifacts.reports.utility import (
    Measurement,
    make_utility_report,
    report_id_of,
    signed_utility_report,
)
from core.artifacts.signing import keyring
from core.db.tables import Dataset, Job, Release, UtilityReport
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.hash_chain import Head
from core.plan.domain.table import TableDomain
from core.plan.utility_reports.plan import ReportPlan
from core.plan.utility_reports.planning import ReportSpec, make_report_plan
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import NOON, World

SOFTWARE: dict[str, Any] = {
    "name": "understudy",
    "version": "0",
    "source_sha256": "0" * 64,
    "python": "3.11",
    "distributions": [],
}


def name_generator(world: World, release_id: str) -> str:
    """Have the release's certificate name its manifest, as every certificate does. Returns the digest."""
    digest = "ab" * 32
    with world.database.transaction() as session:
        release = session.get_one(Release, UUID(release_id))
        artefacts = release.certificate.get("artefacts", {}) | {"manifest.json": {"sha256": digest}}
        release.certificate = {**release.certificate, "artefacts": artefacts}
    return digest


def plan_about(release_id: str, *, declared_size: int = 1000) -> ReportPlan:
    return make_report_plan(
        report=ReportSpec(release_id=UUID(release_id), manifest_sha256="ab" * 32, target=None, columns=None),
        guarantee=PrivacyGuarantee(epsilon=0.25, delta=1e-6),
        declared_size=declared_size,
        domain=TableDomain.from_json(DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def measured(plan: ReportPlan) -> Measurement:
    """Noisy terms that somebody could have measured: some errors below 0, so that clipping shows."""
    terms = {kind: [float(n - 1) for n in range(count)] for kind, count in plan.terms.items()}
    references = {kind: [0.01] * count for kind, count in plan.terms.items()} | {"score": [0.8, 0.75]}
    return Measurement.of_terms(plan, terms, references)


def charged_report(world: World, release_id: str) -> str:
    """A published report about a release. Returns its id."""
    plan = plan_about(release_id)
    with world.database.transaction() as session:
        release = session.get_one(Release, UUID(release_id))
        dataset = session.get_one(Dataset, release.dataset_id)
        ordered = session.get_one(Job, release.job_id)
        job_id = uuid4()
        # Ended, so that it needs no key and nobody waits for it.
        job = Job(
            id=job_id,
            dataset_id=dataset.id,
            ordered_by=ordered.ordered_by,
            state="succeeded",
            plan=plan.to_json(),
            plan_digest=plan.digest(),
            created_at=NOON,
            sent_at=NOON,
            started_at=NOON,
            finished_at=NOON,
        )
        session.add(job)
        session.flush()
        link = Head(sequence=1, hash=bytes(32))
        report = make_utility_report(
            plan=plan,
            measurement=measured(plan),
            job_id=job_id,
            dataset_id=dataset.id,
            population_id=dataset.population_id,
            issued_at=NOON,
            reserved=link,
            spent=link,
            noise_grid=2.0**-20,
            software=SOFTWARE,
        )
        signer = keyring.signer(
            session, master_keys=world.app.state.context.settings.master_keys, clock=world.clock
        )
        session.add(
            UtilityReport(
                id=report_id_of(job_id),
                job_id=job_id,
                release_id=release.id,
                dataset_id=dataset.id,
                document=signed_utility_report(report, signer).to_json(),
                created_at=NOON,
            )
        )
    return str(report_id_of(job_id))


def released_images(world: World) -> tuple[str, str]:
    """A release of images and its dataset, which holds images, too."""
    release_id = world.release(image_stand_in.bundle())
    name_generator(world, release_id)
    with world.database.transaction() as session:
        dataset_id = session.get_one(Release, UUID(release_id)).dataset_id
        session.get_one(Dataset, dataset_id).domain = image_stand_in.domain()
    return release_id, str(dataset_id)
