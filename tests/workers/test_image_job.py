"""Images become a release: uploaded, trained on by the child, certified, verified by strangers, drawn from."""

import io
from typing import Any

import numpy as np
import pytest

from core.artifacts.bundle import unpack
from core.artifacts.sampling.image_sampler import ImageSampler
from core.data.intake.intake import store_rows
from core.data.intake.sniffing import NPZ
from core.db.tables import Dataset
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.reservation import EntryKind
from core.plan.domain.images import ImageDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from tests.workers.support import Workshop

COUNT = 60
DOMAIN = ImageDomain(height=8, width=8, channels=1, labels=("dark", "light"), privacy_unit=None)
SMALL: dict[str, Any] = {
    "steps": 4,
    "expected_batch_size": 12,
    "critic_width": 16,
    "critic_layers": 1,
    "generator_width": 4,
    "generator_batch_size": 8,
    "latent_dimension": 2,
}


def plan_of(**options: Any) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=SMALL | options),
        guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
        declared_size=COUNT,
        domain=DOMAIN,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def with_images(workshop: Workshop) -> None:
    """Declare the workshop's dataset to hold images, and upload some."""
    labels = np.arange(COUNT) % 2
    shades = np.random.default_rng(3).integers(0, 100, (COUNT, 8, 8)) + 150 * labels[:, None, None]
    archive = io.BytesIO()
    np.savez(archive, images=shades.astype(np.uint8), labels=labels.astype(np.int64))
    archive.seek(0)
    with workshop.database.transaction() as session:
        dataset = session.get_one(Dataset, workshop.dataset_id)
        dataset.domain, dataset.declared_size = DOMAIN.to_json(), COUNT
        assert dataset.rows_key is not None
        store_rows(
            archive, content_type=NPZ, domain=DOMAIN, store=workshop.store, key=dataset.rows_key,
            data_key=workshop.data_key, scratch_folder=workshop.settings.scratch_folder,
        )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [{}, {"anchor": False, "acts": True, "acts_interval": 2, "weight_clusters": True, "row_blocks": 2}],
    ids=["anchor and critic", "critic with every strategy"],
)
def test_images_become_a_release(workshop: Workshop, tmp_path, options: dict[str, Any]):
    with_images(workshop)
    plan = plan_of(**options)
    job_id = workshop.order(plan)
    workshop.train(job_id)
    job, release = workshop.job(job_id), workshop.release(job_id)
    assert (job.state, release is not None) == ("succeeded", True)
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert release.certificate["epsilon"]["reported"] <= 2.0
    packed = workshop.store.get_bytes(release.bundle_key)
    workshop.verified(packed, tmp_path / "bundle.zip")
    names = [row["name"] for row in release.certificate["mechanisms"]]
    assert names == (
        ["anchor-brightness", "anchor-means", "anchor-basis", "anchor-moments", "critic-steps"]
        if plan.anchor is not None
        else ["label-histogram", "critic-steps", "threshold-histograms"]
    )
    (batch,) = ImageSampler(unpack(packed)).sample(5).batches()
    assert batch.pixels.shape == (5, 8, 8, 1)
    assert set(batch.labels.tolist()) <= {0, 1}
