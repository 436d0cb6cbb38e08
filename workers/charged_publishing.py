"""Turning what a child measured into a report that can be published: explained, with the ledger's links, signed.

This process has never seen a row. It holds what the child hands over against the claim, and computes from the noisy terms
everything that the report says of the table.
"""

import json
from datetime import datetime
from typing import Any

from core.clock import Clock
from core.db.session import Database
from core.jobs.claims import Claim
from core.ledger.repository import payment_of
from core.ledger.reservation import EntryKind
from core.releases.errors import ExecutionDiffers
from core.releases.execution import SCHEMA
from core.reports.charged import Measurement, make_charged_report, sign_charged_report
from core.signing import keyring
from core.storage.master_keys import MasterKeys
from core.storage.objects import ObjectStore
from core.synthesis.report_plan import ReportPlan
from workers.places import report_key


def sign_staged(
    claim: Claim,
    plan: ReportPlan,
    *,
    database: Database,
    store: ObjectStore,
    master_keys: MasterKeys,
    clock: Clock,
) -> dict[str, Any]:
    """Read what the child staged, and return the signed report. Nothing is published by this.

    Args:
        claim: Whose child staged it.
        plan: The claim's.
        database: Where ledger and keys are.
        store: Where it lies.
        master_keys: Open the signing key.
        clock: Dates a signing key that must be made first.

    Raises:
        ObjectMissing: Nothing is staged.
        ExecutionDiffers: What ran is not what was claimed.
        InvalidCertificate: The report would not be of the published form.
    """
    staged = json.loads(store.get_bytes(report_key(claim.job_id, claim.fence)))
    ours = {"schema": SCHEMA, "job_id": str(claim.job_id), "plan_digest": claim.plan_digest}
    if any(staged.get(name) != value for name, value in ours.items()):
        raise ExecutionDiffers
    with database.transaction() as session:
        payment = payment_of(session, claim.job_id)
        signer = keyring.signer(session, master_keys=master_keys, clock=clock)
    report = make_charged_report(
        plan=plan,
        measurement=Measurement.of_terms(plan, staged["terms"], staged["references"]),
        job_id=claim.job_id,
        dataset_id=claim.dataset_id,
        population_id=claim.population_id,
        issued_at=datetime.fromisoformat(staged["ordered_at"]),
        reserved=payment[EntryKind.RESERVED],
        spent=payment[EntryKind.SPENT],
        noise_grid=staged["noise_grid"],
        software=staged["software"],
    )
    return sign_charged_report(report, signer).to_json()
