"""A release that exists without a training, and reports ordered about it: what a worker finds."""

import hashlib
import io
import zipfile
from functools import cache
from uuid import UUID, uuid4

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from core.artifacts.bundle import Bundle
from core.artifacts.manifest import TableManifest
from core.artifacts.packing import pack
from core.db.tables import Release, UtilityReport
from core.plan.domain.table import TableDomain
from core.plan.utility_reports.plan import ReportPlan
from tests.models.reports.sides import report_plan
from tests.workers.support import DOCUMENT, ROWS, Workshop, small_plan

COLUMNS = tuple(column["name"] for column in DOCUMENT["columns"])


@cache
def released_bundle() -> bytes:
    """The bundle of a generator that has learnt nothing: all codes are as likely, whatever the label."""
    domain = TableDomain.from_json(DOCUMENT)
    manifest = TableManifest(
        latent_dimension=2,
        cardinalities=domain.cardinalities,
        label_index=domain.target_index,
        label_probabilities=(0.6, 0.4),
    )
    bundle = Bundle(
        manifest=manifest,
        network=_uniform_network(domain.cells),
        weights=b"none",
        domain=domain.to_json(),
        certificate={},
    )
    return pack(bundle, readme="A stand-in.")


def _uniform_network(cells: int) -> bytes:
    float32 = TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Concat", ["latent", "label"], ["both"], axis=1),
            helper.make_node("MatMul", ["both", "weights"], ["logits"]),
        ],
        "stand-in",
        [
            helper.make_tensor_value_info("latent", float32, ["rows", 2]),
            helper.make_tensor_value_info("label", float32, ["rows", 2]),
        ],
        [helper.make_tensor_value_info("logits", float32, ["rows", cells])],
        [numpy_helper.from_array(np.zeros((4, cells), dtype=np.float32), "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    return bytes(model.SerializeToString())


def manifest_digest(bundle: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return hashlib.sha256(archive.read("manifest.json")).hexdigest()


def publish(workshop: Workshop) -> tuple[UUID, str]:
    """A release of the workshop's dataset; its id, and its manifest's digest."""
    job_id = workshop.order(small_plan())
    workshop.cancel(job_id)
    bundle, release_id = released_bundle(), uuid4()
    key = f"releases/{release_id}/bundle-1.zip"
    workshop.store.put_bytes(key, bundle)
    with workshop.database.transaction() as session:
        session.add(
            Release(
                id=release_id,
                job_id=job_id,
                dataset_id=workshop.dataset_id,
                bundle_key=key,
                certificate={"artefacts": {"manifest.json": {"sha256": manifest_digest(bundle)}}},
                created_at=workshop.clock.now(),
            )
        )
    return release_id, manifest_digest(bundle)


def plan_about(release_id: UUID, manifest_sha256: str, *, epsilon: float = 0.5) -> ReportPlan:
    return report_plan(
        columns=COLUMNS,
        target="sick",
        declared_size=ROWS,
        epsilon=epsilon,
        release_id=release_id,
        manifest_sha256=manifest_sha256,
    )


def report_of(workshop: Workshop, job_id: UUID) -> UtilityReport | None:
    with workshop.database.read_only() as session:
        report = session.query(UtilityReport).filter_by(job_id=job_id).one_or_none()
        if report is not None:
            session.expunge(report)
        return report
