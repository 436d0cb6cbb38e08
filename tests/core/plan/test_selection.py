"""Plans of selections: what they cost, what they are refused for, and that both prices are told before anything runs."""

import copy
import json
from typing import Any

import pytest

from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import charge_of
from core.dp.errors import InvalidGuarantee, InvalidMechanism
from core.dp.filters import AdmissionRule, Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Chosen, Composed, Parallel, PermuteAndFlip
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan, InvalidSelection
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.selections.plan import SelectionPlan, SelectionSpec
from core.plan.selections.planning import SelectionQuote, make_selection_plan, make_selection_quote
from core.plan.spec import SynthesisSpec
from tests.core.plan.domain.examples import DAY_WITH_WEEKDAY, table
from tests.core.plan.shapes import Shape, plan_of

DELTA = 1e-6
OPTIONS: tuple[dict[str, Any], ...] = ({"steps": 200}, {"steps": 400, "anchor": False}, {"critic": False})


def spec_of(*options: dict[str, Any], epsilon: float = 0.8, choice: float = 0.3) -> SelectionSpec:
    candidates = tuple(SynthesisSpec(synthesizer="idpgan", options=one) for one in options or OPTIONS)
    return SelectionSpec(candidates=candidates, epsilon=epsilon, choice_epsilon=choice)


def selection_of(
    *options: dict[str, Any],
    epsilon: float = 0.8,
    choice: float = 0.3,
    final: float = 1.0,
    declared_size: int = 40_000,
    shape: Shape | TableDomain | None = None,
    unit: str | None = None,
) -> SelectionPlan:
    return make_selection_plan(
        selection=spec_of(*options, epsilon=epsilon, choice=choice),
        guarantee=PrivacyGuarantee(epsilon=final, delta=DELTA),
        declared_size=declared_size,
        domain=shape or Shape(),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=unit),
    )


@pytest.fixture(scope="module")
def plan() -> SelectionPlan:
    return selection_of()


def test_each_candidate_is_planned_on_its_public_part_and_on_all_units(plan: SelectionPlan):
    assert (plan.parts, plan.part_size, plan.declared_size) == (4, 10_000, 40_000)
    for one, final, options in zip(plan.candidates, plan.finals, OPTIONS, strict=True):
        assert one == plan_of(options, epsilon=0.8, declared_size=10_000)
        assert final == plan_of(options, epsilon=1.0, declared_size=40_000)
        # The rate is the one that the part's units meet, by their own coins, however many there really are.
        if one.steps:
            assert one.sampling_rate == one.expected_batch_size / 10_000


def test_the_mechanism_is_the_largest_part_and_then_whichever_training_is_chosen(plan: SelectionPlan):
    assert plan.mechanism == Composed(
        parts=(
            Parallel(
                parts=(
                    *(one.mechanism for one in plan.candidates),
                    PermuteAndFlip(epsilon=0.3, candidates=3),
                )
            ),
            Chosen(parts=tuple(final.mechanism for final in plan.finals)),
        )
    )
    assert plan.epsilons == epsilons(plan.mechanism, delta=DELTA)
    assert plan.epsilons.reported <= plan.guarantee.epsilon <= plan.epsilons.reported * 1.00001


def test_it_costs_more_than_training_alone_and_less_than_the_sum_and_far_less_than_all_candidates(
    plan: SelectionPlan,
):
    selecting = epsilons(plan.selecting, delta=DELTA).reported
    training = epsilons(plan.training, delta=DELTA).reported
    everything = Composed(parts=tuple(one.mechanism for one in (*plan.candidates, *plan.finals)))

    assert 0.79 < selecting < 0.85
    assert 0.99 < training < 1.05
    assert max(selecting, training) < plan.guarantee.epsilon < selecting + training
    assert plan.guarantee.epsilon < 0.8 * epsilons(everything, delta=DELTA).reported


def test_candidates_that_differ_in_nothing_private_cost_as_one_and_the_choice_may_be_free():
    plan = selection_of(
        {"steps": 200}, {"steps": 200, "critic_width": 32}, {"steps": 200, "gp_weight": 1.0}, choice=0.05
    )

    one = Composed(parts=(plan.candidates[0].mechanism, plan.finals[0].mechanism))
    alone = epsilons(one, delta=DELTA).reported
    assert alone * (1 - 1e-9) <= plan.epsilons.reported <= alone * 1.01


@pytest.mark.parametrize("same", [{"clipping_norm": 0.1}, {"schedule": "constant", "acts": False}])
def test_candidates_that_differ_in_words_alone_are_refused(same: dict[str, Any]):
    with pytest.raises(InvalidSelection, match="candidates 0 and 2 have the same training"):
        selection_of({"critic": True}, {"steps": 200}, same)


def test_a_candidate_that_is_another_one_on_a_part_alone_stays():
    """On a part of 16,000 units the rule takes a batch of 480, on all of them one of 1,440."""
    plan = selection_of({"critic": True}, {"expected_batch_size": 480}, declared_size=48_000)
    assert plan.candidates[0].digest() == plan.candidates[1].digest()
    assert plan.finals[0].digest() != plan.finals[1].digest()


def test_a_plan_survives_json_and_any_change_is_noticed(plan: SelectionPlan):
    document = json.loads(json.dumps(plan.to_json(), allow_nan=False))

    assert SelectionPlan.from_json(document) == plan == ordered_plan_from_json(document)
    assert ordered_plan_from_json(plan.finals[0].to_json()) == plan.finals[0]
    assert SelectionPlan.from_json(document).digest() == plan.digest()

    changes: list[tuple[str, Any]] = [
        ("version", 2),
        ("kind", "training"),
        ("part_size", 9_999),
        ("part_size", 13_333),
        ("declared_size", 40_004),
        ("steps", 401),
        ("choice_epsilon", 0.2),
        ("choice_epsilon", 0.0),
        ("guarantee", {"epsilon": 1.0, "delta": DELTA}),
        ("guarantee", {"epsilon": 9.0, "delta": 1e-7}),
        ("candidates", document["candidates"][:2]),
        ("candidates", document["finals"]),
        ("finals", document["finals"][::-1]),
        ("finals", None),
        ("mechanism", document["mechanism"] | {"parts": []}),
        ("epsilons", {"pld": 9.0, "rdp": 9.0}),
    ]
    for name, value in changes:
        with pytest.raises(InvalidMechanism if value == 0.0 else InvalidPlan):
            SelectionPlan.from_json(copy.deepcopy(document) | {name: value})
    for name in document:
        with pytest.raises(InvalidPlan):
            SelectionPlan.from_json({key: value for key, value in document.items() if key != name})


def test_plans_that_do_not_belong_together_are_no_selection(plan: SelectionPlan):
    document = plan.to_json()
    other = plan_of(OPTIONS[0], epsilon=0.7, declared_size=10_000).to_json()
    with pytest.raises(InvalidPlan):
        SelectionPlan.from_json(document | {"candidates": [other, *document["candidates"][1:]]})
    units = [plan_of(one, epsilon=0.8, declared_size=10_000, unit="patient").to_json() for one in OPTIONS]
    with pytest.raises(InvalidPlan):
        SelectionPlan.from_json(document | {"candidates": units})


def test_what_has_begun_always_holds_the_selecting(plan: SelectionPlan):
    assert plan.steps == 400
    assert plan.executed(400) == plan.executed(None) == plan.mechanism
    nothing_trained = plan.executed(0)
    assert isinstance(nothing_trained, Composed)
    assert nothing_trained.parts[0] == plan.selecting
    costs = [epsilons(plan.executed(steps), delta=DELTA).reported for steps in (0, 100, 300, 400)]
    assert costs == sorted(costs)
    assert costs[0] >= epsilons(plan.selecting, delta=DELTA).reported
    # The shorter training has ended by then, the longer has not.
    assert plan.executed(300).parts[1].parts[0] == plan.finals[0].mechanism  # type: ignore[union-attr]
    for steps in (-1, 401):
        with pytest.raises(InvalidPlan):
            plan.executed(steps)


def test_the_unit_and_the_adjacency_are_those_of_every_plan():
    plan = selection_of(unit="patient")

    assert plan.privacy_unit == PrivacyUnit(column="patient") == plan.candidates[1].privacy_unit
    assert plan.adjacency is Adjacency.ADD_OR_REMOVE
    assert plan.synthesizer == "selection"


def test_a_quote_tells_both_prices_and_the_total(plan: SelectionPlan):
    cap = Cap(epsilon=3.0, delta=1e-5, rule=AdmissionRule.FILTERS)
    quote = make_selection_quote(plan, cap, [])

    assert SelectionQuote.from_json(json.loads(json.dumps(quote.to_json(), allow_nan=False))) == quote
    assert quote.selection.epsilon == epsilons(plan.selecting, delta=DELTA)
    assert quote.final.epsilon == epsilons(plan.training, delta=DELTA)
    assert quote.epsilon == plan.epsilons
    assert quote.charge == charge_of(plan.mechanism, delta=DELTA)
    assert (quote.selection.parts, quote.selection.part_size) == (4, 10_000)
    assert [one.steps for one in quote.final.candidates] == [200, 400, 0]
    assert quote.fits
    assert 0 < quote.remaining_epsilon_after < quote.remaining_epsilon
    assert quote.plan_digest == plan.digest()


def test_what_does_not_fit_is_listed_too(plan: SelectionPlan):
    tight = Cap(epsilon=1.2, delta=1e-5, rule=AdmissionRule.FILTERS)

    refused, unset = make_selection_quote(plan, tight, []), make_selection_quote(plan, None, [])

    assert not refused.fits
    assert refused.remaining_epsilon_after == refused.remaining_epsilon
    assert not unset.fits
    assert unset.remaining_epsilon is None
    assert unset.filters == {}


def test_a_spec_states_what_was_asked_for():
    assert spec_of().to_json() == {
        "candidates": [{"synthesizer": "idpgan", "options": one} for one in OPTIONS],
        "epsilon": 0.8,
        "choice_epsilon": 0.3,
    }


def test_wrong_candidates_are_refused_with_their_number():
    for options in ([{}], [{"steps": n + 1} for n in range(33)], [{"steps": 5}, {}, {"steps": 5}]):
        with pytest.raises(InvalidSelection):
            spec_of(*options)
    with pytest.raises(InvalidSelection, match="candidate 1 ") as told:
        # More than the part holds, though all units are enough.
        selection_of({"steps": 10}, {"expected_batch_size": 20_000}, declared_size=30_000)
    assert (told.value.code, told.value.status) == ("invalid-selection", 422)
    with pytest.raises(InvalidSelection, match="candidate 0 "):
        selection_of({"acts": True, "acts_noise_multiplier": 0.01}, {})
    with pytest.raises(InvalidSelection, match="sets first_noise_multiplier"):
        selection_of({"first_noise_multiplier": 5.0}, {})
    with pytest.raises(InvalidSelection, match="too small"):
        selection_of(declared_size=3)


@pytest.mark.parametrize(("epsilon", "choice"), [(0.0, 0.3), (0.8, 0.0), (0.8, 1000.0), (float("nan"), 0.3)])
def test_an_epsilon_out_of_range_is_refused(epsilon: float, choice: float):
    with pytest.raises(InvalidGuarantee):
        selection_of(epsilon=epsilon, choice=choice)


def test_without_labels_there_is_nothing_to_judge_by():
    with pytest.raises(InvalidSelection, match="label"):
        selection_of(shape=Shape(target_index=None))
    images = ImageDomain(height=8, width=8, channels=1, labels=(), privacy_unit=None)
    with pytest.raises(InvalidSelection, match="label"):
        make_selection_plan(
            selection=spec_of(),
            guarantee=PrivacyGuarantee(epsilon=1.0, delta=DELTA),
            declared_size=1000,
            domain=images,
            adjacency=Adjacency.ADD_OR_REMOVE,
            privacy_unit=PrivacyUnit(column=None),
        )


def test_a_target_whose_patterns_are_modelled_is_refused():
    domain = table(DAY_WITH_WEEKDAY, {"name": "sex", "kind": "boolean"}, target="day")
    with pytest.raises(InvalidSelection, match="how well 'day' is predicted"):
        selection_of(shape=domain)
    assert selection_of(shape=table(DAY_WITH_WEEKDAY, {"name": "sex", "kind": "boolean"}, target="sex"))
