"""The verifier's look at what a plan takes over: the noise of the counts follows from the plan, and nothing else passes."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.artifacts.counts import ReleasedCounts
from core.plan.plan import Plan
from core.plan.reuse_rules import EarlierCounts, epsilon_as_if, with_reuse
from tests.core.artifacts.certified import (
    SIGNER,
    Certified,
    cardinalities,
    certified_plan,
    counts_for,
    plan_for,
)
from tests.core.plan.shapes import Shape
from tests.understudy.verifying.tampering import Bench, resigned
from understudy.verifying.planned import canonical_digest
from understudy.verifying.verification import Outcome, Report, verify_bundle

SHAPE = Shape(cardinalities=cardinalities(), target_index=2)
RELEASE = "00000000-0000-4000-8000-000000000001"


def reusing(plan: Plan, earlier: Plan) -> Plan:
    left = EarlierCounts(release_id=RELEASE, plan=earlier, counts_sha256="a" * 64)
    return with_reuse(plan, [left], SHAPE)


@cache
def made(epsilon: float = 1.0) -> Certified:
    """A bundle whose plan reuses counts."""
    earlier = plan_for({"critic": False}, epsilon=epsilon)
    plan = reusing(plan_for({"critic": False}), earlier)
    left = ReleasedCounts.from_bytes(counts_for(earlier) or b"")
    return certified_plan(plan, counts_for(plan, earlier=[left]))


@cache
def screened() -> Certified:
    """A bundle whose plan takes over pairs that a screening chose."""
    earlier = plan_for({"critic": False, "anchor_screening_share": 0.05}, epsilon=2.0)
    plan = reusing(plan_for({"critic": False}), earlier)
    left = ReleasedCounts.from_bytes(counts_for(earlier) or b"")
    return certified_plan(plan, counts_for(plan, earlier=[left]))


def test_pairs_that_a_screening_chose_hold_with_the_noise_of_those_alone(tmp_path: Path) -> None:
    counts = ReleasedCounts.from_bytes(screened().bundle.counts or b"")
    assert len(counts.tables) < 4 + 6
    path = Bench(screened(), tmp_path).with_certificate(resigned(screened().certificate))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.VERIFIED, report.refusals


@pytest.mark.parametrize("members", [{"screened": False}, {"noise_multiplier": 1.0}])
def test_another_statement_of_pairs_that_were_chosen_is_refused(
    tmp_path: Path, members: dict[str, Any]
) -> None:
    stated = copy.deepcopy(screened().certificate)
    stated["plan"]["reused"][0]["tables"].update(members)
    stated["plan_digest"] = canonical_digest(stated["plan"])
    path = Bench(screened(), tmp_path).with_certificate(resigned(stated))
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.REFUSED
    assert "counts" in {one.name for one in report.refusals}


def verified(folder: Path, certificate: dict[str, Any]) -> Report:
    path = Bench(made(), folder).with_certificate(resigned(certificate))
    return verify_bundle(path, public_keys=[SIGNER.public_key])


def test_a_bundle_that_reuses_counts_holds(tmp_path: Path) -> None:
    report = verified(tmp_path, made().certificate)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    assert "counts" in {check.name for check in report.checks}


Change = Callable[[dict[str, Any]], None]


def set_to(**members: object) -> Change:
    return lambda plan: plan["reused"][0].update(members)


def twice(plan: dict[str, Any]) -> None:
    plan["reused"].append(copy.deepcopy(plan["reused"][0]))


def none(plan: dict[str, Any]) -> None:
    del plan["reused"]


def of_a_learnt_domain(plan: dict[str, Any]) -> None:
    plan["learning"] = {
        "noise_multiplier": 1.0,
        "delta": 0.0,
        "releases": [{"column": 0, "learns": "bins", "sensitivity": 1.0}],
    }


@pytest.mark.parametrize(
    ("change", "check", "why"),
    [
        (none, "counts", "not that of the certified noise"),
        (set_to(columns_noise_multiplier=1.0), "counts", "not that of the certified noise"),
        (set_to(tables=None), "counts", "not that of the certified noise"),
        (
            set_to(tables={"noise_multiplier": 1.0, "most_groups": 20, "by_class": True, "screened": False}),
            "counts",
            "not that of the certified noise",
        ),
        (
            set_to(tables={"noise_multiplier": 1.0, "most_groups": 20, "by_class": False, "screened": False}),
            "counts",
            "does not list every pair",
        ),
        (twice, "plan", "taken twice"),
        (set_to(holds=[RELEASE]), "plan", "taken twice"),
        (of_a_learnt_domain, "plan", "learnt"),
        (set_to(counts_sha256="A"), "form", "counts_sha256"),
        (set_to(holds=["somebody"]), "form", "holds"),
        (set_to(more=1), "form", "reused"),
    ],
)
def test_another_statement_of_what_was_reused_is_refused(
    tmp_path: Path, change: Change, check: str, why: str
) -> None:
    stated = copy.deepcopy(made().certificate)
    change(stated["plan"])
    stated["plan_digest"] = canonical_digest(stated["plan"])
    report = verified(tmp_path, stated)
    assert report.outcome is Outcome.REFUSED
    (found,) = [one for one in report.refusals if one.name == check]
    assert why in found.detail


def test_pairs_that_are_taken_over_and_screened_are_refused(tmp_path: Path) -> None:
    stated = copy.deepcopy(made().certificate)
    stated["plan"]["anchor"]["screening_sensitivity"] = 0.1
    stated["plan_digest"] = canonical_digest(stated["plan"])
    assert "are not screened" in str(verified(tmp_path, stated).refusals)


def test_combinations_of_codes_that_are_taken_over_as_pairs_are_refused(tmp_path: Path) -> None:
    stated = copy.deepcopy(made().certificate)
    stated["plan"]["reused"][0]["tables"]["combinations"] = True
    stated["plan_digest"] = canonical_digest(stated["plan"])
    assert "are not the same counts" in str(verified(tmp_path, stated).refusals)


def test_chosen_pairs_of_two_releases_are_refused(tmp_path: Path) -> None:
    stated = copy.deepcopy(made().certificate)
    other = copy.deepcopy(stated["plan"]["reused"][0])
    other["release_id"] = RELEASE[:-1] + "2"
    other["tables"]["screened"] = True
    stated["plan"]["reused"].append(other)
    stated["plan_digest"] = canonical_digest(stated["plan"])
    assert "counted differently" in str(verified(tmp_path, stated).refusals)


def test_pairs_that_are_counted_differently_are_refused(tmp_path: Path) -> None:
    stated = copy.deepcopy(made().certificate)
    other = copy.deepcopy(stated["plan"]["reused"][0])
    other["release_id"] = RELEASE[:-1] + "2"
    other["tables"]["by_class"] = not other["tables"]["by_class"]
    stated["plan"]["reused"].append(other)
    stated["plan_digest"] = canonical_digest(stated["plan"])
    assert "counted differently" in str(verified(tmp_path, stated).refusals)


def test_the_promise_of_a_release_that_reuses_counts_is_said_of_what_it_adds(tmp_path: Path) -> None:
    """Its counts are as precise as those of a larger epsilon, so alone it keeps no promise of its own epsilon."""
    plan = Plan.from_json(made().certificate["plan"])
    assert epsilon_as_if(plan) > 1.3 * plan.guarantee.epsilon
    reading = made().certificate["privacy_parameters_description"]
    assert "every outcome of the earlier releases that the plan's member 'reused' names" in reading
    assert "together their epsilons and deltas add up" in reading
    assert "whose counts it holds" in made().readme
    (figure,) = [one for one in verified(tmp_path, made().certificate).checks if one.name == "epsilon"]
    assert "in addition to 1 earlier release" in figure.detail

    alone = certified_plan(plan_for({"critic": False}), counts_for(plan_for({"critic": False})))
    stated = copy.deepcopy(made().certificate)
    stated["privacy_parameters_description"] = alone.certificate["privacy_parameters_description"]
    report = verified(tmp_path, stated)
    assert report.outcome is Outcome.REFUSED
    assert "privacy_parameters_description" in str(report.refusals)
    assert "earlier" not in alone.certificate["privacy_parameters_description"]
    assert "whose counts it holds" not in alone.readme
