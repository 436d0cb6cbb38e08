"""The prices on the page about histograms of single weights are what the accountant and the planner answer."""

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks.tables.sources import domain_of
from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.critic_groups import critic_shapes
from core.plan.options import ABLATIONS
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.plan.stages import ActsPlan, PrivateStages
from tests.docs.test_planned_tables import is_shown

PAGE = (Path(__file__).parents[2] / "docs" / "decisions" / "scalar-granularity.md").read_text()
NUMBER = r"([\d,.]+)"
ROWS = re.findall(
    rf"^\| ([^|]+) \| {NUMBER} \| {NUMBER} \| {NUMBER} \({NUMBER} %\) \| {NUMBER} \({NUMBER} %\) \|$",
    PAGE,
    re.MULTILINE,
)
DELTA = 1e-6


@cache
def plan_at(epsilon: float) -> Plan:
    return make_plan(
        spec=SynthesisSpec(
            synthesizer="idpgan", options=ABLATIONS["acts+wc"] | {"critic_width": 16, "row_blocks": 16}
        ),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=25_010,
        domain=domain_of("poker"),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def reported(plan: Plan, acts: ActsPlan) -> float:
    stages = PrivateStages(
        blocks=plan.blocks, acts=acts, anchor=plan.anchor, label_histogram=plan.label_histogram
    )
    mechanism = stages.mechanism(sampling_rate=plan.sampling_rate, step_count=plan.steps)
    return epsilons(mechanism, delta=DELTA).reported


def acts_of(plan: Plan) -> ActsPlan:
    assert plan.acts is not None, "the strategy adapts thresholds"
    return plan.acts


def test_the_critic_and_its_training_are_the_stated_ones() -> None:
    plan = plan_at(10.0)
    shapes = critic_shapes(plan.idpgan_options, sum(domain_of("poker").cardinalities))
    weights, biases = sum(a * b for a, b in shapes), sum(a for a, _ in shapes)
    assert f"{weights:,} weights and {biases} biases" in PAGE
    assert (plan.steps, plan.expected_batch_size, acts_of(plan).interval) == (4_000, 750, 25)
    counts = [int(row[1].replace(",", "")) for row in ROWS]
    assert counts == [1, len(shapes) + 1, acts_of(plan).groups, 100, 500, weights + 1]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_histograms_cost_what_the_page_says(row: tuple[str, ...]) -> None:
    _groups, shown, dearer, *noises = row
    histograms, plan = int(shown.replace(",", "")), plan_at(10.0)
    assert is_shown(reported(plan, replace(acts_of(plan), groups=histograms)), dearer)
    for epsilon, noise, share in ((10.0, *noises[:2]), (1.0, *noises[2:])):
        of_rows, plan = acts_of(plan_at(epsilon)), plan_at(epsilon)
        std = of_rows.noise_multiplier * math.sqrt(histograms / of_rows.groups)
        acts = replace(of_rows, groups=histograms, noise_multiplier=std)
        assert reported(plan, acts) == pytest.approx(reported(plan, of_rows)), "the price is the same"
        assert is_shown(std, noise)
        assert is_shown(100 * std / plan.expected_batch_size, share)
