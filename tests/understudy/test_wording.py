"""What the command prints of a price before it asks whether to go on."""

from typing import Any

import pytest

from core.dp.charge import ORDERS, Charge
from core.dp.filters import AdmissionRule, Cap
from core.plan.training_quote import make_quote
from tests.core.plan.learnt import AGE, CODE, FARE, WARD, domain_of
from tests.core.plan.learnt import plan_of as learnt_plan
from tests.core.plan.shapes import Shape
from tests.core.plan.shapes import plan_of as table_plan
from tests.core.plan.test_expected_marginals import planned
from tests.core.plan.test_image_plans import DIGITS, plan_of
from understudy.results.jobs import Quote
from understudy.wording.quotes import quote_lines, refused_by_cap, room_lines


def lines_of(options: dict[str, object]) -> str:
    told = {"grant": None, "refusal": "budget-not-set"}
    document = {**make_quote(plan_of(options), None, [], domain=DIGITS).to_json(), **told}
    return "\n".join(quote_lines(Quote(document=document)))


def test_the_steps_of_a_critic_are_shown_with_their_noise() -> None:
    told = lines_of({"critic": True, "steps": 9})
    assert "  9 noisy steps at sampling rate " in told
    assert " for 9 steps" in told
    assert "% (asks labels)" in told


def test_a_quote_without_a_grant_for_it_says_what_it_costs_what_is_left_and_how_to_ask() -> None:
    document = make_quote(plan_of({"critic": False}), None, [], domain=DIGITS).to_json()
    document |= {"fits": False, "remaining_epsilon_after": 2.0}
    used_up = document | {
        "refusal": "grant-refused",
        "grant": {"epsilon": 1.5, "remaining_epsilon": 0.01234, "remaining_epsilon_after": 0.01234},
    }
    cost = f"{document['epsilon']['reported']:.4g}"
    assert room_lines(Quote(document=used_up)) == [
        (
            f"  fits into the budget: NO. It costs epsilon {cost}, and your grant of epsilon 1.5 has 0.01234 left for one more "
            "order; available under the cap after it: epsilon 2"
        ),
        "  order with a smaller epsilon or delta, or ask for more: `understudy budget request`, or the dataset's page",
    ]
    without = room_lines(Quote(document=document | {"refusal": "no-grant", "grant": None}))
    assert without[0].startswith(
        f"  fits into the budget: NO. It costs epsilon {cost}, and you have no open grant;"
    )
    assert "`understudy budget request`" in without[1]
    (frozen,) = room_lines(Quote(document=document | {"refusal": "dataset-frozen", "grant": None}))
    assert frozen.startswith("  fits into the budget: NO (dataset-frozen)")


@pytest.mark.parametrize(
    ("rule", "spent_femtos", "told"),
    [
        (AdmissionRule.FILTERS, 2 * 10**9, "has delta 5e-07 left: the deltas of all orders may add up to 2.5e-06, half of the cap's delta"),
        (AdmissionRule.FILTERS, 25 * 10**8, "has no delta left: the deltas of all orders may add up to 2.5e-06, half of the cap's delta"),
        (AdmissionRule.BASIC, 42 * 10**8, "has delta 8e-07 left: the deltas of all orders may add up to 5e-06"),
    ],
)  # fmt: skip
def test_a_delta_that_does_not_fit_is_refused_with_the_one_that_would(
    rule: AdmissionRule, spent_femtos: int, told: str
) -> None:
    cap = Cap(epsilon=2.0, delta=5e-6, rule=rule)
    spent = Charge(epsilon_micros=1_000_000, delta_femtos=spent_femtos, rdp_micros=(10**12,) * len(ORDERS))
    plan = plan_of({"critic": False}, epsilon=0.5, delta=1e-6)
    document = make_quote(plan, cap, [spent], domain=DIGITS).to_json()
    refused = Quote(document={**document, "fits": False, "refusal": "budget-refused", "grant": None})
    line = refused_by_cap(refused)
    assert line.endswith(f"and delta 1e-06. The dataset's cap {told}")
    fitting = plan_of({"critic": False}, epsilon=0.5, delta=5e-7)
    assert make_quote(fitting, cap, [spent], domain=DIGITS).fits is ("no delta" not in told)
    larger = plan_of({"critic": False}, epsilon=1.5, delta=1e-7)
    document = make_quote(larger, cap, [spent], domain=DIGITS).to_json()
    assert "delta" not in refused_by_cap(Quote(document={**document, "refusal": "budget-refused"}))


def test_without_a_critic_none_is_mentioned() -> None:
    told = lines_of({"critic": False})
    assert "no critic: noisy counts alone" in told
    assert "noisy steps" not in told
    assert "split of the budget: anchor 100%\n" in told, "a part without a share is left out"


def test_a_bound_on_the_records_of_a_unit_is_shown_with_its_cost() -> None:
    document = {
        **make_quote(plan_of({"critic": False}), None, [], domain=DIGITS).to_json(),
        "grant": None,
        "refusal": "budget-not-set",
    }
    bounded = document | {"privacy_unit": {"column": "patient", "records": 8}}
    told = "at most 8 records of each 'patient' count; the noise is 8 times that for one record"
    assert told in "\n".join(quote_lines(Quote(document=bounded)))
    assert "of each '" not in "\n".join(quote_lines(Quote(document=document)))


def test_learnt_parts_of_the_domain_are_shown_with_what_a_category_needs() -> None:
    domain = domain_of(AGE, WARD, CODE)
    plan = learnt_plan(domain)
    assert plan.learning is not None
    told = {"grant": None, "refusal": "budget-not-set"}
    lines = quote_lines(Quote(document={**make_quote(plan, None, [], domain=domain).to_json(), **told}))

    assert any("learning 3%" in line for line in lines)
    (line,) = (line for line in lines if "learnt parts of the domain" in line)
    assert "bins of 1 column, categories of 2 columns" in line
    assert f"a category needs about {plan.learning.threshold:.0f} units; thresholds take" in line
    assert "delta 1.25e-07" in line
    people = domain_of(WARD, unit="person")
    (line,) = (
        line
        for line in quote_lines(
            Quote(document={**make_quote(learnt_plan(people), None, [], domain=people).to_json(), **told})
        )
        if "learnt parts of the domain" in line
    )
    assert " units, more where each has several; thresholds take" in line
    domain = domain_of(AGE)
    bins_alone = make_quote(learnt_plan(domain), None, [], domain=domain).to_json()
    assert (
        quote_lines(Quote(document={**bins_alone, **told}))[3]
        == "  learnt parts of the domain: bins of 1 column"
    )


@pytest.mark.parametrize(("clamped", "share"), [(0.019, None), (0.0881, "8.8 %"), (0.24, "24 %")])
def test_a_quote_warns_of_bounds_that_noise_would_hide(clamped: float, share: str | None) -> None:
    domain = domain_of(FARE)
    document = make_quote(learnt_plan(domain), None, [], domain=domain).to_json()
    bounds, bins = document["learning"]["releases"]
    assert (bounds["learns"], 0 < bounds["clamped_share"] < 0.02, "clamped_share" in bins) == (
        "bounds",
        True,
        False,
    )
    told = {"grant": None, "refusal": "budget-not-set"}
    learning = document["learning"] | {"releases": [bounds | {"clamped_share": clamped}, bins]}
    said = "\n".join(quote_lines(Quote(document={**document, **told, "learning": learning})))
    warned = f"WARNING: learnt bounds typically clamp about {share} of a column's numbers"
    assert (warned in said) == (share is not None)


@pytest.mark.parametrize(
    ("changed", "is_said"),
    [
        ({}, False),
        ({"privacy_unit": {"column": "person", "records": 2}}, True),
        ({"learning": {"releases": [{"learns": "records", "threshold": None}], "delta": 0.0}}, True),
    ],
)
def test_errors_of_bounded_units_are_those_of_the_rows_that_count(
    changed: dict[str, Any], is_said: bool
) -> None:
    shape = Shape(cardinalities=(2, 16, 9, 30), target_index=0)
    document = make_quote(table_plan({}, shape=shape), None, [], domain=shape).to_json()
    lines = quote_lines(Quote(document={**document, "grant": None, "refusal": "budget-not-set", **changed}))
    assert any("of the rows that count" in line for line in lines) == is_said


def test_expected_errors_stand_beside_what_is_measured() -> None:
    shape = Shape(cardinalities=(2, 16, 9, 30), target_index=0)
    told = {"grant": None, "refusal": "budget-not-set"}
    quote = Quote(
        document={**make_quote(table_plan({}, shape=shape), None, [], domain=shape).to_json(), **told}
    )

    text = "\n".join(quote_lines(quote))
    assert quote.expected_error is not None
    two_way = float(f"{100 * quote.expected_error['two_way']:.2g}")
    assert "  expected error of counts (rows in a wrong cell), about: columns " in text
    assert f", pairs {two_way:g} %, triples " in text
    assert "  if columns were independent: columns " in text
    assert "  measured: 4 columns and 6 tables of groups of codes, within each class of the target" in text


def test_a_table_of_few_combinations_is_measured_by_all_of_them() -> None:
    shape = Shape(cardinalities=(4, 2, 2, 2), target_index=0)
    told = {"grant": None, "refusal": "budget-not-set"}
    quote = Quote(
        document={**make_quote(table_plan({}, shape=shape), None, [], domain=shape).to_json(), **told}
    )
    assert "  measured: 4 columns and all combinations of their codes" in quote_lines(quote)


def test_of_a_graphical_model_the_most_marginals_are_stated() -> None:
    shape = Shape(cardinalities=(16, 9, 3), target_index=0)
    state = {"grant": None, "refusal": "budget-not-set"}
    document = make_quote(planned("mst", shape), None, [], domain=shape).to_json()
    text = "\n".join(quote_lines(Quote(document={**document, **state})))
    assert "  measured: 3 columns and at most 2 marginals, chosen by noisy scores" in text
    assert "groups of codes" not in text


def test_a_table_of_two_columns_has_no_triples_to_tell_of() -> None:
    shape = Shape(cardinalities=(16, 9), target_index=None)
    told = {"grant": None, "refusal": "budget-not-set"}
    quote = Quote(
        document={**make_quote(table_plan({}, shape=shape), None, [], domain=shape).to_json(), **told}
    )
    text = "\n".join(quote_lines(quote))
    assert "pairs" in text
    assert "triples" not in text


def test_a_missing_expected_error_has_a_reason() -> None:
    told = {"grant": None, "refusal": "budget-not-set"}
    of_images = make_quote(plan_of({"critic": False}), None, [], domain=DIGITS).to_json()
    quote = Quote(document={**of_images, **told})
    assert quote.expected_error is None
    assert "  expected error of counts: not known in advance for images" in quote_lines(quote)
    # A service of before there was an expectation tells none, and nothing is said of it.
    silent = {name: member for name, member in of_images.items() if not name.startswith("expected_error")}
    earlier = Quote(document={**silent, **told})
    assert earlier.expected_error is None
    assert not any("error of counts" in line for line in quote_lines(earlier))
