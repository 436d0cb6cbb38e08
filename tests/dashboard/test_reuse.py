"""Counts on the pages: which a price buys, which are there before a budget is asked for, and in a certificate's words."""

from collections.abc import Callable

import pytest

from core.plan.plan import Plan
from service.wording.certificate_text import in_words
from tests.core.artifacts.stand_in import DOMAIN
from tests.dashboard.visitor import Visitor
from tests.service.test_reuse import COUNTED, certified, plan_of, publish
from tests.service.world import World

OPTIONS = {"epsilon": "1", "delta": "1e-6", "options": "critic=false"}


@pytest.fixture
def dataset_id(world: World) -> str:
    dataset_id = world.ready()
    world.set_budget(dataset_id, epsilon=20.0)
    return dataset_id


@pytest.mark.parametrize("place", ["people", "order"])
def test_what_releases_already_answer_is_shown_where_a_budget_is_asked_for(
    world: World, sign_in: Callable[..., Visitor], dataset_id: str, place: str
) -> None:
    analyst = sign_in("analyst")
    assert "Counts already released" not in analyst.page(f"/datasets/{dataset_id}/{place}")
    release_id = publish(world, dataset_id, certified(8.0))
    publish(world, dataset_id, certified(share=0.05))
    page = analyst.page(f"/datasets/{dataset_id}/{place}")
    for words in (
        "Counts already released",
        f"/releases/{release_id}#asked",
        "4 columns, 6 pairs, each by sick",
        "4 columns, chosen pairs<",
    ):
        assert words in page, words


def test_a_price_says_what_earlier_counts_are_worth_and_a_box_leaves_them_out(
    world: World, sign_in: Callable[..., Visitor], dataset_id: str
) -> None:
    publish(world, dataset_id)
    analyst = sign_in("analyst")
    path = f"/datasets/{dataset_id}"
    priced = analyst.send(f"{path}/quote", **OPTIONS).text
    assert "reused from 1 release at no cost: equivalent to spending ε 1.4" in priced
    fresh = analyst.send(f"{path}/quote", **OPTIONS, fresh="true").text
    assert "Earlier counts" not in fresh
    assert 'name="fresh" value="true"' in fresh, "the order that follows leaves them out, too"


def test_a_certificate_names_what_was_reused(world: World, dataset_id: str) -> None:
    release_id = publish(world, dataset_id)
    plan = plan_of(world, world.order(dataset_id, options=COUNTED).json()["id"])
    told = [
        line
        for line in in_words({"plan": plan.to_json()})
        if "combined with those of 1 earlier release" in line
    ]
    assert len(told) == 1
    assert release_id in told[0]
    promised = {"privacy_parameters": plan.guarantee.to_json()}
    assert not any(
        "the generator and for everything" in line for line in in_words(promised | {"plan": plan.to_json()})
    )
    assert any("the generator and for everything" in line for line in in_words(promised))
    assert not any("combined" in line for line in in_words({"plan": Plan.to_json(plan) | {"reused": []}}))


def test_a_price_says_that_all_combinations_of_codes_are_counted(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    def counted(columns: int) -> str:
        answers = [
            {"name": f"answer {number}", "kind": "boolean", "true": "yes", "false": "no"}
            for number in range(columns)
        ]
        domain = {**DOMAIN, "target": "answer 0", "columns": answers}
        dataset_id = world.declare(domain=domain)
        world.set_budget(dataset_id)
        page = sign_in("analyst").send(f"/datasets/{dataset_id}/quote", epsilon="0.5").text
        return page.partition("Measured: ")[2].partition("</p>")[0]

    assert counted(4) == "4 columns and all combinations of their codes."
    assert "tables of groups" in counted(12)
