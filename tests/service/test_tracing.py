"""One trace from the request that orders a job to its attempts, and nothing private or wordy in any span."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracer, SpanKind, StatusCode

from core import tracing
from core.clock import SystemClock
from core.db.tables import Job
from core.platform.settings import Settings
from service.app import create_app
from tests.service.world import World, rows_of
from tests.workers.support import environment_of
from workers.training import Trainer

CANARY = "cAnArY-span"
ALLOWED = {
    "http.request.method", "http.route", "http.response.status_code", "error.type", "understudy.request_id",
    "understudy.job_id", "understudy.fence", "understudy.outcome",
}  # fmt: skip


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    yield exporter
    exporter.clear()


@pytest.fixture
def tracer(exported: InMemorySpanExporter) -> tracing.Tracer:
    provider = tracing.provider_of("test")
    provider.add_span_processor(SimpleSpanProcessor(exported))
    return provider.get_tracer(tracing.NAME)


@pytest.fixture
def traced(world: World, settings: Settings, tracer) -> Iterator[World]:
    """The world's database behind an application that traces."""
    app = create_app(
        settings,
        database=world.database,
        queue=world.queue,
        store=world.store,
        clock=world.clock,
        tracer=tracer,
    )
    with TestClient(app) as client:
        names = ("owner", "analyst", "admin", "stranger")
        callers = {name: replace(getattr(world, name), client=client) for name in names}
        yield replace(world, app=app, client=client, **callers)


def attempt(world: World, settings: Settings, tracer, job_id: UUID, code: int) -> None:
    Trainer(
        settings,
        database=world.database,
        store=world.store,
        queue=world.queue,
        clock=SystemClock(),
        environment=environment_of(settings),
        command=lambda _job, _fence: [sys.executable, "-c", f"raise SystemExit({code})"],
        tracer=tracer,
    ).train(job_id)


def spans(exported: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [one for one in exported.get_finished_spans() if one.name == name]


def test_every_attempt_joins_the_trace_of_the_order(
    traced: World, settings: Settings, tracer, exported: InMemorySpanExporter, log_text: Callable[[], str]
) -> None:
    job = traced.job()
    job_id = UUID(job["id"])
    (ordered,) = spans(exported, "POST /v1/jobs")
    assert ordered.kind is SpanKind.SERVER
    for code in (43, 42):  # the machinery, then the data: two attempts
        attempt(traced, settings, tracer, job_id, code)
        with traced.database.transaction() as session:
            row = session.get_one(Job, job_id)
            if row.state == "running":
                row.lease_expires_at = row.created_at
    attempts = spans(exported, "attempt")
    assert [one.attributes["understudy.fence"] for one in attempts] == [1, 2]
    assert [one.attributes["understudy.outcome"] for one in attempts] == ["machinery", "data"]
    for one in attempts:
        assert one.context.trace_id == ordered.context.trace_id
        assert one.parent.span_id == ordered.context.span_id
        assert one.attributes["understudy.request_id"] == ordered.attributes["understudy.request_id"]
    lines = [json.loads(line) for line in log_text().splitlines()]
    correlated = [
        line["event"]
        for line in lines
        if line.get("request_id") == ordered.attributes["understudy.request_id"]
    ]
    assert correlated.count("attempt-begins") == 2
    assert "request" in correlated


def test_spans_hold_only_what_is_listed_and_no_canary(
    traced: World, exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset_id = traced.declare(name=CANARY)
    traced.upload(dataset_id, rows_of(CANARY))
    traced.owner.get(f"/v1/datasets/{CANARY}?note={CANARY}", headers={"X-Note": CANARY})
    traced.client.request("BREW", f"/{CANARY}")
    traced.owner.post("/v1/datasets", {CANARY: CANARY})

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("service.datasets.endpoints.repository.visible", broken)
    assert traced.owner.get(f"/v1/datasets/{dataset_id}").status_code == 500
    found = exported.get_finished_spans()
    assert len(found) >= 6
    told = "\n".join(one.to_json() for one in found)
    assert CANARY not in told
    assert dataset_id not in told
    for one in found:
        assert set(one.attributes) <= ALLOWED
        assert not one.events
    assert found[-1].name == "GET /v1/datasets/{dataset_id}"
    assert found[-1].status.status_code is StatusCode.ERROR
    assert found[-1].status.description is None


def test_a_failure_is_reported_by_its_class_only(tracer, exported: InMemorySpanExporter) -> None:
    with (
        pytest.raises(ValueError, match=CANARY),
        tracing.span(tracer, "attempt", kind=SpanKind.CONSUMER),
    ):
        raise ValueError(CANARY)
    (one,) = exported.get_finished_spans()
    assert one.attributes == {"error.type": "ValueError"}
    assert CANARY not in one.to_json()


def test_a_callers_trace_is_not_joined_and_probes_are_not_traced(
    traced: World, exported: InMemorySpanExporter
) -> None:
    header = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    traced.client.get("/v1/openapi.json", headers=header)
    for path in ("/healthz", "/readyz", "/metrics"):
        traced.client.get(path, headers=header)
    (one,) = exported.get_finished_spans()
    assert one.parent is None
    assert f"{one.context.trace_id:032x}" != "a" * 32


@pytest.mark.parametrize("stored", [None, "", "nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_stored_context_that_is_none_begins_a_trace(
    stored: str | None, tracer, exported: InMemorySpanExporter
) -> None:
    with tracing.span(tracer, "attempt", kind=SpanKind.CONSUMER, parent=stored):
        assert tracing.current_trace_context() is not None
    (one,) = exported.get_finished_spans()
    assert one.parent is None


def test_without_an_endpoint_nothing_is_traced_or_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert isinstance(tracing.tracer_for(role="api", endpoint=None), NoOpTracer)
    job_id = UUID(world.job()["id"])
    with world.database.read_only() as session:
        row = session.get_one(Job, job_id)
        assert row.trace_context is None
        assert row.request_id is not None


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
def test_the_standard_variables_or_the_setting_switch_it_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [tracing.tracer_for(role="api", endpoint="http://127.0.0.1:1/")]
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    made.append(tracing.tracer_for(role="api", endpoint=None))
    for one in made:
        assert not isinstance(one, NoOpTracer)
        assert dict(one.resource.attributes) == {
            "service.namespace": "understudy",
            "service.name": "understudy-api",
        }
