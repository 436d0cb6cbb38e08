"""Federations and jobs of several owners as pages: who is waited for, what each ledger is charged, and who sees it."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from core.db.tables import JobMember
from core.platform.access.roles import Role
from tests.dashboard.visitor import Visitor, enter
from tests.service.test_federations import COUNTED, ORDER, BoardOf, joined
from tests.service.test_several_owners import neighbour, order_of
from tests.service.world import World


def _created(world: World, **changes: Any) -> BoardOf:
    return BoardOf(world, world.analyst.post("/v1/federations", ORDER | changes).json())


def _states(page: str) -> list[str]:
    """The labels of states on a page, in order."""
    return [part.split(">")[1].split("<")[0] for part in page.split('class="state ')[1:]]


def test_the_page_of_a_federation_names_who_is_waited_for(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    analyst = sign_in("analyst")
    assert "You have not created a federation." in analyst.page("/federations")
    board = _created(world, name="Wards <b>together</b>")
    path = f"/federations/{board.made['id']}"
    page = analyst.page(path)
    assert "Wards &lt;b&gt;together&lt;/b&gt;" in page
    assert "No member has handed in a state yet." in page
    assert _states(page) == ["open", "not joined", "not joined"]
    board.put("north", 0, b"n0")
    page = analyst.page(path)
    assert "waits for <strong>south</strong>" in page
    assert _states(page) == ["open", "handed in", "not joined"]
    listed = analyst.page("/federations")
    assert f'href="{path}"' in listed
    assert "0 of 2" in listed
    board.put("south", 0, b"s0")
    board.put("south", 1, b"s1")
    assert _states(analyst.page(path)) == ["open", "waited for", "handed in"]
    fragment = analyst.get(path, **{"hx-request": "true"})
    assert "<h1>" not in fragment.text
    assert "hx-refresh" not in fragment.headers
    board.put("north", 1, b"n1")
    assert analyst.get(path, **{"hx-request": "true"}).headers["hx-refresh"] == "true"
    page = analyst.page(path)
    assert _states(page) == ["finished", "finished", "finished"]
    assert "Each member has the model in its own service" in page
    assert "End the federation" not in page
    for shown in (page, listed):
        assert not any(token in shown for token in board.made["tokens"].values()), "shown once, at creation"


def test_a_federation_that_failed_names_the_member_that_was_late(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    board = _created(world)
    board.put("north", 0, b"n0")
    world.clock.at += timedelta(seconds=3601)
    analyst = sign_in("analyst")
    assert "south: missed the deadline" in analyst.page("/federations")
    page = analyst.page(f"/federations/{board.made['id']}")
    assert _states(page) == ["failed", "stopped", "missed the deadline"]
    assert "Round 1 was not complete at its deadline." in page


def test_only_who_created_a_federation_sees_and_ends_it(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    board = _created(world)
    path = f"/federations/{board.made['id']}"
    for visitor in (enter(world, world.caller(Role.ANALYST)), sign_in("owner", "analyst")):
        assert path not in visitor.page("/federations")
        assert visitor.get(path).status_code == 404
        assert visitor.get(f"{path}/certificates/north.json").status_code == 404
        assert visitor.send(f"{path}/end").status_code == 404
    for role in ("owner", "admin", "auditor"):
        visitor = sign_in(role)
        assert "Created by you" not in visitor.page("/federations")
        assert visitor.get(path).status_code == 403
        assert visitor.send(f"{path}/end").status_code == 403
    assert board.shown()["state"] == "open"
    analyst = sign_in("analyst")
    assert "End the federation" in analyst.page(path)
    page = analyst.follow(f"{path}/end")
    assert "The federation is ended." in page
    assert _states(page) == ["ended", "stopped", "stopped"]
    assert board.shown()["state"] == "ended"
    assert "End the federation" not in page


def test_certificates_of_members_are_files(world: World, sign_in: Callable[..., Visitor]) -> None:
    board, analyst = _created(world, **COUNTED, model=None), sign_in("analyst")
    path = f"/federations/{board.made['id']}"
    assert analyst.page(path).count("none yet") == 2
    plan = board.made["plan"]
    certificate = {"plan": plan | {"federation": plan["federation"] | {"member": "south"}}, "note": "<b>"}
    assert board.send("south", "PUT", "certificate", json=certificate).status_code == 204
    page = analyst.page(path)
    assert page.count("none yet") == 1
    assert f'href="{path}/certificates/south.json"' in page
    answer = analyst.get(f"{path}/certificates/south.json")
    assert json.loads(answer.text) == certificate
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == 'attachment; filename="certificate-south.json"'
    assert analyst.get(f"{path}/certificates/north.json").status_code == 404
    assert analyst.get(f"{path}/certificates/west.json").status_code == 404


def test_a_members_job_names_its_federation_and_its_ledger(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    dataset_id, board = world.ready(name="Wards, north"), _created(world)
    order = joined(board, "north", dataset_id)
    job = world.analyst.post("/v1/jobs", order, headers={"Idempotency-Key": "north"}).json()
    owner, analyst = sign_in("owner"), sign_in("analyst")
    for visitor in (owner, analyst):
        listed = visitor.page("/federations")
        assert f'href="/jobs/{job["id"]}"' in listed
        assert '<span class="fine">, as north</span>' in listed
        page = visitor.page(f"/jobs/{job['id']}")
        assert "It trains as <strong>north</strong>" in page
        assert "reserved for a job" in page
        assert board.made["tokens"]["north"] not in page + listed
    assert f'href="/federations/{board.made["id"]}"' in page
    assert "The board shows the analyst" in owner.page(f"/jobs/{job['id']}")
    assert '<span class="fine">, as north</span>' in owner.page(f"/datasets/{dataset_id}")
    world.analyst.post(f"/v1/jobs/{job['id']}/cancel")
    page = owner.page(f"/jobs/{job['id']}")
    assert "released: job never started" in page
    stranger = sign_in("stranger")
    assert job["id"] not in stranger.page("/federations")
    assert stranger.get(f"/jobs/{job['id']}").status_code == 404


def test_a_job_over_several_datasets_says_what_each_ledger_is_charged(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    mine, theirs = world.ready(name="Wards, north"), neighbour(world)
    world.admin.put(f"/v1/datasets/{theirs}/budget", {"epsilon": 2.0, "delta": 1e-5, "reason": "agreed"})
    world.give(theirs)
    job = world.analyst.post("/v1/jobs", order_of(mine, theirs), headers={"Idempotency-Key": "joint"}).json()
    alone = world.order(mine, epsilon=0.1, delta=1e-7).json()
    (entry,) = [one for one in world.movements(mine) if one["job_id"] == job["id"]]
    charged = f"{float(entry['epsilon']):.4f}".rstrip("0").rstrip(".")
    for visitor, seen in (
        (sign_in("analyst"), {mine, theirs}),
        (sign_in("auditor"), {mine, theirs}),
        (sign_in("owner"), {mine}),
        (sign_in("stranger"), {theirs}),
    ):
        page = visitor.page(f"/jobs/{job['id']}")
        ledgers = page.partition('<h2 id="ledgers">')[2].partition("</section>")[0]
        assert {each for each in (mine, theirs) if f"/datasets/{each}/ledger" in ledgers} == seen
        assert ledgers.count(f'class="number">{charged}</td>') == len(seen)
        assert ("One belongs to a dataset that you may not see." in ledgers) == (len(seen) == 1)
        assert '<span class="fine">, 2 ledgers</span>' in visitor.page("/federations")
        assert alone["id"] not in visitor.page("/federations")
    assert '<h2 id="ledgers">' not in sign_in("owner").page(f"/jobs/{alone['id']}")
    assert "2 ledgers" in sign_in("owner").page(f"/datasets/{mine}")


def test_the_page_says_how_to_create_and_join_with_the_address_of_the_service(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    options = re.compile(r'<span class="option">(--[\w-]+)</span>|<wbr>')
    page = options.sub(r"\1", sign_in("owner").page("/federations"))
    assert "--json @federation.json https://testserver/v1/federations" in page
    board = _created(world)
    page = options.sub(r"\1", sign_in("analyst").page(f"/federations/{board.made['id']}"))
    assert f"understudy member DATASET --join https://testserver{board.path} --out bundle.zip" in page


def test_the_owner_of_a_further_dataset_sees_the_page_of_a_joint_release(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    release_id = world.release(schema="understudy.federated-certificate/1")
    job_id = world.owner.get(f"/v1/releases/{release_id}").json()["job_id"]
    with world.database.transaction() as session:
        session.add(JobMember(job_id=UUID(job_id), dataset_id=UUID(neighbour(world))))
    stranger = sign_in("stranger")
    assert release_id in stranger.page("/releases")
    assert "Generator of" in stranger.page(f"/releases/{release_id}")


def test_a_model_over_several_owners_is_listed_as_a_model(
    world: World, sign_in: Callable[..., Visitor]
) -> None:
    world.release(schema="understudy.federated-model-certificate/1")
    assert "Private model" in sign_in("analyst").page("/releases")
