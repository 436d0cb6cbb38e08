"""Our default order on coded rows: plan, fit and sample through the product's own modules."""

from typing import Any, Final

import numpy as np

from benchmarks.datasets import Codes
from benchmarks.tables.methods import Task, key_of
from core.domain.table import TableDomain
from core.privacy.adjacency import Adjacency, PrivacyUnit
from core.privacy.guarantee import PrivacyGuarantee
from core.synthesis.plan import make_plan
from core.synthesis.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.registry import make_synthesizer
from models.sampled import codes as drawn
from models.sampled import outputs
from models.synthesizer import NullHost, TrainedGenerator

_SAMPLER: Final = b"understudy benchmark: sampler"


def synthesize(task: Task) -> tuple[Codes, dict[str, Any]]:
    """Default options by the rules; as many rows as were declared."""
    rows = len(task.codes)
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=task.epsilon, delta=task.delta),
        declared_size=rows,
        domain=_declared(task),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    private = PrivateTable(
        codes=task.codes.astype(np.int16),
        unit_of_record=np.arange(rows, dtype=np.int64),
        cardinalities=task.cardinalities,
        target_index=task.target,
    )
    generator = make_synthesizer("idpgan").fit(private, plan, KeyedStreams(key_of(task.seed)), NullHost())
    facts = {"options": plan.options.model_dump(mode="json"), "spent_epsilon": plan.epsilons.pld}
    return sample(generator, rows).astype(task.codes.dtype), facts


def _declared(task: Task) -> TableDomain:
    columns = [
        {"name": f"c{column}", "kind": "categorical", "categories": [str(code) for code in range(cells)]}
        for column, cells in enumerate(task.cardinalities)
    ]
    head = {"schema": "understudy.domain/1", "target": f"c{task.target}", "privacy_unit": None}
    return TableDomain.from_json(head | {"columns": columns})


def sample(generator: TrainedGenerator, rows: int) -> Codes:
    """Draw coded rows, the same for the same generator."""
    generator.network.eval().float().cpu()
    streams, sizes = KeyedStreams(_SAMPLER.ljust(32)), generator.cardinalities
    pieces = []
    for number, (_, logits) in enumerate(outputs(generator, streams, Purpose.SAMPLING, rows=rows)):
        uniforms = streams.torch_uniforms(Purpose.SAMPLING, 2 + number, (len(logits), len(sizes)))
        pieces.append(drawn(logits, uniforms, sizes))
    return np.concatenate(pieces).astype(np.int16)
