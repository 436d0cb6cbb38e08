"""Gain of a second release from the counts of the first: `python -m benchmarks.reuse [SEEDS]`.

Three releases of each table, at delta 1e-6: one of epsilon 1; a second of epsilon 1 that takes over the counts of the first;
and one of the epsilon for which one plan would have counted as precisely. Each is scored by the distance of its synthetic
rows from the training rows.
"""

import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from benchmarks.results_file import merge, rounded
from benchmarks.tables.ours import sample
from benchmarks.tables.scores import distances
from benchmarks.tables.sources import Split, split
from benchmarks.tables.task import key_of
from core.artifacts.counts import ReleasedCounts
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.reuse_rules import EarlierCounts, epsilon_as_if, with_reuse
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable, codes_alone
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost, TrainedGenerator

TABLES: Final = ("adult", "nist-ma")
EPSILON, DELTA = 1.0, 1e-6
SEEDS: Final = 3


def main(words: Sequence[str]) -> None:
    """Measure and keep the scores of every seed."""
    seeds = int(words[0]) if words else SEEDS
    for name in TABLES:
        for seed in range(seeds):
            merge("reuse", kind="runs", key=f"{name}/{seed}", entry=rounded(_measured(name, seed)))


def _measured(name: str, seed: int) -> dict[str, Any]:
    """The scores of the three releases on one split."""
    table = split(name, "full", seed)
    first_plan = _plan(table, EPSILON)
    first = _fitted(table, first_plan, key=3 * seed)
    assert first.counts is not None, "the default order counts"
    earlier = EarlierCounts(
        release_id="00000000-0000-4000-8000-000000000000", plan=first_plan, counts_sha256="0" * 64
    )
    plan = with_reuse(first_plan, [earlier], table.domain)
    second = _fitted(table, plan, key=3 * seed + 1, earlier=[first.counts])
    as_if = epsilon_as_if(plan)
    whole = _fitted(table, _plan(table, as_if), key=3 * seed + 2)
    scores = {
        "alone": _scored(table, first),
        "reusing": _scored(table, second),
        "as_if": _scored(table, whole),
    }
    print(name, seed, f"{as_if:.3f}", {which: round(one["two_way"], 4) for which, one in scores.items()})
    return {"seed": seed, "epsilon_as_if": as_if} | scores


def _plan(table: Split, epsilon: float) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan"),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=table.train.num_rows,
        domain=table.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def _fitted(
    table: Split, plan: Plan, *, key: int, earlier: Sequence[ReleasedCounts] = ()
) -> TrainedGenerator:
    rows = PrivateTable(
        codes=table.train_codes.astype(np.int16),
        unit_of_record=np.arange(table.train.num_rows, dtype=np.int64),
        cardinalities=table.domain.cardinalities,
        target_index=table.domain.target_index,
        ordered=table.domain.ordered,
        alone=codes_alone(table.domain),
    )
    return IdpganSynthesizer(earlier=earlier).fit(rows, plan, KeyedStreams(key_of(key)), NullHost())


def _scored(table: Split, generator: TrainedGenerator) -> dict[str, float]:
    codes = sample(generator, table.train.num_rows, table.domain.to_json())
    return distances(codes, table.train_codes, table.domain.cardinalities, table.target)


if __name__ == "__main__":
    main(sys.argv[1:])
