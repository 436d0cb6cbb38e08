"""Documents that leave the service: domains, plans, certificates, utility reports, and the schemas that describe them.

A certificate lists files that numerical libraries write, so here each has a made-up digest. A plan's digest and the
signature cover floats, whose last bits depend on the processor: they are recomputed here from the document and left out.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from core.artifacts.certificate import make_certificate, sign_certificate
from core.artifacts.execution import Executed
from core.artifacts.manifest import ImageManifest, TableManifest
from core.artifacts.owners_ledgers import Place
from core.artifacts.private_models.certificate import (
    Trained,
    make_model_certificate,
    sign_model_certificate,
)
from core.artifacts.private_models.execution import ModelExecuted
from core.artifacts.reports.utility import Measurement, make_utility_report, signed_utility_report
from core.artifacts.sampling.generator_check import GeneratorCheck
from core.artifacts.selection_certificate import (
    of_selection,
    sign_selection_certificate,
)
from core.artifacts.selection_execution import SelectionExecuted
from core.artifacts.signing import contexts
from core.dp.adjacency import Adjacency
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.hash_chain import Head
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.images.anchor import ImageAnchorPlan
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.plan import Plan
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.federation import Federation, FederationMember
from core.plan.several_owners.joint_plan import JointPlan, joint_plan
from core.plan.several_owners.member_plan import MemberPlan, make_member_plan
from core.plan.several_owners.owners import DataOwner
from docs.document_schemas import FORMS, schema_text
from tests.core.plan.domain.ruled import EVERY_RULE
from tests.goldens import plans
from tests.goldens.api import structure
from tests.goldens.chains import AT, SIGNER
from tests.goldens.files import canonical, digest

_SOFTWARE: Final = {
    "name": "understudy",
    "version": "1.2.3",
    "source_sha256": "5" * 64,
    "python": "3.11.7",
    "distributions": [{"name": "torch", "version": "2.13.0", "files_sha256": "7" * 64}],
}
_TABLE_FILES: Final = (
    "README.md",
    "domain.json",
    "generator.onnx",
    "generator.safetensors",
    "manifest.json",
    "sample.py",
)
_LINKS: Final[dict[str, Any]] = {
    "job_id": UUID(int=3),
    "dataset_id": UUID(int=1),
    "population_id": UUID(int=2),
    "issued_at": AT,
    "reserved": Head(sequence=3, hash=bytes(range(32))),
    "spent": Head(sequence=5, hash=bytes(reversed(range(32)))),
}
_PLACE: Final = Place(reserved=_LINKS["reserved"], spent=_LINKS["spent"])
_CRITIC_ALONE: Final = {
    "anchor": False, "schedule": "exponential", "schedule_blocks": 2, "acts": True, "steps": 120, "acts_interval": 7,
}  # fmt: skip


def domains() -> dict[str, object]:
    """The canonical form of declared domains, and its digest."""
    declared: dict[str, dict[str, Any]] = {"table": plans.DOMAIN, "learnt": plans.LEARNT} | {
        f"rule {name}": document for name, document in EVERY_RULE.items()
    }
    members: dict[str, object] = {}
    for name, document in declared.items():
        table = TableDomain.from_json(document)
        written = table.to_json()
        assert table.digest() == digest(written)
        # The canonical text of a rule's document is long, and its digest says as much.
        shown = {} if name.startswith("rule") else {"document": written}
        members[name] = {"sha256": table.digest(), "cardinalities": list(table.cardinalities)} | shown
    images = ImageDomain.from_json(plans.DIGITS)
    members["images"] = {"sha256": images.digest(), "document": images.to_json()}
    return members


def ordered_plans() -> dict[str, object]:
    """Plans of every kind as the job's row keeps them."""
    made = {
        "both": plans.table_plan({"critic": True}),
        "learnt domain": plans.table_plan(document=plans.LEARNT),
        "learnt domain, from before units counted by several names": _by_first_records(
            plans.table_plan(document=plans.LEARNT)
        ),
        "screened": plans.table_plan({"critic": False, "anchor_screening_share": 0.05}),
        "independent groups": plans.table_plan(_CRITIC_ALONE),
        "aim": plans.table_plan({"marginals_per_round": 2}, synthesizer="aim"),
        "mst": plans.table_plan(synthesizer="mst"),
        "images with a critic": plans.image_plan({"critic": True}),
        "images with a critic, from before their brightness was released": _about_grey(
            plans.image_plan({"critic": True})
        ),
        "linear model": plans.model_plan(),
        "counts of two owners": _joint(),
        "counts of a federation's member": _member(),
        "model on components": plans.model_plan({"network": "mlp", "components": 3, "accuracy_share": 0.1}),
    }
    members: dict[str, object] = {}
    for name, plan in made.items():
        written = _through_json(plan.to_json())
        assert ordered_plan_from_json(written) == plan
        assert plan.digest() == digest(written)
        members[name] = written
    return members


def _by_first_records(plan: Plan) -> Plan:
    assert plan.learning is not None
    return replace(plan, learning=replace(plan.learning, names_per_unit=None))


def _about_grey(plan: Plan) -> Plan:
    assert isinstance(plan.anchor, ImageAnchorPlan)
    return replace(plan, anchor=replace(plan.anchor, brightness_noise_multiplier=None, about_grey=True))


def certificates() -> dict[str, object]:
    """A signed certificate of each kind of job, and a signed utility report."""
    tables: dict[str, tuple[Plan, tuple[str, ...]]] = {
        "counts only": (plans.table_plan({"critic": False}), ("counts.bin", *_TABLE_FILES)),
        "with a critic": (plans.table_plan(_CRITIC_ALONE), _TABLE_FILES),
        "images": (plans.image_plan(), _TABLE_FILES),
        "reused counts": (plans.reuse_plan(), ("counts.bin", *_TABLE_FILES)),
    }
    members: dict[str, object] = {}
    for name, (plan, files) in tables.items():
        looked = GeneratorCheck(draws=1000, distinct_records=900, constant_columns=("ward",))
        stated = _statement(plan, looked if name == "counts only" else None) | _artefacts(files)
        members[name] = _stable(sign_certificate(stated, SIGNER).to_json(), contexts.CERTIFICATE)
    stated = _statement(_joint(), others=(_PLACE,)) | _artefacts(("counts.bin", *_TABLE_FILES))
    signed = sign_certificate(stated, SIGNER).to_json()
    members["generator of two owners"] = _stable(signed, contexts.CERTIFICATE)
    members["selection"] = _selection()
    members["utility report"] = _utility_report()
    plan = plans.model_plan({"accuracy_share": 0.1})
    members["private model"] = _private_model(plan)
    members["private model of two owners"] = _private_model(replace(plan, owners=_owners(plan.declared_size)))
    averaged = plans.model_plan({"averaging_rounds": 20}, owners=_owners(plan.declared_size))
    members["averaged model of two owners"] = _private_model(averaged)
    stated = _statement(_member()) | _artefacts(("counts.bin", *_TABLE_FILES))
    signed = sign_certificate(stated, SIGNER).to_json()
    members["generator of a federation's member"] = _stable(signed, contexts.CERTIFICATE)
    federated = plans.model_plan({"averaging_rounds": 20}, federation=_federation())
    members["model of a federation's member"] = _private_model(federated)
    return members


def _statement(
    plan: Plan, looked: GeneratorCheck | None = None, *, others: tuple[Place, ...] = ()
) -> dict[str, Any]:
    domain = plans.DOMAIN
    return make_certificate(
        plan=plan,
        executed=Executed.planned(plan),
        release_id=UUID(int=4),
        domain_digest=digest(domain),
        cardinalities=TableDomain.from_json(domain).cardinalities,
        noise_grid=_grid(plan),
        software=_SOFTWARE,
        generator_check=looked,
        others=others,
        **_LINKS,
    )


def _selection() -> dict[str, Any]:
    plan, winner = plans.selection_plan(), 1
    executed = SelectionExecuted.planned(plan, winner=winner)
    final = plan.finals[winner]
    grids = {"candidates": [_grid(one) for one in plan.candidates], "final": _grid(final)}
    stated = of_selection(_statement(final), plan=plan, executed=executed, noise_grid=grids)
    signed = sign_selection_certificate(stated | _artefacts(_TABLE_FILES), SIGNER).to_json()
    return _stable(signed, contexts.CERTIFICATE)


def _utility_report() -> dict[str, Any]:
    plan = plans.utility_plan()
    terms = {kind: [float(number - 1) for number in range(count)] for kind, count in plan.terms.items()}
    references = {kind: [0.01] * count for kind, count in plan.terms.items()} | {"score": [0.8, 0.75]}
    report = make_utility_report(
        plan=plan,
        measurement=Measurement.of_terms(plan, terms, references),
        noise_grid=2.0**-20,
        software=_SOFTWARE,
        **_LINKS,
    )
    return _stable(signed_utility_report(report, SIGNER).to_json(), contexts.CHARGED_REPORT)


def _owners(declared_size: int) -> tuple[DataOwner, DataOwner]:
    first = DataOwner(dataset_id=str(UUID(int=1)), population_id=str(UUID(int=2)), declared_size=7)
    second = DataOwner(
        dataset_id=str(UUID(int=5)), population_id=str(UUID(int=6)), declared_size=declared_size - 7
    )
    return first, second


def _joint() -> JointPlan:
    plan = plans.table_plan({"critic": False})
    return joint_plan(plan, _owners(plan.declared_size))


def _federation() -> Federation:
    sizes = (
        FederationMember(name="north", declared_size=20_000),
        FederationMember(name="south", declared_size=30_000),
    )
    return Federation(federation_id=str(UUID(int=9)), member="south", members=sizes)


def _member() -> MemberPlan:
    return make_member_plan(
        spec=plans.spec(),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=plans.DELTA),
        declared_size=50_000,
        domain=TableDomain.from_json(plans.DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=plans.RECORD,
        federation=_federation(),
    )


def _private_model(plan: ModelPlan) -> dict[str, Any]:
    links = dict(_LINKS)
    place = Place(reserved=links.pop("reserved"), spent=links.pop("spent"))
    trained = Trained(
        executed=ModelExecuted.planned(plan),
        noisy_wrong=None if plan.accuracy_noise_multiplier is None else 700.5,
        noise_grid={
            "components": None,
            "steps": 36,
            "accuracy": None if plan.accuracy_noise_multiplier is None else 2.0**-20,
        },
    )
    stated = make_model_certificate(
        plan=plan,
        trained=trained,
        release_id=UUID(int=4),
        domain_digest=digest(plans.DOMAIN),
        cardinalities=TableDomain.from_json(plans.DOMAIN).cardinalities,
        software=_SOFTWARE,
        places=[place] * len(plan.owners or [place]),
        **links,
    )
    files = ("README.md", "domain.json", "manifest.json", "model.onnx", "predict.py", "weights.safetensors")
    return _stable(sign_model_certificate(stated | _artefacts(files), SIGNER).to_json(), contexts.CERTIFICATE)


def _grid(plan: Plan) -> dict[str, Any]:
    return {
        "anchor": None if plan.anchor is None else 2.0**-20,
        "label_counts": None if plan.label_histogram is None else 1,
        "critic": [{"first_step": block.first_step, "bits_below_noise": 36} for block in plan.blocks],
        "histograms": None if plan.acts is None else 36,
    }


def _artefacts(files: tuple[str, ...]) -> dict[str, Any]:
    return {"artefacts": {name: {"bytes": len(name), "sha256": digest(name)} for name in files}}


def _through_json(document: Mapping[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(canonical(document))
    return read


def _stable(signed: Mapping[str, Any], context: str) -> dict[str, Any]:
    """Without the digest of the plan and the signature, once both are what the rest of the document says."""
    read = _through_json(signed)
    seal = {name: read.pop(name) for name in ("context", "algorithm", "key_id", "signature")}
    assert (seal["context"], seal["algorithm"], seal["key_id"]) == (context, "Ed25519", SIGNER.key_id)
    message = b"\0".join((b"understudy/signature/1", context.encode(), canonical(read).encode()))
    SIGNER.private_key.public_key().verify(base64.b64decode(seal["signature"]), message)
    assert read.pop("plan_digest") == digest(read["plan"])
    return read


def manifests() -> dict[str, object]:
    """The manifest of a bundle, of each kind."""
    table = {
        "latent_dimension": 2,
        "cardinalities": (3, 2),
        "label_index": 1,
        "label_probabilities": (0.25, 0.75),
    }
    images = ImageManifest(latent_dimension=2, height=6, width=5, channels=3, label_probabilities=None)
    return {
        "table": TableManifest(**table).to_json(),  # type: ignore[arg-type]
        "wide table": TableManifest(**table, groups=(2, 2)).to_json(),  # type: ignore[arg-type]
        "images": images.to_json(),
    }


def schemas() -> dict[str, object]:
    """Published JSON schemas of signed documents, by definition."""
    names = {document: document for document in FORMS} | {"charged": "utility report"}
    texts = {names[document]: schema_text(document) for document in FORMS}
    members: dict[str, object] = {}
    for name, text in texts.items():
        document = json.loads(text)
        definitions = document.pop("$defs", {})
        members[name] = digest(structure(document))
        members |= {f"{name}: {part}": digest(structure(inner)) for part, inner in definitions.items()}
    return members
