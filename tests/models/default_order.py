"""The default order of a table at epsilon 1: its plan, and rows of its release."""

from typing import Any

import pyarrow as pa

from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.coding import coded_table
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator

CERTIFICATE = {"guarantee": {"epsilon": 1.0, "delta": 1e-6}, "privacy_unit": {"column": None}}


def planned(domain: TableDomain, *, records: int) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=records,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def released(document: dict[str, Any], rows: pa.RecordBatch, *, key: bytes, draws: int) -> pa.RecordBatch:
    """Rows that a release of some rows draws, in one batch."""
    domain = TableDomain.from_json(document)
    generator = make_synthesizer("idpgan").fit(
        coded_table([rows], domain), planned(domain, records=rows.num_rows), KeyedStreams(key), NullHost()
    )
    assert isinstance(generator, TrainedGenerator)
    generator.network.eval().float().cpu()
    bundle = unpack(write_bundle(generator=generator, domain=document, certificate=CERTIFICATE))
    (batch,) = Sampler(bundle).batches(draws)
    return batch
