"""Which columns a training checks for crowded bins, what the checks cost, and what is left for everything else."""

import math
from typing import Any

import pytest

from core.dp import gaussian
from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.crowding import VISIBLE, checked_columns
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan
from core.plan.learning import LearningPlan, LearningRelease
from core.plan.plan import Plan, make_plan
from core.plan.reuse_rules import EarlierCounts, with_reuse
from core.plan.spec import SynthesisSpec
from core.plan.stages import AnchorPlan
from core.plan.training_quote import make_quote
from tests.core.plan.learnt import AGE, SICK, domain_of
from understudy.verifying import learning as verifying
from understudy.verifying.planned import mechanism_of, parts_of

GAIN = {"name": "gain", "kind": "numeric", "type": "integer", "lower": 0, "upper": 10**9}
FARE = {"name": "fare", "kind": "numeric", "type": "real", "lower": 0, "upper": 1e6}
SEEN = {"name": "seen", "kind": "date", "lower": "1900-01-01", "upper": "2100-12-31"}
SCORE = {"name": "score", "kind": "numeric", "type": "integer", "lower": 0, "upper": 254}
WIDE = (GAIN, FARE, SEEN)


def plan_of(
    domain: TableDomain,
    *,
    epsilon: float = 1.0,
    size: int = 10_000,
    checks: bool = True,
    unit: str | None = None,
    **options: Any,
) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=size,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=unit),
        checks_bounds=checks,
    )


def checked(*columns: dict[str, Any], rules: list[dict[str, Any]] | None = None) -> list[str]:
    document = domain_of(*columns, SICK).to_json() | {"rules": rules or []}
    domain = TableDomain.from_json(document)
    return [domain.modelled[place].name for place in checked_columns(domain)]


def test_numbers_and_times_with_bounds_alone_are_checked():
    assert checked(GAIN, FARE, SEEN, SCORE) == ["gain", "fare", "seen"]


@pytest.mark.parametrize(
    "own",
    [{"bins": 32}, {"edges": [0, 10, 10**9]}, {"spacing": "log"}, {"upper": 254}],
    ids=["bins", "edges", "spacing", "few values"],
)
def test_declared_bins_and_columns_of_few_values_are_not_checked(own: dict[str, Any]):
    assert checked(GAIN | own, FARE) == ["fare"]


def test_columns_of_rules_and_differences_are_not_checked():
    second = {**SEEN, "name": "left"}
    order = [{"kind": "at_most", "columns": ["seen", "left"]}]
    assert checked(GAIN, SEEN, second, rules=order) == ["gain"]
    assert checked(GAIN, SEEN, second | {"difference": {"from": "seen", "upper": 60}}) == ["gain"]


def test_nothing_is_checked_beside_what_is_learnt():
    domain = domain_of(*WIDE, AGE)
    assert checked_columns(domain) == ()
    assert plan_of(domain) == plan_of(domain, checks=False)


@pytest.mark.parametrize("size", [1_000, 10_000, 48_000, 10**7])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_checks_are_charged_with_their_share_and_the_rest_counts(size: int, epsilon: float):
    plan = plan_of(domain_of(*WIDE, SICK), epsilon=epsilon, size=size)
    assert plan.learning is not None
    assert [(one.column, one.learns) for one in plan.learning.releases] == [
        (place, "crowded") for place in range(3)
    ]
    assert plan.learning.delta == 0
    mu = gaussian.largest_mu(plan.guarantee)
    squares = 3 / plan.learning.noise_multiplier**2
    assert squares / mu**2 <= 0.03 + 1e-6
    std = plan.learning.noise_multiplier * plan.learning.releases[0].sensitivity
    assert size / 300 * 0.9999 <= std <= size / VISIBLE
    assert epsilons(plan.mechanism, delta=1e-6).reported <= epsilon
    assert plan.epsilons.reported > 0.99 * epsilon
    assert isinstance(plan.anchor, AnchorPlan)
    counted = sum(part.noise_multiplier**-2 for part in plan.anchor.parts)
    assert counted + squares == pytest.approx(mu**2, rel=1e-5)


def test_nothing_is_checked_where_the_noise_would_hide_all_rows():
    domain = domain_of(*WIDE, SICK)
    assert plan_of(domain, size=150) == plan_of(domain, size=150, checks=False)


@pytest.mark.parametrize("options", [{"critic": True}, {"anchor": False}])
def test_trainings_with_a_critic_check_nothing(options: dict[str, Any]):
    domain = domain_of(*WIDE, SICK)
    assert plan_of(domain, **options) == plan_of(domain, checks=False, **options)


def test_a_plan_with_checks_is_written_and_read():
    plan = plan_of(domain_of(*WIDE, SICK))
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.checks_then_counts
    assert not plan.only_counts


def test_a_plan_without_its_checks_is_the_plan_that_was_never_to_check():
    domain = domain_of(*WIDE, SICK)
    assert plan_of(domain).without_checks() == plan_of(domain, checks=False)
    assert plan_of(domain, checks=False).without_checks() == plan_of(domain, checks=False)


def test_counts_of_a_release_that_kept_the_declared_bins_are_reused_without_a_check():
    domain = domain_of(*WIDE, SICK)
    first = plan_of(domain)
    earlier = EarlierCounts(
        release_id="00000000-0000-4000-8000-000000000001", plan=first, counts_sha256="0" * 64
    )
    made = with_reuse(plan_of(domain), [earlier], domain)
    assert made.learning is None
    assert [one.release_id for one in made.reused] == [earlier.release_id]
    assert made.epsilons.reported <= made.guarantee.epsilon


def test_checks_stand_beside_nothing_else_that_is_learnt():
    releases = (
        LearningRelease(column=0, learns="crowded", sensitivity=2.0),
        LearningRelease(column=1, learns="bins", sensitivity=2.0),
    )
    with pytest.raises(InvalidPlan, match="checks declared bounds"):
        LearningPlan(noise_multiplier=10.0, delta=0.0, releases=releases)


def test_a_quote_lists_the_checks_with_their_noise():
    domain = domain_of(*WIDE, SICK)
    plan = plan_of(domain)
    quote = make_quote(plan, None, [], domain=domain)
    assert plan.learning is not None
    assert quote.learning is not None
    assert [(one.column, one.learns) for one in quote.learning.releases] == [(n, "crowded") for n in range(3)]
    assert {one.noise_std for one in quote.learning.releases} == {
        plan.learning.noise_multiplier * plan.learning.releases[0].sensitivity
    }
    assert "learning" in quote.split.text


@pytest.mark.parametrize("size", [1_000, 48_000])
def test_the_verifier_derives_the_same_checks_and_finds_others(size: int):
    plan = plan_of(domain_of(*WIDE, SICK), size=size)
    assert plan.learning is not None
    assert isinstance(plan.anchor, AnchorPlan)
    document = plan.to_json()
    assert list(verifying.learning_problems(document, 4)) == []
    assert mechanism_of(document)["parts"] == document["mechanism"]["parts"]
    assert len(parts_of(document)) == 3 + len(plan.anchor.parts)
    assert verifying.rest_of(document) == pytest.approx(
        1 - 3 / (plan.learning.noise_multiplier * gaussian.largest_mu(plan.guarantee)) ** 2,
        rel=1e-5,
    )
    document["learning"]["noise_multiplier"] *= 0.9
    assert list(verifying.learning_problems(document, 4)) == ["plan/learning/noise_multiplier"]


def test_a_tree_with_one_count_of_a_unit_in_each_level_has_sensitivity_two():
    plan = plan_of(domain_of(*WIDE, SICK))
    assert plan.learning is not None
    assert all(2.0 < one.sensitivity <= math.sqrt(4) * (1 + 1e-11) for one in plan.learning.releases)


def test_a_plan_with_checks_cuts_tails_and_an_older_one_does_not():
    plan = plan_of(domain_of(GAIN, SICK))
    document = plan.to_json()
    assert document["learning"].pop("cut_tails") is True
    older = Plan.from_json(document)
    assert older.learning is not None
    assert not older.learning.cut_tails
    assert older.to_json() == document
    assert list(verifying.learning_problems(document, 2)) == []


def test_tails_are_cut_only_where_declared_bounds_are_checked():
    domain = domain_of({**AGE, "bins": "learn"}, SICK)
    document = plan_of(domain).to_json()
    assert "cut_tails" not in document["learning"]
    document["learning"]["cut_tails"] = True
    assert list(verifying.learning_problems(document, 2)) == ["plan/learning/cut_tails"]
    with pytest.raises(InvalidPlan, match="checks no declared bounds"):
        Plan.from_json(document)
