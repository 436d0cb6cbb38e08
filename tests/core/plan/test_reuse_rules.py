"""Which earlier counts a plan takes over, and what they are worth."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.dp.adjacency import PrivacyUnit
from core.plan.errors import InvalidPlan
from core.plan.learning import LearningPlan, LearningRelease
from core.plan.plan import Plan
from core.plan.reuse_rules import MOST_REUSED, EarlierCounts, epsilon_as_if, precision_of, with_reuse
from core.plan.stages import AnchorPlan
from core.plan.training_quote import expected_error_in
from tests.core.plan.shapes import Shape, plan_of

SHAPE = Shape()
"""Columns of twenty codes, the target too: no counts by class."""
BINARY_TARGET = Shape(cardinalities=(20,) * 11 + (2,))
FEW_CODES = Shape(cardinalities=(3,) * 12)


def plan(
    epsilon: float = 1.0, *, shape: Shape = SHAPE, declared_size: int = 50_000, **options: object
) -> Plan:
    """A plan that counts all pairs unless options are given."""
    chosen = {"critic": False, "anchor_screening_share": 0.0} | options
    return plan_of(chosen, epsilon=epsilon, shape=shape, declared_size=declared_size)


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def left(one: Plan, number: int) -> EarlierCounts:
    """The counts that a release of a plan left."""
    return EarlierCounts(release_id=name(number), plan=one, counts_sha256=f"{number:064x}")


def squares(anchor: AnchorPlan | None) -> list[float]:
    assert anchor is not None
    return [part.noise_multiplier**-2 for part in anchor.parts]


def taken(one: Plan) -> list[str]:
    return [reused.release_id for reused in one.reused]


def test_a_plan_that_takes_nothing_over_is_the_same_to_the_byte():
    ordinary = plan()
    assert with_reuse(ordinary, [], SHAPE) is ordinary
    assert "reused" not in ordinary.to_json()
    assert ordinary.known == ordinary.anchor


def test_precisions_add_up_and_cost_nothing():
    ordinary, earlier = plan(1.0), plan(2.0)
    made = with_reuse(ordinary, [left(earlier, 1)], SHAPE)
    assert squares(made.known) == pytest.approx(
        [a + b for a, b in zip(squares(earlier.known), squares(ordinary.known), strict=True)]
    )
    assert made.mechanism == ordinary.mechanism
    assert made.epsilons == ordinary.epsilons
    assert made.digest() != ordinary.digest()
    assert Plan.from_json(made.to_json()) == made
    assert epsilon_as_if(made, alone=True) == pytest.approx(1.0, rel=1e-4)
    assert epsilon_as_if(plan(2.0)) == pytest.approx(2.0, rel=1e-4)
    assert 2.0 < epsilon_as_if(made) < 3.0


def test_two_releases_of_epsilon_one_are_worth_what_one_of_the_root_of_two_is():
    made = with_reuse(plan(), [left(plan(), 1)], SHAPE)
    mu = sum(squares(plan().known)) ** 0.5
    assert sum(squares(made.known)) ** 0.5 == pytest.approx(2**0.5 * mu)
    assert epsilon_as_if(made) == pytest.approx(1.46, abs=0.03)


def test_a_chain_of_releases_counts_each_of_them_once():
    earlier: list[EarlierCounts] = []
    for number in range(12):
        made = with_reuse(plan(), earlier, SHAPE)
        assert taken(made) == ([name(number - 1)] if number else [])
        assert sum(squares(made.known)) == pytest.approx((number + 1) * sum(squares(plan().known)))
        earlier.insert(0, left(made, number))
    assert earlier[0].releases == {name(number) for number in range(12)}


def test_of_releases_that_hold_the_same_counts_one_is_taken():
    first = left(plan(), 1)
    twins = [left(with_reuse(plan(), [first], SHAPE), number) for number in (3, 2)]
    made = with_reuse(plan(), [*twins, first], SHAPE)
    assert taken(made) == [name(3)], "the newest of equals; the other holds the first, too"
    assert made.reused[0].holds == (name(1),)
    with pytest.raises(InvalidPlan, match="twice"):
        dataclasses.replace(
            made, reused=(made.reused[0], dataclasses.replace(made.reused[0], release_id=name(2)))
        )


def test_of_releases_with_groups_of_their_own_the_most_precise_gives_pairs_and_the_others_columns():
    made = with_reuse(
        plan(declared_size=500),
        [left(plan(0.5, declared_size=500), 1), left(plan(2.0, declared_size=500), 2)],
        SHAPE,
    )
    assert taken(made) == [name(2), name(1)]
    assert [one.tables is not None for one in made.reused] == [True, False]
    columns, tables = squares(made.known)
    of = [squares(plan(epsilon, declared_size=500).known) for epsilon in (0.5, 1.0, 2.0)]
    assert columns == pytest.approx(sum(one[0] for one in of))
    assert tables == pytest.approx(of[1][1] + of[2][1])


def test_pairs_of_all_releases_line_up_where_every_code_is_its_own_group():
    releases = [
        left(plan(epsilon, shape=FEW_CODES, declared_size=500_000), number)
        for number, epsilon in enumerate((0.5, 1.0, 2.0))
    ]
    made = with_reuse(plan(shape=FEW_CODES, declared_size=500_000), releases, FEW_CODES)
    assert [one.tables is not None for one in made.reused] == [True] * 3


def test_pairs_of_units_with_several_records_are_taken_from_one_release():
    """The declared size allows every code its own group; the noisy number of records may be smaller in one release and not in the other."""

    def bounded(epsilon: float) -> Plan:
        return plan_of(
            {"critic": False, "anchor_screening_share": 0.0},
            epsilon=epsilon,
            shape=FEW_CODES,
            declared_size=500_000,
            unit="person",
            records=2,
        )

    made = with_reuse(
        bounded(1.0), [left(bounded(epsilon), int(epsilon)) for epsilon in (1.0, 2.0)], FEW_CODES
    )
    assert [one.tables is not None for one in made.reused] == [True, False]


def test_groups_that_are_much_too_coarse_are_not_kept():
    coarse = plan(0.02, declared_size=5_000)
    made = with_reuse(plan(4.0, declared_size=5_000), [left(coarse, 1)], SHAPE)
    assert [one.tables for one in made.reused] == [None]
    assert made.kept_groups is None
    fine = with_reuse(coarse, [left(plan(4.0, declared_size=5_000), 1)], SHAPE)
    assert fine.kept_groups is not None, "finer ones are"


def test_pairs_are_kept_by_class_but_not_without_where_the_plan_counts_by_class():
    vague, sharp = (plan(epsilon, shape=BINARY_TARGET, declared_size=5_000) for epsilon in (0.2, 8.0))
    made = with_reuse(sharp, [left(vague, 1)], BINARY_TARGET)
    assert made.kept_groups is None
    made = with_reuse(vague, [left(sharp, 1)], BINARY_TARGET)
    assert made.kept_groups is not None
    assert made.kept_groups.by_class
    again = with_reuse(vague, [left(made, 2)], BINARY_TARGET)
    assert again.kept_groups is not None
    assert again.kept_groups.by_class, "a chain remembers how its pairs are counted"
    assert again.kept_groups.most_groups == made.kept_groups.most_groups


def test_what_counted_otherwise_is_left_out():
    others = [
        plan(declared_size=10_000),
        dataclasses.replace(plan(), privacy_unit=PrivacyUnit(column="person")),
        plan_of({"anchor": False}),
    ]
    for number, other in enumerate(others):
        assert with_reuse(plan(), [left(other, number)], SHAPE).reused == ()
    assert with_reuse(plan_of({"anchor": False}), [left(plan(), 1)], SHAPE).reused == ()
    assert with_reuse(plan(), [left(plan_of(), 1)], SHAPE).reused != (), (
        "a critic beside the anchor does not matter"
    )


def test_counts_of_a_learnt_domain_are_left_out():
    """Codes of bins that one job learnt are not those of another's."""
    bins = LearningRelease(column=0, learns="bins", sensitivity=2.0)
    learning = LearningPlan(noise_multiplier=1000.0, delta=0.0, releases=(bins,))
    learnt = dataclasses.replace(plan(0.9), guarantee=plan().guarantee, learning=learning)
    assert with_reuse(plan(), [left(learnt, 1)], SHAPE).reused == ()
    assert with_reuse(learnt, [left(plan(), 1)], SHAPE).reused == ()


def test_one_job_reads_so_many_bundles_and_no_more():
    made = with_reuse(plan(), [left(plan(), number) for number in range(MOST_REUSED + 3)], SHAPE)
    assert len(made.reused) == MOST_REUSED


def by_rule(epsilon: float = 1.0, *, shape: Shape = SHAPE) -> Plan:
    """A plan that screens pairs."""
    made = plan(epsilon, shape=shape, anchor_screening_share=None)
    assert screening_of(made) > 0
    return made


def screening_of(one: Plan | None) -> float:
    assert one is not None
    assert isinstance(one.anchor, AnchorPlan)
    return one.anchor.screening_sensitivity


def test_a_plan_that_takes_screened_pairs_over_counts_them_with_all_that_it_has():
    release = by_rule(2.0)
    made = with_reuse(by_rule(), [left(release, 1)], SHAPE)
    assert dataclasses.replace(made, reused=()) == plan(), "as if the order had stated a share of zero"
    assert made.kept_groups is not None
    assert made.kept_groups.screened
    columns, tables = squares(made.known)
    of_release, own = squares(release.anchor), squares(plan().anchor)
    assert columns == pytest.approx(of_release[0] + own[0])
    assert tables == pytest.approx(of_release[2] + own[1])
    again = with_reuse(by_rule(), [left(made, 2)], SHAPE)
    assert again.kept_groups is not None
    assert again.kept_groups.screened, "a chain remembers that its pairs were chosen"
    assert squares(again.known)[1] == pytest.approx(tables + own[1])


def test_a_plan_that_by_rule_counts_all_pairs_counts_those_of_a_release_too():
    every = with_reuse(by_rule(), [left(plan(), 1)], SHAPE)
    assert screening_of(every) == 0
    assert every.kept_groups is not None
    assert not every.kept_groups.screened


def test_an_order_that_states_the_share_keeps_it_and_takes_columns_alone():
    for own, release in ((by_rule(), by_rule()), (plan(), by_rule()), (by_rule(), plan())):
        made = with_reuse(own, [left(release, 1)], SHAPE, share_ordered=True)
        assert made.anchor == own.anchor
        assert [one.tables for one in made.reused] == [None]
        assert squares(made.known)[0] == pytest.approx(squares(own.anchor)[0] + squares(release.anchor)[0])
        assert squares(made.known)[1:] == pytest.approx(squares(own.anchor)[1:])
    assert with_reuse(plan(), [left(plan(), 1)], SHAPE, share_ordered=True).kept_groups is not None


def test_releases_of_other_pairs_give_their_columns():
    for first, second in ((by_rule, by_rule), (by_rule, plan), (plan, by_rule)):
        releases = [left(first(2.0, shape=FEW_CODES), 1), left(second(shape=FEW_CODES), 2)]
        made = with_reuse(by_rule(shape=FEW_CODES), releases, FEW_CODES)
        assert [one.tables is not None for one in made.reused] == [True, False]


def test_a_plan_that_keeps_no_groups_screens_by_itself():
    coarse = plan(0.02, declared_size=50_000)
    made = with_reuse(by_rule(4.0), [left(coarse, 1)], SHAPE)
    assert [one.tables for one in made.reused] == [None]
    assert made.anchor == by_rule(4.0).anchor


def test_pairs_that_a_small_release_left_out_are_counted_once_a_plan_can():
    def small(epsilon: float) -> Plan:
        return plan(epsilon, shape=BINARY_TARGET, declared_size=500, anchor_screening_share=None)

    release = left(small(0.5), 1)
    again = with_reuse(small(0.5), [release], BINARY_TARGET)
    assert again.kept_groups is not None
    assert again.kept_groups.screened, "the counts of the release list its pairs"
    assert screening_of(small(2.0)) > 0
    larger = with_reuse(small(2.0), [release], BINARY_TARGET)
    assert larger.kept_groups is None
    assert larger.anchor == small(2.0).anchor


def test_a_plan_does_not_screen_what_it_takes_over():
    made = with_reuse(by_rule(), [left(by_rule(), 1)], SHAPE)
    with pytest.raises(InvalidPlan, match="screens pairs"):
        dataclasses.replace(by_rule(), reused=made.reused)


def test_the_stated_error_of_screened_pairs_is_an_upper_bound():
    told = precision_of(left(by_rule(), 1), SHAPE)
    assert told.pairs is None
    every = precision_of(left(plan(), 1), SHAPE)
    assert every.pairs == 66
    assert told.pair_std is not None
    assert every.pair_std is not None
    assert told.pair_std > every.pair_std


def test_pairs_that_are_sums_of_combinations_state_the_noise_of_the_farthest():
    shape = Shape(cardinalities=(4, 2, 2, 2), target_index=0)
    of_combinations = plan(shape=shape)
    assert of_combinations.anchor.combinations
    told = precision_of(left(of_combinations, 1), shape)
    assert told.pairs == 6
    # Two columns of two codes are summed over the eight combinations of the others; the table weighs as six pairs.
    assert told.pair_std == pytest.approx(of_combinations.anchor.noise_std * (8 / 6) ** 0.5)


@pytest.mark.parametrize("own", [plan, by_rule])
def test_the_expected_error_is_that_of_all_counts_together(own):
    alone = expected_error_in(own(), SHAPE)
    both = expected_error_in(with_reuse(own(), [left(own(), 1)], SHAPE), SHAPE)
    for score in ("one_way", "two_way", "three_way"):
        assert getattr(both, score) < getattr(alone, score)
    for score in ("one_way", "two_way"):
        assert getattr(both.released_counts, score) < getattr(alone.released_counts, score)
    assert both.measured == alone.measured


@given(st.lists(st.floats(0.05, 8.0), min_size=1, max_size=6), st.floats(0.05, 8.0))
def test_more_counts_are_never_worth_less(epsilons, own):
    releases = [left(plan(epsilon, shape=FEW_CODES), number) for number, epsilon in enumerate(epsilons)]
    made = with_reuse(plan(own, shape=FEW_CODES), releases, FEW_CODES)
    assert epsilon_as_if(made) >= max(own, *epsilons) * (1 - 1e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"tables": 3},
        {"holds": None},
        {"columns_noise_multiplier": "much"},
        {"tables": {"noise_multiplier": 1.0}},
    ],
)
def test_a_document_of_another_form_is_refused(change):
    document = with_reuse(plan(), [left(plan(), 1)], SHAPE).to_json()
    document["reused"] = [document["reused"][0] | change]
    with pytest.raises(InvalidPlan):
        Plan.from_json(document)


def test_a_plan_without_counts_of_its_own_takes_none_over():
    reused = with_reuse(plan(), [left(plan(), 1)], SHAPE).reused
    with pytest.raises(InvalidPlan, match="without measuring its own"):
        dataclasses.replace(plan_of({"anchor": False}), reused=reused)
