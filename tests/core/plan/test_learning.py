"""What a plan pays for learning a domain, and what is left for everything else."""

import json
import math
from typing import Any

import pytest
from scipy.stats import norm

from core.artifacts.execution import Executed
from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.errors import InvalidGuarantee
from core.dp.filters import AdmissionRule, Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Threshold, leaves
from core.plan.errors import InvalidPlan, InvalidSelection, InvalidSpec
from core.plan.learning import GRID, share_of
from core.plan.plan import Plan
from core.plan.quote import make_quote
from core.plan.selection import SelectionSpec
from core.plan.selection_planning import make_selection_plan
from core.plan.spec import SynthesisSpec
from core.plan.stages import AnchorPlan
from tests.core.plan.learnt import AGE, CODE, LEARNT, SICK, WARD, domain_of, plan_of


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
