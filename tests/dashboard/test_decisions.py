"""What forms change: each is one operation of the API, with its rules, its roles and its line in the audit log."""

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

from fastapi.routing import iter_route_contexts

from core.platform.access.roles import Role
from tests.core.artifacts.stand_in import DOMAIN
from tests.dashboard.visitor import Visitor, enter, require_page
from tests.service.test_several_owners import neighbour
from tests.service.test_waiting_rows import MANY
from tests.service.world import CSV, World

NOBODY = "00000000-0000-4000-8000-000000000000"


def _actions(world: World) -> list[str]:
    return [event["action"] for event in world.admin.get("/v1/audit?outcome=done").json()["items"]]


def _key(world: World, **facts: str) -> dict[str, Any]:
    """The first key of the list of which these facts hold."""
    listed: list[dict[str, Any]] = world.admin.get("/v1/keys").json()["items"]
    return next(key for key in listed if facts.items() <= key.items())


def test_a_request_from_filing_to_the_grant(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.declare()
    admin, owner, analyst = sign_in("admin"), sign_in("owner"), sign_in("analyst")
    assert "The cap is set." in admin.follow(f"/datasets/{dataset_id}/budget", epsilon="2", delta="1e-5")
    filed = analyst.send(
        f"/datasets/{dataset_id}/requests", epsilon="0,5", delta="2e-6", purpose="the course"
    )
    place = filed.headers["location"].partition("?")[0]
    page = owner.page(place)
    assert "the course" in page
    assert "This request" in page
    once = re.search(r'name="once" value="([^"]+)"', page)
    assert once
    for _ in range(2):  # sent twice by accident: done once
        text = owner.follow(
            f"{place}/decide", decision="approve", epsilon="0.4", delta="2e-6", note="fine", once=once[1]
        )
        assert "the grant is created" in text
    grants = world.analyst.get(f"/v1/datasets/{dataset_id}/grants").json()["items"]
    assert [grant["epsilon"] for grant in grants] == [0.4]
    world.admin.put(f"/v1/principals/{world.owner.principal_id}", {"name": "Hospital registry"})
    world.admin.put(f"/v1/principals/{world.analyst.principal_id}", {"name": "Ada"})
    people = owner.page(f"/datasets/{dataset_id}/people")
    assert "0.4" in people
    for page in (admin.page("/requests"), admin.page(f"/datasets/{dataset_id}/people")):
        told = " ".join(re.sub(r"<[^>]+>", " ", page).split())
        assert re.search(
            r"Ada \w+ on [\d-]+ ε 0\.5 approved by Hospital registry \w+ on [\d-]+ Open", told
        ), "who asked and who decided"
    assert "revoked" in owner.follow(f"/grants/{grants[0]['id']}/revoke")
    assert _actions(world)[:1] == ["grant.revoke"]


def test_deny_withdraw_members_and_freeze(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.declare()
    world.set_budget(dataset_id)
    admin, owner, analyst = sign_in("admin"), sign_in("owner"), sign_in("analyst")
    asked = {"epsilon": "0.5", "delta": "1e-6", "purpose": "a"}
    place = analyst.send(f"/datasets/{dataset_id}/requests", **asked).headers["location"].partition("?")[0]
    assert owner.send(f"{place}/decide", decision="deny").status_code == 422, "a denial says why"
    assert "later, please" in owner.follow(f"{place}/decide", decision="deny", note="later, please")
    place = analyst.send(f"/datasets/{dataset_id}/requests", **asked).headers["location"].partition("?")[0]
    assert "withdrawn" in analyst.follow(f"{place}/withdraw")
    for epsilon in ("0.1", "0.2"):  # from forms without a key to be done once under: two decisions
        place = (
            analyst.send(f"/datasets/{dataset_id}/requests", **asked).headers["location"].partition("?")[0]
        )
        assert "the grant is created" in owner.follow(f"{place}/decide", decision="approve", epsilon=epsilon)

    other = world.caller(Role.ANALYST)
    people = f"/datasets/{dataset_id}/people"
    assert str(other.principal_id) in owner.follow(
        f"/datasets/{dataset_id}/members", principal_id=f" {other.principal_id} "
    )
    assert owner.send(f"/datasets/{dataset_id}/members", principal_id="somebody").status_code == 422
    assert enter(world, other).get(people).status_code == 200
    assert str(other.principal_id) not in owner.follow(
        f"/datasets/{dataset_id}/members/{other.principal_id}/remove"
    )
    assert enter(world, other).get(people).status_code == 404

    assert "Frozen since" in owner.follow(f"/datasets/{dataset_id}/freeze", reason="a look")
    assert owner.send(f"/datasets/{dataset_id}/unfreeze", reason="no").status_code == 403
    assert "Frozen since" not in admin.follow(f"/datasets/{dataset_id}/unfreeze", reason="all is well")


def test_a_job_from_its_price_to_its_end(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    priced = analyst.send(f"/datasets/{dataset_id}/quote", headers={"HX-Request": "true"}, epsilon="0.5")
    assert priced.status_code == 200
    assert "<html" not in priced.text
    assert "It fits." in priced.text
    assert "Expected error of counts" in priced.text
    assert "of the rows in a wrong cell" in priced.text
    assert world.movements(dataset_id) == [], "a price reserves nothing"
    once = re.search(r'name="once" value="([^"]+)"', priced.text)
    assert once
    first = analyst.send(f"/datasets/{dataset_id}/jobs", epsilon="0.5", once=once[1]).headers["location"]
    assert (
        analyst.send(f"/datasets/{dataset_id}/jobs", epsilon="0.5", once=once[1]).headers["location"] == first
    )
    assert len(world.movements(dataset_id)) == 1
    job = first.partition("?")[0]
    live = analyst.get(job, **{"HX-Request": "true"})
    assert "<html" not in live.text
    assert "hx-refresh" not in live.headers
    assert "cancelled" in analyst.follow(f"{job}/cancel")
    assert analyst.get(job, **{"HX-Request": "true"}).headers["hx-refresh"] == "true"
    assert "succeeded" not in analyst.page("/jobs")


def test_a_price_says_why_no_error_of_counts_is_known(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    alone = analyst.send(
        f"/datasets/{dataset_id}/quote", headers={"HX-Request": "true"}, epsilon="0.5", options="anchor=false"
    )
    assert alone.status_code == 200
    assert "training with a critic alone counts nothing" in alone.text
    assert "wrong cell" not in alone.text


def test_what_if_in_part_and_in_whole(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    owner = sign_in("owner")
    part = owner.send(f"/datasets/{dataset_id}/what-if", headers={"HX-Request": "true"}, epsilon="0.5")
    assert "It fits." in part.text
    assert "<html" not in part.text
    whole = owner.send(f"/datasets/{dataset_id}/what-if", epsilon="3")
    assert "<html" in whole.text
    assert "exceed the cap" in whole.text
    wrong = owner.send(f"/datasets/{dataset_id}/what-if", headers={"HX-Request": "true"}, epsilon="much")
    assert wrong.status_code == 422
    assert (wrong.headers["hx-retarget"], "<html" in wrong.text, "form-invalid" in wrong.text) == (
        "#notice",
        False,
        True,
    )
    assert "much" not in wrong.text


def test_keys_are_shown_once(world: World, sign_in: Callable[..., Visitor]) -> None:
    admin = sign_in("admin")
    made = admin.client.post(
        "/keys",
        data={"csrf_token": admin.token(), "name": "research", "roles": ["admin"]},
        headers={"Sec-Fetch-Site": "same-origin", "Accept": "text/html"},
    )
    secret = re.search(r"us_[0-9a-f]{8}_[\w-]+", made.text)
    assert secret
    assert made.headers["cache-control"] == "no-store"
    assert world.client.get("/v1/session", headers={"Authorization": f"Bearer {secret[0]}"}).json()[
        "roles"
    ] == ["admin"]
    listed = admin.page("/keys")
    assert "research" in listed
    assert secret[0] not in listed
    key_id = _key(world, name="research")["id"]
    assert "key-not-found" in admin.send(f"/keys/{key_id}/rotate").text, "only the key in use"
    signed_in = _key(world, prefix=world.admin.key[3:11])["id"]
    assert "Old key" in admin.send(f"/keys/{signed_in}/rotate").text
    before = admin.page(f"/keys/{key_id}/revoke")
    assert "Revoke key “research”" in before
    assert "Revoking it ends your session" not in before
    assert _key(world, id=key_id)["revoked_at"] is None, "looking revokes nothing"
    assert "revoked" in admin.follow(f"/keys/{key_id}/revoke")
    assert _key(world, id=key_id)["revoked_at"]
    assert "was already revoked" in admin.page(f"/keys/{key_id}/revoke")
    mine = signed_in
    assert "Revoking it ends your session" in admin.page(f"/keys/{mine}/revoke")
    assert "key-not-found" in admin.page(f"/keys/{NOBODY}/revoke", 404)
    assert "key-not-found" in sign_in("owner").page(f"/keys/{mine}/revoke", 404)
    assert "key-beyond-maker" in admin.send("/keys", name="more", roles="owner").text
    assert admin.send("/keys", name="no role").status_code == 422


def test_a_draft_is_declared_once_its_values_are_confirmed(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    owner = sign_in("owner")
    ward, *others = DOMAIN["columns"]  # type: ignore[misc]
    draft = json.dumps({**DOMAIN, "columns": [{**ward, "_from_data": ["categories"]}, *others]})
    facts = {"name": "wards", "declared_size": "1000", "domain": draft}
    looked = owner.send("/datasets/review", **facts)
    assert looked.status_code == 200
    assert "<mark>" in looked.text
    assert "moved to the nearest bound" in looked.text
    assert owner.send("/datasets", **facts).status_code == 422
    assert owner.send("/datasets/review", **{**facts, "domain": "[1]"}).status_code == 422
    assert "as formulas" not in looked.text
    risky = json.dumps({**DOMAIN, "columns": [{**ward, "categories": ["=A", "B"]}, *others]})
    warned = owner.send("/datasets/review", **{**facts, "domain": risky}).text
    assert "Spreadsheets may run some names or values as formulas" in warned
    assert "at /columns/0 of the document" in warned
    assert "The dataset is declared" in owner.follow("/datasets", **facts, confirmed="0")
    dataset = world.owner.get("/v1/datasets").json()["items"][0]
    assert (dataset["name"], dataset["declared_size"]) == ("wards", 1000)
    assert "_from_data" not in json.dumps(dataset)
    token = owner.token()
    sent = owner.client.post(
        f"/v1/datasets/{dataset['id']}/rows",
        content=CSV,
        headers={"Content-Type": "text/csv", "X-CSRF-Token": token, "Sec-Fetch-Site": "same-origin"},
    )
    assert sent.status_code == 201, sent.text
    facts_page = owner.page(f"/datasets/{dataset['id']}/facts")
    assert "Private: this report counts rows." in facts_page
    assert "No values were changed or refused." in facts_page
    assert "Private: this report counts rows." not in sign_in("admin").page(
        f"/datasets/{dataset['id']}/facts"
    )


def test_rules_between_columns_are_declared_and_shown(world: World, sign_in: Callable[..., Visitor]) -> None:
    owner = sign_in("owner")
    rule = {"kind": "impossible", "columns": ["ward", "age"], "combinations": [["A", {"to": 17}]]}
    facts = {"name": "wards", "declared_size": "1000", "domain": json.dumps({**DOMAIN, "rules": [rule]})}
    said = "impossible combinations of ward, age: 1 declared"
    assert said in owner.send("/datasets/review", **facts).text
    assert "The dataset is declared" in owner.follow("/datasets", **facts, confirmed="0")
    dataset = world.owner.get("/v1/datasets").json()["items"][0]
    assert dataset["domain"]["rules"] == [rule]
    assert said in owner.page(f"/datasets/{dataset['id']}/facts")
    paper = world.owner.get(f"/v1/datasets/{dataset['id']}/dossier", params={"format": "html"})
    assert said in paper.text
    wrong = {**facts, "domain": json.dumps({**DOMAIN, "rules": [{**rule, "columns": ["ward", "nobody"]}]})}
    refused = owner.send("/datasets/review", **wrong)
    assert refused.status_code == 422
    assert "No modelled column has this name: &#39;nobody&#39;." in refused.text


def test_no_form_works_without_its_token(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.declare()
    everything = sign_in("owner", "analyst", "admin")
    paths = {
        route.path
        for route in iter_route_contexts(world.app.routes)
        if route.methods and "POST" in route.methods
    }
    forms = sorted(
        path
        for path in paths
        if not path.startswith("/v1") and path not in {"/sign-in", "/sign-in/link", "/enrol"}
    )
    assert len(forms) > 15
    before = len(_actions(world))
    for path, field in product(forms, ("", "wrong")):
        place = re.sub(r"{dataset_id}", dataset_id, path)
        answer = everything.client.post(
            re.sub(r"{\w+}", NOBODY, place),
            data={"csrf_token": field, "reason": "a", "name": "a", "epsilon": "1", "delta": "1e-6"},
            headers={"Sec-Fetch-Site": "same-origin", "Accept": "text/html"},
        )
        assert (answer.status_code, "csrf-refused" in answer.text) == (403, True), path
    assert len(_actions(world)) == before
    assert everything.send("/sign-out", headers={"Content-Type": "text/plain"}).status_code == 400


def test_a_selection_shows_both_prices_and_is_ordered_as_priced(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    assert "weight_clusters" in analyst.page(f"/datasets/{dataset_id}/order")
    wanted = {
        "epsilon": "0.5", "candidates": "rules\nsteps=40,critic_width=16", "selection_epsilon": "0.3", "choice_epsilon": "0,1",
    }  # fmt: skip
    priced = analyst.send(f"/datasets/{dataset_id}/quote", headers={"HX-Request": "true"}, **wanted)
    assert priced.status_code == 200, priced.text
    assert all(words in priced.text for words in ("Selection", "Training the winner", "critic_width 16"))
    once = re.search(r'name="once" value="([^"]+)"', priced.text)
    assert once
    sent = dict(re.findall(r'name="(\w+)" value="([^"]*)"', priced.text))
    assert {name: sent[name] for name in wanted} == wanted, "the button carries what was priced"
    placed = analyst.send(f"/datasets/{dataset_id}/jobs", once=once[1], **wanted)
    assert placed.status_code == 303, placed.text
    assert float(world.movements(dataset_id)[0]["epsilon"]) > 0.6, "selecting and training together"
    for wrong in ({"choice_epsilon": None}, {"candidates": "steps"}, {"candidates": "rules\nrules"},
                  {"options": "steps=40"}, {"candidates": "steps=[1]\nrules"}):  # fmt: skip
        refused = analyst.send(f"/datasets/{dataset_id}/quote", **{**wanted, **wrong})
        assert refused.status_code in {409, 422}, (wrong, refused.text)
        require_page(refused)


def test_a_private_model_is_priced_and_ordered(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    assert "accuracy_share" in analyst.page(f"/datasets/{dataset_id}/order")
    wanted = {"epsilon": "0.5", "kind": "model", "options": "steps=40\naccuracy_share=0.1"}
    priced = analyst.send(f"/datasets/{dataset_id}/quote", headers={"HX-Request": "true"}, **wanted)
    assert priced.status_code == 200, priced.text
    assert all(
        words in priced.text
        for words in ("2 classes, by a linear layer", "held-out units", "Order private model")
    )
    once = re.search(r'name="once" value="([^"]+)"', priced.text)
    assert once
    placed = analyst.send(f"/datasets/{dataset_id}/jobs", once=once[1], **wanted)
    assert placed.status_code == 303, placed.text
    assert "Noisy steps" in priced.text
    for wrong in (
        {"options": "ema_decay=0.5"},
        {"candidates": "rules\nsteps=4", "selection_epsilon": "1", "choice_epsilon": "1"},
    ):
        refused = analyst.send(f"/datasets/{dataset_id}/quote", **{**wanted, **wrong})
        assert refused.status_code == 422, (wrong, refused.text)
        require_page(refused)


def test_a_model_over_two_owners_is_priced_and_ordered(world: World, sign_in: Callable[..., Visitor]) -> None:
    mine, theirs = world.ready(), neighbour(world)
    world.admin.put(f"/v1/datasets/{theirs}/budget", {"epsilon": 2.0, "delta": 1e-5, "reason": "agreed"})
    analyst = sign_in("analyst")
    assert f'name="further" value="{theirs}"' in analyst.page(f"/datasets/{mine}/order")
    wanted = {"epsilon": "0.5", "delta": "1e-6", "kind": "model", "options": "steps=40", "further": theirs}
    refused = analyst.send(f"/datasets/{mine}/quote", **wanted).text
    assert "It does not fit." in refused
    assert "Order private model" not in refused
    world.give(theirs)
    priced = analyst.send(f"/datasets/{mine}/quote", **wanted).text
    assert f'name="further" value="{theirs}"' in priced
    assert "<td>elsewhere</td><td>fits</td>" in priced
    placed = analyst.send(f"/datasets/{mine}/jobs", **wanted)
    assert placed.status_code == 303, placed.text
    job = world.analyst.get("/v1/jobs").json()["items"][0]
    assert set(job["dataset_ids"]) == {mine, theirs}
    for page in (analyst.page(f"/jobs/{job['id']}"), analyst.page("/jobs")):
        assert f'<a href="/datasets/{mine}">' in page
        assert f'<a href="/datasets/{theirs}">elsewhere</a>' in page
    seen = enter(world, world.stranger).page(f"/jobs/{job['id']}")
    assert f'<a href="/datasets/{theirs}">elsewhere</a>' in seen
    assert f'<code title="{mine}">' in seen, "the owner of one dataset has no access to the other"
    generator = {"kind": "generator", "options": ""}
    assert analyst.send(f"/datasets/{mine}/quote", **wanted | generator).status_code == 200
    for wrong in (generator | {"options": "critic=true"}, {"further": "theirs"}):
        answer = analyst.send(f"/datasets/{mine}/quote", **{**wanted, **wrong})
        assert answer.status_code == 422, (wrong, answer.text)
        require_page(answer)


def test_options_of_the_synthesizer(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    analyst = sign_in("analyst")
    wanted = {"epsilon": "0.5", "options": "steps=40\nschedule=exponential\n"}
    priced = analyst.send(f"/datasets/{dataset_id}/quote", **wanted)
    assert "steps 40, schedule exponential" in priced.text
    alone = analyst.send(f"/datasets/{dataset_id}/quote", **wanted, profile="idpgan")
    assert "schedule exponential, profile idpgan" in alone.text
    assert "critic 100 % (asks real)" in alone.text or "anchor 0 %" in alone.text
    assert 'name="profile" value="idpgan"' in alone.text, "and the button orders what was priced"
    assert analyst.send(f"/datasets/{dataset_id}/jobs", **wanted, profile="auto").status_code == 303
    for wrong in ("steps", "steps=1\nsteps=2", "stairs=7", "steps=NaN", "steps=1e999", "=1", "steps=many"):
        refused = analyst.send(f"/datasets/{dataset_id}/quote", **{**wanted, "options": wrong})
        assert refused.status_code == 422, (wrong, refused.text)


def test_a_dataset_is_deleted_by_typing_its_name(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready(name="wards of 2020")
    owner, place = sign_in("owner"), f"/datasets/{dataset_id}/delete"
    assert "Type the name" in owner.page(place)
    assert f'href="{place}"' in owner.page(f"/datasets/{dataset_id}/facts")
    for role, status in (("analyst", 403), ("auditor", 403), ("stranger", 404)):
        assert sign_in(role).send(place, typed_name="wards of 2020").status_code == status, role
    for typed in ("wards", "Wards of 2020", None):
        assert owner.send(place, typed_name=typed).status_code == 422
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "ready"
    assert "dataset.delete" not in _actions(world)
    assert "tombstone" in owner.follow(place, typed_name=" wards of 2020 ")
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "deleted"
    assert _actions(world)[0] == "dataset.delete"
    assert "already deleted" in owner.page(place)
    assert "Order a generator" not in sign_in("analyst").page(f"/datasets/{dataset_id}")
    other = world.declare(name="second")
    assert sign_in("admin").send(f"/datasets/{other}/delete", typed_name="second").status_code == 303


def test_a_person_is_created_and_enrols(world: World, sign_in: Callable[..., Visitor]) -> None:
    admin, owner = sign_in("admin"), sign_in("owner")
    made = admin.send("/people", name="Ada <b>", roles="owner")
    token = re.search(r"ue_[0-9a-f]{8}_[\w-]+", made.text)
    assert token
    assert made.headers["cache-control"] == "no-store"
    assert "Ada &lt;b&gt;" in admin.page("/people")
    assert token[0] not in admin.page("/people")
    assert owner.send("/people", name="Eve", roles="owner").status_code == 403
    nobody = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    assert "Enrolment token" in world.client.get("/enrol", headers=nobody).text
    fields = {"token": token[0], "name": "laptop"}
    cross = world.client.post("/enrol", data=fields, headers=nobody | {"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 403
    shown = world.client.post("/enrol", data=fields, headers=nobody)
    key = re.search(r"us_[0-9a-f]{8}_[\w-]+", shown.text)
    assert key
    assert world.client.get("/v1/session", headers={"Authorization": f"Bearer {key[0]}"}).json()["roles"] == [
        "owner"
    ]
    again = world.client.post("/enrol", data=fields, headers=nobody)
    assert again.status_code == 401
    assert "enrolment-refused" in again.text
    assert token[0] not in again.text


def test_a_recovery_is_shown_to_the_person_who_can_cancel_it(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    admin, owner = sign_in("admin"), sign_in("owner")
    assert "in your name" not in owner.page("/overview")
    made = admin.send(f"/people/{world.owner.principal_id}/enrolments")
    assert "The person has had keys before" in made.text
    token = re.search(r"ue_[0-9a-f]{8}_[\w-]+", made.text)
    assert token
    assert "Someone can create keys in your name" in owner.page("/overview")
    shown = world.client.post(
        "/enrol",
        data={"token": token[0], "name": "laptop"},
        headers={"Sec-Fetch-Site": "same-origin", "Accept": "text/html"},
    )
    assert "stay locked until" in shown.text
    # On every page: what is shut is left out, and a page that only lacks it would look as if it were not there.
    again = sign_in("owner")
    assert all("On hold until" in again.page(path) for path in ("/overview", "/releases"))
    assert "On hold until" not in admin.page("/overview")
    assert "Someone can create keys in your name" in owner.page("/overview")
    (place,) = re.findall(r"/enrolments/[0-9a-f-]{36}/cancel", owner.page("/keys"))
    assert "Keys created with it are revoked" in owner.follow(place)
    assert "in your name" not in owner.page("/overview")
    assert "On hold until" not in sign_in("owner").page("/overview")


def test_everybody_finds_their_keys_and_whoever_reads_people_the_people(
    sign_in: Callable[..., Visitor],
) -> None:
    for role in ("owner", "analyst", "admin", "auditor"):
        first = sign_in(role).page("/overview")
        assert '<li><a href="/keys">Keys</a></li>' in first
        assert ('<li><a href="/people">People</a></li>' in first) == (role in {"admin", "auditor"})


def test_waiting_rows_are_shown_on_their_datasets_first_page_to_the_owner_alone(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id = world.declare()
    path = f"/datasets/{dataset_id}"
    others = {role: sign_in(role) for role in ("analyst", "admin", "auditor")}
    before = {role: visitor.page(path) for role, visitor in others.items()}
    assert world.upload(dataset_id, MANY).json()["waiting"]
    assert "Rows awaiting your decision" in sign_in("owner").page(path)
    assert {role: visitor.page(path) for role, visitor in others.items()} == before


def test_principals_have_names_beside_their_ids(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    admin, owner, analyst = sign_in("admin"), sign_in("owner"), sign_in("analyst")
    who = str(world.analyst.principal_id)
    assert "Ada &lt;b&gt;" in admin.follow("/keys/names", principal_id=who, called="Ada <b>")
    assert admin.send("/keys/names", principal_id=who, called="a\u202eb").status_code == 422
    assert owner.send("/keys/names", principal_id=who, called="me").status_code == 403
    asked = analyst.send(
        f"/datasets/{dataset_id}/requests", epsilon="0.5", delta="1e-6", purpose="the course"
    ).headers["location"]
    for path in (
        "/overview",
        "/requests",
        asked,
        f"/datasets/{dataset_id}",
        f"/datasets/{dataset_id}/people",
    ):
        text = owner.page(path)
        assert "Ada &lt;b&gt;" in text, path
        assert who[:8] in text, "beside the id, not instead of it"
    assert "Ada &lt;b&gt;" in admin.page("/audit?action=budget-request.file")
    assert "Ada" not in analyst.page(f"/datasets/{dataset_id}/people"), "to oneself it is “you”"
