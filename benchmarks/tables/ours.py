"""Our default order on coded rows: plan, fit and sample through the product's own modules."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from benchmarks.datasets import Codes
from benchmarks.tables.task import Task, key_of
from core.artifacts.bundle import unpack
from core.artifacts.sampling.sampler import Sampler
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.encoding import PrivateTable
from models.randomness import KeyedStreams
from models.registry import make_synthesizer
from models.synthesizer import NullHost, TrainedGenerator

_SAMPLER_SEED: Final = 20_261_123
CERTIFICATE: Final = {"guarantee": {"epsilon": 1.0, "delta": 1e-6}, "privacy_unit": {"column": None}}
"""What the README of a bundle quotes; nothing here reads it."""


def synthesize(task: Task, *, drawn: int | None = None) -> tuple[Codes, dict[str, Any]]:
    """Default options by the rules.

    Args:
        task: what is asked for.
        drawn: rows; default: as many as were declared.
    """
    rows, declared = len(task.codes), _declared(task)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=task.epsilon, delta=task.delta),
        declared_size=rows,
        domain=TableDomain.from_json(declared),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    private = PrivateTable(
        codes=task.codes.astype(np.int16),
        unit_of_record=np.arange(rows, dtype=np.int64),
        cardinalities=task.cardinalities,
        target_index=task.target,
        ordered=task.ordered,
        alone=task.alone,
    )
    generator = make_synthesizer("idpgan").fit(private, plan, KeyedStreams(key_of(task.seed)), NullHost())
    facts = {"options": plan.options.model_dump(mode="json"), "spent_epsilon": plan.epsilons.pld}
    return sample(generator, drawn or rows, declared).astype(task.codes.dtype), facts


def _declared(task: Task) -> dict[str, Any]:
    columns = [
        {"name": f"c{column}", "kind": "categorical", "categories": [str(code) for code in range(cells)]}
        for column, cells in enumerate(task.cardinalities)
    ]
    head = {"schema": "understudy.domain/1", "target": f"c{task.target}", "privacy_unit": None}
    return head | {"columns": columns}


def sample(generator: TrainedGenerator, rows: int, domain: Mapping[str, Any]) -> Codes:
    """Draw coded rows from a bundle, the same for the same generator."""
    generator.network.eval().float().cpu()
    bundle = unpack(write_bundle(generator=generator, domain=domain, certificate=CERTIFICATE))
    return Sampler(bundle).codes(rows, np.random.default_rng(_SAMPLER_SEED))
