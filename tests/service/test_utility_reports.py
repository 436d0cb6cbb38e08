"""Utility reports through the API: the price and the precision before anything runs, an order, and who reads the result."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from core.db.tables import Release
from core.db.tables.job_member import JobMember
from core.platform.access.roles import Role
from tests.service.test_several_owners import neighbour
from tests.service.utility_reports import charged_report, name_generator, plan_about, released_images
from tests.service.world import OPTIONS, World, require_problem


@pytest.fixture
def released(world: World) -> tuple[str, str]:
    """A release and its dataset, with a budget."""
    release_id = world.release()
    name_generator(world, release_id)
    dataset_id = world.analyst.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    return release_id, dataset_id


def body_of(release_id: str, dataset_id: str, **changes: Any) -> dict[str, Any]:
    report = {"release_id": release_id} | changes.pop("report", {})
    return {"dataset_id": dataset_id, "epsilon": 0.25, "delta": 1e-6, "report": report} | changes


def test_a_quote_tells_the_price_and_how_precise_it_will_be(world: World, released: tuple[str, str]) -> None:
    before = world.movements(released[1])
    answer = world.analyst.post("/v1/quotes", body_of(*released))

    assert answer.status_code == 200, answer.text
    quote = answer.json()
    assert quote["synthesizer"] == "report"
    assert quote["fits"] is True
    assert 0.2499 < quote["epsilon"]["reported"] <= 0.25
    parts = quote["report"]["parts"]
    assert {kind: part["terms"] for kind, part in parts.items()} == {"columns": 4, "pairs": 6, "score": 1}
    assert quote["report"]["target"] == "sick"
    assert world.movements(released[1]) == before
    alone = world.analyst.post("/v1/quotes", body_of(*released, report={"columns": ["age"]})).json()
    assert set(alone["report"]["parts"]) == {"columns", "score"}
    assert alone["report"]["parts"]["columns"]["noise_std"] < parts["columns"]["noise_std"]


def test_an_order_reserves_the_price_and_queues(world: World, released: tuple[str, str]) -> None:
    release_id, dataset_id = released
    quote = world.analyst.post("/v1/quotes", body_of(*released)).json()
    answer = world.order(dataset_id, key="one", **order_of(release_id))

    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert (job["kind"], job["report_id"], job["release_id"]) == ("report", None, None)
    assert job["plan_digest"] == quote["plan_digest"] == plan_about(release_id).digest()
    assert job["progress"]["epsilon_planned"] == quote["epsilon"]["reported"]
    reserved = world.movements(dataset_id)[-1]
    assert (reserved["job_id"], reserved["charge"]) == (job["id"], quote["charge"])
    assert world.order(dataset_id, key="one", **order_of(release_id)).json() == job, "the same order again"
    other = order_of(release_id, target="age")
    assert world.order(dataset_id, key="one", **other).status_code == 409
    listed = world.analyst.get("/v1/jobs").json()["items"]
    assert sorted(entry["kind"] for entry in listed) == ["report", "training"]
    cancelled = world.analyst.post(f"/v1/jobs/{job['id']}/cancel")
    assert cancelled.json()["state"] == "cancelled"
    assert world.movements(dataset_id)[-1]["kind"] == "VOIDED"


def order_of(release_id: str, **report: Any) -> dict[str, Any]:
    return {"epsilon": 0.25, "options": {}, "report": {"release_id": release_id} | report}


def test_an_order_beyond_the_budget_is_refused(world: World, released: tuple[str, str]) -> None:
    release_id, dataset_id = released
    answer = world.order(dataset_id, **order_of(release_id) | {"epsilon": 50.0})
    require_problem(answer, status=409, code="budget-refused")


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"report": {"target": "nobody"}}, "invalid-report"),
    ({"report": {"columns": ["age", "nobody"]}}, "invalid-report"),
    ({"report": {"columns": []}}, "invalid-input"),
    ({"report": {"release_id": str(uuid4())}}, "release-not-found"),
    ({"report": {"rows": 5}}, "invalid-input"),
    ({"options": OPTIONS}, "invalid-input"),
)


def test_what_cannot_be_measured_is_refused(world: World, released: tuple[str, str]) -> None:
    for changes, code in REFUSED:
        for path in ("/v1/quotes", "/v1/jobs"):
            headers = {"Idempotency-Key": str(uuid4())}
            answer = world.analyst.post(path, body_of(*released, **changes), headers=headers)
            require_problem(answer, code=code)


def test_a_release_of_another_dataset_is_none(world: World, released: tuple[str, str]) -> None:
    answer = world.analyst.post("/v1/quotes", body_of(released[0], world.ready()))
    require_problem(answer, status=404, code="release-not-found")


@pytest.mark.parametrize("kind", ["model", "federated-model", "averaged-model", "member-model"])
def test_a_private_model_cannot_be_measured_whoever_owns_its_rows(world: World, kind: str) -> None:
    release_id = world.release(
        schema=f"understudy.{kind}-certificate/1", artefacts={"manifest.json": {"sha256": "ab" * 32}}
    )
    dataset_id = world.analyst.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    problem = require_problem(
        world.analyst.post("/v1/quotes", body_of(release_id, dataset_id)), status=422, code="invalid-report"
    )
    assert "private model" in problem["detail"]


def test_a_release_that_names_no_generator_cannot_be_measured(world: World) -> None:
    release_id = world.release()
    dataset_id = world.analyst.get(f"/v1/releases/{release_id}").json()["dataset_id"]
    answer = world.analyst.post("/v1/quotes", body_of(release_id, dataset_id))
    require_problem(answer, status=422, code="invalid-report")


def test_whoever_sees_the_release_reads_what_was_measured_of_it(
    world: World, released: tuple[str, str]
) -> None:
    release_id, _ = released
    report_id = charged_report(world, release_id)

    for caller in (world.analyst, world.owner, world.admin, world.caller(Role.AUDITOR)):
        listed = caller.get(f"/v1/releases/{release_id}/charged-reports").json()
        assert [entry["id"] for entry in listed["items"]] == [report_id]
        assert listed["items"][0] | {"epsilon": 0.25, "delta": 1e-6, "target": "sick"} == listed["items"][0]
        document = caller.get(f"/v1/charged-reports/{report_id}").json()
        assert document["epsilon"]["reported"] <= 0.25
        job = caller.get(f"/v1/jobs/{document['job_id']}").json()
        assert (job["kind"], job["report_id"]) == ("report", report_id)
    results = document["results"]
    first = results["columns"][0]
    assert first["noisy"] < 0.0 == first["low"] == first["estimate"] < first["high"]


def test_others_find_nothing(world: World, released: tuple[str, str]) -> None:
    release_id, _ = released
    report_id = charged_report(world, release_id)
    for stranger in (world.stranger, world.caller(Role.ANALYST)):
        require_problem(stranger.get(f"/v1/charged-reports/{report_id}"), status=404)
    require_problem(
        world.analyst.get(f"/v1/charged-reports/{uuid4()}"), status=404, code="charged-report-not-found"
    )
    require_problem(
        world.analyst.get(f"/v1/releases/{uuid4()}/charged-reports"), status=404, code="release-not-found"
    )


def test_of_images_the_label_and_two_facts_are_measured(world: World) -> None:
    release_id, dataset_id = released_images(world)
    quote = world.analyst.post("/v1/quotes", body_of(release_id, dataset_id)).json()
    told = quote["report"]
    assert (told["columns"], told["target"]) == (["label", "brightness", "detail"], "label")
    assert {kind: part["terms"] for kind, part in told["parts"].items()} == {
        "columns": 3,
        "pairs": 3,
        "score": 1,
    }
    answer = world.order(dataset_id, **order_of(release_id))
    assert answer.status_code == 202, answer.text
    assert answer.json()["plan_digest"] == quote["plan_digest"]
    for wrong in ({"target": "brightness"}, {"columns": ["age"]}):
        refused = world.analyst.post("/v1/quotes", body_of(release_id, dataset_id, report=wrong))
        require_problem(refused, status=422, code="invalid-report")


def test_of_several_owners_release_a_report_is_listed_where_the_dataset_that_paid_is_seen(
    world: World, released: tuple[str, str]
) -> None:
    release_id, _ = released
    report_id = charged_report(world, release_id)
    theirs = neighbour(world)
    with world.database.transaction() as session:
        release = session.get_one(Release, UUID(release_id))
        session.add(JobMember(job_id=release.job_id, dataset_id=UUID(theirs)))
    path = f"/v1/releases/{release_id}/charged-reports"
    assert [entry["id"] for entry in world.analyst.get(path).json()["items"]] == [report_id]
    assert world.stranger.get(f"/v1/releases/{release_id}").status_code == 200
    assert world.stranger.get(path).json()["items"] == []
    require_problem(world.stranger.get(f"/v1/charged-reports/{report_id}"), status=404)
