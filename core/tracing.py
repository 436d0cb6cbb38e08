"""OpenTelemetry traces across the queue: one trace from the request that orders a job to every attempt at it.

Spans are only made here and in the two places that serve work (service/edge/spans.py, workers/training.py). They hold
methods, patterns of routes, statuses, ids, outcomes and names of classes: no bodies, no SQL, no text of an exception,
nothing of rows. Instrumentation packages would record all of these, so none is installed. The training child, which
has rows open, exports nothing at all: its attempt is the span of the process that watches it.

Nothing is exported, and no library is started, unless an endpoint is set: UNDERSTUDY_OTLP_ENDPOINT, or the standard
OTEL_EXPORTER_OTLP_ENDPOINT. A caller's own trace is not joined: traces hold no text of callers.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_FIELD: Final = "traceparent"
_SHAPE: Final = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_STANDARD: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NAME: Final = "understudy"


def tracer_for(*, role: str, endpoint: str | None) -> Tracer:
    """The tracer of a process, made once after any fork; one that does nothing where no endpoint is set.

    Args:
        role: Name of the process in the deployment: api, worker.
        endpoint: Base address of an OTLP/HTTP collector; else the standard environment variables decide.
    """
    if endpoint is None and not any(os.environ.get(name) for name in _STANDARD):
        return no_tracer()
    exporter = OTLPSpanExporter(endpoint=None if endpoint is None else f"{endpoint.rstrip('/')}/v1/traces")
    provider = provider_of(role)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(NAME)


def no_tracer() -> Tracer:
    """A tracer whose spans go nowhere."""
    return NoOpTracer()


def provider_of(role: str) -> TracerProvider:
    """A provider that names only the role: the library's own detectors would add the command line and the host."""
    return TracerProvider(
        resource=Resource({"service.namespace": NAME, "service.name": f"{NAME}-{role}"}),
        span_limits=SpanLimits(max_events=0, max_links=0),
    )


@contextmanager
def span(tracer: Tracer, name: str, *, kind: SpanKind, parent: str | None = None) -> Iterator[Span]:
    """A span for the length of the block. An exception that leaves it marks it as failed, with its class only.

    Args:
        tracer: Of this process.
        name: Constant or made of constants.
        kind: What the span stands for.
        parent: The stored trace context it continues; None begins a trace, or continues the current one.
    """
    with tracer.start_as_current_span(
        name,
        context=_context_of(parent),
        kind=kind,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(StatusCode.ERROR)
            raise


def current_trace_context() -> str | None:
    """The current span as text that a row can keep (W3C traceparent); None where nothing is traced."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get(_FIELD)


def _context_of(stored: str | None) -> Context | None:
    if stored is None or not _SHAPE.fullmatch(stored):
        return None
    return _PROPAGATOR.extract({_FIELD: stored}, context=trace.set_span_in_context(trace.INVALID_SPAN))
