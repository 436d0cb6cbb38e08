"""The client against the real application: from a wish to a grant, with one person's keys and with several people's."""

from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from core.db.tables import Dataset as DatasetRow
from core.platform.access.roles import Role
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import CSV, OPTIONS, Caller, World
from understudy import ApprovalPending, Client, Conflict, JobDoesNotFit, NoKey
from understudy.connection import Connection
from understudy.publishing.grant_requests import introduce, obtain_grant
from understudy.publishing.order import Order, smallest_budget
from understudy.publishing.publish import publish
from understudy.results.datasets import Dataset
from understudy.table_files import TableFiles

TERMS = {"epsilon": 1.0, "delta": 1e-6, "synthesizer": "idpgan", "options": OPTIONS}
AMOUNTS = smallest_budget(1.0, 1e-6)


class Bridge(httpx.BaseTransport):
    """Takes the client's requests to the application of the test."""

    def __init__(self, world: World) -> None:
        self.world = world

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.world.client.request(
            request.method, str(request.url), content=request.read(), headers=dict(request.headers)
        )
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)


@dataclass(frozen=True)
class Wired(Connection):
    """A connection to the application of the test."""

    world: World

    def client(self, role: str) -> Client:
        if role not in self.keys:
            raise NoKey(role)
        return Client(self.url, key=self.keys[role], transport=Bridge(self.world))


class Silent:
    """A screen that remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def wired(world: World, **callers: Caller) -> Wired:
    return Wired("http://testserver", {role: caller.key for role, caller in callers.items()}, world)


def everybody(world: World) -> Wired:
    return wired(world, owner=world.owner, analyst=world.analyst, admin=world.admin)


def declared(world: World, connection: Wired) -> Dataset:
    with connection.client("owner") as owner:
        return owner.declare_dataset(name="wards", domain=DOMAIN, declared_size=1000)


def obtain(connection: Wired, dataset: Dataset, screen: Silent | None = None) -> str:
    with connection.client("owner") as owner, connection.client("analyst") as analyst:
        introduce(owner, analyst, dataset)
        return obtain_grant(
            connection,
            analyst,
            dataset,
            ask=lambda grant_id: analyst.ask_quote(dataset.id, **TERMS, grant_id=grant_id),
            amounts=AMOUNTS,
            purpose="to learn",
            say=(screen or Silent()).say,
        )


def test_with_three_persons_keys_the_request_is_filed_and_approved(world: World) -> None:
    connection, screen = everybody(world), Silent()
    dataset = declared(world, connection)
    world.admin.put(f"/v1/datasets/{dataset.id}/budget", {"epsilon": 1.0, "delta": 2e-6})
    grant_id = obtain(connection, dataset, screen)
    (request,) = world.admin.get("/v1/budget-requests").json()["items"]
    assert (request["state"], request["grant"]["id"], request["purpose"]) == (
        "approved",
        grant_id,
        "to learn",
    )
    assert request["requested_by"] == str(world.analyst.principal_id)
    assert request["decided_by"] == str(world.admin.principal_id)
    assert obtain(connection, dataset) == grant_id, "an open grant that admits the job is used again"
    assert len(world.admin.get("/v1/budget-requests").json()["items"]) == 1
    assert "Approved with the admin's key" in screen.lines[-1]


def test_without_an_admin_the_owner_approves(world: World) -> None:
    connection = wired(world, owner=world.owner, analyst=world.analyst)
    dataset = declared(world, connection)
    world.admin.put(f"/v1/datasets/{dataset.id}/budget", {"epsilon": 1.0, "delta": 2e-6})
    obtain(connection, dataset)
    (request,) = world.owner.get("/v1/budget-requests").json()["items"]
    assert request["decided_by"] == str(world.owner.principal_id)


def test_a_request_without_a_cap_waits_for_the_admin(world: World) -> None:
    connection = wired(world, owner=world.owner, analyst=world.analyst)
    dataset = declared(world, connection)
    with pytest.raises(ApprovalPending, match="budget-not-set"):
        obtain(connection, dataset)
    assert world.owner.get("/v1/budget-requests").json()["items"][0]["state"] == "open"


def test_what_no_grant_helps_against_is_said_before_anybody_is_asked(world: World) -> None:
    connection = everybody(world)
    dataset = declared(world, connection)
    world.admin.put(f"/v1/datasets/{dataset.id}/budget", {"epsilon": 0.5, "delta": 2e-6})
    with pytest.raises(JobDoesNotFit, match="budget-refused"):
        obtain(connection, dataset)
    world.admin.put(
        f"/v1/datasets/{dataset.id}/budget", {"epsilon": 5, "delta": 2e-6, "reason": "there is more"}
    )
    world.owner.post(f"/v1/datasets/{dataset.id}/freeze", {"reason": "a look"})
    with pytest.raises(JobDoesNotFit, match="dataset-frozen"):
        obtain(connection, dataset)
    assert world.admin.get("/v1/budget-requests").json()["items"] == []


@pytest.fixture
def order(tmp_path: Path) -> Order:
    rows = tmp_path / "rows.csv"
    rows.write_bytes(CSV)
    return Order(
        table=TableFiles(rows=rows, domain=DOMAIN, declared_size=1000),
        name="wards",
        epsilon=1.0,
        delta=1e-6,
        options=OPTIONS,
        sample_rows=5,
        out=tmp_path / "out",
        purpose="to learn",
    )


def test_one_persons_key_files_says_what_to_do_and_later_finds_the_grant(world: World, order: Order) -> None:
    one = world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN)
    connection, screen = wired(world, owner=one, analyst=one, admin=one), Silent()
    with pytest.raises(ApprovalPending) as pending:
        publish(connection, order, screen)  # type: ignore[arg-type]  # no bytes are shown in this test
    (request,) = world.admin.get("/v1/budget-requests").json()["items"]
    said = str(pending.value)
    for part in (
        request["id"],
        request["dataset_id"],
        "'to learn'",
        f"understudy budget approve {request['id']}",
    ):
        assert part in said
    with pytest.raises(ApprovalPending, match=request["id"]):
        publish(connection, order, screen)  # type: ignore[arg-type]
    with world.database.read_only() as session:
        assert session.query(DatasetRow).count() == 1, "nothing is declared or sent again while it waits"
    assert len(world.admin.get("/v1/budget-requests").json()["items"]) == 1

    world.admin.post(
        f"/v1/budget-requests/{request['id']}/approve", {}, headers={"Idempotency-Key": "second-person"}
    )
    with connection.client("owner") as owner, connection.client("analyst") as analyst:
        again = owner.declare_dataset(
            name="wards", domain=DOMAIN, declared_size=1000, parent_dataset_id=request["dataset_id"]
        )
        introduce(owner, analyst, again)
        granted = world.admin.get(f"/v1/budget-requests/{request['id']}").json()["grant"]["id"]
        found = obtain_grant(
            connection,
            analyst,
            again,
            ask=lambda grant_id: analyst.ask_quote(again.id, **TERMS, grant_id=grant_id),
            amounts=AMOUNTS,
            purpose="again",
            say=screen.say,
        )
        assert found == granted
        owner.upload_rows(again.id, order.table.rows)
        job = analyst.order_job(again.id, **TERMS, grant_id=found)
        assert job.state == "queued"
        with pytest.raises(Conflict) as refused:
            analyst.order_job(again.id, **TERMS, grant_id=found)
    # Which of the two bounds it meets first is the ledger's business: the cap was made for one job too.
    assert refused.value.code in {"budget-refused", "grant-refused"}
    assert [
        entry["grant_id"]
        for entry in one.get(f"/v1/datasets/{again.id}/ledger").json()["entries"]
        if "job_id" in entry
    ] == [found]


def test_a_new_name_that_is_nearly_an_old_one_is_pointed_out(world: World, order: Order) -> None:
    one = world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN)
    connection, screen = wired(world, owner=one, analyst=one, admin=one), Silent()
    for name in ("wards", "words", "wards2"):
        with pytest.raises(ApprovalPending):
            publish(connection, replace(order, name=name), screen)  # type: ignore[arg-type]
    said = [line for line in screen.lines if "first dataset named" in line]
    assert said[-1].startswith(
        "This is the first dataset named 'wards2'; did you mean 'wards'? Under a new name"
    )


def test_a_new_name_with_the_declaration_of_an_old_one_is_pointed_out(world: World, order: Order) -> None:
    one = world.caller(Role.OWNER, Role.ANALYST, Role.ADMIN)
    connection, screen = wired(world, owner=one, analyst=one, admin=one), Silent()
    larger = replace(order.table, declared_size=order.table.declared_size + 1)
    for named in ({"name": "pupils"}, {"name": "schools", "table": larger}, {"name": "year-2026"}):
        with pytest.raises(ApprovalPending):
            publish(connection, replace(order, **named), screen)  # type: ignore[arg-type]
    (said,) = [line for line in screen.lines if "same domain and declared size" in line]
    assert said.startswith("Dataset 'pupils' has the same domain and declared size.")
    assert "stop now and publish as --name pupils: each name has a budget of its own" in said
