"""A utility report about a release of images: trained, measured, signed, verified by strangers."""

import pytest

from core.artifacts.signing import keyring
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.reservation import EntryKind
from core.plan.utility_reports.plan import ReportPlan
from core.plan.utility_reports.planning import ReportSpec, make_report_plan
from models.reports import public_side
from tests.workers.support import Workshop
from tests.workers.test_image_job import COUNT, DOMAIN, plan_of, with_images
from tests.workers.test_utility_reports import attempted
from tests.workers.utility_jobs import report_of
from understudy.verifying.utility import verify_report
from understudy.verifying.verification import Outcome


def plan_about_images(workshop: Workshop, epsilon: float) -> ReportPlan:
    """Train a release, and plan a report about it."""
    with_images(workshop)
    trained = plan_of()
    job_id = workshop.order(trained)
    workshop.train(job_id)
    release = workshop.release(job_id)
    assert release is not None
    digest = release.certificate["artefacts"]["manifest.json"]["sha256"]
    return make_report_plan(
        report=ReportSpec(release_id=release.id, manifest_sha256=digest, target=None, columns=None),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=COUNT,
        domain=DOMAIN,
        adjacency=trained.adjacency,
        privacy_unit=trained.privacy_unit,
    )


def test_images_are_measured_and_paid_for_once(workshop: Workshop, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        public_side, "TREES", 2
    )  # the pages of the documentation have all of them, in a child
    plan = plan_about_images(workshop, epsilon=4.0)
    job_id = workshop.order(plan)

    workshop.train(job_id)

    job, report = workshop.job(job_id), report_of(workshop, job_id)
    assert job.state == "succeeded"
    assert report is not None
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert report.document["epsilon"] == plan.epsilons.to_json()
    with workshop.database.read_only() as session:
        keys = keyring.public_keys(session)
    found = verify_report(report.document, public_keys=keys.values())
    assert found.outcome is Outcome.VERIFIED, found.refusals
    results = report.document["results"]
    assert [row["name"] for row in results["columns"]] == ["label", "brightness", "detail"]
    assert len(results["pairs"]) == 3
    assert results["score"]["target"] == "label"

    # Broken off and measured again it is the same, to the byte.
    monkeypatch.setattr(workshop, "settings", workshop.settings.model_copy(update={"lease_seconds": 0.01}))
    job_id = workshop.order(plan)
    workshop.claim(job_id)
    first = attempted(workshop, job_id)
    workshop.claim(job_id)
    assert attempted(workshop, job_id, 2) == first
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
