"""The small real jobs that are audited: two columns, a critic of four units, a few steps."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.plan.stages import LabelPlan
from models.encoding import PrivateTable
from models.randomness import KeyedStreams
from models.releases import ReleaseRecorder
from models.tables.measurement.measure import measure
from tests.audits.game import Game

DELTA = 1e-6
CARDINALITIES = (3, 3, 2)
CROWD = ((0, 0, 0), (0, 1, 1), (1, 0, 0), (0, 0, 1), (1, 1, 0), (0, 0, 0))
"""Ordinary records."""
CANARY = (2, 2, 1)
"""A record unlike them."""
SMALL: dict[str, Any] = {
    "critic_width": 4,
    "critic_layers": 1,
    "generator_width": 4,
    "generator_blocks": 0,
    "latent_dimension": 2,
    "generator_batch_size": 8,
}


@dataclass(frozen=True)
class Shape:
    cardinalities: tuple[int, ...] = CARDINALITIES
    target_index: int | None = None


@cache
def tiny_plan(*, epsilon: float, size: int, target: int | None = None, **options: Any) -> Plan:
    """A small plan by the public rules; sampling rate one unless the expected batch is below the size."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"expected_batch_size": size} | SMALL | options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=size,
        domain=Shape(target_index=target),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def table_of(records: tuple[tuple[int, ...], ...], *, target: int | None = None) -> PrivateTable:
    """Coded records, each its own unit."""
    return PrivateTable(
        codes=np.array(records, dtype=np.int16).reshape(-1, len(CARDINALITIES)),
        unit_of_record=np.arange(len(records), dtype=np.int64),
        cardinalities=CARDINALITIES,
        target_index=target,
    )


def game(name: str, plan: Plan, *, crowd: bool = True, target: int | None = None, **jobs: Any) -> Game:
    """The canary against the crowd, or against nobody."""
    others = CROWD if crowd else ()
    return Game(
        name=name,
        without=table_of(others, target=target),
        with_canary=table_of((*others, CANARY), target=target),
        plan=plan,
        **jobs,
    )


def flat_game(**jobs: Any) -> Game:
    """Plain clipping, two steps, everybody sampled."""
    return game("flat", tiny_plan(epsilon=28.0, size=8, anchor=False, steps=2), **jobs)


def thresholds_game(**jobs: Any) -> Game:
    """Every option: falling noise, groups of rows, thresholds from noisy histograms on this very sample, clusters."""
    plan = tiny_plan(
        epsilon=28.0, size=8, anchor=False, steps=3, schedule="exponential", acts=True, weight_clusters=True,
        acts_interval=2, row_blocks=2, acts_bins=8, acts_lowest_edge=1e-3, clipping_norm=0.01, schedule_blocks=2,
    )  # fmt: skip
    return game("thresholds", plan, **jobs)


def whole_game(**jobs: Any) -> Game:
    """A whole job: the anchor's counts, one step on them alone, two private steps."""
    plan = tiny_plan(epsilon=28.0, size=8, steps=2, pretraining_steps=1, anchor_share=0.5)
    return game("whole", plan, **jobs)


def anchor_game(**jobs: Any) -> Game:
    """The anchor alone, counts per class of a target."""
    plan = tiny_plan(epsilon=28.0, size=200, target=2, critic=False, pretraining_steps=1)
    return game("anchor", plan, target=2, **{"audited": release_counts, "sound": release_counts} | jobs)


def labels_game(**jobs: Any) -> Game:
    """The label histogram alone, discrete noise of parameter one half."""
    plan = tiny_plan(epsilon=28.0, size=8, target=2, anchor=False, steps=1)
    plan = replace(plan, label_histogram=LabelPlan(noise_multiplier=0.5))
    return game("labels", plan, target=2, **{"audited": release_counts, "sound": release_counts} | jobs)


def sampled_game(**jobs: Any) -> Game:
    """Poisson sampling at rate one quarter, four steps, the canary against nobody."""
    plan = tiny_plan(epsilon=8.0, size=32, anchor=False, steps=4, expected_batch_size=8)
    return game("sampled", plan, crowd=False, **jobs)


def resumed_game(*, steps: int, **jobs: Any) -> Game:
    """A job that is killed in its last step."""
    return game(f"resumed-{steps}", tiny_plan(epsilon=28.0, size=8, anchor=False, steps=steps), **jobs)


def release_counts(table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder) -> None:
    """The stage "measure" alone: the anchor's counts, or the label histogram."""
    measure(table, plan, KeyedStreams(key, releases=releases))
