"""Turning what a child staged into what can be published: a bundle with a signed certificate, or a signed utility report.

The child that trained or measured reports what it executed. This process, which has never seen a row, checks that against
the claim, quotes the ledger, hashes every file and signs. The signing key stays sealed until the moment of signing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from core.artifacts.asking.release_notes import release_notes
from core.artifacts.bundle import artefacts_of, unpack
from core.artifacts.certificate import make_certificate, sign_certificate
from core.artifacts.errors import ExecutionDiffers
from core.artifacts.execution import SCHEMA, Executed, require_as_planned
from core.artifacts.owners_ledgers import Place
from core.artifacts.packing import files_of, pack
from core.artifacts.private_models.bundle import model_files, packed_model, unpack_model
from core.artifacts.private_models.certificate import (
    Trained,
    described_codes,
    make_model_certificate,
    sign_model_certificate,
)
from core.artifacts.private_models.constancy_check import ModelCheck
from core.artifacts.private_models.execution import ModelExecuted
from core.artifacts.private_models.readme import render_model_readme
from core.artifacts.readme import render_readme
from core.artifacts.reports.utility import Measurement, make_utility_report, signed_utility_report
from core.artifacts.sampling.generator_check import GeneratorCheck
from core.artifacts.selection_certificate import of_selection, sign_selection_certificate
from core.artifacts.selection_execution import SelectionExecuted
from core.artifacts.signing import keyring
from core.canonical import canonical_digest
from core.clock import Clock
from core.data.master_keys import MasterKeys
from core.data.objects import ObjectStore
from core.db.session import Database
from core.jobs.leases import Claim
from core.ledger.repository import payment_of
from core.ledger.reservation import EntryKind
from core.plan.domain.declared import domain_from_json
from core.plan.plan import Plan
from core.plan.private_models.plan import ModelPlan
from core.plan.selections.plan import SelectionPlan
from core.plan.utility_reports.plan import ReportPlan
from core.platform.stored_objects import bundle_key, measurement_key, release_id_of


def certify_bundle(
    claim: Claim, *, database: Database, store: ObjectStore, master_keys: MasterKeys, clock: Clock
) -> dict[str, Any]:
    """Read the staged bundle back whole, put its signed certificate into it, and return that.

    This publishes nothing: no row names the bundle yet. The clock dates a signing key that must be made first.

    Raises:
        ObjectMissing: There is no staged bundle.
        BundleInvalid: It is damaged.
        ExecutionDiffers: What ran is not what was claimed.
    """
    key = bundle_key(claim.job_id, claim.fence)
    staged = unpack(store.get_bytes(key))
    report = staged.certificate
    _require_claimed(report, claim)
    with database.transaction() as session:
        payment, *others = (payment_of(session, claim.job_id, each) for each in claim.population_ids)
        signer = keyring.signer(session, master_keys=master_keys, clock=clock)
    assert not isinstance(claim.plan, ReportPlan | ModelPlan), "reports and models are signed elsewhere"
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
        others=tuple(Place(reserved=one[EntryKind.RESERVED], spent=one[EntryKind.SPENT]) for one in others),
    )
    certificate = _certificate(claim.plan, report, made)
    readme = render_readme(
        staged.manifest,
        certificate=certificate,
        counts=staged.counts,
        notes=release_notes(staged, learnt=_learnt_words(claim)),
    )
    whole = certificate | {"artefacts": artefacts_of(files_of(staged, readme=readme))}
    sign = sign_selection_certificate if isinstance(claim.plan, SelectionPlan) else sign_certificate
    signed = sign(whole, signer).to_json()
    store.put_bytes(key, pack(replace(staged, certificate=signed), readme=readme))
    return signed


def _learnt_words(claim: Claim) -> tuple[int, ...]:
    """Places of the columns whose words the job learns."""
    learning = claim.plan.learning if isinstance(claim.plan, Plan) else None
    return () if learning is None else learning.words_of


def certify_model(
    claim: Claim,
    plan: ModelPlan,
    *,
    database: Database,
    store: ObjectStore,
    master_keys: MasterKeys,
    clock: Clock,
) -> dict[str, Any]:
    """Read a staged model back whole, put its signed certificate into it, and return that; see `certify_bundle`.

    Raises:
        ObjectMissing: There is no staged bundle.
        BundleInvalid: It is damaged.
        ExecutionDiffers: What ran is not what was claimed.
    """
    key = bundle_key(claim.job_id, claim.fence)
    staged = unpack_model(store.get_bytes(key))
    report = staged.certificate
    _require_claimed(report, claim)
    executed = ModelExecuted.from_json(report["executed"])
    executed.require_as_planned(plan)
    with database.transaction() as session:
        payments = [payment_of(session, claim.job_id, each) for each in claim.population_ids]
        signer = keyring.signer(session, master_keys=master_keys, clock=clock)
    domain = domain_from_json(staged.domain)
    places = [Place(reserved=each[EntryKind.RESERVED], spent=each[EntryKind.SPENT]) for each in payments]
    certificate = make_model_certificate(
        plan=plan,
        trained=Trained(
            executed=executed,
            noisy_wrong=report["noisy_wrong"],
            noise_grid=report["noise_grid"],
            check=ModelCheck.of_certificate(report),
        ),
        release_id=release_id_of(claim.job_id),
        job_id=claim.job_id,
        dataset_id=claim.dataset_id,
        population_id=claim.population_id,
        issued_at=datetime.fromisoformat(report["ordered_at"]),
        places=places,
        domain_digest=domain.digest(),
        cardinalities=described_codes(domain),
        software=report["software"],
    )
    readme = render_model_readme(staged.manifest, certificate=certificate)
    whole = certificate | {"artefacts": artefacts_of(model_files(staged, readme=readme))}
    signed = sign_model_certificate(whole, signer).to_json()
    store.put_bytes(key, packed_model(replace(staged, certificate=signed), readme=readme))
    return signed


def sign_utility_report(
    claim: Claim,
    plan: ReportPlan,
    *,
    database: Database,
    store: ObjectStore,
    master_keys: MasterKeys,
    clock: Clock,
) -> dict[str, Any]:
    """Read what the child staged, and return the signed report. This publishes nothing.

    Raises:
        ObjectMissing: Nothing is staged.
        ExecutionDiffers: What ran is not what was claimed.
        InvalidCertificate: The report would not have the published form.
    """
    staged = json.loads(store.get_bytes(measurement_key(claim.job_id, claim.fence)))
    _require_claimed(staged, claim)
    with database.transaction() as session:
        payment = payment_of(session, claim.job_id, claim.population_id)
        signer = keyring.signer(session, master_keys=master_keys, clock=clock)
    report = make_utility_report(
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
    return signed_utility_report(report, signer).to_json()


def content_digest(document: Mapping[str, Any]) -> str:
    """The digest of what a certificate or a signed report publishes of rows and noise.

    Texts and programs that lie in a bundle are left out: another version of the software may write them otherwise.
    """
    if "artefacts" not in document:
        return canonical_digest(document["results"])
    files = document["artefacts"]
    return canonical_digest({name: files[name] for name in files if not name.endswith((".md", ".py"))})


def _require_claimed(report: Mapping[str, Any], claim: Claim) -> None:
    """Check the child's report against the claim: its job and its plan."""
    ours = {"schema": SCHEMA, "job_id": str(claim.job_id), "plan_digest": claim.plan_digest}
    if any(report.get(name) != value for name, value in ours.items()):
        raise ExecutionDiffers


def _certificate(
    plan: Plan | SelectionPlan, report: Mapping[str, Any], made: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """The certificate of what the child reports to have run, if that is the whole plan.

    `made` makes that of one training from its plan, what ran and its noise grids.
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
