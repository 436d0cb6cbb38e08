import json

import pytest

from core.dp.accountant import rdp_at
from core.dp.charge import charge_of
from core.dp.filters import AdmissionRule, Cap
from core.plan.errors import InvalidPlan
from core.plan.options import ABLATIONS
from core.plan.quote import plan_charge
from core.plan.training_quote import TrainingQuote, make_quote
from tests.core.plan.shapes import Shape, plan_of


def cap(epsilon: float, delta: float = 1e-5) -> Cap:
    return Cap(epsilon=epsilon, delta=delta, rule=AdmissionRule.FILTERS)


def test_a_quote_says_everything_before_anything_runs():
    plan = plan_of(ABLATIONS["dpba+acts"])

    quote = make_quote(plan, cap(3.0), [], domain=Shape())

    assert quote.steps == plan.steps
    assert quote.sampling_rate == plan.sampling_rate
    assert [row.noise_multiplier for row in quote.noise] == [block.noise_multiplier for block in plan.blocks]
    assert all(row.with_histograms < row.noise_multiplier for row in quote.noise)
    assert quote.epsilon == plan.epsilons
    assert quote.plan_digest == plan.digest()


@pytest.mark.parametrize("options", [{}, {"critic": True}, {"anchor": False}])
@pytest.mark.parametrize("budget", [None, cap(3.0)])
def test_a_quote_is_what_its_document_says(options: dict[str, object], budget: Cap | None):
    quote = make_quote(plan_of(options), budget, [], domain=Shape())

    assert TrainingQuote.from_json(json.loads(json.dumps(quote.to_json(), allow_nan=False))) == quote
    with pytest.raises(InvalidPlan):
        TrainingQuote.from_json(quote.to_json() | {"learnt": None})


@pytest.mark.parametrize("options", [{}, {"critic": False}, {"anchor": False}, {"schedule": "step"}])
def test_the_shares_of_the_parts_add_up(options: dict[str, object]):
    plan = plan_of(options)

    split = make_quote(plan, cap(3.0), [], domain=Shape()).to_json()["split"]

    shares = {name: split[name]["share"] for name in ("label_histogram", "anchor", "critic")}
    assert sum(shares.values()) == pytest.approx(1.0)
    for name, share in shares.items():
        assert (share > 0) == (split[name]["noise_multiplier"] is not None)
    measured = rdp_at(plan.executed(0), (8,))[0] / rdp_at(plan.mechanism, (8,))[0]
    assert shares["label_histogram"] + shares["anchor"] == pytest.approx(measured)
    assert split["critic"]["asks"] == ("real" if shares["critic"] else "none")


def test_what_fits_leaves_less_and_what_does_not_leaves_all():
    plan = plan_of()

    fits = make_quote(plan, cap(2.0), [], domain=Shape())
    refused = make_quote(plan, cap(2.0), [plan_charge(plan)] * 3, domain=Shape())

    assert fits.fits
    assert fits.carried_by in fits.filters
    assert fits.filters[fits.carried_by].holds
    assert 0 < fits.remaining_epsilon_after < fits.remaining_epsilon
    assert not refused.fits
    assert refused.carried_by is None
    assert refused.remaining_epsilon_after == refused.remaining_epsilon


def test_without_a_budget_nothing_fits():
    quote = make_quote(plan_of(), None, [], domain=Shape())

    assert (quote.fits, quote.carried_by, quote.filters) == (False, None, {})
    assert quote.remaining_epsilon is quote.remaining_epsilon_after is None


def test_the_charge_is_the_plans():
    plan = plan_of()

    assert make_quote(plan, None, [], domain=Shape()).charge == charge_of(plan.mechanism, delta=1e-6)
    assert plan_charge(plan).epsilon_micros <= 10**6


def test_the_filters_are_stated_in_plain_units():
    filters = make_quote(plan_of(), cap(2.0, 1e-6), [], domain=Shape()).filters

    assert filters["basic"].capacity == 2.0
    assert filters["basic"].capacity_delta == 5e-7
    assert filters["rdp-4"].capacity == 0.0
