"""Turning a staged bundle into one that can be published: with a certificate, signed by the service's key.

The child that trained reports what it executed; this process, which has never seen a row, holds that against the claim,
quotes the ledger, hashes every file and signs. The signing key stays sealed until the moment of signing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from core.asking.release_notes import release_notes
from core.clock import Clock
from core.db.session import Database
from core.domain.declared import domain_from_json
from core.jobs.claims import Claim
from core.ledger.repository import payment_of
from core.ledger.reservation import EntryKind
from core.releases.bundle import artefacts_of, files_of, pack, unpack
from core.releases.certificate import make_certificate, sign_certificate
from core.releases.errors import ExecutionDiffers
from core.releases.execution import SCHEMA, Executed, require_as_planned
from core.releases.generator_check import GeneratorCheck
from core.releases.readme import render_readme
from core.releases.selection_certificate import of_selection, sign_selection_certificate
from core.releases.selection_execution import SelectionExecuted
from core.signing import keyring
from core.storage.master_keys import MasterKeys
from core.storage.objects import ObjectStore
from core.synthesis.plan import Plan
from core.synthesis.report_plan import ReportPlan
from core.synthesis.selection import SelectionPlan
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
    _require_ours(report, claim)
    with database.transaction() as session:
        payment = payment_of(session, claim.job_id)
        signer = keyring.signer(session, master_keys=master_keys, clock=clock)
    assert not isinstance(claim.plan, ReportPlan), "a report is signed by workers.charged_publishing"
    made = partial(
        make_certificate,
        release_id=release_id_of(claim.job_id),
        job_id=claim.job_id,
        dataset_id=claim.dataset_id,
        population_id=claim.population_id,
        issued_at=datetime.fromisoformat(report["ordered_at"]),
        reserved=payment[EntryKind.RESERVED],
        spent=payment[EntryKind.SPENT],
        domain_digest=domain_from_json(staged.domain).digest(),
        cardinalities=staged.manifest.cardinalities,
        software=report["software"],
        generator_check=GeneratorCheck.of_certificate(report),
    )
    certificate = _certificate(claim.plan, report, made)
    readme = render_readme(
        staged.manifest,
        certificate=certificate,
        counted=staged.counts is not None,
        notes=release_notes(staged),
    )
    whole = certificate | {"artefacts": artefacts_of(files_of(staged, readme=readme))}
    sign = sign_selection_certificate if isinstance(claim.plan, SelectionPlan) else sign_certificate
    signed = sign(whole, signer).to_json()
    store.put_bytes(key, pack(replace(staged, certificate=signed), readme=readme))
    return signed


def _require_ours(report: Mapping[str, Any], claim: Claim) -> None:
    """Hold the child's report against the claim: its job, and its plan."""
    ours = {"schema": SCHEMA, "job_id": str(claim.job_id), "plan_digest": claim.plan_digest}
    if any(report.get(name) != value for name, value in ours.items()):
        raise ExecutionDiffers


def _certificate(
    plan: Plan | SelectionPlan, report: Mapping[str, Any], made: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """The certificate of what the child reports to have run, if that is the plan to its end.

    Args:
        plan: What was claimed.
        report: Of the child.
        made: Makes the certificate of one training, given its plan, what ran and its grids.
    """
    if isinstance(plan, SelectionPlan):
        selected = SelectionExecuted.from_json(report["executed"])
        selected.require_as_planned(plan)
        grids = report["noise_grid"]
        final = made(plan=plan.finals[selected.winner], executed=selected.final, noise_grid=grids["final"])
        return of_selection(final, plan=plan, executed=selected, noise_grid=grids)
    executed = Executed.from_json(report["executed"])
    require_as_planned(executed, plan)
    return made(plan=plan, executed=executed, noise_grid=report["noise_grid"])
