"""Grants over all datasets, what a request would leave, and the audit trail of one, as pages; and how a utility report is drawn and paid for."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest

from core.platform.access.roles import Role

# private: the scale of an axis shows in a picture only
from service.dashboard.utility_report_pages import _scale
from service.wording.labels import ACTIONS, action
from tests.dashboard.visitor import Visitor, enter
from tests.service.utility_reports import name_generator
from tests.service.world import CSV, World
from understudy.publishing.order import smallest_budget


def test_grants_are_found_looked_at_and_revoked(world: World, sign_in: Callable[..., Visitor]) -> None:
    admin, owner, analyst = sign_in("admin"), sign_in("owner"), sign_in("analyst")
    for visitor in (admin, owner, analyst):
        assert "No grants yet." in visitor.page("/grants")
    dataset_id = world.ready(name="Wards <b>1</b>")
    other = world.caller(Role.ANALYST)
    world.admit(dataset_id, other)
    theirs = world.give(dataset_id, other, epsilon=0.75)
    (mine,) = world.analyst.get("/v1/grants", params={"state": "open"}).json()["items"]
    page = admin.page("/grants")
    assert "Wards &lt;b&gt;1&lt;/b&gt;" in page
    assert f"/grants/{theirs}" in page
    assert page.count("Revoke …") == 2
    found = admin.page(f"/grants?dataset={dataset_id}&holder={other.principal_id}&state=open")
    assert f"/grants/{theirs}" in found
    assert f"/grants/{mine['id']}" not in found
    assert "No matching grants." in admin.page("/grants?state=expired")
    assert admin.get("/grants?holder=somebody").status_code == 422
    assert f"/grants/{theirs}" not in analyst.page("/grants")
    assert "Revoke" not in analyst.page(f"/grants/{mine['id']}")
    assert analyst.get(f"/grants/{theirs}").status_code == 404
    assert sign_in("stranger").get(f"/grants/{theirs}").status_code == 404
    assert "Revoke" not in sign_in("auditor").page(f"/grants/{theirs}")
    # Who holds it, and is an owner of other datasets only, does not revoke it.
    both = enter(world, world.caller(Role.ANALYST, Role.OWNER, principal_id=other.principal_id))
    assert "Revoke" not in both.page(f"/grants/{theirs}")
    assert both.send(f"/grants/{theirs}/revoke").status_code == 404
    assert analyst.send(f"/grants/{theirs}/revoke").status_code == 403
    assert "Spent budget stays spent" in owner.page(f"/grants/{theirs}")
    page = owner.follow(f"/grants/{theirs}/revoke")
    assert "The grant is revoked." in page
    assert "Spent budget stays spent" not in page


def test_a_request_shows_what_its_job_would_leave(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    world.set_budget(dataset_id, epsilon=1.1, delta=2.4e-6)
    assert world.order(dataset_id, epsilon=1.0, delta=1e-6).status_code == 202
    owner, analyst = sign_in("owner"), sign_in("analyst")
    shown = []
    for delta in ("3e-7", "6e-7"):
        asked = {"epsilon": "0.1", "delta": delta, "purpose": "a second study"}
        place = (
            analyst.send(f"/datasets/{dataset_id}/requests", **asked).headers["location"].partition("?")[0]
        )
        page = owner.page(place)
        shown.append(("would not fit" in page, "Available afterwards" in page))
        assert ("does not fit" in owner.page("/overview")) is ("would not fit" in page)
        analyst.follow(f"{place}/withdraw")
    assert shown == [(False, True), (True, False)]


def test_an_owner_reads_the_trail_of_a_dataset_in_words(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id = world.release()
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    assert world.analyst.delete(f"/v1/datasets/{dataset_id}").status_code == 403
    page = sign_in("owner").page(f"/datasets/{dataset_id}/trail")
    for words in (
        "declared the dataset",
        "stored the rows",
        "set the cap",
        "ordered a job",
        "role-missing",
        "tried to delete dataset",
    ):
        assert words in page, words
    assert 'href="/audit"' not in page
    log = sign_in("auditor").page("/audit")
    for words in ("<span>ordered a job<br><code>job.order</code>", '<option value="job.order">ordered a job</option>',
                  f'<option value="{dataset_id}">', '<option value="role-missing">refused</option>'):  # fmt: skip
        assert words in log, words
    assert 'href="/audit"' in sign_in("auditor").page(f"/datasets/{dataset_id}/trail")
    assert sign_in("analyst").get(f"/datasets/{dataset_id}/trail").status_code == 403
    assert sign_in("stranger").get(f"/datasets/{dataset_id}/trail").status_code == 404
    assert action("create_job") == "tried to create job"
    assert all("." in action for action in ACTIONS)


def test_who_holds_several_grants_says_which_one_pays_for_a_report(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id = world.release()
    name_generator(world, release_id)
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    analyst = sign_in("analyst")
    path = f"/releases/{release_id}"
    assert "Grant to charge" not in analyst.page(path)
    second = world.give(dataset_id, epsilon=0.5)
    assert "Grant to charge" in analyst.page(path)
    assert "choose the one to charge" in analyst.send(f"{path}/charged-report/quote", epsilon="0.1").text
    priced = analyst.send(f"{path}/charged-report/quote", epsilon="0.1", grant_id=second).text
    assert "It fits." in priced
    assert f'name="grant_id" value="{second}"' in priced
    analyst.follow(f"{path}/charged-report", epsilon="0.1", grant_id=second)
    assert world.movements(dataset_id)[-1]["grant_id"] == second


def test_errors_are_drawn_on_a_scale_that_they_fit_on() -> None:
    one = {"estimate": 0.01, "low": 0.0, "high": 0.06, "by_chance": 0.01}
    assert _scale([one, None]) == 0.1
    assert _scale([one, {**one, "by_chance": 0.3}]) == 0.5
    assert _scale([{**one, "high": 1.4}]) == 1.0


@pytest.mark.parametrize("epsilon", [1.0, 0.25])
@pytest.mark.parametrize("cap", [1e-6, 2e-5])
def test_a_request_with_an_empty_delta_asks_for_the_share_of_its_epsilon(
    world: World, sign_in: Callable[..., Visitor], cap: float, epsilon: float
) -> None:
    """It is enough for one order of all of its epsilon: of the default delta, or of half of the grant's."""
    dataset_id, analyst = world.declare(), sign_in("analyst")

    def field() -> str:
        page = analyst.page(f"/datasets/{dataset_id}/people")
        found = re.search(r'<input id="delta" name="delta" type="text" value=""[^>]*>', page)
        assert found
        return found[0]

    assert " required" in field(), "no cap to derive it from"
    assert world.upload(dataset_id, CSV).status_code == 201
    terms = {"epsilon": 1.0, "delta": cap, "reason": "a test"}
    assert world.admin.put(f"/v1/datasets/{dataset_id}/budget", terms).status_code == 200
    assert " required" not in field()
    place = analyst.send(
        f"/datasets/{dataset_id}/requests", epsilon=str(epsilon), delta="", purpose="one"
    ).headers["location"]
    request_id = place.partition("?")[0].rpartition("/")[2]
    path = f"/v1/budget-requests/{request_id}/approve"
    approved = world.owner.post(path, {"note": "fine"}, headers={"Idempotency-Key": str(uuid4())})
    assert approved.status_code == 200, approved.text
    share = epsilon * cap
    assert approved.json()["grant"]["delta"] == pytest.approx(share)
    assert smallest_budget(epsilon, share / 2) == pytest.approx((epsilon, share)), (
        "as `understudy publish` asks"
    )
    for named, wanted in (({}, min(cap / 16, share / 2)), ({"delta": share / 2}, share / 2)):
        order = {"dataset_id": dataset_id, "epsilon": epsilon, **named}
        quote = world.analyst.post("/v1/quotes", order).json()
        assert quote["fits"], quote
        assert quote["guarantee"]["delta"] >= wanted * (1 - 1e-9)
