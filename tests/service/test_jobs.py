import threading
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from core.data.errors import SealBroken
from core.data.sealing import open_bytes
from core.db.tables import Dataset, IdempotencyKey, Job
from core.platform.access.roles import Role
from core.platform.health.signs import give_sign
from tests.service.world import OPTIONS, World, require_problem


def test_an_order_reserves_queues_and_announces(world: World) -> None:
    job = world.job()
    assert job["state"] == "queued"
    assert job["progress"]["percent"] == 0
    assert 0 < job["progress"]["epsilon_planned"] <= 1.0
    assert job["progress"]["delta_planned"] == 1e-6
    assert job["release_id"] is None
    assert job["failure"] is None
    assert world.queue.sent == [UUID(job["id"])]
    budget = world.owner.get(f"/v1/datasets/{job['dataset_id']}/budget").json()
    assert float(budget["reserved"]["epsilon"]) == pytest.approx(job["progress"]["epsilon_planned"], abs=1e-5)
    for who in (world.owner, world.analyst, world.admin):
        assert who.get(f"/v1/jobs/{job['id']}").json() == job


def test_an_order_does_what_the_quote_said(world: World) -> None:
    dataset_id = world.ready()
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "options": OPTIONS}
    quote = world.analyst.post("/v1/quotes", body)
    assert quote.status_code == 200, quote.text
    job = world.order(dataset_id).json()
    assert quote.json()["epsilon"]["reported"] == job["progress"]["epsilon_planned"]


def test_the_randomness_key_opens_only_for_its_own_job(world: World) -> None:
    job = world.job()
    with world.database.read_only() as session:
        row = session.get(Job, UUID(job["id"]))
        dataset = session.get(Dataset, UUID(job["dataset_id"]))
        sealed, wrapped = row.sealed_randomness_key, dataset.wrapped_data_key
    data_key = world.app.state.context.settings.master_keys.unwrap(
        wrapped, context=f"dataset:{job['dataset_id']}"
    )
    assert len(open_bytes(data_key, sealed, context=f"job:{job['id']}")) == 32
    with pytest.raises(SealBroken):
        open_bytes(data_key, sealed, context=f"job:{uuid4()}")


def test_what_does_not_fit_is_refused_with_the_amounts_and_leaves_nothing(world: World) -> None:
    dataset_id = world.ready()
    problem = require_problem(world.order(dataset_id, epsilon=500.0), status=409, code="budget-refused")
    assert problem["remedy"]
    assert problem["facts"]["shortages"]
    assert world.queue.sent == []
    assert world.analyst.get("/v1/jobs").json()["items"] == []
    assert world.movements(dataset_id) == []


def test_nothing_is_ordered_without_budget_or_rows(world: World) -> None:
    declared = world.declare()
    world.set_budget(declared)
    require_problem(world.order(declared), status=409, code="dataset-not-ready")
    uncapped = world.declare()
    assert world.upload(uncapped).status_code == 201
    require_problem(world.order(uncapped), status=409, code="budget-not-set")
    require_problem(world.order(uncapped, delta=None), status=409, code="budget-not-set")
    require_problem(world.order(str(uuid4())), status=404, code="dataset-not-found")
    assert world.queue.sent == []


def test_the_default_delta_is_a_share_of_the_cap(world: World) -> None:
    job = world.order(world.ready(), delta=None).json()
    assert job["progress"]["delta_planned"] == 1e-5 / 16


def test_a_job_waits_for_the_kind_of_device_that_was_ordered_or_that_lives(world: World) -> None:
    dataset_id = world.ready()
    chosen = world.order(dataset_id).json()
    assert (chosen["device"], chosen["device_wish"]) == ("cpu", "auto")
    wished = world.order(dataset_id, key="gpu", device="gpu").json()
    assert (wished["device"], wished["device_wish"]) == ("gpu", "gpu")
    assert wished["waiting"]["code"] == "worker-absent"
    assert [device for _, device in world.queue.sent_to] == ["cpu", "gpu"]

    def seen(job: dict[str, object]) -> list[object]:
        listed = {one["id"]: one for one in world.analyst.get("/v1/jobs").json()["items"]}
        read = world.analyst.get(f"/v1/jobs/{job['id']}").json()
        return [
            None if view["waiting"] is None else view["waiting"]["code"] for view in (read, listed[job["id"]])
        ]

    for serves, waiting in ((["cpu"], "worker-absent"), (["cpu", "gpu"], None)):
        with world.database.transaction() as session:
            give_sign(session, name="worker", role="worker", at=world.clock.now(), serves=serves)
        assert seen(wished) == [waiting, waiting]
        assert seen(chosen) == [None, None]
    world.clock.advance(seconds=100)
    assert seen(wished) == ["worker-absent"] * 2, "its worker fell silent"
    refused = world.order(dataset_id, key="model", device="gpu", model={}, options={})
    require_problem(refused, status=422)


WRONG = [
    {"device": "tpu"},
    {"epsilon": 0},
    {"epsilon": "1; DROP"},
    {"delta": 1e-13},
    {"synthesizer": "gan"},
    {"options": {"steps": -1}},
    {"options": {"surprise": 1}},
    {"options": [1]},
    {"dataset_id": "x"},
    {"seed": 7},
]


def test_a_wrong_order_is_refused(world: World) -> None:
    dataset_id = world.ready()
    for change in WRONG:
        body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6} | change
        for path in ("/v1/quotes", "/v1/jobs"):
            answer = world.analyst.post(path, body, headers={"Idempotency-Key": "a"})
            require_problem(answer, status=422)
    assert world.queue.sent == []


def test_a_repeat_gets_the_first_answer_and_spends_nothing(world: World) -> None:
    dataset_id = world.ready()
    first = world.order(dataset_id, key="one")
    world.clock.advance(seconds=600)
    again = world.order(dataset_id, key="one")
    assert again.status_code == first.status_code == 202
    assert again.json() == first.json()
    assert again.headers["location"] == first.headers["location"] == f"/v1/jobs/{first.json()['id']}"
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len(world.queue.sent) == 1
    assert len(world.movements(dataset_id)) == 1


def test_the_same_order_spelled_otherwise_is_the_same_order(world: World) -> None:
    dataset_id = world.ready()
    first = world.order(dataset_id, key="one")
    again = world.order(dataset_id, key="one", synthesizer="idpgan")
    assert again.json()["id"] == first.json()["id"]


def test_a_key_does_not_serve_two_orders(world: World) -> None:
    dataset_id = world.ready()
    world.order(dataset_id, key="one")
    require_problem(
        world.order(dataset_id, key="one", epsilon=0.5), status=409, code="idempotency-key-reused"
    )
    assert len(world.queue.sent) == 1


def test_keys_of_different_principals_do_not_meet(world: World) -> None:
    dataset_id = world.ready()
    other = world.caller(Role.ANALYST)
    world.admit(dataset_id, other)
    world.give(dataset_id, other)
    first = world.order(dataset_id, key="one", epsilon=0.5)
    second = world.order(dataset_id, key="one", epsilon=0.5, caller=other)
    assert first.json()["id"] != second.json()["id"]


def test_a_refused_order_may_be_sent_again_under_its_key(world: World) -> None:
    dataset_id = world.declare()
    world.upload(dataset_id)
    require_problem(world.order(dataset_id, key="one"), code="budget-not-set")
    world.set_budget(dataset_id)
    assert world.order(dataset_id, key="one").status_code == 202


def test_a_key_is_short_visible_text(world: World) -> None:
    body = {"dataset_id": world.ready(), "epsilon": 1.0, "delta": 1e-6}
    for key in ("", "a b", "ü", "a" * 256):
        answer = world.analyst.post("/v1/jobs", body, headers={"Idempotency-Key": key.encode()})
        require_problem(answer, status=422)


def test_an_order_needs_a_key(world: World) -> None:
    body = {"dataset_id": world.ready(), "epsilon": 1.0, "delta": 1e-6}
    require_problem(world.analyst.post("/v1/jobs", body), status=422, code="idempotency-key-missing")


def test_copies_racing_each_other_are_one_order(world: World) -> None:
    dataset_id = world.ready()
    copies = 8
    start = threading.Barrier(copies)
    answers = []

    def send() -> None:
        start.wait()
        answers.append(world.order(dataset_id, key="one"))

    threads = [threading.Thread(target=send) for _ in range(copies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [202] * copies
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
    assert len(world.queue.sent) == 1
    with world.database.read_only() as session:
        assert session.query(Job).count() == 1
        assert session.query(IdempotencyKey).count() == 1
    assert len(world.movements(dataset_id)) == 1


def test_different_orders_racing_for_the_last_epsilon_never_exceed_it(world: World) -> None:
    dataset_id = world.declare(rule="basic")
    world.upload(dataset_id)
    world.set_budget(dataset_id, epsilon=2.0)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(world.order(dataset_id))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [202, 202, 409, 409, 409, 409]
    for answer in answers:
        if answer.status_code == 409:
            require_problem(answer, code="budget-refused")


def test_a_queued_job_is_cancelled_at_once_and_its_reservation_is_freed(world: World) -> None:
    job = world.job()
    answer = world.analyst.post(f"/v1/jobs/{job['id']}/cancel")
    assert answer.status_code == 200
    assert answer.json()["state"] == "cancelled"
    budget = world.owner.get(f"/v1/datasets/{job['dataset_id']}/budget").json()
    assert float(budget["reserved"]["epsilon"]) == 0
    assert world.analyst.post(f"/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"


def test_only_who_ordered_a_job_or_an_admin_cancels_it(world: World) -> None:
    job = world.job()
    other = world.caller(Role.ANALYST)
    require_problem(other.post(f"/v1/jobs/{job['id']}/cancel"), status=404, code="job-not-found")
    world.admit(job["dataset_id"], other)
    require_problem(other.post(f"/v1/jobs/{job['id']}/cancel"), status=403, code="job-of-another")
    assert world.admin.post(f"/v1/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
    require_problem(world.admin.post(f"/v1/jobs/{uuid4()}/cancel"), status=404, code="job-not-found")


def change_job(world: World, job_id: str, **changes: object) -> None:
    with world.database.transaction() as session:
        row = session.get(Job, UUID(job_id))
        for name, value in changes.items():
            setattr(row, name, value)


def test_a_running_job_shows_coarse_progress(world: World) -> None:
    job = world.job()
    change_job(
        world, job["id"], state="running", fence=1, attempts=1, shown_stage="train", shown_step=21, stage="train", step=37,
        started_at=world.clock.now(), lease_expires_at=world.clock.now() + timedelta(hours=1),
    )  # fmt: skip
    world.clock.advance(seconds=63)
    view = world.owner.get(f"/v1/jobs/{job['id']}").json()
    assert view["progress"] == {
        "stage": "train", "stages": ["measure", "pretrain", "train", "export"], "step": 20, "total": 40, "percent": 96, "eta_seconds": 5,  # after 1500 steps without the critic
        "epsilon_planned": job["progress"]["epsilon_planned"], "delta_planned": 1e-6,
        "epsilon_so_far": view["progress"]["epsilon_so_far"],
    }  # fmt: skip
    assert 0 < view["progress"]["epsilon_so_far"] < job["progress"]["epsilon_planned"]
    answer = world.analyst.post(f"/v1/jobs/{job['id']}/cancel").json()
    assert (answer["state"], answer["cancel_requested"]) == ("running", True)


def test_a_failed_job_tells_its_code_and_not_how_far_it_came(world: World) -> None:
    job = world.job()
    change_job(
        world, job["id"], state="failed", shown_stage="train", shown_step=17, failure_code="training-failed",
        sealed_randomness_key=None, started_at=world.clock.now(), finished_at=world.clock.now(),
    )  # fmt: skip
    view = world.analyst.get(f"/v1/jobs/{job['id']}").json()
    assert view["failure"]["code"] == "training-failed"
    assert (view["progress"]["stage"], view["progress"]["step"], view["progress"]["percent"]) == (None, 0, 0)
    require_problem(world.analyst.post(f"/v1/jobs/{job['id']}/cancel"), status=409, code="job-ended")


def test_jobs_are_listed_by_dataset_with_their_releases(world: World) -> None:
    release_id = world.release()
    release = world.analyst.get(f"/v1/releases/{release_id}").json()
    other = world.job()
    listed = world.analyst.get(f"/v1/jobs?dataset_id={release['dataset_id']}").json()["items"]
    assert [(item["id"], item["release_id"]) for item in listed] == [(release["job_id"], release_id)]
    assert {item["id"] for item in world.analyst.get("/v1/jobs").json()["items"]} == {
        release["job_id"],
        other["id"],
    }
    by_job = world.analyst.get(f"/v1/releases?job_id={release['job_id']}").json()["items"]
    assert [item["id"] for item in by_job] == [release_id]
    assert world.analyst.get(f"/v1/releases?dataset_id={other['dataset_id']}").json()["items"] == []
