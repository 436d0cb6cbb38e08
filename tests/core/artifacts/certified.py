"""A whole signed bundle without a training: the stand-in's network, a real plan, a key of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.artifacts.bundle import Bundle, artefacts_of
from core.artifacts.certificate import make_certificate, sign_certificate
from core.artifacts.counts import ReleasedCounts
from core.artifacts.execution import Executed
from core.artifacts.packing import files_of, pack
from core.artifacts.readme import render_readme
from core.artifacts.signing.signed import Signer
from core.ledger.hash_chain import Head
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.encoding import PrivateTable, codes_alone
from models.randomness import KeyedStreams
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import measure
from tests.core.artifacts.stand_in import DOMAIN, bundle, cardinalities
from tests.core.plan.shapes import Shape, plan_of

SIGNER = Signer.of(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
REFRESHING = {
    "anchor": False, "schedule": "exponential", "schedule_blocks": 2, "acts": True, "steps": 120, "acts_interval": 7,
}  # fmt: skip
SOFTWARE = {
    "name": "understudy",
    "version": "1.2.3",
    "source_sha256": "5" * 64,
    "python": "3.11.7",
    "distributions": [{"name": "torch", "version": "2.13.0", "files_sha256": "7" * 64}],
}


@dataclass(frozen=True)
class Certified:
    """A bundle, what it holds, and the packed file."""

    plan: Plan
    readme: str
    bundle: Bundle

    @property
    def certificate(self) -> dict[str, Any]:
        return self.bundle.certificate

    @property
    def packed(self) -> bytes:
        return pack(self.bundle, readme=self.readme)


def plan_for(options: dict[str, Any] | None = None, *, unit: str | None = None, epsilon: float = 1.0) -> Plan:
    """A plan over the stand-in's columns."""
    shape = Shape(cardinalities=cardinalities(), target_index=2)
    return plan_of(options, epsilon=epsilon, shape=shape, unit=unit)


def statement(plan: Plan) -> dict[str, Any]:
    """What a publisher states of a plan that ran, but for the files."""
    domain = TableDomain.from_json(DOMAIN)
    return make_certificate(
        plan=plan,
        executed=Executed.planned(plan),
        release_id=UUID(int=4),
        job_id=UUID(int=3),
        dataset_id=UUID(int=1),
        population_id=UUID(int=2),
        issued_at=datetime(2026, 11, 20, tzinfo=UTC),
        reserved=Head(sequence=3, hash=bytes(range(32))),
        spent=Head(sequence=5, hash=bytes(reversed(range(32)))),
        domain_digest=domain.digest(),
        cardinalities=cardinalities(),
        noise_grid={
            "anchor": None if plan.anchor is None else 2.0**-20,
            "label_counts": None if plan.label_histogram is None else 1,
            "critic": [{"first_step": block.first_step, "bits_below_noise": 36} for block in plan.blocks],
            "histograms": None if plan.acts is None else 36,
        },
        software=SOFTWARE,
    )


def counts_for(plan: Plan, *, earlier: Sequence[ReleasedCounts] = ()) -> bytes | None:
    """Counts as a training of the plan leaves them, of 600 made-up records and of what the plan takes over."""
    if not isinstance(plan.anchor, AnchorPlan):
        return None
    cells = cardinalities()
    rng = np.random.default_rng(1)
    table = PrivateTable(
        codes=np.column_stack([rng.integers(0, codes, 600) for codes in cells]).astype(np.int16),
        unit_of_record=np.arange(600),
        cardinalities=cells,
        target_index=2,
        ordered=TableDomain.from_json(DOMAIN).ordered,
        alone=codes_alone(TableDomain.from_json(DOMAIN)),
    )
    counts = released_counts(measure(table, plan, KeyedStreams(bytes(32)), earlier=earlier), table, plan)
    assert counts is not None, "an anchor of tables counts"
    return counts.to_bytes()


def certified(
    options: dict[str, Any] | None = None, *, unit: str | None = None, epsilon: float = 1.0
) -> Certified:
    """A signed bundle of a plan with these options."""
    chosen = {"critic": True} if options is None else options
    return _certified(tuple(sorted(chosen.items())), unit, epsilon)


@cache
def _certified(options: tuple[tuple[str, Any], ...], unit: str | None, epsilon: float) -> Certified:
    plan = plan_for(dict(options), unit=unit, epsilon=epsilon)
    return certified_plan(plan, counts_for(plan))


def certified_plan(plan: Plan, counts: bytes | None) -> Certified:
    """A signed bundle of a plan, with these counts."""
    stated = statement(plan)
    unsigned = bundle(domain=TableDomain.from_json(DOMAIN).to_json(), counts=counts)
    readme = render_readme(unsigned.manifest, certificate=stated, counts=unsigned.counts)
    whole = stated | {"artefacts": artefacts_of(files_of(unsigned, readme=readme))}
    signed = sign_certificate(whole, SIGNER).to_json()
    return Certified(plan=plan, readme=readme, bundle=replace(unsigned, certificate=signed))
