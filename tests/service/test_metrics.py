"""GET /metrics: who may read it, what it counts, and that its series stay few and tell nothing private."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from core.db.session import Database
from core.errors import NotFound
from core.ledger import governance
from core.ledger.errors import PopulationFrozen
from core.platform.gpus import Gpu
from core.platform.health.signs import give_sign, note_chore
from service.edge.request_counters import Recorder
from service.metrics.deployment import BUDGETS_SHOWN, Deployment, Labels
from service.metrics.endpoints import cached_deployment
from tests.service.world import NOON, World, require_problem, rows_of

TOKEN = "a-token-for-scraping"


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(world: World) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    world.app.state.deployment = cached_deployment(world.app.state.context)
    answer = world.client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    return samples(answer.text)


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def set_settings(world: World, **changes: object) -> None:
    context = world.app.state.context
    world.app.state.context = replace(context, settings=context.settings.model_copy(update=changes))


def test_production_answers_nobody_without_a_token_and_whoever_has_it_with_one(world: World) -> None:
    set_settings(world, mode="production")
    require_problem(world.client.get("/metrics"), status=404, code="metrics-off")
    set_settings(world, mode="production", metrics_token=SecretStr(TOKEN))
    require_problem(world.client.get("/metrics"), status=401, code="key-missing")
    require_problem(world.admin.get("/metrics"), status=401, code="key-refused")
    answer = world.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200


def test_requests_are_counted_by_pattern_and_never_by_path(world: World) -> None:
    dataset_id = world.declare()
    world.owner.get(f"/v1/datasets/{dataset_id}")
    world.client.get("/v1/nothing/here")
    world.client.request("BREW", "/v1/datasets")
    world.client.get("/readyz")
    found = scrape(world)
    requests = "understudy_http_requests_total"
    assert found[key(requests, method="POST", route="/v1/datasets", status="201")] == 1
    assert found[key(requests, method="GET", route="/v1/datasets/{dataset_id}", status="200")] == 1
    assert found[key(requests, method="GET", route="none", status="404")] == 1
    assert [labels for name, labels in found if name == requests and ("method", "BREW") in labels] == []
    assert found[key("understudy_http_request_seconds_count", route="/v1/datasets/{dataset_id}")] == 1
    told = str(sorted(map(str, found)))
    assert dataset_id not in told
    assert "/readyz" not in told


def test_refusals_of_the_ledger_are_counted_by_code_and_filter(world: World) -> None:
    dataset_id = world.ready()
    assert world.order(dataset_id, epsilon=9.0).status_code == 409
    assert world.order(dataset_id, epsilon=9.0).status_code == 409
    found = scrape(world)
    refused = {
        (dict(labels)["code"], dict(labels)["filter"]): value
        for (name, labels), value in found.items()
        if name == "understudy_ledger_refusals_total"
    }
    assert sum(refused.values()) == 2
    assert {code for code, _ in refused} <= {"budget-refused", "grant-refused"}
    assert {name for _, name in refused} <= {"basic", "rdp-4", "rdp-6", "rdp-8", "rdp-12", "rdp-16", "rdp-32"}


def test_what_is_no_refusal_of_the_ledger_is_not_counted() -> None:
    recorder = Recorder()
    recorder.refused(NotFound("no such thing"))
    recorder.refused(PopulationFrozen())
    (family,) = [one for one in recorder.registry().collect() if one.name == "understudy_ledger_refusals"]
    counted = [sample.labels for sample in family.samples if sample.name.endswith("_total")]
    assert counted == [{"code": "dataset-frozen", "filter": "none"}]


def test_jobs_workers_and_chores_are_gauges_of_the_database(world: World) -> None:
    job = world.job()
    with world.database.transaction() as session:
        gpu = Gpu(index=1, used_bytes=3, total_bytes=7)
        give_sign(session, name="worker@a", role="worker", at=NOON, gpus=[gpu])
        note_chore(session, name="resend", at=NOON, seconds=0.5, handled=2)
    world.clock.advance(seconds=30)
    found = scrape(world)
    assert found[key("understudy_database_up")] == 1
    assert found[key("understudy_queue_depth")] == 1
    assert found[key("understudy_queue_oldest_seconds")] == 30
    assert found[key("understudy_queue_jobs_waiting", queue="train.cpu")] == 1
    assert found[key("understudy_queue_jobs_running", queue="train.cpu")] == 0
    assert found[key("understudy_queue_wait_seconds", queue="train.cpu")] == 30
    assert found[key("understudy_queue_jobs_waiting", queue="train.gpu")] == 0
    assert found[key("understudy_queue_workers_alive", queue="train.gpu")] == 1, "it has a GPU"
    assert found[key("understudy_queue_workers_alive", queue="reports")] == 0
    assert found[key("understudy_jobs", state="queued")] == 1
    assert found[key("understudy_jobs", state="failed")] == 0
    assert found[key("understudy_jobs_running", stage="train")] == 0
    assert found[key("understudy_leases_expired")] == 0
    assert found[key("understudy_workers_alive", role="worker")] == 1
    assert found[key("understudy_workers_alive", role="upkeep")] == 0
    assert found[key("understudy_worker_silent_seconds", worker="worker@a")] == 30
    assert found[key("understudy_gpu_memory_used_bytes", worker="worker@a", gpu="1")] == 3
    assert found[key("understudy_gpu_memory_total_bytes", worker="worker@a", gpu="1")] == 7
    assert found[key("understudy_chore_runs_total", chore="resend")] == 1
    assert found[key("understudy_chore_handled_total", chore="resend")] == 2
    assert found[key("understudy_chore_failures_total", chore="resend")] == 0
    assert found[key("understudy_chore_failing", chore="resend")] == 0
    assert found[key("understudy_chore_seconds", chore="resend")] == 0.5
    stamp = found[key("understudy_chore_last_success_timestamp_seconds", chore="resend")]
    assert stamp == NOON.timestamp()
    assert job["id"] not in str(list(found))


def population_of(world: World, dataset_id: str) -> UUID:
    return UUID(world.admin.get(f"/v1/datasets/{dataset_id}/ledger").json()["population_id"])


def test_budgets_are_named_by_a_keyed_digest(world: World) -> None:
    dataset_id = world.ready()
    population_id = population_of(world, dataset_id)
    name = Labels(world.app.state.context.settings.master_key_bytes).of(population_id)
    assert name != Labels(bytes(range(32))).of(population_id)
    before = scrape(world)
    assert before[key("understudy_budget_free_share", budget=name)] == 1
    assert before[key("understudy_budget_frozen", budget=name)] == 0
    assert before[key("understudy_budgets_left_out")] == 0
    assert world.order(dataset_id).status_code == 202
    with world.database.transaction() as session:
        governance.freeze(session, population_id, by="test", reason="a test", clock=world.clock)
    after = scrape(world)
    assert 0 < after[key("understudy_budget_free_share", budget=name)] < 0.9
    assert after[key("understudy_budget_frozen", budget=name)] == 1
    told = str(list(after))
    assert dataset_id not in told
    assert str(population_id) not in told


def test_only_so_many_budgets_are_shown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.metrics.deployment.BUDGETS_SHOWN", 1)
    for _ in range(3):
        dataset_id = world.declare()
        world.set_budget(dataset_id)
    found = scrape(world)
    assert len([name for name, _ in found if name == "understudy_budget_free_share"]) == 1
    assert found[key("understudy_budgets_left_out")] == 2
    assert BUDGETS_SHOWN == 200


def test_a_database_that_is_away_is_one_gauge(world: World) -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/none")
    deployment = Deployment(away, labels=Labels(bytes(32)), clock=world.clock)
    (family,) = deployment.registry().collect()
    assert [(sample.name, sample.value) for sample in family.samples] == [("understudy_database_up", 0)]
    away.close()


def test_rows_leave_no_trace_in_metrics(world: World) -> None:
    canary = "cAnArY-metrics"
    dataset_id = world.declare(name=canary)
    assert world.upload(dataset_id, rows_of(canary)).status_code == 201
    before = world.client.get("/metrics").text
    assert canary not in before
    other = world.declare()
    world.upload(other, rows_of("x") * 1)
    shown = {name for name, _ in scrape(world)}
    assert not {name for name in shown if "row" in name or "upload" in name}


def test_processes_behind_one_port_add_up(tmp_path) -> None:
    count = (
        "from service.edge.request_counters import Recorder\n"
        "recorder = Recorder()\n"
        "recorder.answered(method='GET', route='/v1/jobs', status=200, seconds=0.1)\n"
    )
    show = count + (
        "from prometheus_client.exposition import generate_latest\n"
        "print(generate_latest(recorder.registry()).decode())"
    )
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics")}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", count], env=environment, check=True)
    shown = subprocess.run(
        [sys.executable, "-c", show], env=environment, check=True, capture_output=True, text=True
    )
    found = samples(shown.stdout)
    labels = {"method": "GET", "route": "/v1/jobs", "status": "200"}
    assert found[key("understudy_http_requests_total", **labels)] == 3


def test_silent_workers_are_no_longer_alive(world: World) -> None:
    with world.database.transaction() as session:
        give_sign(session, name=f"worker@{uuid4().hex}", role="worker", at=NOON - timedelta(minutes=5))
    assert scrape(world)[key("understudy_workers_alive", role="worker")] == 0
