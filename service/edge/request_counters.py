"""Counters of this process: answered requests and ledger refusals.

Every label has a small, fixed set of values: HTTP methods and statuses, route patterns, error codes, filter names. With
several processes behind one port, each writes into the folder PROMETHEUS_MULTIPROC_DIR, and the scraped process adds
them all up.
"""

import os
from http import HTTPStatus
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from core.dp.charge import ORDERS
from core.errors import BudgetRefused, UnderstudyError
from core.ledger.admission import BASIC
from core.ledger.errors import GrantClosed, PopulationFrozen

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
NO_FILTER: Final = "none"
# The number of part requests depends on the file's size, that of completion requests on the duration of the intake, and uploaded
# rows may await their owner's decision. Monitoring must see neither these requests nor the duration of any request with rows.
_ROWS: Final = frozenset(f"{api}/datasets/{{dataset_id}}/rows" for api in ("", "/v1"))
_PACED_BY_ROWS: Final = _ROWS | {"/v1/uploads/{upload_id}/parts/{number}", "/v1/uploads/{upload_id}/complete"}
# The owner decides only if many rows were refused; before that, a declared dataset has an intake report only if rows are waiting. A failed
# training has a note only if an error among the rows ended it.
_OWNERS_ALONE: Final = frozenset(
    {f"{rows}/{word}" for rows in _ROWS for word in ("accept", "discard")}
    | {"/v1/datasets/{dataset_id}/intake-report", "/v1/jobs/{job_id}/failure-note"}
)
# Besides answers that took rows: what a file is refused for, such as one unit too many or no row that fits, or rows too large for a quota.
_DECIDED_BY_ROWS: Final = frozenset(
    {
        HTTPStatus.CONFLICT,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
_FILTERS: Final = frozenset({BASIC, *(f"rdp-{order}" for order in ORDERS)})
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
# BudgetRefused is the base class of most of them.
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
            "Time from the first byte of a request to the end of its response.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._refusals = Counter(
            "understudy_ledger_refusals",
            "Orders and decisions refused by the ledger, by code and by the filter that came closest to admitting them.",
            ["code", "filter"],
            registry=self._registry,
        )

    def answered(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; for requests with rows, leave out everything that reveals their number, size or content.

        Args:
            route: The route pattern, never the path.
            status: The response status; 0 if the connection broke first.
        """
        decided_by_rows = HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST or status in _DECIDED_BY_ROWS
        if route in _OWNERS_ALONE or (route in _PACED_BY_ROWS and decided_by_rows):
            return
        self._requests.labels(method=method, route=route, status=str(status)).inc()
        if route not in _PACED_BY_ROWS:
            self._seconds.labels(route=route).observe(seconds)

    def refused(self, error: UnderstudyError) -> None:
        """Count an error if it is a ledger refusal."""
        if isinstance(error, _REFUSALS):
            named = error.facts.get("filter")
            self._refusals.labels(code=error.code, filter=named if named in _FILTERS else NO_FILTER).inc()

    def registry(self) -> CollectorRegistry:
        """The registry to expose: the counters of all processes that share the folder, or of this one."""
        if FOLDER_VARIABLE not in os.environ:
            return self._registry
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # the library has no types here
        return together
