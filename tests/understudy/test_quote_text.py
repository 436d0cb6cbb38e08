"""What the command prints of a price before it asks whether to go on."""

from core.synthesis.quote import make_quote
from tests.core.synthesis.learnt import AGE, CODE, WARD, domain_of
from tests.core.synthesis.learnt import plan_of as learnt_plan
from tests.core.synthesis.test_image_plans import plan_of
from understudy.jobs.results import Quote
from understudy.quote_text import quote_lines


def lines_of(options: dict[str, object]) -> str:
    told = {"grant": None, "refusal": "budget-not-set"}
    document = {**make_quote(plan_of(options), None, []), **told}
    return "\n".join(quote_lines(Quote(document=document)))


def test_the_steps_of_a_critic_are_told_with_their_noise() -> None:
    told = lines_of({"critic": True, "steps": 9})
    assert "  9 noisy steps at sampling rate " in told
    assert " for 9 steps" in told


def test_where_there_is_no_critic_none_is_told_of() -> None:
    told = lines_of({"critic": False})
    assert "no critic: options of one have no effect" in told
    assert "noisy steps" not in told


def test_a_bound_on_the_records_of_a_unit_is_told_with_what_it_costs() -> None:
    document = {
        **make_quote(plan_of({"critic": False}), None, []),
        "grant": None,
        "refusal": "budget-not-set",
    }
    bounded = document | {"privacy_unit": {"column": "patient", "records": 8}}
    told = "of each 'patient' at most 8 records count, under 8 times the noise of one"
    assert told in "\n".join(quote_lines(Quote(document=bounded)))
    assert "records count" not in "\n".join(quote_lines(Quote(document=document)))


def test_what_is_learnt_of_the_domain_is_told_with_what_a_category_needs() -> None:
    plan = learnt_plan(domain_of(AGE, WARD, CODE))
    assert plan.learning is not None
    told = {"grant": None, "refusal": "budget-not-set"}
    lines = quote_lines(Quote(document={**make_quote(plan, None, []), **told}))

    assert any("learning 3%" in line for line in lines)
    (line,) = (line for line in lines if "learnt of the domain first" in line)
    assert "bins of 1 columns, categories of 2 columns" in line
    assert f"a category needs about {plan.learning.threshold:.0f} units" in line
    assert "delta 1.25e-07" in line
    bins_alone = make_quote(learnt_plan(domain_of(AGE)), None, [])
    assert (
        quote_lines(Quote(document={**bins_alone, **told}))[3]
        == "  learnt of the domain first: bins of 1 columns"
    )
