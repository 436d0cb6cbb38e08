"""Synthetic rows of a table by the default order, for benchmarks of what a domain may declare."""

from typing import Any

import pyarrow as pa

from benchmarks.tables.ours import CERTIFICATE
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.coding import coded_table
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator


def synthetic_rows(
    document: dict[str, Any], rows: pa.RecordBatch, *, epsilon: float, key: int
) -> pa.RecordBatch:
    """Synthetic rows, as many as there are real ones.

    Args:
        document: of the domain.
        rows: real ones.
        epsilon: at delta 1e-6.
        key: of all randomness; a benchmark has no secret.
    """
    domain = TableDomain.from_json(document)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=rows.num_rows,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    streams = KeyedStreams(bytes([key]) * 32)
    generator = make_synthesizer("idpgan").fit(coded_table([rows], domain), plan, streams, NullHost())
    assert isinstance(generator, TrainedGenerator), "tables have generators of rows"
    generator.network.eval().float().cpu()
    bundle = unpack(write_bundle(generator=generator, domain=document, certificate=CERTIFICATE))
    return pa.Table.from_batches(Sampler(bundle).batches(rows.num_rows)).combine_chunks().to_batches()[0]
