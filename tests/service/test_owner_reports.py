"""Owner reports over the API: for the owner of the rows alone, sealed at rest, in no list, gone with the dataset."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from core.artifacts.reports.owner_files import STEP_BYTES, report_key, write_report
from core.artifacts.reports.owner_summary import OwnerSummary
from core.db.tables import Dataset, OwnerReport
from core.platform.access.roles import Role
from service.owner_reports.endpoints import POLICY
from tests.core.data.pictures import images
from tests.service.world import Caller, World, require_problem
from understudy import Client, NotFound

HTML = (
    '<!doctype html><meta name="understudy-summary" content="'
    + str(escape(OwnerSummary(sentences=("“a” <b>",), look_at=("SECRET-OF-THE-ROWS",)).text))
    + '"><title>SECRET-OF-THE-ROWS</title>'
)


def order(world: World, release_id: str, **body):
    return world.owner.post(f"/v1/releases/{release_id}/sealed-reports", body)


def made(world: World, release_id: str) -> str:
    """A report as a worker would have left it. Returns its id."""
    report_id = order(world, release_id).json()["id"]
    with world.database.transaction() as session:
        row = session.get_one(OwnerReport, UUID(report_id))
        dataset = session.get_one(Dataset, row.dataset_id)
        key = report_key(dataset.id, row.id, 1)
        data_key = world.app.state.context.settings.master_keys.unwrap(
            dataset.wrapped_data_key, context=f"dataset:{dataset.id}"
        )
        write_report(world.store, key, HTML, data_key=data_key)
        row.state, row.object_key, row.finished_at = "made", key, world.clock.now()
    return str(report_id)


def actions(world: World) -> list[str]:
    events = world.admin.get("/v1/audit").json()["items"]
    return [event["action"] for event in events if event["action"].startswith("sealed-report")]


def test_an_order_waits_for_a_worker_and_is_placed_once(world: World) -> None:
    release_id = world.release()
    answer = order(world, release_id)
    assert answer.status_code == 202, answer.text
    shown = answer.json()
    assert (shown["state"], shown["target"], shown["file"], shown["failure"]) == (
        "queued",
        "sick",
        None,
        None,
    )
    assert answer.headers["location"] == f"/v1/sealed-reports/{shown['id']}"
    assert world.queue.sent_reports == [UUID(shown["id"])]
    assert order(world, release_id, target="sick").json()["id"] == shown["id"]
    other = order(world, release_id, target="ward").json()
    assert other["id"] != shown["id"]
    assert world.queue.sent_reports == [UUID(shown["id"]), UUID(other["id"])]
    listed = world.owner.get(f"/v1/releases/{release_id}/sealed-reports").json()["items"]
    assert {item["id"] for item in listed} == {shown["id"], other["id"]}
    assert world.owner.get(f"/v1/sealed-reports/{shown['id']}").json() == shown
    assert actions(world) == ["sealed-report.order"] * 2
    with world.database.transaction() as session:
        row = session.get_one(OwnerReport, UUID(shown["id"]))
        row.state, row.failure_code, row.finished_at = "failed", "report-failed", world.clock.now()
    assert order(world, release_id).json()["id"] != shown["id"], "one that failed may be ordered again"


def test_it_costs_nothing(world: World) -> None:
    release_id = world.release()
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    before = world.owner.get(f"/v1/datasets/{dataset_id}/ledger").json()
    made(world, release_id)
    assert world.owner.get(f"/v1/datasets/{dataset_id}/ledger").json() == before


def test_the_file_is_an_attachment_without_scripts_and_every_reading_is_logged(world: World) -> None:
    report_id = made(world, world.release())
    for _ in range(2):
        answer = world.owner.get(f"/v1/sealed-reports/{report_id}/file")
        assert answer.status_code == 200
        assert answer.text.rstrip() == HTML
    assert len(answer.content) == STEP_BYTES
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"] == POLICY
    assert "script" not in POLICY
    assert "sandbox" in POLICY
    summary = world.owner.get(f"/v1/sealed-reports/{report_id}/summary").json()
    assert summary == {"id": report_id, "sentences": ["“a” <b>"], "look_at": ["SECRET-OF-THE-ROWS"]}
    assert actions(world) == ["sealed-report.read"] * 2 + ["sealed-report.order"], "the summary tells no more"


def test_the_first_reading_of_a_summary_is_logged_for_each_key_address_and_day(world: World) -> None:
    report_id = made(world, world.release())
    path = f"/v1/sealed-reports/{report_id}/summary"

    def readings() -> int:
        return actions(world).count("sealed-report.read")

    for _ in range(3):
        assert world.owner.get(path).status_code == 200
    assert readings() == 1
    again = world.caller(Role.OWNER, principal_id=world.owner.principal_id)
    for _ in range(2):
        assert again.get(path).status_code == 200
    assert readings() == 2, "another key"
    elsewhere = TestClient(world.app, client=("192.0.2.7", 1))
    for _ in range(2):
        assert Caller(elsewhere, world.owner.key, world.owner.principal_id).get(path).status_code == 200
    assert readings() == 3, "another address"
    world.clock.advance(seconds=86400)
    for _ in range(2):
        assert world.owner.get(path).status_code == 200
    assert readings() == 4, "another day"
    assert world.owner.get(f"/v1/sealed-reports/{report_id}/file").status_code == 200
    assert readings() == 5, "each download of the file"


def test_its_existence_is_visible_to_the_owner_only(world: World) -> None:
    """The table of rights is called in test_matrix; here: roles besides ownership do not help, and nothing lists it."""
    release_id = world.release()
    report_id = made(world, release_id)
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    everything = world.caller(*Role)
    world.admit(dataset_id, everything)
    paths = (
        f"/v1/sealed-reports/{report_id}",
        f"/v1/sealed-reports/{report_id}/file",
        f"/v1/sealed-reports/{report_id}/summary",
        f"/v1/releases/{release_id}/sealed-reports",
    )
    nothing = "00000000-0000-0000-0000-000000000000"
    for path in paths:
        problem = require_problem(everything.get(path), status=404)
        same = require_problem(
            everything.get(path.replace(report_id, nothing).replace(release_id, nothing)), status=404
        )
        assert {**problem, "request_id": ""} == {**same, "request_id": ""}
    require_problem(everything.post(paths[3], {}), status=404, code="release-not-found")
    require_problem(everything.delete(paths[0]), status=404, code="sealed-report-not-found")
    visible = (
        f"/v1/releases/{release_id}", "/v1/releases", f"/v1/datasets/{dataset_id}", "/v1/jobs", "/v1/datasets",
        f"/v1/datasets/{dataset_id}/ledger", f"/v1/releases/{release_id}/certificate", f"/v1/releases/{release_id}/bundle",
    )  # fmt: skip
    for path in visible:
        answer = everything.get(path)
        assert answer.status_code == 200
        assert report_id.encode() not in answer.content
        assert b"sealed-report" not in answer.content


def test_sealed_at_rest(world: World) -> None:
    report_id = made(world, world.release())
    stored = [found.key for found in world.store.list("") if report_id in found.key]
    assert len(stored) == 1
    content = world.store.get_bytes(stored[0])
    assert b"SECRET" not in content
    assert b"doctype" not in content
    assert len(content) - STEP_BYTES < 100, "what the store tells is a multiple of a public size"


def test_the_deletion_of_the_dataset_takes_it_along(world: World) -> None:
    release_id = world.release()
    report_id = made(world, release_id)
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    assert world.owner.delete(f"/v1/datasets/{dataset_id}").status_code == 200
    assert [found.key for found in world.store.list(f"datasets/{dataset_id}")] == []
    require_problem(world.owner.get(f"/v1/sealed-reports/{report_id}/file"), status=404)
    assert world.owner.get(f"/v1/releases/{release_id}/sealed-reports").json() == {"items": []}
    require_problem(order(world, release_id), status=409, code="dataset-deleted")


def test_the_owner_may_delete_one_and_have_another(world: World) -> None:
    release_id = world.release()
    report_id = made(world, release_id)
    assert world.owner.delete(f"/v1/sealed-reports/{report_id}").status_code == 204
    assert [found.key for found in world.store.list("") if report_id in found.key] == []
    require_problem(world.owner.get(f"/v1/sealed-reports/{report_id}"), status=404)
    assert order(world, release_id).json()["id"] != report_id
    assert "sealed-report.delete" in actions(world)


def test_refusals_have_codes(world: World) -> None:
    release_id = world.release()
    problem = require_problem(
        order(world, release_id, target="wards"), status=422, code="report-target-unknown"
    )
    assert "wards" not in problem["detail"]
    waiting = order(world, release_id).json()["id"]
    require_problem(
        world.owner.get(f"/v1/sealed-reports/{waiting}/file"), status=409, code="sealed-report-not-made"
    )
    assert actions(world) == ["sealed-report.order"]


def test_the_client_and_the_service_understand_each_other(world: World, tmp_path: Path) -> None:
    def served(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        got = world.client.request(
            request.method, path, headers=dict(request.headers), content=request.content
        )
        return httpx.Response(
            got.status_code,
            headers={"content-type": got.headers.get("content-type", "")},
            content=got.content,
        )

    release_id = world.release()
    with Client("http://service", key=world.owner.key, transport=httpx.MockTransport(served)) as client:
        ordered = client.reports.order(release_id, target="sick")
        assert (ordered.state, ordered.target, ordered.release_id) == ("queued", "sick", release_id)
        assert made(world, release_id) == ordered.id
        assert client.reports.wait(ordered.id).state == "made"
        assert [report.id for report in client.reports.list(release_id)] == [ordered.id]
        summary = client.reports.summary(ordered.id)
        assert (summary.sentences, summary.look_at) == (("“a” <b>",), ("SECRET-OF-THE-ROWS",))
        file = client.read_release(release_id).owner_report(tmp_path / "report.html")
        assert file.read_text().rstrip() == HTML
        client.reports.delete(ordered.id)
        with pytest.raises(NotFound):
            client.reports.read(ordered.id)


@pytest.mark.parametrize("kind", ["model", "federated-model", "averaged-model", "member-model"])
def test_private_models_are_refused_with_what_to_do_instead(world: World, kind: str) -> None:
    release_id = world.release(schema=f"understudy.{kind}-certificate/1")
    problem = require_problem(order(world, release_id), status=422, code="report-not-for-models")
    assert "certificate" in problem["remedy"]


@pytest.mark.parametrize(
    ("words", "target"), [(("cat", "dog"), "label"), ((), "pixels")], ids=["labelled", "unlabelled"]
)
def test_of_images_the_label_alone_is_predicted(world: World, words: tuple[str, ...], target: str) -> None:
    release_id = world.release()
    dataset_id = world.owner.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    with world.database.transaction() as session:
        session.get_one(Dataset, UUID(dataset_id)).domain = replace(images(), labels=words).to_json()
    require_problem(order(world, release_id, target="sick"), status=422, code="report-target-unknown")
    shown = order(world, release_id).json()
    assert (shown["target"], shown["state"]) == (target, "queued")
    assert order(world, release_id, target=target).json() == shown


def test_too_many_at_once_are_refused(world: World) -> None:
    context = world.app.state.context
    object.__setattr__(context, "settings", context.settings.model_copy(update={"quota_queued_jobs": 1}))
    release_id = world.release()
    assert order(world, release_id).status_code == 202
    require_problem(order(world, release_id, target="age"), status=409, code="quota-exceeded")


def test_orders_have_the_documented_form(world: World) -> None:
    release_id = world.release()
    bodies: tuple[object, ...] = ({"target": ""}, {"target": 1}, {"targets": "sick"}, [])
    for body in bodies:
        answer = world.owner.post(f"/v1/releases/{release_id}/sealed-reports", body)
        require_problem(answer, status=422, code="invalid-input")
