"""What a plan pays for learning a domain, and what is left for everything else."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

from core.artifacts.execution import Executed
from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule, Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Threshold, leaves
from core.plan.errors import InvalidPlan, InvalidSelection, InvalidSpec
from core.plan.learning import (
    GRID,
    NAMES,
    LearningPlan,
    LearningRelease,
    expected_clamped,
    name_weight,
    share_of,
)
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionSpec
from core.plan.selections.planning import make_selection_plan
from core.plan.spec import SynthesisSpec
from core.plan.stages import AnchorPlan
from core.plan.training_quote import make_quote
from tests.core.plan.learnt import AGE, CODE, LEARNT, SICK, WARD, domain_of, plan_of
from understudy.verifying import learning as verifying


@pytest.mark.parametrize(("count", "share"), [(0, 0.0), (1, 0.02), (2, 0.025), (7, 0.05), (64, 0.05)])
def test_learning_has_two_to_five_percent_by_a_public_rule(count: int, share: float):
    assert share_of(count) == pytest.approx(share)


@pytest.mark.parametrize("options", [{}, {"critic": True}, {"anchor": False}, {"critic": True, "acts": True}])
@pytest.mark.parametrize("columns", [(AGE,), (WARD,), LEARNT], ids=["bins", "categories", "all"])
def test_the_whole_plan_stays_within_the_guarantee(
    options: dict[str, Any], columns: tuple[dict[str, Any], ...]
):
    plan = plan_of(domain_of(*columns, SICK, target="sick"), options)

    assert epsilons(plan.mechanism, delta=plan.guarantee.delta).reported <= plan.guarantee.epsilon
    assert plan.epsilons.reported > 0.99 * plan.guarantee.epsilon


def test_every_release_is_charged_with_its_share():
    domain = domain_of(*LEARNT, SICK)
    plan = plan_of(domain)
    assert plan.learning is not None
    assert tuple((one.column, one.learns) for one in plan.learning.releases) == domain.learnt

    mu = gaussian.largest_mu(PrivacyGuarantee(epsilon=1.0, delta=1e-6 * (1 - 0.125)))
    squares = len(plan.learning.releases) / plan.learning.noise_multiplier**2
    assert squares / mu**2 == pytest.approx(share_of(len(plan.learning.releases)), rel=1e-5)
    charged = leaves(plan.executed(0))
    assert sum(isinstance(leaf, Threshold) for leaf in charged) == 1
    assert isinstance(plan.anchor, AnchorPlan)
    assert sum(charged.values()) == len(plan.learning.releases) + 1 + len(plan.anchor.parts)


def test_bins_have_the_sensitivity_of_their_tree_and_of_decimals():
    plan = plan_of(domain_of(AGE, {**AGE, "name": "real", "type": "real"}, WARD))
    assert plan.learning is not None

    found = [release.sensitivity for release in plan.learning.releases]
    assert found == [pytest.approx(2.0), pytest.approx(math.sqrt(5)), 1.0]
    assert all(a >= b for a, b in zip(found, [2.0, math.sqrt(5), 1.0], strict=True))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("columns", [(WARD,), (WARD, CODE, AGE)])
def test_a_name_of_one_unit_passes_with_no_more_than_its_part_of_delta(epsilon: float, columns: Any):
    plan = plan_of(domain_of(*columns), epsilon=epsilon)
    assert plan.learning is not None
    lists = sum(column is not AGE for column in columns)

    # A noisy count passes from the first point of the grid above the threshold on, and half a step below is rounded to it.
    first = (math.floor(plan.learning.threshold / GRID) + 1) * GRID - GRID / 2
    q = norm.sf(first, loc=1.0, scale=plan.learning.noise_multiplier)
    assert plan.learning.delta == 1e-6 / 8
    assert -lists * math.log1p(-q) <= plan.learning.delta
    assert q > 0.99 * plan.learning.delta / lists, "a threshold that is no higher than it needs to be"


def learning_with(*, noise: float, delta: float, lists: int = 1, names: int | None = NAMES) -> LearningPlan:
    releases = (LearningRelease(column=place, learns="categories", sensitivity=1.0) for place in range(lists))
    return LearningPlan(
        noise_multiplier=noise, delta=delta, releases=tuple(releases), names_per_unit=names
    )  # fmt: skip


def weight_of(names: int) -> float:
    """The largest multiple of 2^-20 that is at most 1 / sqrt(names)."""
    return math.floor(2**20 / math.sqrt(names)) / 2**20


def test_all_names_of_a_unit_together_weigh_one_in_squares():
    for names in range(1, 1001):
        steps = name_weight(names) * 2**20
        assert steps.is_integer()
        assert names * int(steps) ** 2 <= 2**40 < names * (int(steps) + 1) ** 2
    assert [name_weight(names) for names in (1, 4, 16)] == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("lists", [1, 3])
@pytest.mark.parametrize("delta", [1e-9, 1.25e-7, 1e-3, 0.3, 0.9])
@pytest.mark.parametrize("noise", [0.05, 0.5, 4.0, 30.0, 400.0])
def test_no_number_of_names_of_one_unit_passes_with_more_than_its_part_of_delta(
    noise: float, delta: float, lists: int
):
    """Exactly: n of a unit's m names are its own, each of weight w(m) <= w(n); their noises are independent."""
    learning = learning_with(noise=noise, delta=delta, lists=lists)
    first = (math.floor(learning.threshold / GRID) + 1) * GRID - GRID / 2
    taken = [
        -lists * names * float(norm.logcdf(first, loc=weight_of(names), scale=noise))
        for names in range(1, NAMES + 1)
    ]

    assert max(taken) <= delta
    # Half a step of the grid and the rounding of the threshold are most of it where there is little noise.
    assert max(taken) > (0.99 if noise >= 0.5 else 0.9) * delta, "no higher than it needs to be"
    assert learning.threshold >= learning_with(noise=noise, delta=delta, lists=lists, names=None).threshold


@pytest.mark.parametrize("noise", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("names", [2, 7, NAMES])
def test_names_of_one_unit_pass_as_seldom_when_they_are_drawn(noise: float, names: int):
    jobs, delta = 40_000, 0.05
    learning = learning_with(noise=noise, delta=delta, names=names)
    q, rng = -math.expm1(-delta), np.random.default_rng(names)
    passed = []
    for own in range(1, names + 1):
        noises = np.rint(rng.standard_normal((jobs, own)) * noise / GRID) * GRID
        passed.append(int((weight_of(own) + noises > learning.threshold).any(axis=1).sum()))

    # Six standard deviations for each of 32 numbers of names.
    margin = 6 * math.sqrt(jobs * q * (1 - q))
    assert max(passed) <= jobs * q + margin
    assert max(passed) >= jobs * q - margin


def test_units_that_are_records_have_the_plan_and_the_threshold_that_they_always_had():
    rows, people = (plan_of(domain_of(WARD, CODE, unit=unit)).learning for unit in (None, "person"))
    assert rows is not None
    assert people is not None

    assert "names_per_unit" not in plan_of(domain_of(WARD, CODE)).to_json()["learning"]
    # As it was computed before units counted by several names, to the bit.
    probability = -math.expm1(-rows.delta / 2)
    before = 1.0 - rows.noise_multiplier * float(ndtri(probability)) * (1 + 1e-9) + 1e-9 + GRID
    assert rows.threshold == before
    assert people.names_per_unit == NAMES == verifying.NAMES
    assert (people.noise_multiplier, people.delta, people.releases) == (
        rows.noise_multiplier,
        rows.delta,
        rows.releases,
    )
    assert rows.threshold < people.threshold < 1.12 * rows.threshold


def test_a_plan_from_before_is_read_and_counts_one_name():
    plan = plan_of(domain_of(*LEARNT, unit="person"))
    document = json.loads(json.dumps(plan.to_json()))
    assert document["learning"].pop("names_per_unit") == NAMES
    old = Plan.from_json(document)

    assert old.learning is not None
    assert plan.learning is not None
    assert old.learning == replace(plan.learning, names_per_unit=None)
    assert old.learning.threshold < plan.learning.threshold
    assert old.to_json() == document
    assert old.mechanism == plan.mechanism


def test_several_names_count_only_where_units_may_have_them_and_categories_are_learnt():
    document = json.loads(json.dumps(plan_of(domain_of(*LEARNT)).to_json()))
    document["learning"]["names_per_unit"] = NAMES
    with pytest.raises(InvalidPlan, match="a unit that is one record"):
        Plan.from_json(document)
    bins = plan_of(domain_of(AGE, unit="person"))
    assert bins.learning is not None
    assert bins.learning.names_per_unit is None
    with pytest.raises(InvalidPlan, match="learns no categories"):
        replace(bins.learning, names_per_unit=NAMES)


def test_a_plan_without_categories_keeps_all_of_delta():
    plan = plan_of(domain_of(AGE, SICK))

    assert plan.learning is not None
    assert plan.learning.delta == 0.0
    assert not any(isinstance(leaf, Threshold) for leaf in leaves(plan.mechanism))


def test_a_declared_domain_has_the_plan_that_it_always_had():
    document = plan_of(domain_of(SICK, {**AGE, "bins": 20})).to_json()

    assert "learning" not in document
    assert "learning" not in Executed.planned(Plan.from_json(document)).to_json()


def test_a_plan_survives_json_and_learning_cannot_be_left_out_of_it():
    plan = plan_of(domain_of(*LEARNT))
    document = json.loads(json.dumps(plan.to_json()))

    assert Plan.from_json(document) == plan
    assert Plan.from_json(document).digest() == plan.digest()
    with pytest.raises(InvalidPlan):
        Plan.from_json({name: value for name, value in document.items() if name != "learning"})


def test_a_quote_says_what_is_learnt_how_well_and_at_which_share():
    domain = domain_of(AGE, WARD, SICK)
    plan = plan_of(domain)
    assert plan.learning is not None
    cap = Cap(epsilon=2.0, delta=1e-5, rule=AdmissionRule.FILTERS)

    quote = make_quote(plan, cap, [], domain=domain).to_json()

    split = quote["split"]
    shares = [part["share"] for name, part in split.items() if name != "order"]
    assert sum(shares) == pytest.approx(1.0)
    assert split["learning"]["share"] == pytest.approx(0.025, abs=1e-4)
    assert quote["learning"] == {
        "delta": plan.learning.delta,
        "releases": [
            {"column": 0, "learns": "bins", "noise_std": pytest.approx(2 * plan.learning.noise_multiplier),
             "threshold": None},
            {"column": 1, "learns": "categories", "noise_std": plan.learning.noise_multiplier,
             "threshold": plan.learning.threshold},
        ],
    }  # fmt: skip
    assert quote["carried_by"] == "basic"
    assert json.loads(json.dumps(quote, allow_nan=False)) == quote


def test_a_delta_that_thresholds_cannot_share_is_refused():
    with pytest.raises(InvalidGuarantee):
        plan_of(domain_of(WARD), delta=1e-12)


@pytest.mark.parametrize("engine", ["aim", "mst"])
def test_graphical_models_take_declared_domains_only(engine: str):
    with pytest.raises(InvalidSpec, match="declared domains only"):
        plan_of(domain_of(AGE, SICK), synthesizer=engine)
    assert plan_of(domain_of(SICK), synthesizer=engine).learning is None


def test_a_bound_on_the_records_of_a_unit_is_none_of_learning():
    alone, bounded = (
        plan_of(domain_of(*LEARNT, SICK, unit="person", records=records)) for records in (None, 8)
    )

    assert isinstance(alone.anchor, AnchorPlan)
    assert isinstance(bounded.anchor, AnchorPlan)
    assert bounded.privacy_unit.records == 8
    assert bounded.learning == alone.learning, "of a unit all records count, and one together"
    assert bounded.anchor.sensitivity == pytest.approx(8 * alone.anchor.sensitivity)


def test_candidates_are_not_selected_over_a_domain_that_is_learnt():
    domain = domain_of(AGE, SICK, target="sick")
    spec = SelectionSpec(
        candidates=tuple(SynthesisSpec(synthesizer="idpgan", options={"clipping_norm": norm}) for norm in (0.1, 1.0)),
        epsilon=0.8,
        choice_epsilon=0.3,
    )  # fmt: skip
    plan = plan_of(domain)
    with pytest.raises(InvalidSelection):
        make_selection_plan(
            selection=spec, guarantee=plan.guarantee, declared_size=10_000, domain=domain,
            adjacency=plan.adjacency, privacy_unit=plan.privacy_unit,
        )  # fmt: skip


def test_more_noise_for_fewer_units_hides_more_of_a_column():
    shares = [expected_clamped(37.8, size) for size in (10**9, 10_000, 3_000, 1_000, 500, 1)]
    assert shares == sorted(shares)
    assert shares[0] < 1e-6
    assert shares[1:5] == pytest.approx([0.013, 0.0946, 0.247, 0.548], rel=0.01)
    assert expected_clamped(37.8, 0) == shares[-1] == 0.886
