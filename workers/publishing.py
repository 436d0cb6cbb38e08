"""Turning a staged bundle into one that can be published: with a certificate, signed by the service's key.

The child that trained reports what it executed; this process, which has never seen a row, holds that against the claim,
quotes the ledger, hashes every file and signs. The signing key stays sealed until the moment of signing.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from core.clock import Clock
from core.db.session import Database
from core.domain.declared import domain_from_json
from core.jobs.claims import Claim
from core.ledger.evidence import payment_of
from core.ledger.reservation import EntryKind
from core.releases.bundle import artefacts_of, files_of, pack, unpack
from core.releases.certificate import make_certificate, sign_certificate
from core.releases.errors import ExecutionDiffers
from core.releases.execution import SCHEMA, Executed, require_as_planned
from core.releases.readme import render_readme
from core.signing import keyring
from core.storage.master_keys import MasterKeys
from core.storage.objects import ObjectStore
from workers.places import bundle_key, release_id_of


def certify_staged(
    claim: Claim, *, database: Database, store: ObjectStore, master_keys: MasterKeys, clock: Clock
) -> dict[str, Any]:
    """Read the staged bundle back whole, put its signed certificate into it, and return that.

    Nothing is published by this: no row names the bundle yet.

    Args:
        claim: Whose child staged it.
        database: Where ledger and keys are.
        store: Where the bundle lies.
        master_keys: Open the signing key.
        clock: Dates a signing key that must be made first.

    Raises:
        ObjectMissing: There is no staged bundle.
        BundleInvalid: It is damaged.
        ExecutionDiffers: What ran is not what was claimed.
    """
    key = bundle_key(claim.job_id, claim.fence)
    staged = unpack(store.get_bytes(key))
    report = staged.certificate
    executed = _executed(report, claim)
    with database.transaction() as session:
        payment = payment_of(session, claim.job_id)
        signer = keyring.signer(session, master_keys=master_keys, clock=clock)
    certificate = make_certificate(
        plan=claim.plan,
        executed=executed,
        release_id=release_id_of(claim.job_id),
        job_id=claim.job_id,
        dataset_id=claim.dataset_id,
        population_id=claim.population_id,
        issued_at=datetime.fromisoformat(report["ordered_at"]),
        reserved=payment[EntryKind.RESERVED],
        spent=payment[EntryKind.SPENT],
        domain_digest=domain_from_json(staged.domain).digest(),
        cardinalities=staged.manifest.cardinalities,
        noise_grid=report["noise_grid"],
        software=report["software"],
    )
    readme = render_readme(staged.manifest, certificate=certificate)
    whole = certificate | {"artefacts": artefacts_of(files_of(staged, readme=readme))}
    signed = sign_certificate(whole, signer).to_json()
    store.put_bytes(key, pack(replace(staged, certificate=signed), readme=readme))
    return signed


def _executed(report: dict[str, Any], claim: Claim) -> Executed:
    """What the child reports to have run, if it is this claim's plan to its end."""
    ours = {"schema": SCHEMA, "job_id": str(claim.job_id), "plan_digest": claim.plan_digest}
    if any(report.get(name) != value for name, value in ours.items()):
        raise ExecutionDiffers
    executed = Executed.from_json(report["executed"])
    require_as_planned(executed, claim.plan)
    return executed
