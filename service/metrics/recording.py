"""What this process counts itself: answered requests and refusals of the ledger.

Every label has few values, all of them ours: methods and statuses of HTTP, patterns of routes, codes of errors, names
of filters. With several processes behind one port each writes into the folder that PROMETHEUS_MULTIPROC_DIR names,
and whichever is scraped adds them all up.
"""

import os
from http import HTTPStatus
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from core.errors import BudgetRefused, UnderstudyError
from core.ledger.admission import BASIC
from core.ledger.errors import GrantClosed, PopulationFrozen
from core.privacy.charge import ORDERS

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
NO_FILTER: Final = "none"
# A file has as many parts as its size demands; a completion is asked for again until the rows are taken in; rows that are received
# may wait for their owner's decision. Neither these requests nor the time that any request with rows takes may be told to
# whoever watches the deployment.
_ROWS: Final = frozenset(f"{api}/datasets/{{dataset_id}}/rows" for api in ("", "/v1"))
_PACED_BY_ROWS: Final = _ROWS | {"/v1/uploads/{upload_id}/parts/{number}", "/v1/uploads/{upload_id}/complete"}
# The owner decides where many rows were refused, and before that a declared dataset has an intake report only where rows wait.
_OWNERS_ALONE: Final = frozenset(
    {f"{rows}/{word}" for rows in _ROWS for word in ("accept", "discard")}
    | {"/v1/datasets/{dataset_id}/intake-report"}
)
_FILTERS: Final = frozenset({BASIC, *(f"rdp-{order}" for order in ORDERS)})
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
# BudgetRefused is the parent of most.
_REFUSALS: Final = (BudgetRefused, PopulationFrozen, GrantClosed)


class Recorder:
    """The counters of one process."""

    def __init__(self) -> None:
        if folder := os.environ.get(FOLDER_VARIABLE):
            Path(folder).mkdir(parents=True, exist_ok=True)
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "understudy_http_requests",
            "Answered requests.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "understudy_http_request_seconds",
            "Time from the first byte of a request to the end of its answer.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._refusals = Counter(
            "understudy_ledger_refusals",
            "Orders and decisions that the ledger refused, by code and by the filter that came nearest.",
            ["code", "filter"],
            registry=self._registry,
        )

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; of those that carry rows only what their number and length do not show.

        Args:
            method: One of the known ones.
            route: The pattern of the route, never the path.
            status: What was answered; 0 when the connection broke before.
            seconds: How long it took.
        """
        if route in _OWNERS_ALONE or (
            route in _PACED_BY_ROWS and HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST
        ):
            return
        self._requests.labels(method=method, route=route, status=str(status)).inc()
        if route not in _PACED_BY_ROWS:
            self._seconds.labels(route=route).observe(seconds)

    def refused(self, error: UnderstudyError) -> None:
        """Count a refusal, if it is one of the ledger's."""
        if isinstance(error, _REFUSALS):
            named = error.facts.get("filter")
            self._refusals.labels(code=error.code, filter=named if named in _FILTERS else NO_FILTER).inc()

    def registry(self) -> CollectorRegistry:
        """What to expose: the counters of all processes that share the folder, or of this one."""
        if FOLDER_VARIABLE not in os.environ:
            return self._registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # the library has no types here
        return together
