"""Plans of aim and mst: what may be measured, what it costs, and what is refused, from public facts alone."""

import itertools
import json
import math
from typing import Any

import pytest

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.gaussian import largest_mu
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, leaves
from core.plan import graphical as marginals
from core.plan.domain.images import ImageDomain
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.graphical import GraphicalOptions, MarginalsPlan, marginal_shape
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import make_quote
from tests.core.plan.shapes import Shape

GUARANTEE = PrivacyGuarantee(epsilon=1.0, delta=1e-6)


def plan_of(engine: str, shape: Any = None, *, epsilon: float = 1.0, **options: Any) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer=engine, options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=5000,
        domain=shape or Shape(cardinalities=(3, 4, 2, 5, 9), target_index=2),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def anchor_of(plan: Plan) -> MarginalsPlan:
    assert isinstance(plan.anchor, MarginalsPlan)
    return plan.anchor


@pytest.mark.parametrize("engine", ["aim", "mst"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 10.0])
@pytest.mark.parametrize("options", [{}, {"one_way_share": 0.5, "selection_share": 0.01}])
def test_the_whole_budget_is_used_and_not_exceeded(engine, epsilon, options):
    plan = plan_of(engine, epsilon=epsilon, **options)
    squares = sum(count * leaf.noise_multiplier**-2 for leaf, count in leaves(plan.mechanism).items())
    assert all(isinstance(leaf, Gaussian) for leaf in leaves(plan.mechanism)), "so squared mu add up exactly"
    whole = largest_mu(plan.guarantee) ** 2
    assert whole * (1 - 1e-4) < squares <= whole
    assert plan.epsilons.reported <= epsilon
    assert plan.executed(0) == plan.mechanism, "an order that is broken off has released all it could"


def test_a_plan_survives_its_own_json():
    for engine in ("aim", "mst"):
        plan = plan_of(engine)
        assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
        assert make_quote(plan, None, [], domain=Shape()).split.anchor.share == pytest.approx(1.0)


def test_a_plan_with_other_noise_or_other_options_is_refused():
    document, anchored = plan_of("aim").to_json(), plan_of("idpgan")
    more = document["anchor"] | {"scores_noise_multiplier": 99.0}
    for changed in (
        document | {"anchor": more},
        document | {"anchor": document["anchor"] | {"rounds": 17}},
        document | {"anchor": document["anchor"] | {"marginals_per_round": 10**6}},
        document | {"anchor": document["anchor"] | {"one_way_noise_multiplier": 0.0}},
        document | {"anchor": {**document["anchor"], "more": 1}},
        document | {"synthesizer": "idpgan"},
        document | {"anchor": anchored.to_json()["anchor"], "mechanism": anchored.to_json()["mechanism"]},
    ):
        with pytest.raises(InvalidPlan):
            Plan.from_json(changed)


def test_sensitivities_are_those_of_as_many_tables():
    anchor = anchor_of(plan_of("aim"))
    assert anchor.one_way_sensitivity == pytest.approx(math.sqrt(5), rel=1e-11)
    assert anchor.scores_sensitivity == pytest.approx(math.sqrt(anchor.candidates), rel=1e-11)
    assert anchor.marginals_sensitivity == pytest.approx(math.sqrt(anchor.marginals_per_round), rel=1e-11)
    assert all(
        found >= exact
        for found, exact in (
            (anchor.one_way_sensitivity, math.sqrt(anchor.columns)),
            (anchor.scores_sensitivity, math.sqrt(anchor.candidates)),
            (anchor.marginals_sensitivity, math.sqrt(anchor.marginals_per_round)),
        )
    )


def test_candidates_are_pairs_and_with_aim_triples_with_the_target():
    pairs = set(itertools.combinations(range(4), 2))
    assert set(marginal_shape("mst", (3, 4, 2, 5), 2).candidates) == pairs
    with_target = {one for one in itertools.combinations(range(4), 3) if 2 in one}
    assert set(marginal_shape("aim", (3, 4, 2, 5), 2).candidates) == pairs | with_target
    assert len(marginal_shape("aim", (3, 4, 2, 5), None).candidates) == 6 + 4


def test_large_marginals_columns_of_one_code_and_too_many_triples_are_left_out():
    shape = marginal_shape("aim", (101, 100, 100, 1, 2), None)
    assert set(shape.candidates) == {(1, 2), (0, 4), (1, 4), (2, 4)}
    assert shape.tree_edges == 3, "one of the columns is alone"
    wide = marginal_shape("aim", (2,) * 80, None)
    assert len(wide.candidates) == math.comb(80, 2), "82,160 triples would drown each other's scores"


def test_the_tree_has_as_many_edges_as_marginals_that_mst_measures():
    for shape in (
        Shape(cardinalities=(2,) * 7, target_index=None),
        Shape(cardinalities=(200, 300, 2), target_index=0),
    ):
        plan = plan_of("mst", shape)
        edges = len(shape.cardinalities) - 1
        assert (anchor_of(plan).marginals_per_round, anchor_of(plan).rounds) == (edges, 1)


@pytest.mark.parametrize("engine", ["aim", "mst"])
@pytest.mark.parametrize("cardinalities", [(5,), (1, 1), (200, 200)])
def test_without_a_candidate_the_columns_have_the_whole_budget(engine, cardinalities):
    plan = plan_of(engine, Shape(cardinalities=cardinalities, target_index=None))
    assert anchor_of(plan).rounds == 0
    assert anchor_of(plan).parts == (Gaussian(noise_multiplier=anchor_of(plan).one_way_noise_multiplier),)
    assert plan.epsilons.reported == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("mst", {"rounds": 2}),
        ("mst", {"one_way_share": 0.9, "selection_share": 0.1}),
        ("aim", {"rounds": 0}),
        ("aim", {"rounds": 17}),
        ("aim", {"rounds": True}),
        ("aim", {"largest_model": 10}),
        ("aim", {"largest_model": 10**8}),
        ("aim", {"steps": 5}),
        ("aim", {"ablation": "dpgan"}),
        ("aim", {"one_way_share": float("nan")}),
    ],
)
def test_options_that_are_none_are_refused(engine, options):
    with pytest.raises(InvalidSpec):
        plan_of(engine, **options)


def test_images_and_too_many_columns_are_refused():
    image = ImageDomain(height=8, width=8, channels=1, labels=("a", "b"), privacy_unit=None)
    with pytest.raises(InvalidSpec, match="tables only"):
        plan_of("mst", image)
    with pytest.raises(InvalidSpec, match="too many columns"):
        plan_of("mst", Shape(cardinalities=(2,) * 800, target_index=None))
    assert math.comb(800, 2) > marginals.MOST_PAIRS


def test_options_say_what_a_round_may_choose_at_most():
    plan = plan_of("aim", marginals_per_round=500, rounds=2)
    assert isinstance(plan.options, GraphicalOptions)
    assert plan.options.marginals_per_round == anchor_of(plan).candidates
