"""One benchmark run: domain, plan, fit, sample, decode, through the product's own modules.

The job's key is derived from a seed so that a run can be repeated. Such output is NOT PRIVATE and for benchmarks only.
"""

import hashlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from benchmarks.datasets import Codes, Table
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.codec import decode
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.idpgan.generator import draw, probabilities
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator

VARIANTS: dict[str, dict[str, Any]] = {
    "both": {"critic": True},
    "anchor": {"critic": False},
    "critic": {"anchor": False},
}
SAMPLED_ROWS = 100_000
_CHUNK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Result of one run."""

    plan: Plan
    codes: Codes
    rows: pa.RecordBatch
    plan_seconds: float
    fit_seconds: float
    parameters: int


def publish(
    table: Table,
    *,
    epsilon: float,
    delta: float,
    variant: str,
    seed: int,
    options: dict[str, Any] | None = None,
    rows: int = SAMPLED_ROWS,
) -> Published:
    """Plan, train and sample.

    Args:
        table: real rows; the declared size is their number, which is public for these tables.
        epsilon: target.
        delta: target.
        variant: "both", "anchor" or "critic".
        seed: what the key is derived from.
        options: more options of the synthesizer.
        rows: synthetic ones.
    """
    _private, plan, generator, (plan_seconds, fit_seconds) = trained(
        table, epsilon=epsilon, delta=delta, variant=variant, seed=seed, options=options
    )
    made = sample(generator, rows, seed)
    return Published(
        plan=plan,
        codes=made,
        rows=decode(table.domain, made, np.random.default_rng(seed)),
        plan_seconds=plan_seconds,
        fit_seconds=fit_seconds,
        parameters=sum(parameter.numel() for parameter in generator.network.parameters()),
    )


def trained(
    table: Table,
    *,
    epsilon: float,
    delta: float,
    variant: str,
    seed: int,
    options: dict[str, Any] | None = None,
) -> tuple[PrivateTable, Plan, TrainedGenerator, tuple[float, float]]:
    """Plan and train; see `publish`.

    Returns:
        The coded rows, the plan, the generator, and the seconds of planning and of training.
    """
    codes = table.train_codes
    start = time.perf_counter()
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=VARIANTS[variant] | (options or {})),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=delta),
        declared_size=len(codes),
        domain=table.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    planned = time.perf_counter()
    private = PrivateTable(
        codes=codes,
        unit_of_record=np.arange(len(codes), dtype=np.int64),
        cardinalities=table.domain.cardinalities,
        target_index=table.domain.target_index,
    )
    generator = make_synthesizer("idpgan").fit(private, plan, streams_of(seed), NullHost())
    return private, plan, generator, (planned - start, time.perf_counter() - planned)


def sample(generator: TrainedGenerator, rows: int, seed: int) -> Codes:
    """Draw coded rows as the service's sampler does, but repeatably."""
    rng = np.random.default_rng([seed, 1])
    parts = []
    for start in range(0, rows, _CHUNK):
        size = min(_CHUNK, rows - start)
        label = torch.zeros(size, 0)
        if generator.label_probabilities is not None:
            distribution = generator.label_probabilities
            chosen = np.searchsorted(np.cumsum(distribution)[:-1], rng.random(size), side="right")
            label = torch.eye(len(distribution))[torch.from_numpy(chosen)]
        latent = torch.from_numpy(rng.standard_normal((size, generator.latent_dimension), dtype=np.float32))
        uniforms = torch.from_numpy(rng.random((size, len(generator.cardinalities)), dtype=np.float32))
        with torch.no_grad():
            shares = probabilities(generator.network(latent, label), generator.cardinalities)
        blocks = torch.split(
            draw(shares, uniforms, generator.cardinalities), list(generator.cardinalities), dim=1
        )
        parts.append(torch.stack([block.argmax(dim=1) for block in blocks], dim=1).numpy().astype(np.int16))
    return np.concatenate(parts)


def rows_of(domain: TableDomain, codes: Codes, seed: int) -> pa.RecordBatch:
    """Decode coded rows repeatably."""
    return decode(domain, codes, np.random.default_rng(seed))


def streams_of(seed: int) -> KeyedStreams:
    """The key of a benchmark's job, which a seed gives away."""
    return KeyedStreams(hashlib.sha256(f"understudy benchmark, not private, seed {seed}".encode()).digest())
