"""OpenTelemetry traces across the queue: one trace covers the request that orders a job and every attempt at it.

Spans are only created here, in service/edge/request_records.py and in workers/training.py. They contain methods, route
patterns, statuses, ids, outcomes and class names: no bodies, no SQL, no exception messages, nothing of rows.
Instrumentation packages would record all of these, so none is installed. The training child, which holds
rows, exports nothing: its attempt is a span of its supervising process.

Nothing is exported, and no library is started, unless an endpoint is set: UNDERSTUDY_OTLP_ENDPOINT, or the
standard OTEL_EXPORTER_OTLP_ENDPOINT. A caller's own trace context is not continued: traces contain no text
from callers.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_FIELD: Final = "traceparent"
_SHAPE: Final = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_STANDARD: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NAME: Final = "understudy"


def tracer_for(*, role: str, endpoint: str | None) -> Tracer:
    """Create the tracer of a process, once and after any fork. Without an endpoint it is a no-op.

    Args:
        role: Name of the process in the deployment: api, worker.
        endpoint: Base address of an OTLP/HTTP collector; else the standard environment variables decide.
    """
    if endpoint is None and not any(os.environ.get(name) for name in _STANDARD):
        return no_tracer()
    # Imported here: without an endpoint no process needs them, and they take a tenth of a second.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(endpoint=None if endpoint is None else f"{endpoint.rstrip('/')}/v1/traces")
    provider = provider_of(role)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(NAME)


def no_tracer() -> Tracer:
    """A no-op tracer."""
    return NoOpTracer()


def provider_of(role: str) -> "TracerProvider":
    """A provider whose resource names only the role: the library's detectors would add the command line and the host."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider

    return TracerProvider(
        resource=Resource({"service.namespace": NAME, "service.name": f"{NAME}-{role}"}),
        span_limits=SpanLimits(max_events=0, max_links=0),
    )


@contextmanager
def span(tracer: Tracer, name: str, *, kind: SpanKind, parent: str | None = None) -> Iterator[Span]:
    """A span around the block. An exception that leaves it marks it as failed, recording only its class.

    Args:
        name: Constant or composed of constants.
        parent: The stored trace context to continue; None begins a trace, or continues the current one.
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
    """The current span as a W3C traceparent to store in a row; None without tracing."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier.get(_FIELD)


def _context_of(stored: str | None) -> Context | None:
    if stored is None or not _SHAPE.fullmatch(stored):
        return None
    return _PROPAGATOR.extract({_FIELD: stored}, context=trace.set_span_in_context(trace.INVALID_SPAN))
