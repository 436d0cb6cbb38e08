"""Plans of utility reports: made from public facts, within their guarantee, one price everywhere, and any change noticed."""

import copy
import json
import math
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import charge_of
from core.dp.errors import InvalidGuarantee, InvalidMechanism
from core.dp.filters import AdmissionRule, Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidPlan, InvalidReport
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.utility_reports.plan import LARGEST_SIZE, MOST_COLUMNS, SHARES, ReportPlan
from core.plan.utility_reports.planning import ReportQuote, ReportSpec, make_report_plan, make_report_quote
from tests.core.artifacts.stand_in import DOMAIN

RELEASE = UUID("5a1c3b7e-52f0-4d0e-9f3c-0a54f1d6c2b8")


def wide(columns: int) -> TableDomain:
    return TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": "c0",
            "columns": [{"name": f"c{number}", "kind": "boolean"} for number in range(columns)],
        }
    )


def plan_of(
    domain: TableDomain | ImageDomain | None = None,
    *,
    epsilon: float = 0.2,
    delta: float = 1e-6,
    declared_size: int = 5000,
    target: str | None = None,
    columns: tuple[str, ...] | None = None,
) -> ReportPlan:
    return make_report_plan(
        report=ReportSpec(release_id=RELEASE, manifest_sha256="a" * 64, target=target, columns=columns),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=delta),
        declared_size=declared_size,
        domain=domain or TableDomain.from_json(DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@settings(max_examples=30, deadline=None)
@given(
    epsilon=st.floats(1e-3, 8.0),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
    columns=st.integers(2, MOST_COLUMNS),
    size=st.integers(1, LARGEST_SIZE),
)
def test_any_public_facts_give_one_gaussian_within_its_guarantee_whose_noise_is_no_less(
    epsilon, delta, columns, size
):
    plan = plan_of(wide(columns), epsilon=epsilon, delta=delta, declared_size=size)
    assert plan.mechanism == Gaussian(noise_multiplier=plan.noise_multiplier)
    assert plan.epsilons == epsilons(plan.mechanism, delta=delta)
    assert epsilon * (1 - 1e-4) <= plan.epsilons.reported <= epsilon
    # One record in every term, each in units of its noise.
    moved = math.sqrt(sum(count / plan.noise_stds[kind] ** 2 for kind, count in plan.terms.items()))
    assert moved <= 1 / plan.noise_multiplier
    assert moved == pytest.approx(1 / plan.noise_multiplier, rel=1e-4)
    assert ReportPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_columns_keep_the_order_of_the_domain_and_the_target_is_its_own():
    plan = plan_of(columns=("seen", "ward"))
    assert (plan.columns, plan.target) == (("ward", "seen"), "sick")
    assert plan.terms == {"columns": 2, "pairs": 1, "score": 1}
    assert plan_of(target="age").target == "age"
    alone = plan_of(wide(2), columns=("c1",))
    assert alone.terms == {"columns": 1, "score": 1}
    assert set(SHARES) == {"columns", "pairs", "score"}
    assert alone.to_json()["noise_stds"]["pairs"] is None


UNLABELLED = ImageDomain(height=2, width=2, channels=1, labels=(), privacy_unit=None)
LABELLED = ImageDomain(height=2, width=2, channels=1, labels=("a", "b"), privacy_unit=None)


def test_of_images_three_facts_are_measured_and_the_label_is_predicted():
    plan = plan_of(LABELLED)
    assert (plan.columns, plan.target) == (("label", "brightness", "detail"), "label")
    assert plan.terms == {"columns": 3, "pairs": 3, "score": 1}
    assert plan_of(LABELLED, columns=("label",)).terms == {"columns": 1, "score": 1}
    plain = plan_of(UNLABELLED)
    assert (plain.terms, plain.target) == ({"columns": 2, "pairs": 1}, None)
    assert ReportPlan.from_json(json.loads(json.dumps(plain.to_json()))) == plain


def test_what_cannot_be_measured_is_refused():
    for refused in (
        {"target": "nobody"},
        {"columns": ("nobody",)},
        {"columns": ()},
        {"domain": wide(MOST_COLUMNS + 1)},
        {"domain": wide(1)},
        {"declared_size": LARGEST_SIZE + 1},
        {"domain": UNLABELLED, "target": "label"},
        {"domain": UNLABELLED, "columns": ("label",)},
        {"domain": LABELLED, "target": "brightness"},
    ):
        with pytest.raises(InvalidReport):
            plan_of(**refused)
    assert plan_of(wide(MOST_COLUMNS + 1), columns=("c0", "c64")).columns == ("c0", "c64")


def test_a_plan_survives_json_and_any_change_is_noticed():
    plan = plan_of()
    document = json.loads(json.dumps(plan.to_json(), allow_nan=False))
    assert ordered_plan_from_json(document) == plan
    assert ordered_plan_from_json(document).digest() == plan.digest()
    changes: list[tuple[str, Any]] = [
        ("version", 2),
        ("kind", "selection"),
        ("noise_multiplier", document["noise_multiplier"] / 2),
        ("noise_multiplier", 0.0),
        ("noise_stds", document["noise_stds"] | {"score": 1.0}),
        ("columns", ["ward", "ward"]),
        ("columns", []),
        ("declared_size", 0),
        ("steps", 1),
        ("pair_bins", 9),
        ("synthetic_rows", 10**9),
        ("manifest_sha256", "a"),
        ("release_id", "no id"),
        ("guarantee", {"epsilon": 0.1, "delta": 1e-6}),
        ("epsilons", {"pld": 9.0, "rdp": 9.0}),
        ("mechanism", document["mechanism"] | {"noise_multiplier": 99.0}),
        ("more", 1),
    ]
    for name, value in changes:
        with pytest.raises((InvalidPlan, InvalidMechanism)):
            ordered_plan_from_json(copy.deepcopy(document) | {name: value})
    for name in document:
        with pytest.raises((InvalidPlan, InvalidGuarantee)):
            ReportPlan.from_json({key: value for key, value in document.items() if key != name})


def test_what_has_begun_is_all_of_it():
    plan = plan_of()
    assert plan.steps == 0
    assert plan.executed(0) == plan.executed(None) == plan.mechanism
    with pytest.raises(InvalidPlan):
        plan.executed(1)


def test_a_quote_tells_the_price_and_the_precision_that_the_report_will_have():
    plan, cap = plan_of(), Cap(epsilon=1.0, delta=1e-5, rule=AdmissionRule.FILTERS)
    quote = make_report_quote(plan, cap, [])
    assert ReportQuote.from_json(quote.to_json()) == quote
    assert quote.fits
    assert quote.charge == charge_of(plan.mechanism, delta=1e-6)
    for kind, part in quote.report.parts.items():
        assert part.noise_std == plan.noise_stds[kind] / 10_000
        assert part.half_width_95 == pytest.approx(1.96 * part.noise_std)
    many = make_report_quote(plan, cap, [charge_of(plan.mechanism, delta=1e-6)] * 40)
    assert not many.fits
    tiny = make_report_quote(plan_of(declared_size=5), None, [])
    assert not tiny.fits
    assert tiny.report.parts["score"].half_width_95 == 1.0
