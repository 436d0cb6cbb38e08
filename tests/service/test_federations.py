"""The board of a federation, and a member's order: what is refused before anything is reserved."""

import json
import socket
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partialmethod
from typing import Any, cast
from uuid import UUID, uuid4

import httpx
import pytest

from core.data.boards import Board
from core.data.objects import ObjectStore
from core.db.tables import Dataset, Job
from core.plan.ordered_plan import ordered_plan_from_json
from core.platform.access.roles import Role
from service.app import STATES_AT_ONCE, STATES_OF_ONE
from service.edge.body_stream import BodyStream
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.quotes.reuse import StoredCounts, reusing
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.serving import Served, eventually
from tests.service.test_obtaining import Bridge, everybody
from tests.service.test_quotas import race
from tests.service.world import World, require_problem
from understudy.cli import main
from understudy.client import Client

ORDER: dict[str, Any] = {
    "name": "wards together",
    "domain": DOMAIN,
    "epsilon": 1.0,
    "delta": 1e-6,
    "model": {"steps": 20, "averaging_rounds": 2},
    "members": [{"name": "north", "declared_size": 1000}, {"name": "south", "declared_size": 500}],
}


@pytest.fixture
def board(world: World) -> "BoardOf":
    answer = world.analyst.post("/v1/federations", ORDER)
    assert answer.status_code == 201, answer.text
    return BoardOf(world, answer.json())


class BoardOf:
    """A federation with requests of its members."""

    def __init__(self, world: World, made: Mapping[str, Any]) -> None:
        self.world, self.made = world, made
        self.path = f"/v1/federations/{made['id']}"

    def send(self, member: str, method: str, path: str, **options: Any) -> Any:
        token = {"Authorization": f"Bearer {self.made['tokens'].get(member, member)}"}
        return self.world.client.request(method, f"{self.path}/{path}", headers=token, **options)

    def put(self, member: str, number: int, content: bytes) -> Any:
        return self.send(member, "PUT", f"rounds/{number}", content=content)

    def shown(self) -> dict[str, Any]:
        document: dict[str, Any] = self.world.analyst.get(self.path).json()
        return document


def test_states_of_a_round_are_written_once_and_handed_to_members_alone(world: World, board: BoardOf) -> None:
    assert "tokens" not in board.shown()
    assert board.put("north", 0, b"n0").status_code == 204
    assert board.put("north", 0, b"n0").status_code == 204, "the same bytes again change nothing"
    require_problem(board.put("north", 0, b"other"), status=409, code="federation-state-differs")
    require_problem(board.put("north", 1, b"n1"), status=409, code="federation-round-not-open")
    listed = board.send("south", "GET", "rounds/0").json()
    assert listed == {"round": 0, "members": ["north"], "complete": False}
    require_problem(
        board.send("north", "GET", "rounds/0/south"), status=404, code="federation-state-not-found"
    )
    require_problem(
        board.send("north", "GET", "rounds/0/west"), status=404, code="federation-state-not-found"
    )
    assert board.put("south", 0, b"s0").status_code == 204
    assert board.send("south", "GET", "rounds/0").json()["complete"] is True
    assert board.send("south", "GET", "rounds/0/north").content == b"n0"
    too_large = board.put("south", 1, b"x" * 10**6)
    require_problem(too_large, status=413, code="upload-too-large")
    for name in ("north", "south"):
        assert board.put(name, 1, name.encode()).status_code == 204
    shown = board.shown()
    assert (shown["state"], shown["rounds_done"], shown["vanished"]) == ("done", 2, None)
    # A member that was killed after it had handed in its last state still reads the others'; earlier rounds are gone.
    assert board.put("north", 1, b"north").status_code == 204
    assert board.send("north", "GET", "rounds/1/south").content == b"south"
    require_problem(
        board.send("north", "GET", "rounds/0/south"), status=404, code="federation-state-not-found"
    )

    stranger = world.caller(Role.ANALYST)
    require_problem(stranger.get(board.path), status=404, code="federation-not-found")
    require_problem(stranger.delete(board.path), status=404, code="federation-not-found")
    for token in ("nobody", world.analyst.key, f"uf_{'0' * 8}_{'a' * 43}"):
        answer = board.send(token, "GET", "membership")
        require_problem(answer, status=401, code="federation-token-refused")
        require_problem(board.put(token, 0, b""), status=401, code="federation-token-refused")
    require_problem(world.client.get(f"{board.path}/membership"), status=401, code="federation-token-refused")
    elsewhere = BoardOf(world, world.analyst.post("/v1/federations", ORDER).json())
    foreign = board.made["tokens"]["north"]
    require_problem(elsewhere.put(foreign, 0, b"n0"), status=401, code="federation-token-refused")


def test_a_member_that_misses_a_deadline_is_named(world: World, board: BoardOf) -> None:
    start = world.clock.now()
    world.clock.at = start + timedelta(days=1)
    assert board.shown()["state"] == "open", "the first round waits for a first state"
    board.put("north", 0, b"n0")
    world.clock.at += timedelta(seconds=3601)
    late = require_problem(board.put("south", 0, b"s0"), status=409, code="federation-over")
    assert late["facts"] == {"state": "failed", "vanished": "south"}
    assert board.send("north", "GET", "rounds/0").status_code == 409
    assert board.send("north", "GET", "rounds/0/north").status_code == 409
    assert (board.shown()["state"], board.shown()["vanished"]) == ("failed", "south")
    assert board.send("north", "GET", "membership").json()["vanished"] == "south"


def test_a_member_that_freezes_while_it_hands_in_holds_up_nobody(
    world: World, board: BoardOf, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = BodyStream.__init__
    monkeypatch.setattr(BodyStream, "__init__", partialmethod(plain, silence_seconds=8.0))
    head = (
        f"PUT {board.path}/rounds/0 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {board.made['tokens']['south']}\r\n\r\n"
    )
    # A client gives up before those who fell silent are given up: they held it up.
    with ExitStack() as frozen, httpx.Client(base_url=served.url, timeout=6.0) as client:
        # More than the threads in which the API serves requests.
        connections = [
            frozen.enter_context(socket.create_connection((served.host, served.port))) for _ in range(48)
        ]
        for connection in connections:
            connection.sendall(head.encode() + b"half a state")
        limit = world.app.state.context.limits.states
        assert eventually(lambda: limit.free == STATES_AT_ONCE - STATES_OF_ONE)
        north = {"Authorization": f"Bearer {board.made['tokens']['north']}"}
        path = f"{board.path}/rounds/0"
        assert client.put(path, content=b"n0", headers=north).status_code == 204
        assert client.get(path, headers=north).json() == {"round": 0, "members": ["north"], "complete": False}
        assert eventually(lambda: limit.free == STATES_AT_ONCE), "who falls silent is given up"
    assert board.put("south", 0, b"s0").status_code == 204


def test_the_analyst_sees_who_is_waited_for_and_until_when(world: World, board: BoardOf) -> None:
    def seen(document: Any) -> tuple[Any, ...]:
        handed_in = [one["rounds_handed_in"] for one in document.get("members", ()) if isinstance(one, dict)]
        return document["state"], document["waits_for"], document["rounds_done"], handed_in

    assert seen(board.shown()) == ("open", ["north", "south"], 0, [0, 0])
    assert board.shown()["deadline"] is None, "the first round waits for a first state"
    board.put("north", 0, b"n0")
    begun = world.clock.now()
    assert seen(board.shown()) == ("open", ["south"], 0, [1, 0])
    assert datetime.fromisoformat(board.shown()["deadline"]) >= begun + timedelta(seconds=3600)
    board.put("south", 0, b"s0")
    board.put("south", 1, b"s1")
    assert seen(board.shown()) == ("open", ["north"], 1, [1, 2])
    (listed,) = world.analyst.get("/v1/federations").json()["items"]
    assert (listed["id"], listed["kind"], listed["members"]) == (
        board.made["id"],
        "model",
        ["north", "south"],
    )
    assert listed["waits_for"] == ["north"]
    assert "tokens" not in listed
    assert world.caller(Role.ANALYST).get("/v1/federations").json()["items"] == []
    require_problem(world.owner.get("/v1/federations"), status=403, code="role-missing")

    world.clock.at = begun + timedelta(seconds=3601)
    (listed,) = world.analyst.get("/v1/federations").json()["items"]
    assert (listed["state"], listed["vanished"], listed["waits_for"]) == ("failed", "north", [])
    assert seen(board.shown()) == ("failed", [], 1, [1, 2])
    assert board.shown()["ended_at"] == listed["ended_at"] is not None


def test_federations_are_listed_page_by_page(world: World) -> None:
    made = []
    for name in ("first", "second", "third"):
        world.clock.advance(seconds=60)
        made.append(world.analyst.post("/v1/federations", ORDER | {"name": name}).json()["id"])
    page = world.analyst.get("/v1/federations", params={"limit": 2}).json()
    assert [one["name"] for one in page["items"]] == ["third", "second"]
    rest = world.analyst.get("/v1/federations", params={"limit": 2, "before": page["next_before"]}).json()
    assert ([one["id"] for one in rest["items"]], rest["next_before"]) == (made[:1], None)


def test_an_ended_federation_takes_and_keeps_no_state(world: World, board: BoardOf) -> None:
    board.put("north", 0, b"n0")
    assert world.analyst.delete(board.path).json()["state"] == "ended"
    over = require_problem(board.put("south", 0, b"s0"), status=409, code="federation-over")
    assert over["facts"]["state"] == "ended"
    require_problem(board.send("south", "GET", "rounds/0/north"), status=409, code="federation-over")


def test_certificates_of_the_members_plans_are_kept_once(world: World, board: BoardOf) -> None:
    def certificate(name: str) -> dict[str, Any]:
        plan = board.made["plan"]
        return {"plan": plan | {"federation": plan["federation"] | {"member": name}}, "signature": "north's"}

    assert board.send("north", "PUT", "certificate", json=certificate("north")).status_code == 204
    assert board.send("north", "PUT", "certificate", json=certificate("north")).status_code == 204
    changed = certificate("north") | {"signature": "another"}
    require_problem(board.send("north", "PUT", "certificate", json=changed), status=409)
    for other in (certificate("north"), {}, {"plan": {"federation": {"member": "south"}}}):
        answer = board.send("south", "PUT", "certificate", json=other)
        require_problem(answer, status=422, code="federation-certificate-of-another")
    north, south = board.shown()["members"]
    assert (north["certificate"], south["certificate"]) == (certificate("north"), None)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": {"steps": 20}}, "invalid-spec"),
        ({"model": {"averaging_rounds": 2, "module": "elsewhere"}}, "invalid-spec"),
        ({"members": [ORDER["members"][0]] * 2}, "invalid-plan"),
        ({"members": ORDER["members"][:1]}, "invalid-input"),
        ({"domain": {}}, "domain-invalid"),
        ({"generator": {}}, "invalid-input"),
        ({"model": None}, "invalid-input"),
        ({"model": None, "generator": {"options": {"critic": True}}}, "invalid-spec"),
    ],
)
def test_a_federation_that_cannot_train_is_not_created(world: World, changes: Any, code: str) -> None:
    answer = world.analyst.post("/v1/federations", ORDER | changes)
    require_problem(answer, status=422, code=code)


def joined(board: BoardOf, member: str, dataset_id: str, **changes: Any) -> dict[str, Any]:
    found = board.send(member, "GET", "membership").json()
    names = ("federation_id", "member", "members", "domain_sha256", "plan_sha256")
    federation = {"url": "http://127.0.0.1:1/", "token": board.made["tokens"][member]}
    federation |= {name: found[name] for name in names}
    return {
        "dataset_id": dataset_id,
        **{name: found[name] for name in ("epsilon", "delta", "model")},
        "federation": federation | changes,
    }


def test_a_member_orders_its_own_steps_in_its_own_ledger(world: World, board: BoardOf) -> None:
    dataset_id = world.ready()
    order = joined(board, "north", dataset_id)
    quote = world.analyst.post("/v1/quotes", order).json()
    assert (quote["fits"], quote["declared_size"], quote["model"]["options"]["averaging_rounds"]) == (
        True,
        1500,
        2,
    )
    headers = {"Idempotency-Key": "north"}
    answer = world.analyst.post("/v1/jobs", order, headers=headers)
    assert answer.status_code == 202, answer.text
    assert world.analyst.post("/v1/jobs", order, headers=headers).json() == answer.json()
    (entry,) = world.movements(dataset_id)
    assert (entry["kind"], entry["mechanism"]) == ("RESERVED", board.made["plan"]["mechanism"])
    alone = world.order(dataset_id, epsilon=0.1, delta=1e-7).json()
    stated = {name: board.made["plan"]["federation"][name] for name in ("federation_id", "members")}
    assert (answer.json()["federation"], alone["federation"]) == (stated | {"member": "north"}, None)
    joint = world.owner.get("/v1/jobs", params={"joint": True}).json()["items"]
    assert [one["id"] for one in joint] == [answer.json()["id"]]
    world.analyst.post(f"/v1/jobs/{alone['id']}/cancel")
    token = board.made["tokens"]["north"]
    with world.database.read_only() as session:
        job, dataset = session.get_one(Job, UUID(answer.json()["id"])), session.query(Dataset).one()
        master_keys = world.app.state.context.settings.master_keys
        data_key = master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")
        assert token.encode() not in job.sealed_federation
        assert Board.open(job.sealed_federation, data_key, job.id) == Board(
            url="http://127.0.0.1:1", token=token
        )
        assert token not in repr(Board(url="", token=token)) + str(job.plan)
    assert world.analyst.post(f"/v1/jobs/{answer.json()['id']}/cancel").status_code == 200
    with world.database.read_only() as session:
        job = session.get_one(Job, UUID(answer.json()["id"]))
        assert job.sealed_federation is None, "destroyed with the job"


def test_what_a_member_did_not_declare_is_refused_before_anything_is_reserved(
    world: World, board: BoardOf
) -> None:
    dataset_id = world.ready()
    sizes = [{"name": "north", "declared_size": 900}, {"name": "south", "declared_size": 600}]
    refused: list[tuple[dict[str, Any], str]] = [
        (joined(board, "south", dataset_id), "declared size"),
        (joined(board, "north", dataset_id, members=sizes), "declared size"),
        (joined(board, "north", dataset_id, domain_sha256="0" * 64), "domain"),
        (joined(board, "north", dataset_id, federation_id=str(uuid4())), "plan"),
        (joined(board, "north", dataset_id) | {"epsilon": 2.0}, "plan"),
        (joined(board, "north", dataset_id) | {"model": None}, "plan"),
        (joined(board, "north", dataset_id) | {"model": {"steps": 40, "averaging_rounds": 2}}, "plan"),
    ]
    for order, what in refused:
        for path in ("/v1/quotes", "/v1/jobs"):
            answer = world.analyst.post(path, order, headers={"Idempotency-Key": str(uuid4())})
            problem = require_problem(answer, status=409, code="federation-differs")
            assert problem["facts"] == {"what": what}
    for changes in (
        {"model": None, "report": {"release_id": str(uuid4())}},
        {"further_datasets": [{"dataset_id": dataset_id}]},
        {"federation": joined(board, "north", dataset_id)["federation"] | {"url": "http://10.0.0.1/v1?x"}},
        {"federation": joined(board, "north", dataset_id)["federation"] | {"member": "west"}},
    ):
        answer = world.analyst.post("/v1/quotes", joined(board, "north", dataset_id) | changes)
        assert answer.status_code == 422, answer.text
    assert world.movements(dataset_id) == []


COUNTED: dict[str, Any] = {name: value for name, value in ORDER.items() if name != "model"} | {
    "generator": {"options": {"pretraining_steps": 20}}
}


def test_a_member_orders_a_generator_from_noisy_counts(world: World) -> None:
    board = BoardOf(world, world.analyst.post("/v1/federations", COUNTED).json())
    plan = board.made["plan"]
    assert (board.made["rounds"], plan["kind"], plan["options"]["anchor_screening_share"]) == (
        2,
        "member",
        0.0,
    )
    dataset_id = world.ready()
    membership = board.send("north", "GET", "membership").json()
    assert membership["model"] is None
    assert membership["generator"]["options"]["pretraining_steps"] == 20
    order = joined(board, "north", dataset_id) | {"options": membership["generator"]["options"]}
    quote = world.analyst.post("/v1/quotes", order).json()
    assert (quote["fits"], quote["declared_size"], quote.get("reused")) == (True, 1500, None)
    answer = world.analyst.post("/v1/jobs", order, headers={"Idempotency-Key": "north"})
    assert answer.status_code == 202, answer.text
    (entry,) = world.movements(dataset_id)
    assert (entry["kind"], entry["mechanism"]) == ("RESERVED", plan["mechanism"])
    for changes in ({"options": {}}, {"options": order["options"] | {"pretraining_steps": 21}}):
        other = world.analyst.post("/v1/quotes", order | changes)
        problem = require_problem(other, status=409, code="federation-differs")
        assert problem["facts"] == {"what": "plan"}
    bound = board.send("north", "PUT", "rounds/0", content=bytes(10**6))
    require_problem(bound, status=413, code="upload-too-large")
    member = ordered_plan_from_json(plan)
    earlier, facts = [cast("StoredCounts", None)], cast("DatasetFacts", None)
    wanted = GeneratorOrder.model_validate(order)
    assert reusing(member, earlier, wanted, facts, cast("ObjectStore", None)) is member, "of other rows"


def test_the_command_quotes_and_orders_in_the_members_own_service(
    world: World,
    board: BoardOf,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    connection = everybody(world)
    monkeypatch.setattr("understudy.cli.service.find_connection", lambda **_named: connection)
    # The board of this test is the same application.
    module = sys.modules["understudy.cli.member"]
    monkeypatch.setattr(module, "Client", lambda url, *, key: Client(url, key=key, transport=Bridge(world)))
    monkeypatch.setenv("UNDERSTUDY_FEDERATION_TOKEN", board.made["tokens"]["north"])

    def run(*words: str) -> int:
        monkeypatch.setattr("sys.argv", ["understudy", "member", *words, "--json"])
        with pytest.raises(SystemExit) as caught:
            main()
        return int(caught.value.code or 0)

    dataset_id, address = world.ready(), f"https://board.example.org{board.path}"
    assert run(dataset_id, "--join", address, "--dry-run") == 0
    assert json.loads(capsys.readouterr().out)["declared_size"] == 1500
    assert world.movements(dataset_id) == []
    assert run(dataset_id, "--join", address) == 0
    job = json.loads(capsys.readouterr().out)
    assert run(dataset_id, "--join", address) == 0
    assert json.loads(capsys.readouterr().out)["id"] == job["id"], (
        "given again, it goes on with the same order"
    )
    (entry,) = world.movements(dataset_id)
    assert entry["job_id"] == job["id"]
    for wrong in ("https://board.example.org", f"ftp://board.example.org{board.path}", f"{address}/x"):
        assert run(dataset_id, "--join", wrong) == 1
        assert "--join takes the address" in capsys.readouterr().err
    with connection.client("analyst") as client:
        terms = {name: value for name, value in ORDER.items() if name not in {"name", "members"}}
        made = client.federations.create("two", **terms, members={"north": 10, "south": 20})
        assert set(made["tokens"]) == {"north", "south"}
        assert client.federations.read(made["id"])["state"] == "open"
        assert {one["id"] for one in client.federations.list()} == {made["id"], board.made["id"]}
        assert client.federations.end(made["id"])["state"] == "ended"
    counted = BoardOf(world, world.analyst.post("/v1/federations", COUNTED).json())
    monkeypatch.setenv("UNDERSTUDY_FEDERATION_TOKEN", counted.made["tokens"]["north"])
    assert run(dataset_id, "--join", f"https://board.example.org{counted.path}", "--dry-run") == 0
    assert json.loads(capsys.readouterr().out)["expected_error"]["measured"]


def test_of_federations_that_race_no_more_are_open_than_allowed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.federations.repository.MOST_OPEN", 2)
    answers = race(lambda: world.analyst.post("/v1/federations", ORDER).status_code)
    assert answers == [201, 201, 409, 409, 409, 409]
    problem = require_problem(world.analyst.post("/v1/federations", ORDER), status=409, code="quota-exceeded")
    assert (problem["facts"]["limit"], problem["facts"]["used"]) == (2, 2)
