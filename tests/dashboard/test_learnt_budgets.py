"""Pages of a dataset whose categories are learnt say what is left as its orders find it, and what is short when it is refused."""

import re
from collections.abc import Callable

from service.wording import domain_text
from tests.dashboard.visitor import Visitor
from tests.service.test_learnt_domains import DOMAIN, ROWS
from tests.service.world import World

BOTH = "Rényi and basic privacy filters; the one with more budget left applies"
BASIC_ONLY = "basic (sum of epsilons) now; a job that learns categories has no Rényi divergence"


def _words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def _ready(world: World) -> str:
    dataset_id = world.declare(domain=DOMAIN)
    assert world.upload(dataset_id, ROWS).status_code == 201
    assert (
        world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 1.5, "delta": 1e-5}).status_code
        == 200
    )
    return dataset_id


def test_who_decides_sees_what_the_order_will_leave(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = _ready(world)
    owner, analyst = sign_in("owner"), sign_in("analyst")
    filed = world.analyst.post(
        f"/v1/datasets/{dataset_id}/budget-requests", {"epsilon": 1.0, "delta": 1.25e-6, "purpose": "a study"}
    ).json()
    page = _words(owner.page(f"/requests/{filed['id']}"))
    assert "Available afterwards 0.5 at least, if one job spends it with half of the delta" in page
    assert "learns categories: its epsilon and those of all other jobs add up" in page
    assert f"{BOTH}, and only the basic one (sum of epsilons) once a job has learned categories" in _words(
        owner.page(f"/datasets/{dataset_id}/facts")
    )

    world.give(dataset_id, epsilon=1.0, delta=1.25e-6)
    row = _words(analyst.page(f"/datasets/{dataset_id}").partition('aria-labelledby="typical"')[2])
    assert "ε 1 fits 0 0.5 ε 2 does not fit" in row
    assert world.order(dataset_id, options={}, delta=None).status_code == 202
    assert "Available now 0.5" in _words(owner.page(f"/requests/{filed['id']}"))
    assert BASIC_ONLY in _words(owner.page(f"/datasets/{dataset_id}/facts"))
    assert BASIC_ONLY in _words(world.owner.get(f"/v1/datasets/{dataset_id}/dossier").text)


def test_a_refusal_names_the_delta_that_is_short(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = _ready(world)
    world.give(dataset_id, epsilon=1.0, delta=1e-6)
    analyst = sign_in("analyst")
    short = "It would exceed what is left of your grant. It takes δ 6.25e-7, and δ 5e-7 is left for all jobs to come."
    sent = {"epsilon": "1", "delta": "6.25e-7", "synthesizer": "idpgan"}
    page = _words(analyst.send(f"/datasets/{dataset_id}/quote", **sent).text)
    assert short in page
    assert "ε 1 now, and δ 5e-7 for all jobs to come" in page
    fitted = _words(analyst.send(f"/datasets/{dataset_id}/quote", **sent | {"delta": ""}).text)
    assert "It fits." in fitted
    assert "δ 5e-7" in fitted
    assert re.search(
        r"Learnt categories rows of a category that fewer than about [0-9]+ units have are “other”", fitted
    )
    more = _words(analyst.send(f"/datasets/{dataset_id}/what-if", epsilon="1.2").text)
    assert "It takes ε 1.2, and ε 1 is left for one more job at the default δ." in more


def test_the_composition_is_shown_as_it_is_now() -> None:
    holds, over = {"holds": True, "used": "0"}, {"holds": False, "used": "3"}
    assert domain_text.composition("basic", [], DOMAIN) == "basic (sum of epsilons)"
    assert domain_text.composition("filters", [], {}) == BOTH
    assert (
        domain_text.composition("filters", [{"filter": "basic"} | holds, {"filter": "rdp-4"} | holds], {})
        == BOTH
    )
    assert domain_text.composition(
        "filters", [{"filter": "basic"} | holds, {"filter": "rdp-4"} | over], {}
    ).endswith("the Rényi filters have no budget left")
    assert domain_text.composition(
        "filters", [{"filter": "basic"} | over, {"filter": "rdp-4"} | holds], DOMAIN
    ).startswith("Rényi privacy filters now")
    unbounded = {"filter": "rdp-4", "holds": False, "used": "1000000000"}
    assert domain_text.composition("filters", [{"filter": "basic"} | holds, unbounded], DOMAIN) == BASIC_ONLY
