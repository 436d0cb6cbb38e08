"""A whole signed bundle of a graphical model without JAX: a model of made-up distributions, a real plan and real noisy counts."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from core.artifacts.bundle import artefacts_of, unpack
from core.artifacts.certificate import sign_certificate
from core.artifacts.packing import files_of
from core.artifacts.readme import render_readme
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.graphical import MarginalsPlan
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.bundle import write_bundle
from models.encoding import PrivateTable
from models.graphical.ancestral import AncestralNetwork, conditionals
from models.graphical.estimate import combined
from models.graphical.measuring import Measuring
from models.graphical.synthesizer import released_counts
from models.randomness import KeyedStreams
from models.synthesizer import TrainedGenerator
from tests.core.artifacts.certified import SIGNER, Certified, statement
from tests.core.artifacts.stand_in import DOMAIN, cardinalities
from tests.core.plan.shapes import Shape

TARGET = 2
CHOSEN = (((0, 1), (1, 2)), ((1, 2), (0, 1, 2)))
"""Marginals of two rounds; one of them is measured twice."""


def graphical_plan(engine: str = "aim", **options: Any) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer=engine, options=options),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=5000,
        domain=Shape(cardinalities=cardinalities(), target_index=TARGET),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def made_of(plan: Plan) -> TrainedGenerator:
    """The first and the last column depend on the target, the others on nothing."""
    cells, rng = cardinalities(), np.random.default_rng(3)
    alone = [column for column in range(len(cells)) if column not in {0, TARGET}]
    nodes = {frozenset((0, TARGET)): ((0, TARGET), rng.random((cells[0], cells[TARGET])))}
    nodes |= {frozenset((column,)): ((column,), rng.random(cells[column])) for column in alone}
    distributions = conditionals(nodes, [], cells, TARGET)
    network = AncestralNetwork(distributions, cells, TARGET).eval()
    table = PrivateTable(
        codes=np.column_stack([rng.integers(0, codes, 600) for codes in cells]).astype(np.int16),
        unit_of_record=np.arange(600), cardinalities=cells, target_index=TARGET,
    )  # fmt: skip
    assert isinstance(plan.anchor, MarginalsPlan)
    measuring = Measuring(table, plan.anchor, KeyedStreams(bytes(32)))
    rounds = [
        measuring.marginals(number, chosen) for number, chosen in enumerate(CHOSEN[: plan.anchor.rounds])
    ]
    return TrainedGenerator(
        network=network,
        latent_dimension=network.latent_dimension,
        label_index=TARGET,
        label_probabilities=distributions[0].distribution[0],
        cardinalities=cells,
        counts=released_counts(
            combined([measuring.one_way(), *rounds]), cells, declared_size=plan.declared_size
        ),
    )


@cache
def certified_graphical(engine: str = "aim") -> Certified:
    """A signed bundle of an engine."""
    plan = graphical_plan(engine, **({"marginals_per_round": 2} if engine == "aim" else {}))
    domain = TableDomain.from_json(DOMAIN).to_json()
    unsigned = unpack(write_bundle(generator=made_of(plan), domain=domain, certificate={}))
    stated = statement(plan)
    readme = render_readme(unsigned.manifest, certificate=stated, counts=unsigned.counts)
    whole = stated | {"artefacts": artefacts_of(files_of(unsigned, readme=readme))}
    signed = sign_certificate(whole, SIGNER).to_json()
    return Certified(plan=plan, readme=readme, bundle=replace(unsigned, certificate=signed))
